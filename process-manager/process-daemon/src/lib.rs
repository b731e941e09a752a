//! A process manager as a part of a program: its core, the worker that makes plans, the socket for
//! clients.
//!
//! It decides nothing about processes, that is `process-core`. Read [`start`] and [`Handle`] first;
//! [`Offline`] answers questions about processes while no manager runs; [`Service`] is what the
//! program `xavantes-pm` runs.

mod daemon;
mod effects;
mod machine_numbers;
mod offline;
mod planner;
mod service;

pub use daemon::{Config, Handle, StartError, start};
pub use offline::{Offline, OfflineError};
pub use service::{Service, Settings};
