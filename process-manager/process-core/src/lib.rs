//! The pure logic of a process manager: it hosts controllers, plans, dispatches attempts, records
//! outcomes and recovers.
//!
//! It has no clock, thread, file or socket: time and messages come in as inputs, what is to be done
//! goes out as effects, and facts are events that the driver makes durable before any effect leaves.
//! Read [`Process`] first (the durable state of one process and the only place that changes it),
//! then [`ProcessManager`] (the steps), then `control` (how controllers hand on control).

mod answer;
mod attempt;
mod cache_key;
mod checks;
mod claim;
mod control;
mod copies;
mod dispatch;
mod evaluate;
mod flow;
mod forget;
mod held;
mod index;
mod io;
mod links;
mod liveness;
mod loss;
mod manager;
mod outcome;
mod planning;
mod process;
mod recall;
pub mod record;
mod release;
mod remake;
mod settle;
mod sources;
mod submit;
mod tail;
#[cfg(test)]
mod tests;
mod turns;
mod why;

pub use answer::{status, submission, summaries, summary};
pub use attempt::ActivityState;
pub use forget::Retention;
pub use held::Held;
pub use io::{Caller, ClientId, Effect, Input, PlanRequest, PlanResult, Room, Stream};
pub use manager::{Config, ProcessManager, Snapshot, State, limits};
pub use process::{Course, Process};
pub use record::{Event, Flow, LinkState, NodeState, Reused, SEMANTICS, Spot, Verdict};
pub use submit::Submission;
pub use why::why;
