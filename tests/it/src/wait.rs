//! The only loop that polls for a state of another program, which announces no changes.

use std::time::{Duration, Instant};

/// The longest wait. It only bounds a test that would fail anyway, so it is long.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// Looks until `look` returns something; panics after [`PATIENCE`].
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited too long for {what}");
        std::thread::sleep(LOOK);
    }
}

/// Looks until something is so. Returns false if it is not in that time.
pub(crate) fn holds_within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() >= time {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Lets a moment pass that a test has drawn: where in time it does something is what it varies.
#[cfg(test)]
pub(crate) fn moment(length: Duration) {
    std::thread::sleep(length);
}
