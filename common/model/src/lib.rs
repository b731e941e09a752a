//! The nouns that two managers use, with their invariants: ids, units, time, values, definitions,
//! activity graphs, platforms, plans and faults.
//!
//! It is not a place for behaviour: nothing here does I/O, reads a clock or draws a random number,
//! and what only one manager needs stays with that manager.
//! Read [`Definition`] first, then [`ActivityGraph`] and [`Plan`].

mod definition;
mod fault;
mod graph;
mod hash;
mod identity;
mod ids;
mod plan;
mod platform;
mod time;
mod units;
mod value;

pub use definition::{
    Activation, Activity, Assignment, CAPABLE, Caching, Capability, Capture, Command, Container,
    DataLink, DataMode, Definition, Draft, Enclosing, Environment, Expansion, Expression, ForEach,
    Input, Join, Link, Node, NodeKind, OnFault, Output, OutputSource, Parse, Part, Pick, PickCase,
    PickSite, Picked, Place, Policy, Problem, Produced, Publish, PublishOf, Race, Repeat, Retry,
    RetryOn, Source, Staged, Stdin, Template, Test, Tuning, Unused, Variable, is_process_name,
    is_variable_name, limits,
};
pub use fault::{Fault, FaultName};
pub use graph::{ActivityGraph, GraphError, GraphNode};
pub use hash::Hash;
pub use identity::{Identity, IdentityError, NAME_BYTES_MAX, Role};
pub use ids::{
    ActivityId, AttemptId, Epoch, Generation, GrantId, GroupId, NodeId, ProcessId, ResourceId,
    SubmitKey,
};
pub use plan::{Entry, Plan};
pub use platform::{
    Network, NetworkLink, Platform, PlatformError, PowerStep, PowerSteps, PowerStepsError, Resource,
};
pub use time::{Mono, Now, Span, Wall};
pub use units::{Bytes, Work};
pub use value::{Artifact, ArtifactKind, Type, Value, with_article};
