//! Retention of processes that have ended.

use model::Span;

/// Limits on the ended processes that a long-lived manager keeps, since each costs memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// The longest time for which a process is kept after its end: its submission may ask for less.
    pub time: Span,
    /// The number of processes kept; beyond it the one that ended first is forgotten first, but
    /// none within an hour of its end, and never the last one.
    pub processes_max: u32,
    /// The number of their activities and controllers together, with the same rule.
    pub activities_max: u32,
}
