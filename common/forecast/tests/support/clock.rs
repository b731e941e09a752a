//! Time that this thread worked, whatever else the machine does.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread so far.
pub(crate) fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
