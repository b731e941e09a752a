//! The executor: a small process beside an activity manager's daemon that starts commands, limits,
//! measures and kills them, and keeps their outcomes until the daemon has made them durable. It
//! outlives its daemon for a while, so that a killed and restarted daemon finds its commands
//! running. The messages between the two are in [`wire::executor`].
//!
//! It is no scheduler: commands wait in order for a number of cores, and nothing else is decided
//! here. It stages no files and knows processes only by name.
//!
//! A daemon uses [`spawn`] and [`Connection`], and reads the logs of commands with [`open_log`]. A
//! program that can be the executor calls [`main`] before it has opened anything. Inside, read
//! `executor.rs` (the event loop) and `store.rs` (the known attempts) first; `launch.rs`,
//! `child.rs`, `sys.rs` and `guardian/fork.rs` have all unsafe code.
//!
//! The limits of a command, which is all processes that it started (`containment.rs`):
//! - cores: by counting; the command gets the number as `XAVANTES_CORES`, and is bound to as many
//!   CPUs if a site wants that and there are as many CPUs as cores (`cpus.rs`);
//! - processes, open files, the size of a file, priorities: the site's settings ([`Limits`]);
//! - time: TERM to all of it, then KILL;
//! - speed, to imitate a slower machine ([`Pace`]): the process group is stopped and continued in
//!   turn. Processes that left the group are not: freezing a control group twice in 20 ms costs the
//!   kernel more than a signal, and is not immediate;
//! - memory: by the kernel if a memory controller is available, else by summing the resident memory
//!   ten times a second, so a short peak may pass.
//!
//! A command whose environment is made of a file (`environments.rs`) is started through this program once
//! more (`activation.rs`), which makes the environment first, within the same limits. So is one in a
//! container (`container.rs`), which bubblewrap or podman runs. What podman keeps of a container whose command was killed
//! is removed (`kept.rs`).
//!
//! If the executor is killed, the kernel kills the first process of each command, and the guardian
//! (`guardian.rs`) all others.

mod account;
mod activation;
mod capture;
mod child;
mod client;
mod clock;
mod container;
mod containment;
mod cpus;
mod environments;
mod executor;
mod ground;
mod guardian;
mod kept;
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
pub use containment::{ContainmentChoice, descendants};
pub use environments::remove_unused_environments;
pub use ground::remove_tree;
pub use limits::{IoClass, Limits};
pub use log::{LogError, LogReader, Stream, log_directory, open_log, read_log, segment_number};
pub use program::{ARGUMENT, main};
pub use range::RangeError;
pub use throttle::{Pace, PaceError};
