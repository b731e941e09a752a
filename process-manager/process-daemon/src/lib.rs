//! A process manager as a part of a program: its core, the planning worker, the socket for clients.
//!
//! `process-core` decides about processes. Read [`start`] and [`Handle`] first; [`Offline`] answers
//! requests about processes while no manager runs; [`Service`] is the program `xavantes-pm`.

mod daemon;
mod effects;
mod figures;
mod history_file;
mod history_keeper;
mod machine_numbers;
mod offline;
mod outcome_file;
mod planner;
mod service;
mod shelf;

pub use daemon::{Config, Handle, StartError, start};
pub use history_file::HistoryFile;
pub use history_keeper::HistoryPlace;
pub use offline::{Offline, OfflineError, foresee_first};
pub use outcome_file::OutcomeFile;
pub use process_core::{Quota, SharedOutcome};
pub use service::{Service, Settings};
