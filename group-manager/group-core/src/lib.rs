//! The logic of a group manager: which machines there are, what of them is free, and who may use
//! how much.
//!
//! Machines register and are offered to process managers; a claim is granted first come, first
//! served, and what is granted stays so until it is released. It plans nothing and knows nothing
//! of activities. Durable are grants, the numbers of machines and the manager's life; what the
//! machines are is told by themselves again and again.
//!
//! Read [`GroupManager`] and [`Input`] first, then [`State`].

mod io;
mod link;
mod manager;
mod state;
mod survey;
#[cfg(test)]
mod tests;
mod watch;

pub use io::{Config, Effect, Input, Peer, Record, Stream};
pub use manager::{GroupManager, Machine};
pub use state::{Event, Holding, Snapshot, State};
pub use watch::Standing;
