//! A machine whose activity manager is ended in order: what has not started there goes to another one
//! at once, and what runs there goes on.

use serde_json::Value;

use super::until_it_is;
use super::world::World;
use crate::wait;

/// Activities of which each holds a slot until its gate is opened: as many as there are slots.
const STAYING: usize = 4;
/// Activities that wait behind those, and are so short that they are sent before there is a slot for them.
const WAITING: usize = 8;

fn activities(status: &Value) -> &[Value] {
    status["activity_list"].as_array().unwrap()
}

/// The machine of the last attempt at an activity.
fn machine(activity: &Value) -> Option<&str> {
    activity["attempts"].as_array().unwrap().last()?["resource"].as_str()
}

#[test]
fn a_machine_that_is_stopped_in_order_hands_back_what_has_not_started() {
    // Nothing is lost here by the end of a lease: what moves was handed back.
    let mut world = World::with_leases(2, "10m");
    let ana = world.user("ana");
    let (log, gate) = (world.sandbox.path("log"), world.sandbox.path("gate"));
    let (log, gate) = (log.display(), gate.display());
    let mut text = "xavantes: 1\nname: leave\nbody:\n  parallel:\n".to_owned();
    for number in 0..STAYING {
        text += &format!(
            "    - {{ activity: stay{number}, work: 60s, run: {{ shell: \"echo stay{number} >> {log}; until \
             [ -e {gate}{number} ]; do sleep 0.01; done\" }} }}\n"
        );
    }
    for number in 0..WAITING {
        text += &format!(
            "    - {{ activity: wait{number}, work: 500ms, run: {{ shell: \"echo wait{number} >> {log}\" }} }}\n"
        );
    }
    let file = world.sandbox.file("leave.yaml", &text);
    let submit = ["submit", &file, "--grid", &ana];
    let id = world.sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    world.sandbox.wait_for_lines("log", STAYING);
    let status = ["status", id, "--grid", &ana, "--json"];
    let before = wait::until("all to be sent", || {
        let status = world.sandbox.json(&status);
        activities(&status)
            .iter()
            .all(|one| machine(one).is_some())
            .then_some(status)
    });
    let stays: Vec<bool> = activities(&before)[..STAYING]
        .iter()
        .map(|one| machine(one) == Some("am1"))
        .collect();
    assert_eq!(stays.iter().filter(|&&there| there).count(), 2, "{before}");
    let waits = &activities(&before)[STAYING..];
    assert!(
        waits.iter().any(|one| machine(one) == Some("am1")),
        "{before}"
    );

    world.stop_activity_manager(0);
    for (number, _) in stays.iter().enumerate().filter(|(_, there)| !**there) {
        world.sandbox.file(&format!("gate{number}"), "");
    }
    wait::until("the other machine to run what was handed back", || {
        let status = world.sandbox.json(&status);
        let mut waits = activities(&status)[STAYING..].iter();
        waits.all(|one| one["state"] == "completed").then_some(())
    });
    world.start_activity_manager(0);
    for number in 0..STAYING {
        world.sandbox.file(&format!("gate{number}"), "");
    }
    let ended = until_it_is(&world, &ana, id, "completed");
    for one in &activities(&ended)[STAYING..] {
        assert_eq!(machine(one), Some("am2"), "{ended:#}");
    }
    let moved = activities(&ended)
        .iter()
        .flat_map(|one| one["attempts"].as_array().unwrap());
    let ends: Vec<&str> = moved.filter_map(|one| one["state"].as_str()).collect();
    assert!(
        ends.contains(&"moved") && !ends.contains(&"lost"),
        "{ends:?}"
    );
    let mut ran = world.sandbox.lines("log");
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), STAYING + WAITING);
    assert_eq!(
        world.sandbox.lines("log").len(),
        ran.len(),
        "nothing ran twice: {ended:#}\n{}",
        world.logs()
    );
}
