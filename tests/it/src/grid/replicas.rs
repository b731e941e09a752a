//! Replicas: an activity starts on two machines at once, its first result counts, and the other command is stopped.

use rustix::process::{Pid, Signal, kill_process_group};

use super::until_it_is;
use super::world::World;
use crate::wait;

#[test]
fn an_activity_with_replicas_starts_on_two_machines_and_its_first_result_counts() {
    let world = World::new(1, 2);
    let sandbox = &world.sandbox;
    let grid = world.user("ada");
    let log = sandbox.path("log").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: twice
body:
  activity: both
  run: {{ shell: 'echo $$ $XAVANTES_ATTEMPT >> {log}; sleep 2; echo $XAVANTES_ATTEMPT > out' }}
  repeatable: true
  replicas: 2
  outputs: {{ out: out }}
"
    );
    let file = sandbox.file("twice.yaml", &text);
    let done = sandbox.xav(&["submit", &file, "--grid", &grid]).expect(0);
    let id = done.stdout.trim_end().to_owned();
    sandbox.wait_for_lines("log", 2);
    let lines = sandbox.lines("log");
    // Nobody lets the first one go on.
    let (pid, number) = lines[0].split_once(' ').unwrap();
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process_group(pid, Signal::STOP).unwrap();
    let why = ["why", &id, "both", "--grid", &grid];
    // Once for the reason, and once for each.
    wait::until("both commands are known to run", || {
        let told = sandbox.xav(&why);
        let since = told.stdout.matches(" since ").count();
        (since >= 3 && told.stdout.contains("`replicas: 2`")).then_some(())
    });

    let status = until_it_is(&world, &grid, &id, "completed");
    let attempts = status["activity_list"][0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{status}");
    let states: Vec<&str> = attempts
        .iter()
        .map(|one| one["state"].as_str().unwrap())
        .collect();
    assert!(
        states.contains(&"completed") && states.contains(&"stopped"),
        "{states:?}"
    );
    assert_ne!(attempts[0]["resource"], attempts[1]["resource"]);
    assert_eq!(sandbox.lines("log").len(), 2);
    let told = sandbox.json(&[&why[..], &["--json"]].concat());
    let race = &told["reasons"][0];
    assert_eq!(
        (&race["reason"], &race["cause"]),
        (&"race".into(), &"replicas".into()),
        "{told}"
    );
    let raced = race["attempts"].as_array().unwrap();
    let counted = raced.iter().filter(|one| one["counts"] == true);
    let counted: Vec<String> = counted.map(|one| one["attempt"].to_string()).collect();
    assert_eq!(counted.len(), 1, "{race}");
    assert_ne!(counted[0], number, "{race}");
    sandbox.xav(&why).expect(0).shows("whose result counts");
}
