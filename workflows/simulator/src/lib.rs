//! A whole grid in one thread: the three managers' cores, pumped by the same [`machine::Drive`] as
//! in the daemons, under a simulated clock, network, disk and executor, from one seed.
//!
//! It judges nothing: whoever runs it watches by an [`Observer`], from outside. It knows nothing of
//! daemons and has no clock, thread or file of its own; the same seed gives the same run to the
//! byte. A run begins calm or with the faults of its [`Setup`], is healed after a while, and is over
//! when everything is at rest.
//! Read [`Sim`] and [`Setup`] first, then [`Seen`]; `host` has the moments at which managers die.

mod absence;
mod calendar;
mod carry;
mod client;
pub mod command;
mod connections;
mod discards;
mod disk;
mod executor;
pub mod generate;
mod host;
mod lost;
mod machines;
mod managers;
mod mangle;
pub mod meaning;
mod network;
mod observe;
mod random;
mod setup;
mod shelf;
mod sim;
mod slow;
mod stores;
mod trace;
mod users;

pub use disk::Snapshots;
pub use observe::{Command, LongTail, MadePlan, Observer, Seen, Sizes};
pub use random::{Random, Rate, splitmix};
pub use setup::{Faults, PATIENCE, Setup};
pub use sim::{Broken, Sim, Submission};
pub use trace::Trace;
