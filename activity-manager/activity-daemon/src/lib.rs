//! An activity manager as a part of a program: its core, the executor beside it, the workers that
//! place and collect files, and the blob store.
//!
//! `activity-core` decides about attempts, and `activity-executor` starts commands. Read [`start`]
//! and [`Handle`] first, then `effects.rs`, which carries out the core's effects.

mod access;
pub mod ceilings;
mod checker;
mod commands;
mod daemon;
mod depot;
mod directories;
mod effects;
mod eviction;
mod executor;
pub mod facts;
mod fetch;
mod figures;
mod files;
pub mod gauge;
mod intermediates;
mod isolation;
mod labels;
mod latest;
mod origins;
pub mod others;
pub mod power;
mod quotas;
mod retention;
mod service;
mod sweeper;
mod tail;
mod traversal;
mod uploads;
mod workers;

pub use access::Gate;
pub use activity_executor::{Account, AccountError, Accounts, ContainmentChoice, IoClass, Limits};
pub use checker::Elsewhere;
pub use daemon::{
    AddFilesError, Commands, Config, Handle, MachineProfile, StartError, Transfers, open_log, start,
};
pub use depot::{Keeping, StoreDepot};
pub use directories::{DirectoriesError, work_directory};
pub use executor::ExecutorError;
pub use origins::Origins;
pub use quotas::QuotaLimits;
pub use retention::Retention;
pub use service::{Service, Settings};
