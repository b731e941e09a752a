//! The paths of what a process publishes, in pages.

use minicbor::{Decode, Encode};
use model::{ActivityId, Artifact, PublishOf};

/// A place in what a process publishes; the default is the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct PublishedAt {
    /// The place in `Draft::published`.
    #[n(0)]
    pub publish: u32,
    /// The place among the activities that stand for one of the draft; 0 of an output of the process.
    #[n(1)]
    pub instance: u32,
}

/// A page of what a process publishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct PublishedPage {
    /// Its files, in the order of the definition, and then of the items.
    #[n(0)]
    pub files: Vec<PublishedFile>,
    /// The first one of the next page; none after the last one.
    #[n(1)]
    pub next: Option<PublishedAt>,
}

/// Something that a process publishes.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct PublishedFile {
    /// The output, as the definition has it.
    #[n(0)]
    pub of: PublishOf,
    /// The file or directory that an activity has produced, and the activity; none of an output of the process,
    /// whose value the status has.
    #[n(1)]
    pub produced: Option<(ActivityId, Artifact)>,
    /// The path with the values in it. It was made of values that commands have written, so whoever lays a file
    /// there checks it first.
    #[n(2)]
    pub path: String,
    /// The reason why there is no path, where an expression in it cannot be evaluated.
    #[n(3)]
    pub wrong: Option<String>,
}
