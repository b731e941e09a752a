//! The logic of a group manager: which machines there are, what of them is free, and who may use
//! how much.
//!
//! Machines register and are offered to process managers; a claim is granted first come, first
//! served, and what is granted stays so until it is released. It plans nothing and knows nothing
//! of activities. Durable are grants, the numbers of machines and the manager's epoch; what the
//! machines are is told by themselves again and again.
//!
//! Read [`GroupManager`] and [`Input`] first, then [`State`].

mod charging;
mod claims;
mod confirm;
mod endings;
mod forgetting;
mod histories;
mod io;
mod link;
mod machines;
mod manager;
mod moments;
mod offers;
mod policy;
mod powers;
mod questions;
pub mod record;
mod register;
mod returns;
mod shares;
mod shown;
mod state;
mod step;
mod survey;
#[cfg(test)]
mod tests;
mod usage;
mod waiters;
mod waiting;

pub use io::{
    Config, Effect, FORGET_MACHINES_AFTER, GivenUp, HOLDINGS_END_AFTER, Holder, Input, Peer,
    Record, Stream, Survey,
};
pub use machines::{Machine, Standing};
pub use manager::GroupManager;
pub use policy::{HALF_LIFE, Policy};
pub use record::{Event, Snapshot};
pub use shown::Load;
pub use state::State;
