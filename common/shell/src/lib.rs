//! The parts that the daemons share around their cores: the loop that drives a [`machine::Drive`],
//! the journal behind it, links between daemons, the socket for clients, the clock, signals and the
//! log file.
//!
//! This crate decides nothing: an `if` about activities belongs in a core. It knows no manager: a
//! daemon brings its core and an [`EffectHandler`] that carries out its effects. Everything uses
//! plain threads but the one in which links to other machines run; every queue has its bound in
//! [`limits`]. Read [`Runner`] and [`EffectHandler`] first, then [`Inbox`] and [`link()`]; [`quic`]
//! and [`identity`] are for grids of several machines.

pub mod audit;
pub mod beat;
pub mod clock;
pub mod config;
pub mod enrolment;
pub mod environment;
pub mod identity;
pub mod limits;
pub mod membership;
pub mod metrics;
pub mod program;
pub mod quic;

mod client;
mod clients;
mod failpoint;
mod inbox;
mod link;
mod log_part;
mod numbers;
mod peers;
mod refusal_log;
mod room;
mod runner;
mod shutdown;
mod sockets;
mod store;
mod supervision;
mod telemetry;

pub use client::{Client, ClientError, Watch};
pub use clients::{Answers, ClientInputs, Clients, ClientsError};
pub use failpoint::Failpoint;
pub use inbox::{Inbox, InputReceiver, Pulse, Refused, inbox};
pub use link::{End, Key, Received, Sender, in_turn, link};
pub use log_part::log_part;
pub use machine::Lane;
pub use numbers::{NUMBERS_MAX, Numbers, NumbersError};
pub use peers::Peers;
pub use refusal_log::{RefusalLine, RefusalLog};
pub use room::{Lack, Room};
pub use runner::{EffectHandler, RunError, Runner, StartError, Stats};
pub use shutdown::{Signal, Signals, SignalsError};
pub use sockets::socket_path;
pub use store::{Damaged, SetAside, Store, StoreError, read_only};
pub use telemetry::{LogForm, TelemetryError, log_as, log_to};
