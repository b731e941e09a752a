//! The key under which an outcome is found again.

use minicbor::{Decode, Encode};
use model::Hash;

/// What decides the outcome of an activity, in a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CacheKey {
    /// Of all parts: the same hash, the same outcome.
    #[n(0)]
    pub(crate) key: Hash,
    /// Of the command, to tell which part has changed; the parts that do not change while the process
    /// runs are compared as they are.
    #[n(1)]
    pub(crate) command: u32,
    /// Of the environment and stdin.
    #[n(2)]
    pub(crate) environment: u32,
}
