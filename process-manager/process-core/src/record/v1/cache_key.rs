//! The key under which an outcome is found again.

use minicbor::{Decode, Encode};
use model::Hash;

/// A fingerprint of everything that decides the outcome of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CacheKey {
    /// The hash of all parts: the same hash, the same outcome.
    #[n(0)]
    pub(crate) key: Hash,
    /// A hash of the command, to tell which part has changed; parts that stay as they are while the
    /// process runs are compared themselves.
    #[n(1)]
    pub(crate) command: u32,
    /// A hash of the environment and stdin.
    #[n(2)]
    pub(crate) environment: u32,
}
