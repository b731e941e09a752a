//! The only place that reads clocks.

use model::{Mono, Wall};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// For deadlines and durations. It does not count suspend.
pub(crate) fn mono() -> Mono {
    Mono(micros(clock_gettime(ClockId::Monotonic)))
}

/// For leases, which both sides count through a suspend.
pub(crate) fn boot() -> Mono {
    Mono(micros(clock_gettime(ClockId::Boottime)))
}

/// For times that people read.
pub(crate) fn wall() -> Wall {
    Wall(micros(clock_gettime(ClockId::Realtime)))
}

fn micros(time: Timespec) -> u64 {
    (time.tv_sec.max(0) as u64) * 1_000_000 + time.tv_nsec as u64 / 1_000
}
