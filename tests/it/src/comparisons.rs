//! `cargo compare rounds`: its cases run, at the least scale and once each. What they measure then says nothing, and
//! nothing is asserted about it.

use std::process::{Command, Stdio};
use std::thread;

use crate::program;
use crate::sandbox::{Done, Sandbox};

/// Runs a case by one pair.
fn run(case: &str) {
    let sandbox = Sandbox::new();
    let mut command = Command::new(program::comparisons());
    command.args(["rounds", "--only", case, "--pairs", "1", "--scale", "0.05"]);
    let programs = program::program().parent();
    command
        .arg("--programs")
        .arg(programs.expect("a program lies in a directory"));
    program::daemon("xavantes-pm");
    command.arg("--dir").arg(sandbox.path("."));
    // Recorded workflows take longer, and are not there everywhere.
    command.env_remove("XAVANTES_DATA").stdin(Stdio::null());
    let done: Done = command.output().unwrap().into();
    assert_eq!(done.status, Some(0), "{done:?}");
    let rows = done.stdout.lines().filter(|line| line.starts_with("| "));
    let rows: Vec<&str> = rows.skip(1).collect();
    assert!(!rows.is_empty(), "{done:?}");
    // What could not be measured has no figure.
    let is_measured = |row: &&str| row.contains(" to ");
    assert!(rows.iter().all(is_measured), "{done:?}");
}

#[test]
fn competitors_on_the_core_of_a_machine_are_measured() {
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    run("competitor");
}

#[test]
fn played_machines_are_measured() {
    run("played");
}

#[test]
fn two_process_managers_are_measured() {
    run("managers");
}
