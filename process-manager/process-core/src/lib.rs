//! The pure logic of a process manager: it hosts controllers, plans, dispatches attempts, records
//! outcomes and recovers.
//!
//! It has no clock, thread, file or socket: time and messages come in as inputs, what is to be done
//! goes out as effects, and facts are events that the driver makes durable before any effect leaves.
//! Read [`Process`] first (the durable state of one process and the only place that changes it),
//! then [`ProcessManager`] (the steps), then `tree` (how controllers hand on control).

mod budget;
mod clients;
mod config;
mod deed;
mod dispatch;
mod enact;
mod files;
mod foresee;
mod held;
mod io;
pub mod limits;
mod lookup;
mod machines;
mod manager;
mod market;
mod moves;
mod observe;
mod packing;
mod parts;
mod process;
mod progress;
pub mod record;
mod reports;
mod retention;
mod reuse;
mod routes;
mod shared_outcome;
mod shelf;
mod step;
mod stream;
mod submission;
mod tally;
#[cfg(test)]
mod tests;
mod timer;
mod tree;
mod turns;

pub use clients::{
    activities, expansions, processes, published, status, submission, summaries, values, why,
    why_process,
};
pub use config::{Config, Quota};
pub use deed::{Action, Deed};
pub use foresee::{foresee, foresee_resumed};
pub use held::Held;
pub use io::{Effect, ForgetRequest, InForce, Input, PlanRequest, PlanResult, Remembered, Room};
pub use limits::FOUNDED_BYTES_MAX;
pub use manager::ProcessManager;
pub use process::activity::ActivityState;
pub use process::chapters::Chapter;
pub use process::packed::Packed;
pub use process::{Process, ProcessState};
pub use record::{Event, Flow, LinkState, NodeState, Reused, SEMANTICS, Verdict};
pub use retention::Retention;
pub use shared_outcome::{Program, SharedOutcome, ToShare};
pub use shelf::{Shelf, Shelved};
pub use stream::{Snapshot, State, Stream};
pub use submission::{Caller, ClientId, Submission};
pub use tally::{FAULTS, Measured, PROCESS_PHASES, SeenMarket, Tally, Verdicts};
