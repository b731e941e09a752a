//! An activity manager as a part of a program: its core, the executor beside it, the workers that
//! lay out and collect files, and the blob store.
//!
//! It decides nothing about attempts, that is `activity-core`, and starts no command, that is
//! `activity-executor`. Read [`start`] and [`Handle`] first, then `outside.rs`, which carries out
//! what the core wants.

mod access;
pub mod ceilings;
mod checker;
mod commands;
mod daemon;
mod depot;
mod executor;
pub mod facts;
mod fetch;
mod files;
pub mod gauge;
mod isolation;
mod keep;
mod leavings;
mod news;
mod outside;
mod peek;
mod places;
pub mod power;
mod quotas;
mod service;
mod sweeper;
mod uploads;
mod way;
mod workers;

pub use access::Gate;
pub use activity_executor::{Account, AccountError, Accounts, ContainmentChoice, IoClass, Limits};
pub use daemon::{
    AddFilesError, Commands, Config, Guise, Handle, StartError, Transfers, open_log, start,
};
pub use depot::{Keeping, StoreDepot};
pub use executor::ExecutorError;
pub use leavings::Retention;
pub use places::{PlacesError, work_directory};
pub use quotas::QuotaLimits;
pub use service::{Service, Settings};
