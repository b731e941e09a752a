//! Loops without an end, of steps that need no machine: each ends by its limit, and others are answered
//! meanwhile.

use std::time::{Duration, Instant};

use super::until_it_is;
use super::world::World;
use crate::sandbox::Sandbox;

/// Loops of one user at the same time.
const LOOPS: usize = 3;

/// An endless loop, stopped by the largest limit that a definition may have.
const ENDLESS: &str = "\
xavantes: 1
name: endless
variables: { n: { type: int, value: 0 } }
body:
  while: ${ n >= 0 }
  max-iterations: 200000
  do: { assign: { n: '${ n + 1 }' } }
";

/// The state of a process.
fn state(sandbox: &Sandbox, id: &str, grid: &str) -> String {
    let status = sandbox.json(&["list", "--grid", grid, "--json"]);
    let all = status.as_array().unwrap().iter();
    let mut own = all.filter(|one| one["process"] == id);
    own.next().unwrap()["state"].as_str().unwrap().to_owned()
}

#[test]
fn an_endless_loop_of_assigns_ends_by_its_limit_while_another_user_is_answered() {
    let world = World::new(1, 1);
    let (sandbox, ana, bob) = (&world.sandbox, world.user("ana"), world.user("bob"));
    let one = "xavantes: 1\nname: one\nbody: { activity: one, run: ['true'] }\n";
    let one = sandbox.file("one.yaml", one);
    sandbox
        .xav(&["run", &one, "--grid", &ana, "--quiet"])
        .expect(0);
    let file = sandbox.file("endless.yaml", ENDLESS);
    let ids: Vec<String> = (0..LOOPS)
        .map(|_| {
            let submitted = sandbox.xav(&["submit", &file, "--grid", &bob]).expect(0);
            submitted.stdout.trim_end().to_owned()
        })
        .collect();
    // Answers that came before a loop had ended.
    let mut took: Vec<Duration> = Vec::new();
    for id in &ids {
        loop {
            let asked = Instant::now();
            let list = sandbox.xav(&["list", "--grid", &ana]).expect(0);
            let answered = asked.elapsed();
            list.shows("one").shows("1 process\n");
            if state(sandbox, id, &bob) != "running" {
                break;
            }
            took.push(answered);
        }
    }
    took.sort_unstable();
    println!(
        "{} lists while {LOOPS} loops ran, median {:?}, longest {:?}",
        took.len(),
        took.get(took.len() / 2),
        took.last()
    );
    assert!(!took.is_empty());
    for id in &ids {
        let status = until_it_is(&world, &bob, id, "faulted");
        let fault = &status["faults"][0];
        assert_eq!(fault["fault"], "too-many-iterations", "{status:#}");
        let message = fault["message"].as_str().unwrap();
        assert!(message.contains("200000"), "{message}");
        assert_eq!(status["variables"]["n"], 200_000);
    }
    // A process of the other one runs as ever.
    sandbox
        .xav(&["run", &one, "--grid", &ana, "--quiet"])
        .expect(0);
}
