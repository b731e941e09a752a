//! Tests of the real programs, started as users start them: `xav` alone, grids of daemons, kills, power cuts,
//! and mistakes of users.
//!
//! The tests see arguments, exit statuses, output and files, and import only the crates that make certificates,
//! journals and requests, and the cores that replay journals of earlier releases. Read `sandbox.rs` first (`xav` on this
//! machine), then `grid/world.rs` (a grid of daemons).
//! `wait.rs` has the only loop that polls. `check.rs` compares the status of a recorded workflow with its
//! commands' log; `cargo recorded` uses it too. `namespaces/run` sets up a grid whose machines can be cut off.
#![expect(
    clippy::disallowed_methods,
    reason = "it starts programs, reads the clock and the environment, and waits for states of others"
)]

#[cfg(test)]
mod again;
#[cfg(test)]
mod backups;
#[cfg(test)]
mod bad_lists;
#[cfg(test)]
mod beginners;
#[cfg(test)]
mod blocked_process;
#[cfg(test)]
mod changed_lists;
pub mod check;
#[cfg(test)]
mod choice;
#[cfg(test)]
mod comparisons;
#[cfg(test)]
mod containers;
#[cfg(test)]
mod damaged_files;
#[cfg(test)]
mod damaged_journals;
#[cfg(test)]
mod data_order;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod drawn_edits;
#[cfg(test)]
mod enrolment;
#[cfg(test)]
mod environment;
#[cfg(test)]
mod experiment;
#[cfg(test)]
mod flood;
#[cfg(test)]
mod for_each;
#[cfg(test)]
mod forget;
#[cfg(test)]
mod grid;
#[cfg(test)]
mod held;
#[cfg(test)]
mod history;
#[cfg(test)]
mod input_copies;
#[cfg(test)]
mod intermediates;
#[cfg(test)]
mod items;
#[cfg(test)]
mod journals;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod lost_version;
#[cfg(test)]
mod made_environments;
#[cfg(test)]
mod on_fault;
#[cfg(test)]
mod own_values;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod picks;
#[cfg(test)]
mod pipelines;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod power;
#[cfg(test)]
mod power_over_time;
pub mod program;
#[cfg(test)]
mod publish;
pub mod readme_grid;
#[cfg(test)]
mod recalled_outcomes;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod recorded_loop;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod report;
#[cfg(test)]
mod rerun;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod run_failures;
mod running_daemon;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod self_check;
#[cfg(test)]
mod services;
#[cfg(test)]
mod status_and_interrupts;
#[cfg(test)]
mod told_values;
mod wait;
#[cfg(test)]
mod wide_gather;
