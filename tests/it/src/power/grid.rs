//! Cuts of what makes a grid: what was told to be done is there, and else the same command can be given
//! again.

use super::disk::Tree;
use super::record::has_strace;
use super::{Recording, check_all, cuts};
use crate::enrolment::two_ports;
use crate::sandbox::{Done, Sandbox};

/// What lies beneath a directory.
fn beneath(tree: &Tree, name: &str) -> Tree {
    let nodes = tree.0.iter().filter(|(path, _)| path.starts_with(name));
    Tree(
        nodes
            .map(|(path, node)| (path.clone(), node.clone()))
            .collect(),
    )
}

fn succeeds(done: Done) -> Result<(), String> {
    match done.status {
        Some(0) => Ok(()),
        _ => Err(format!("the same again: {done:?}")),
    }
}

#[test]
fn a_grid_that_was_made_survives_power_cuts() {
    if !has_strace() {
        return;
    }
    let sandbox = Sandbox::new();
    let port = two_ports().to_string();
    let init = |sandbox: &Sandbox| {
        let dir = sandbox.path("").canonicalize().unwrap().join("lab");
        sandbox.command(&["grid", "init", dir.to_str().unwrap(), "--port", &port])
    };
    let recording = Recording::of(&sandbox, &init(&sandbox));
    recording.is_whole(&sandbox, "lab");
    let told = recording.said("The grid");
    let whole = beneath(&recording.disk.whole(), "lab");
    check_all("xav grid init", cuts() / 2, |seed, sandbox| {
        let (time, tree) = recording.cut(seed);
        let there = beneath(&tree, "lab");
        if there == whole {
            return Ok(());
        }
        if told < time {
            return Err(format!("lost: {there:?}"));
        }
        tree.write_over(&sandbox.path(""));
        succeeds(init(sandbox).output().unwrap().into())?;
        let made = beneath(&Tree::read(&sandbox.path("")), "lab");
        match made.0.keys().eq(whole.0.keys()) {
            true => Ok(()),
            false => Err(format!("another grid: {made:?}")),
        }
    });
}
