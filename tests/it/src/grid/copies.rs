//! `copies: 1` and `data: controllers`: machines are lost for good, with all that they had, and nothing
//! that had finished is run again.

use std::collections::BTreeSet;

use serde_json::Value;

use super::until_it_is;
use super::world::World;
use crate::blocked_process;
use crate::sandbox::Sandbox;
use crate::wait;

/// Activities that make a file each.
const MAKERS: usize = 6;
/// The line of the definition that says how files are kept.
const COPIES: &str = "copies: 1";
const CONTROLLERS: &str = "data: controllers";
const DIRECT: &str = "data: direct";

/// Six files are made side by side; when a gate is open, they are put together.
fn definition(sandbox: &Sandbox, head: &str) -> String {
    let log = sandbox.path("log").display().to_string();
    let gate = sandbox.path("gate").display().to_string();
    let mut makers = String::new();
    let mut inputs = Vec::new();
    for number in 0..MAKERS {
        let make = format!("echo make{number} >> {log}; seq {number} 50000 > out");
        makers += &format!(
            "        - {{ activity: make{number}, run: {{ shell: '{make}' }}, work: 60s, outputs: {{ out: out }} }}\n"
        );
        inputs.push(format!("in{number}: make{number}.out"));
    }
    let text = format!(
        "\
xavantes: 1
name: copied
{head}
outputs: {{ all: merge.all }}
body:
  sequence:
    - parallel:
{makers}
    - activity: wait
      run: {{ shell: 'echo wait >> {log}; while [ ! -e {gate} ]; do sleep 0.02; done' }}
      work: 1s
    - activity: merge
      run: {{ shell: 'echo merge >> {log}; cat in* > all' }}
      work: 1s
      inputs: {{ {} }}
      outputs: {{ all: all }}
",
        inputs.join(", ")
    );
    sandbox.file("copied.yaml", text)
}

fn activities(status: &Value) -> &[Value] {
    status["activity_list"].as_array().unwrap()
}

/// The machines that an activity's last attempt ran on, and that keep copies of it.
fn machines_of(activity: &Value) -> (&str, Option<&str>) {
    let last = activity["attempts"].as_array().unwrap().last().unwrap();
    (
        last["resource"].as_str().unwrap(),
        activity["copy"].as_str(),
    )
}

/// Runs it, loses a machine that has made something and does nothing, and opens the gate. What was
/// written to the log after that, and what is told at the end.
fn lose_a_machine(head: &str) -> (Vec<String>, Value) {
    let mut world = World::new(1, 3);
    let ana = world.user("ana");
    let file = definition(&world.sandbox, head);
    let submit = ["submit", &file, "--grid", &ana];
    let id = world.sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    world.sandbox.wait_for_lines("log", MAKERS + 1);
    let status = wait::until("all copies to be made", || {
        let status = world
            .sandbox
            .json(&["status", id, "--grid", &ana, "--json"]);
        let makers = &activities(&status)[..MAKERS];
        let is_copied = |one: &Value| machines_of(one).1.is_some();
        (head == DIRECT || makers.iter().all(is_copied)).then_some(status)
    });
    let makers = &activities(&status)[..MAKERS];
    for maker in makers {
        let (made, copied) = machines_of(maker);
        assert_ne!(Some(made), copied, "a copy is elsewhere");
    }
    let made: BTreeSet<&str> = makers.iter().map(|one| machines_of(one).0).collect();
    assert_eq!(made.len(), 3, "all machines have made something: {status}");
    let (waits, _) = machines_of(&activities(&status)[MAKERS]);
    let lost = if waits == "am1" { 1 } else { 0 };
    world.lose_machine(lost);
    blocked_process::open(&world.sandbox);
    let status = until_it_is(&world, &ana, id, "completed");
    let results = ["results", id, "--grid", &ana, "--to", "out"];
    world.sandbox.xav(&results).expect(0);
    let all = std::fs::read_to_string(world.sandbox.path("out/all")).unwrap();
    let wanted: usize = (0..MAKERS).map(|number| 50_000 - number + 1).sum();
    assert_eq!(all.lines().count(), wanted);
    (world.sandbox.lines("log").split_off(MAKERS + 1), status)
}

#[test]
fn a_lost_machine_costs_no_finished_work_where_copies_are_kept() {
    let (after, status) = lose_a_machine(COPIES);
    assert_eq!(after, ["merge"], "{status}");
    for maker in &activities(&status)[..MAKERS] {
        assert_eq!(maker["attempts"].as_array().unwrap().len(), 1, "{maker}");
    }
}

#[test]
fn a_lost_machine_costs_no_finished_work_where_files_pass_controllers() {
    let (after, status) = lose_a_machine(CONTROLLERS);
    assert_eq!(after, ["merge"], "{status}");
    for maker in &activities(&status)[..MAKERS] {
        assert_eq!(maker["attempts"].as_array().unwrap().len(), 1, "{maker}");
    }
}

