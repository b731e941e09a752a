//! The published rules: machines get their parts of the plan in rounds, and what has not started moves after a slow one.

use serde_json::Value;

use super::shown::{ACTIVITIES, naps};
use super::until_it_is;
use super::world::World;
use crate::wait;

/// The activities that have completed on a machine.
fn completed(status: &Value, machine: &str) -> usize {
    let all = status["activity_list"].as_array().unwrap();
    let there = all.iter().filter(|one| {
        let last = one["attempts"].as_array().and_then(|all| all.last());
        assert_eq!(one["state"], "completed", "{one}");
        last.is_some_and(|last| last["resource"] == machine)
    });
    there.count()
}

#[test]
fn what_has_not_started_moves_after_a_slow_round() {
    for policy in ["rounds:3", "adaptive"] {
        // Another process of the same grid would know from its first plan on that the machine is slow.
        let world = World::new(1, 2);
        let grid = world.user("ada");
        let home = world.home_of(0).display().to_string();
        let name = policy.replace(':', "-");
        let command = format!("case $PWD in {home}/*) sleep 1.2;; *) sleep 0.2;; esac");
        let file = naps(&world, &name, &format!("policy: {policy}"), &command);
        let submit = ["submit", &file, "--grid", &grid];
        let done = world.sandbox.xav(&submit).expect(0);
        let id = done.stdout.trim_end().to_owned();
        let status = until_it_is(&world, &grid, &id, "completed");
        let there = completed(&status, "am1");
        assert!(there < ACTIVITIES / 2, "{policy}: {there} {status}");
        let moves = status["rescheduled"].as_array().unwrap();
        assert!(!moves.is_empty(), "{policy}: {status}");
        // A busy machine may make rounds of the other one slow as well.
        let of_slow = moves.iter().filter(|one| one["resource"] == "am1");
        let parts: Vec<f64> = of_slow
            .map(|one| one["power_part"].as_f64().unwrap())
            .collect();
        assert!(parts.iter().all(|part| *part < 0.6), "{policy}: {parts:?}");
    }
}

#[test]
fn an_activity_that_waits_for_a_later_round_says_so() {
    let world = World::with_rule(2, "rounds:4");
    let sandbox = &world.sandbox;
    let grid = world.user("ada");
    let go = sandbox.path("go").display().to_string();
    // Nothing ends before the question was asked.
    let command = format!("until test -e {go}; do sleep 0.05; done");
    let file = naps(&world, "held", "", &command);
    let done = sandbox.xav(&["submit", &file, "--grid", &grid]).expect(0);
    let id = done.stdout.trim_end().to_owned();
    let held = wait::until("activities to be held back", || {
        let status = sandbox.json(&["status", &id, "--grid", &grid, "--json"]);
        let all = status["activity_list"].as_array()?;
        let running = all.iter().filter(|one| one["state"] == "running");
        let ready = all.iter().find(|one| one["state"] == "ready")?;
        (running.count() == 4).then(|| ready["activity"].as_str().unwrap().to_owned())
    });
    let why = ["why", &id, &held, "--grid", &grid];
    sandbox
        .xav(&why)
        .expect(0)
        .shows("for a later round of am")
        .shows("round 1 of 4 with nap[");
    let told = sandbox.json(&[&why[..], &["--json"]].concat());
    let round = &told["reasons"][0];
    assert_eq!(
        (&round["reason"], &round["rounds"]),
        (&"round".into(), &4.into()),
        "{told}"
    );
    assert_eq!(round["round"], 1, "{told}");
    assert!(round["left"].as_array().unwrap().len() >= 2, "{told}");
    sandbox.file("go", "");
    until_it_is(&world, &grid, &id, "completed");
    let told = sandbox.json(&[&why[..], &["--json"]].concat());
    assert_eq!(told["state"], "completed", "{told}");
}
