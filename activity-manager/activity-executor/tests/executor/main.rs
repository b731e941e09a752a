//! The executor as a real process, with real commands, over its socket.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests fail as tests do"
)]

mod bench;
mod commands;
mod frames;
mod leases;
mod limits;
mod link;
mod lives;
mod slowed;
