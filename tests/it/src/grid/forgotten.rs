//! A machine that does not come back is forgotten; one that a process still needs is not.

use super::world::World;
use super::{submitted, until_it_is};
use crate::{blocked_process, wait};

#[test]
fn a_machine_that_does_not_come_back_is_forgotten_and_joins_again_when_it_does() {
    let mut world = World::that_forgets(2, "3s");
    let (ana, eve) = (world.user("ana"), world.admin("eve"));
    let names = |world: &World| -> Vec<String> {
        let nodes = world.sandbox.json(&["nodes", "--grid", &eve, "--json"]);
        let nodes = nodes.as_array().unwrap().iter();
        nodes
            .map(|node| node["name"].as_str().unwrap().to_owned())
            .collect()
    };
    // A process runs on one of them, which falls silent, and so does the other one.
    let process = submitted(&world, &ana);
    let status = |world: &World| {
        let arguments = ["status", &process, "--grid", &ana, "--json"];
        world.sandbox.json(&arguments)
    };
    let (nodes, held, idle) =
        wait::until("both machines to be there, and one of them held", || {
            let nodes = world.sandbox.json(&["nodes", "--grid", &eve, "--json"]);
            let has_holders =
                |at: usize| Some(!nodes.get(at)?.get("holders")?.as_array()?.is_empty());
            match (has_holders(0)?, has_holders(1)?) {
                (true, false) => Some((nodes, 0, 1)),
                (false, true) => Some((nodes, 1, 0)),
                (true, true) | (false, false) => None,
            }
        });
    // The idle one first: what has not started on the other one would go to it, and it would be held.
    for machine in [idle, held] {
        world.end_activity_manager(machine);
    }
    let (held_name, idle_name) = (format!("am{}", held + 1), format!("am{}", idle + 1));
    let only_held = [held_name];
    wait::until("the machine that nobody holds to be forgotten", || {
        (names(&world) == only_held).then_some(())
    });
    // The machines were not heard last at the same time, so the held one may be taken for a silent one only after
    // the other one was forgotten.
    let kept = "it is not forgotten while processes have slots or files there";
    wait::until("the held machine to be silent", || {
        let told = world.sandbox.xav(&["nodes", "--grid", &eve]).expect(0);
        told.stdout.contains(kept).then_some(())
    });
    assert_eq!(names(&world), only_held);
    let logs = world.logs();
    assert!(logs.contains("forget-machine"), "{logs}");
    assert!(logs.contains(&format!("am/{idle_name}")), "{logs}");
    assert_eq!(status(&world)["state"], "running");
    // Nobody remembers it after a restart of the group manager either.
    world.kill_group_manager();
    wait::until("the group manager to answer", || {
        let done = world.sandbox.xav(&["nodes", "--grid", &eve, "--json"]);
        (done.status == Some(0)).then_some(())
    });
    assert_eq!(names(&world), only_held);
    // Both come back, the forgotten one as what it was.
    for machine in [held, idle] {
        world.start_activity_manager(machine);
    }
    wait::until("both machines to be there", || {
        let nodes = world.sandbox.json(&["nodes", "--grid", &eve, "--json"]);
        let nodes = nodes.as_array().unwrap().clone();
        let ready = nodes.iter().filter(|node| node["state"] == "ready");
        (ready.count() == 2).then_some(())
    });
    let again = world
        .sandbox
        .json(&["nodes", &idle_name, "--grid", &eve, "--json"]);
    assert_eq!(again[0]["number"], nodes[idle]["number"], "{again:#}");
    assert!(again[0]["forgotten_in_seconds"].is_null(), "{again:#}");
    blocked_process::open(&world.sandbox);
    until_it_is(&world, &ana, &process, "completed");
}
