//! The time that measurements count.

use rustix::time::{ClockId, clock_gettime};

/// Seconds for which the processor has worked for this thread. Unlike the time of day they do not
/// grow while others have the processor, so that figures from a busy machine can be compared.
pub(crate) fn worked_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
