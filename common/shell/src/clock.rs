//! The clocks. The monotonic clock includes the time in which the machine was suspended, because
//! leases do.

use model::{Mono, Now, Wall};
use rustix::time::{ClockId, clock_gettime};

/// Both clocks.
pub fn now() -> Now {
    Now {
        mono: mono(),
        wall: wall(),
    }
}

/// The monotonic clock, which includes suspension.
pub fn mono() -> Mono {
    Mono(micros(ClockId::Boottime))
}

/// Time of day.
pub fn wall() -> Wall {
    Wall(micros(ClockId::Realtime))
}

fn micros(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000 + nanos / 1_000
}
