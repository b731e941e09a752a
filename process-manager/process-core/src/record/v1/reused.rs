//! The reuse of a recorded outcome.

use minicbor::{Decode, Encode};
use model::{ActivityId, Artifact, AttemptId, Bytes, ResourceId, Span, Value, Wall};

use super::attempt::Log;
use super::cache_key::CacheKey;
use super::flow::Flow;

/// A recorded outcome that stands for an activity: the whole outcome, so the process that recorded it
/// first may be deleted.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Reused {
    /// The activity that reuses it.
    #[n(0)]
    pub activity: ActivityId,
    /// Its cache key.
    #[n(1)]
    pub cache_key: CacheKey,
    /// The attempt that ran.
    #[n(2)]
    pub of: AttemptId,
    /// The machine on which it ran.
    #[n(3)]
    pub resource: ResourceId,
    /// That machine's name.
    #[n(4)]
    pub machine: String,
    /// When it started.
    #[n(5)]
    pub started: Wall,
    /// Its run time.
    #[n(6)]
    pub wall: Span,
    /// CPU time that it used.
    #[n(7)]
    pub cpu: Span,
    /// The most memory that it used.
    #[n(8)]
    pub peak_memory: Bytes,
    /// Its exit status.
    #[n(9)]
    pub exit_code: Option<i32>,
    /// Its process id on its machine.
    #[n(10)]
    pub pid: u32,
    /// Slots that it held.
    #[n(11)]
    pub slots: u32,
    /// The place of its streams on its machine.
    #[n(12)]
    pub log: Option<Log>,
    /// Its outputs.
    #[n(13)]
    pub outputs: Vec<Artifact>,
    /// Variables that its streams are written to: stdout before stderr.
    #[n(14)]
    pub writes: Vec<(u32, Value)>,
    /// The machine that keeps a copy of its outputs, and that machine's name.
    #[n(15)]
    pub copy: Option<(ResourceId, String)>,
    /// The machine that has its outputs, and that machine's name, where it did not run there.
    #[n(16)]
    pub holder: Option<(ResourceId, String)>,
    /// The controllers' moves.
    #[n(17)]
    pub flow: Flow,
}
