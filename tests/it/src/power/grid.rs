//! Cuts of what makes a grid and its members: what was told to be done is there, and else the same
//! command can be given again.

use std::path::Path;
use std::process::Command;

use super::disk::Tree;
use super::record::{Call, Event, has_strace};
use super::{Recording, check_all, cuts};
use crate::enrolment::Yard;
use crate::program::daemon;
use crate::running_daemon::two_ports;
use crate::sandbox::{Done, Sandbox};

/// The files below a directory.
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
    let port = two_ports().unwrap().to_string();
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

/// Joins a grid, recorded, and again after each cut that came before the user was told.
fn joins(join: impl Fn(&str, &Path, &str) -> Command + Sync, role: &str, told: &str) {
    if !has_strace() {
        return;
    }
    let yard = Yard::new();
    let _gm = yard.gm();
    let sandbox = Sandbox::new();
    let token = yard.token(&["--role", role]);
    let place = |sandbox: &Sandbox| sandbox.path("").canonicalize().unwrap().join("member");
    let recording = Recording::of(&sandbox, &join(&token, &place(&sandbox), "node"));
    assert_eq!(recording.done.status, Some(0), "{:?}", recording.done);
    recording.is_whole(&sandbox, "member");
    let told = recording.said(told);
    let is_asked = |event: &&Event| matches!(event.call, Call::Send);
    let asked = recording.events.iter().find(is_asked);
    let asked = asked.expect("it asks the group manager").begun;
    let whole = beneath(&recording.disk.whole(), "member");
    check_all("join", cuts() / 2, |seed, sandbox| {
        let (time, tree) = recording.cut(seed);
        let there = beneath(&tree, "member");
        if there == whole {
            return Ok(());
        }
        if told < time {
            return Err(format!("lost: {there:?}"));
        }
        tree.write_over(&sandbox.path(""));
        let mut again = match asked < time {
            true => join(&token, &place(sandbox), "node"),
            // In that past nobody had used the token.
            false => join(
                &yard.token(&["--role", role]),
                &place(sandbox),
                &format!("n{seed}"),
            ),
        };
        succeeds(again.output().unwrap().into())?;
        let made = beneath(&Tree::read(&sandbox.path("")), "member");
        match made.0.keys().eq(whole.0.keys()) {
            true => Ok(()),
            false => Err(format!("another member: {made:?}")),
        }
    });
}

#[test]
fn a_machine_that_has_joined_survives_power_cuts() {
    let join = |token: &str, place: &Path, name: &str| {
        let mut command = Command::new(daemon("xavantes-am"));
        command.args(["join", token, "--dir"]).arg(place);
        command
            .args(["--name", name, "--shared"])
            .current_dir(place.parent().unwrap());
        command
    };
    joins(join, "am", "has joined");
}

#[test]
fn a_user_who_has_joined_survives_power_cuts() {
    let user = Sandbox::new();
    let join = |token: &str, place: &Path, name: &str| {
        let place = place.to_str().unwrap();
        user.command(&["grid", "join", token, place, "--name", name])
    };
    joins(join, "user", "You are");
}
