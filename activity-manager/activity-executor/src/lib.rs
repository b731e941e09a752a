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
//! `executor.rs` (the event loop) and `store.rs` (what is known) first; `launch.rs`, `child.rs`, `sys.rs`
//! and `guardian/fork.rs` have all unsafe code.
//!
//! What is limited, and how (`containment.rs` says what a command is: everything that it started):
//! - cores: by counting; the number is told to the command as `XAVANTES_CORES`, and it is bound to so many
//!   CPUs where a site wants that and there are as many as cores (`cpus.rs`);
//! - processes, open files, the size of a file, priorities: as a site says ([`Limits`]);
//! - time: TERM to all of it, then KILL;
//! - speed, where a slower machine is imitated ([`Share`]): the process group is stopped and continued
//!   in turn, without what has left it: freezing a control group twice in 20 ms costs the kernel more than
//!   a signal, and does not happen at once;
//! - memory: by the kernel where a controller of memory is ours, else by looking ten times a second at what
//!   is resident in all of it, so a short peak may pass.
//!
//! If the executor is killed, the kernel kills the first process of each command, and the guardian
//! (`guardian.rs`) all the rest.

mod account;
mod capture;
mod child;
mod client;
mod clock;
mod containment;
mod cpus;
mod executor;
mod ground;
mod guardian;
mod launch;
mod limits;
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
pub use containment::ContainmentChoice;
pub use ground::remove_tree;
pub use limits::{IoClass, Limits};
pub use log::{LogError, LogReader, Stream, log_directory, open_log, read_log, segment_number};
pub use program::{ARGUMENT, main};
pub use range::RangeError;
pub use throttle::Share;
