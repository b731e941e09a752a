//! Machines with a network each: `namespaces/run` makes them, on a grid that stands by the commands
//! of the README. Only root may; elsewhere it says that it was skipped.

use std::process::Command;

use crate::program::daemon;
use crate::sandbox::{program, root};

/// The script's exit status where it cannot make namespaces.
const SKIPPED: i32 = 77;

/// The script's output; `None` where it was skipped.
#[track_caller]
fn run(what: &str) -> Option<String> {
    daemon("xavantes-am");
    let output = Command::new(root().join("tests/it/namespaces/run"))
        .arg(what)
        .env("XAVANTES_BIN", program().parent().unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(SKIPPED) {
        println!("{said}");
        return None;
    }
    let trouble = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{trouble}");
    Some(said)
}

#[test]
fn a_grid_in_three_namespaces_runs_the_recorded_sample() {
    if let Some(said) = run("stand") {
        assert!(
            said.contains("a grid stands in namespaces of its own"),
            "{said}"
        );
    }
}

#[test]
fn the_work_of_a_machine_that_is_cut_off_starts_elsewhere_when_it_is_dead_there() {
    if let Some(said) = run("cut-order") {
        assert!(
            said.contains(" s after the cut, elsewhere after "),
            "{said}"
        );
    }
}
