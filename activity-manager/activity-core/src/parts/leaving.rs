//! The orderly end of a daemon.

/// The progress of the end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It stays.
    #[default]
    No,
    /// Attempts that have not started may be here, and are not started any more.
    HandingBack,
    /// No such attempt is left.
    Done,
}
