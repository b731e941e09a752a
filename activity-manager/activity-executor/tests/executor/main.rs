//! The executor as a real process, with real commands, over its socket.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    clippy::print_stdout,
    reason = "helpers of tests fail, and say what they skip, as tests do"
)]

mod accounts;
mod bench;
mod commands;
mod containment;
mod frames;
mod leases;
mod limits;
mod link;
mod lives;
mod race;
mod sites;
mod slowed;
mod starts;
mod stopped;
