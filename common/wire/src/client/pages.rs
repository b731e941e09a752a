//! Processes, and the activities of one, in pages: a message has a part of a long list, however long that is.

use minicbor::{Decode, Encode};
use model::{ActivityId, ProcessId, ResourceId, Wall};

use super::{ActivityPhase, ActivityStatus, Phase, Summary};

/// Bytes after which a page takes nothing more, so that its message has less than 100 kB: one process or activity
/// beyond that takes some hundred, and only one with many attempts or outputs takes more.
pub const PAGE_BYTES_MAX: usize = 80 << 10;

/// Processes that a client wants, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ProcessesWanted {
    /// The last one that the client has: when it was submitted, and which it is.
    #[n(0)]
    pub after: Option<(Wall, ProcessId)>,
    /// The most that are told; fewer where they do not fit a page.
    #[n(1)]
    pub limit: u32,
    /// The phases in which they are; any where it is empty.
    #[n(2)]
    pub phases: Vec<Phase>,
}

/// A page of processes.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ProcessesPage {
    /// The newest first.
    #[n(0)]
    pub processes: Vec<Summary>,
    /// True if there are more after the last one.
    #[n(1)]
    pub has_more: bool,
}

/// Activities that a client wants, in the order of the definition.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ActivitiesWanted {
    /// Their process.
    #[n(0)]
    pub process: ProcessId,
    /// The last one that the client has.
    #[n(1)]
    pub after: Option<ActivityId>,
    /// The most that are told; fewer where they do not fit a page.
    #[n(2)]
    pub limit: u32,
    /// The states in which they are; any where it is empty.
    #[n(3)]
    pub phases: Vec<ActivityPhase>,
}

/// A page of activities.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ActivitiesPage {
    /// The process.
    #[n(0)]
    pub summary: Summary,
    /// In the order of the definition.
    #[n(1)]
    pub activities: Vec<ListedActivity>,
    /// The machines that are named in it.
    #[n(2)]
    pub machines: Vec<(ResourceId, String)>,
    /// True if there are more after the last one.
    #[n(3)]
    pub has_more: bool,
}

/// An activity of a page: a reader needs no definition.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ListedActivity {
    /// Its name, with its items.
    #[n(0)]
    pub name: String,
    /// Its name with the controllers around it, from the root.
    #[n(1)]
    pub path: String,
    /// Its state.
    #[n(2)]
    pub status: ActivityStatus,
}
