//! An executor that is frozen: its activity manager says so and replaces it, and what it ran is made
//! again.

use std::time::Instant;

use rustix::process::test_kill_process;
use serde_json::Value;

use super::world::World;
use super::{submitted, until_it_is};
use crate::blocked_process;
use crate::wait;

/// Seconds after which a frozen executor is told of, and those that a busy machine and the way to the
/// group manager may add.
const TOLD: f64 = 3.0;
const LATE: f64 = 5.0;

#[test]
fn a_frozen_executor_is_told_replaced_and_what_it_ran_is_made_again() {
    let world = World::new(1, 1);
    let (sandbox, ana, eve) = (&world.sandbox, world.user("ana"), world.admin("eve"));
    let id = submitted(&world, &ana);
    let node = || -> Option<Value> {
        let nodes = sandbox.json(&["nodes", "am1", "--grid", &eve, "--json"]);
        nodes.as_array()?.first().cloned()
    };
    let frozen = world.freeze_executor(0);
    let begun = Instant::now();
    wait::until("the executor's silence to be told", || {
        node().filter(|node| node["why"] == "the executor does not answer")
    });
    let told = begun.elapsed().as_secs_f64();
    println!("told after {told:.1} s");
    assert!((TOLD - 1.5..TOLD + LATE).contains(&told), "{told} s");
    let table = sandbox.xav(&["nodes", "--grid", &eve]).expect(0);
    table
        .shows("not ready")
        .shows("the executor does not answer");

    // Its second activity is at work again, under another executor.
    sandbox.wait_for_lines("log", 3);
    wait::until("the frozen one to be gone", || {
        test_kill_process(frozen).is_err().then_some(())
    });
    assert_eq!(sandbox.lines("log"), ["first", "second", "second"]);
    wait::until("the machine to be ready", || {
        node().filter(|node| node["state"] == "ready")
    });
    blocked_process::open(sandbox);
    let ended = until_it_is(&world, &ana, &id, "completed");
    assert_eq!(ended["faults"], Value::Array(vec![]));
}