/// A chain, then a diamond one of whose sides is a chain.
#[test]
fn a_chain_and_a_diamond_pass_controllers_and_nothing_runs_again() {
    let mut world = World::new(1, 3);
    let ana = world.user("ana");
    let log = world.sandbox.path("log").display().to_string();
    let gate = world.sandbox.path("gate").display().to_string();
    let step = |name: &str, inputs: &str| {
        let run = format!("echo {name} >> {log}; cat in* > out; echo {name} >> out");
        format!(
            "{{ activity: {name}, run: {{ shell: '{run}' }}, work: 2s, inputs: {{ {inputs} }}, outputs: {{ out: out }} }}"
        )
    };
    let wait = format!("while [ ! -e {gate} ]; do sleep 0.02; done; ");
    let text = format!(
        "\
xavantes: 1
name: passing
data: controllers
outputs: {{ all: last.out }}
body:
  sequence:
    - {{ activity: first, run: {{ shell: 'echo first >> {log}; echo first > out' }}, work: 2s, outputs: {{ out: out }} }}
    - {}
    - parallel:
        - sequence:
            - {}
            - {}
        - {}
    - {{ activity: wait, run: {{ shell: 'echo wait >> {log}; {wait}true' }}, work: 1s }}
    - {}
",
        step("second", "in: first.out"),
        step("left", "in: second.out"),
        step("beyond", "in: left.out"),
        step("right", "in: second.out"),
        step("last", "in1: beyond.out, in2: right.out"),
    );
    let file = world.sandbox.file("passing.yaml", text);
    let submit = ["submit", &file, "--grid", &ana];
    let id = world.sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    world.sandbox.wait_for_lines("log", 6);
    const ENDED: usize = 5;
    let status = wait::until("all copies to be made", || {
        let status = world
            .sandbox
            .json(&["status", id, "--grid", &ana, "--json"]);
        let mut ended = activities(&status)[..ENDED].iter();
        ended
            .all(|one| machines_of(one).1.is_some())
            .then_some(status)
    });
    let (waits, _) = machines_of(&activities(&status)[ENDED]);
    // A machine that has made something, where that is another one than waits.
    let made = activities(&status)[..ENDED]
        .iter()
        .map(|one| machines_of(one));
    let other = made.flat_map(|(made, copied)| [Some(made), copied]);
    let other = other.flatten().find(|one| *one != waits).unwrap();
    let lost = other.strip_prefix("am").unwrap().parse::<usize>().unwrap();
    world.lose_machine(lost - 1);
    blocked_process::open(&world.sandbox);
    until_it_is(&world, &ana, id, "completed");
    assert_eq!(world.sandbox.lines("log").split_off(6), ["last"]);
    let results = ["results", id, "--grid", &ana, "--to", "out"];
    world.sandbox.xav(&results).expect(0);
    let all = std::fs::read_to_string(world.sandbox.path("out/all")).unwrap();
    assert_eq!(
        all,
        "first\nsecond\nleft\nbeyond\nfirst\nsecond\nright\nlast\n"
    );
}

#[test]
fn without_copies_what_it_made_is_made_again() {
    let (after, status) = lose_a_machine(DIRECT);
    assert!(after.len() > 1, "{after:?}\n{status}");
    assert_eq!(after.last().unwrap(), "merge");
}

/// The machine that keeps copies of each, once all of them are where they may be.
fn all_copied(world: &World, grid: &str, id: &str, may_be: impl Fn(&str) -> bool) -> Value {
    wait::until("all copies to be made", || {
        let status = world
            .sandbox
            .json(&["status", id, "--grid", grid, "--json"]);
        let mut makers = activities(&status)[..MAKERS].iter();
        let is_copied = makers.all(|one| machines_of(one).1.is_some_and(&may_be));
        is_copied.then_some(status)
    })
}

#[test]
fn copies_go_to_the_machine_beside_the_manager_and_when_that_is_lost_to_another() {
    let mut world = World::with_store(3);
    let (ana, eve) = (world.user("ana"), world.admin("eve"));
    let nodes = world
        .sandbox
        .json(&["nodes", "am3", "--grid", &eve, "--json"]);
    let store = &nodes[0];
    assert_eq!(store["state"], "ready", "{nodes}");
    assert_eq!(
        (&store["slots"], &store["free"]),
        (&0.into(), &0.into()),
        "{nodes}"
    );
    let file = definition(&world.sandbox, COPIES);
    let submit = ["submit", &file, "--grid", &ana];
    let id = world.sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    world.sandbox.wait_for_lines("log", MAKERS + 1);
    let status = all_copied(&world, &ana, id, |keeper| keeper == "am3");
    let (waits, _) = machines_of(&activities(&status)[MAKERS]);
    let waits = waits.to_owned();
    let ran = activities(&status).iter();
    let ran = ran.flat_map(|one| one["attempts"].as_array().unwrap());
    assert!(
        ran.into_iter().all(|one| one["resource"] != "am3"),
        "{status}"
    );
    // The copies are lost, and made again while what needs them waits.
    world.lose_machine(2);
    let status = all_copied(&world, &ana, id, |keeper| keeper != "am3");
    for maker in &activities(&status)[..MAKERS] {
        let (made, copied) = machines_of(maker);
        assert_ne!(Some(made), copied, "a copy is elsewhere: {maker}");
    }
    // The last machine has copies of the files that the second one held alone.
    world.lose_machine(if waits == "am1" { 1 } else { 0 });
    blocked_process::open(&world.sandbox);
    let status = until_it_is(&world, &ana, id, "completed");
    let after = world.sandbox.lines("log").split_off(MAKERS + 1);
    assert_eq!(after, ["merge"], "{status}");
    // Nobody is left who could keep what it gives.
    let told = wait::until("what cannot be kept to be told", || {
        let status = world
            .sandbox
            .json(&["status", id, "--grid", &ana, "--json"]);
        status["copies"].as_str().map(str::to_owned)
    });
    assert!(told.contains("no other machine is there"), "{told}");
    let why = world.sandbox.xav(&["why", id, "merge", "--grid", &ana]);
    let why = why.expect(0).stdout;
    assert!(
        why.contains("no other machine keeps a copy of what it made"),
        "{why}"
    );
}
