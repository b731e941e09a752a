//! The rule of a group, by which processes that name none are planned again.

use std::fs;
use std::process::Command;

use super::shown::{ACTIVITIES, naps};
use super::until_it_is;
use super::world::World;
use crate::program::daemon;

#[test]
fn a_process_that_names_no_rule_follows_that_of_its_group() {
    for (head, is_to_move) in [("", false), ("policy: rounds:3", true)] {
        // Another process of the same grid would know from its first plan on that the machine is slow.
        let world = World::with_rule(2, "static");
        let grid = world.user("ada");
        let home = world.home_of(0).display().to_string();
        let command = format!("case $PWD in {home}/*) sleep 1;; *) sleep 0.2;; esac");
        let file = naps(&world, "naps", head, &command);
        let submit = ["submit", &file, "--grid", &grid];
        let done = world.sandbox.xav(&submit).expect(0);
        let id = done.stdout.trim_end().to_owned();
        let status = until_it_is(&world, &grid, &id, "completed");
        let moves = status["rescheduled"].as_array().unwrap();
        assert_eq!(!moves.is_empty(), is_to_move, "{head:?}: {status}");
        if !is_to_move {
            let all = status["activity_list"].as_array().unwrap().iter();
            let slow = all.filter(|one| one["attempts"][0]["resource"] == "am1");
            assert_eq!(slow.count(), ACTIVITIES / 2, "{status}");
        }
    }
}

#[test]
fn a_rule_that_there_is_not_is_refused_at_the_start() {
    let world = World::new(1, 1);
    let wanted = "policy must be \"xavantes\", \"static\", \"adaptive\" or \"rounds:T\" with T from 1 to 1000";
    for wrong in [
        "\"rounds:0\"",
        "\"rounds:1001\"",
        "\"rounds\"",
        "\"dynamic\"",
        "4",
    ] {
        refused(&world, ("policy", wrong), wanted);
    }
}

#[test]
fn parameters_that_a_rule_cannot_have_are_refused() {
    let world = World::new(1, 1);
    for name in ["threshold", "reward"] {
        for wrong in ["-0.1", "100.5", "0.0001", "\"0.1\""] {
            let wanted =
                format!("{name} must be a number from 0 to 100 with at most three decimals");
            refused(&world, (name, wrong), &wanted);
        }
    }
    let file = naps(&world, "naps", "policy: rounds:3", "true");
    let run = |more: &[&str]| {
        let words = [&["run", &file], more].concat();
        world.sandbox.xav(&words).expect(2)
    };
    run(&["--reward", "0.1"])
        .says("--reward: there is no reward in this policy; `adaptive` alone has it");
    run(&["--policy", "static", "--threshold", "0.2"]).says(
        "--threshold: there is no threshold in this policy; `rounds:T` and `adaptive` have it",
    );
    run(&["--threshold", "ten"]).says("a number from 0 to 100 with at most three decimals");
}

/// A configuration with this line is refused, by the daemon and by a check.
fn refused(world: &World, (name, value): (&str, &str), wanted: &str) {
    let home = world.home_of(0);
    let text = fs::read_to_string(home.join("config.toml")).unwrap();
    let (line, column) = (text.lines().count() + 1, name.len() + 4);
    let path = home.join("gm.toml");
    fs::write(&path, format!("{text}{name} = {value}\n")).unwrap();
    let why = format!("gm.toml:{line}:{column}: {wanted}");
    let told = Command::new(daemon("xavantes-gm"))
        .arg("--config")
        .arg(&path)
        .output()
        .unwrap();
    let stderr = String::from_utf8(told.stderr).unwrap();
    assert!(!told.status.success() && stderr.contains(&why), "{stderr}");
    let path = path.to_str().unwrap();
    world
        .sandbox
        .xav(&["config", "check", path])
        .expect(2)
        .says(&why);
}
