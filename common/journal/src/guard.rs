//! A panic of the store over a damaged file must not end the daemon's thread.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`, and returns the message of a panic inside it.
///
/// The state that `work` was changing is unknown afterwards: the caller must give it up.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| {
                payload
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
            })
            .unwrap_or_else(|| "a panic without a message".to_owned())
    })
}
