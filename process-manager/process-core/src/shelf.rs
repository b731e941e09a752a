//! A place outside of memory for large processes that have ended, which are seldom read.
//!
//! A core does no I/O: whoever starts a manager gives it such a place, and without one all stays in memory.

use std::fmt::Debug;

/// Keeps bytes outside of memory, for as long as the program runs.
pub trait Shelf: Debug + Send + Sync {
    /// Puts bytes there. None where they are too few to be worth it, or cannot be kept there: then they
    /// stay in memory.
    fn put(&self, bytes: &[u8]) -> Option<Box<dyn Shelved>>;
}

/// Bytes on a shelf. They are gone from it when this is dropped.
pub trait Shelved: Send + Sync {
    /// The bytes as they were put there.
    ///
    /// # Panics
    ///
    /// If they are not there any more, or are others. A manager that is started again has them from its
    /// journal.
    fn read(&self) -> Vec<u8>;
}
