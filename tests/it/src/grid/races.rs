//! Races: an activity that stands still on one machine finishes on the other, well before, and is stopped there before
//! its slot and its process are at an end.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::until_it_is;
use super::world::World;
use crate::sandbox::Sandbox;
use crate::wait;

/// Activities of the process, of half a second each.
const N: usize = 12;

/// So many activities that may run twice. Each writes its process id and its attempt.
fn naps(sandbox: &Sandbox, n: usize) -> String {
    let log = sandbox.path("log").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: naps
body:
  for-each:
    item: n
    in: ${{ range(0, {n}) }}
    do:
      activity: nap
      run: {{ shell: 'echo $$ $XAVANTES_ACTIVITY $XAVANTES_ATTEMPT >> {log}; sleep 0.5; echo ${{n}} > out' }}
      work: 500ms
      repeatable: true
      outputs: {{ out: out }}
"
    );
    sandbox.file("naps.yaml", &text)
}

/// Stops the first command that writes to the log. Returns its process id.
fn stand_still(sandbox: &Sandbox) -> i32 {
    sandbox.wait_for_lines("log", 1);
    let line = sandbox.lines("log")[0].clone();
    let pid = line.split(' ').next().unwrap().parse().unwrap();
    kill_process_group(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
    pid
}

/// Waits until the activity whose command stands still has another one. Activities that were moved before they
/// started have a second attempt too, so its number says nothing.
fn wait_for_rival(sandbox: &Sandbox) {
    let activity = |line: &str| line.split(' ').nth(1).unwrap_or_default().to_owned();
    let stands = activity(&sandbox.lines("log")[0]);
    wait::until("a second attempt at what stands still runs", || {
        let lines = sandbox.lines("log");
        let rival = lines.iter().skip(1).find(|line| activity(line) == stands);
        rival.map(|_| ())
    });
}

fn is_there(pid: i32) -> bool {
    // A command that was killed may wait for its parent.
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// The states of the attempts of each activity that ran.
fn ends(status: &Value) -> Vec<Vec<&str>> {
    let all = status["activity_list"].as_array().unwrap();
    let ends = all.iter().map(|one| {
        assert_eq!(one["state"], "completed", "{one}");
        let attempts = one["attempts"].as_array().unwrap();
        let states = attempts.iter().map(|one| one["state"].as_str().unwrap());
        states.filter(|state| *state != "moved").collect()
    });
    ends.collect()
}

fn judge(world: &World, status: &Value, n: usize, pid: i32) {
    assert!(
        !is_there(pid),
        "the loser runs after the end of its process"
    );
    let ends = ends(status);
    for ends in &ends {
        let results = ends.iter().filter(|end| **end == "completed");
        assert_eq!(results.count(), 1, "{ends:?}");
    }
    // On a busy machine others may be late too, and race; and so may the second attempt, once it is stopped.
    let is_raced = |ends: &Vec<&str>| match ends.split_last() {
        Some((last, before)) => {
            *last == "completed" && !before.is_empty() && before.iter().all(|end| *end == "stopped")
        }
        None => false,
    };
    assert!(ends.iter().any(is_raced), "{ends:?} of {status}");
    assert_eq!(status["activities"]["completed"], n, "{status}");
    let n_attempts = ends.iter().map(Vec::len).sum::<usize>();
    let n_commands = world.sandbox.lines("log").len();
    assert!(n_commands > n && n_commands <= n_attempts, "{ends:?}");
}

#[test]
fn what_stands_still_on_one_machine_finishes_on_the_other() {
    let world = World::new(1, 2);
    let sandbox = &world.sandbox;
    let grid = world.user("ada");
    let file = naps(sandbox, N);
    let done = sandbox.xav(&["submit", &file, "--grid", &grid]).expect(0);
    let id = done.stdout.trim_end().to_owned();
    let pid = stand_still(sandbox);
    // Nobody lets the command go on: without the second attempt the process would not end.
    let status = until_it_is(&world, &grid, &id, "completed");
    judge(&world, &status, N, pid);
}

#[test]
fn a_race_goes_on_after_a_kill_of_the_process_manager() {
    let mut world = World::new(1, 2);
    let grid = world.user("ada");
    let file = naps(&world.sandbox, N);
    let submitted = world.sandbox.xav(&["submit", &file, "--grid", &grid]);
    let id = submitted.expect(0).stdout.trim_end().to_owned();
    let pid = stand_still(&world.sandbox);
    wait_for_rival(&world.sandbox);
    world.kill_process_manager(0);
    let status = until_it_is(&world, &grid, &id, "completed");
    judge(&world, &status, N, pid);
}

#[test]
fn the_only_activity_of_a_process_finishes_on_a_slot_that_is_claimed_for_it() {
    let world = World::new(1, 2);
    let sandbox = &world.sandbox;
    let grid = world.user("ada");
    let file = naps(sandbox, 1);
    let done = sandbox.xav(&["submit", &file, "--grid", &grid]).expect(0);
    let id = done.stdout.trim_end().to_owned();
    let pid = stand_still(sandbox);
    let status = until_it_is(&world, &grid, &id, "completed");
    judge(&world, &status, 1, pid);
    let attempts = &status["activity_list"][0]["attempts"];
    let places = [0, 1].map(|n| attempts[n]["resource"].as_str().unwrap());
    assert_ne!(places[0], places[1], "{status}");
    // Both are told by their names.
    assert!(
        places.iter().all(|place| place.starts_with("am")),
        "{status}"
    );
}
