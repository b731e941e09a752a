//! The executor: a small process beside an activity manager's daemon that starts commands, limits,
//! measures and kills them, and holds their outcomes until the daemon has made them durable. It
//! outlives its daemon for a while, so that a daemon which is killed and restarted finds its commands
//! running. The messages between the two are in [`wire::executor`].
//!
//! It is not a scheduler: commands wait in the order in which they came, for a number of cores, and
//! nothing else is decided here. It stages no files and knows no processes but by name.
//!
//! A daemon uses [`spawn`] and [`Connection`], and reads what commands wrote with [`open_log`]. A
//! program that can be the executor calls [`main`] before it has opened anything. Inside, read
//! `executor.rs` (the event loop) and `store.rs` (what is known) first; `launch.rs`,
//! `child.rs` and `sys.rs` have all unsafe code.
//!
//! What is limited, and how:
//! - cores: by counting; the number is told to the command as `XAVANTES_CORES`, not enforced;
//! - time: TERM to the process group, then KILL;
//! - speed, where a slower machine is imitated ([`Share`]): the process group is stopped and continued
//!   in turn;
//! - memory: resident bytes of the command and its descendants are looked at ten times a second, and
//!   the group is killed when they are above the limit, so a short peak may pass;
//! - descendants that leave the process group outlive their command. If the executor itself is killed,
//!   the kernel kills the first process of each command, not the rest of its group.

mod account;
mod capture;
mod child;
mod client;
mod clock;
mod executor;
mod ground;
mod launch;
mod link;
mod log;
mod memory;
mod outcomes;
mod pool;
mod prepare;
mod program;
mod range;
mod remains;
mod running;
mod store;
mod sys;
mod throttle;

pub use account::{Account, AccountError, Accounts};
pub use client::{Connection, ReceiveError, Receiver, Sender, Spawn, SpawnError, spawn};
pub use ground::remove_tree;
pub use log::{LogError, LogReader, Stream, log_directory, open_log, read_log, segment_number};
pub use program::{ARGUMENT, main};
pub use range::RangeError;
pub use throttle::Share;
