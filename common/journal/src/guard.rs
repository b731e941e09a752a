//! A store that panics over a damaged file must not take the daemon's thread with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work`, and turns a panic inside it into its message.
///
/// Whatever `work` was changing is in an unknown state afterwards: the caller must give it up.
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
