//! The real `xav`, started as a user starts it, with real commands: samples, several runs at once,
//! questions while a process runs, interruptions, kills, and everything that users get wrong.
//!
//! It knows no crate of the project but those that make certificates and journals: what it sees is arguments,
//! exit statuses, output and files. `grid.rs` has the same against a grid of the real daemons.
//! Read `sandbox.rs` first; `wait.rs` has the only loop that waits. `check.rs` compares what `xav`
//! tells of a recorded workflow with what its commands wrote down; `cargo recorded` uses it too.
//! `namespaces/run` has a grid whose machines can be cut off.
#![expect(
    clippy::disallowed_methods,
    reason = "it starts programs, reads the clock and the environment, and waits for states of others"
)]

#[cfg(test)]
mod blocked_process;
pub mod check;
#[cfg(test)]
mod damaged_files;
#[cfg(test)]
mod damaged_journals;
#[cfg(test)]
mod enrolment;
#[cfg(test)]
mod flood;
#[cfg(test)]
mod forget;
#[cfg(test)]
mod grid;
#[cfg(test)]
mod held;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod lost_version;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod power;
pub mod program;
pub mod readme_grid;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod report;
#[cfg(test)]
mod rerun;
#[cfg(test)]
mod run_failures;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod status_and_interrupts;
mod wait;
