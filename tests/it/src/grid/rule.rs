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
    let sandbox = &world.sandbox;
    let home = world.home_of(0);
    let text = fs::read_to_string(home.join("config.toml")).unwrap();
    let n_lines = text.lines().count() + 1;
    let path = home.join("gm.toml");
    let refused = |rule: &str| {
        fs::write(&path, format!("{text}policy = {rule}\n")).unwrap();
        let why = format!(
            "gm.toml:{n_lines}:10: policy must be \"xavantes\", \"static\", \"adaptive\" or \"rounds:T\" with T from 1 to 1000"
        );
        let told = Command::new(daemon("xavantes-gm"))
            .arg("--config")
            .arg(&path)
            .output()
            .unwrap();
        let stderr = String::from_utf8(told.stderr).unwrap();
        assert!(!told.status.success() && stderr.contains(&why), "{stderr}");
        let path = path.to_str().unwrap();
        sandbox.xav(&["config", "check", path]).expect(2).says(&why);
    };
    for wrong in [
        "\"rounds:0\"",
        "\"rounds:1001\"",
        "\"rounds\"",
        "\"dynamic\"",
        "4",
    ] {
        refused(wrong);
    }
}
