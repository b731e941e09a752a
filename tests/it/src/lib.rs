//! The real `xav`, started as a user starts it, with real commands: samples, several runs at once,
//! questions while a process runs, interruptions, kills, and everything that users get wrong.
//!
//! It knows no crate of the project: what it sees is arguments, exit statuses, output and files.
//! Read `sandbox.rs` first; `wait.rs` has the only loop that waits.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "it starts programs, reads the clock and the environment, and waits for states of others"
)]

mod kills;
mod lives;
mod recorded;
mod refusals;
mod samples;
mod sandbox;
mod troubles;
mod wait;
