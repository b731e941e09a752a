//! Slots that a process gives back before its end.

use super::freeze::{live, runs};
use super::until_it_is;
use super::world::World;
use crate::wait;

/// Activities side by side, as many as there are slots; then one that stays.
const WIDE: [&str; 4] = ["a", "b", "c", "d"];

const SHORT: &str = "\
xavantes: 1
name: short
body: { activity: one, run: ['true'] }
";

#[test]
fn slots_that_the_rest_of_a_process_does_not_need_are_for_others_while_it_goes_on() {
    let world = World::new(1, 2);
    let (sandbox, ana, ben) = (&world.sandbox, world.user("ana"), world.user("ben"));
    let script = live(sandbox);
    let activity = |name: &str| {
        format!("{{ activity: {name}, run: [sh, {script}, {name}, gate-{name}], work: 60s }}\n")
    };
    let mut text = "xavantes: 1\nname: narrow\nbody:\n  sequence:\n    - parallel:\n".to_owned();
    for name in WIDE {
        text += &format!("        - {}", activity(name));
    }
    text += &format!("    - {}", activity("last"));
    let narrow = sandbox.file("narrow.yaml", text);
    let short = sandbox.file("short.yaml", SHORT);
    let submit = |file: &str, user: &str| {
        let done = sandbox.xav(&["submit", file, "--grid", user]).expect(0);
        done.stdout.trim_end().to_owned()
    };
    let first = submit(&narrow, &ana);
    wait::until("the wide step to run", || {
        (runs(sandbox).len() == WIDE.len()).then_some(())
    });
    let other = submit(&short, &ben);
    for name in WIDE {
        sandbox.file(&format!("lives/gate-{name}"), "");
    }
    // The other process ends while the first one goes on, on the last of its slots.
    until_it_is(&world, &ben, &other, "completed");
    wait::until("the last activity to run", || {
        runs(sandbox).contains_key("last").then_some(())
    });
    let status = sandbox.json(&["status", &first, "--grid", &ana, "--json"]);
    assert_eq!(status["state"], "running", "{status:#}");
    let eve = world.admin("eve");
    wait::until("three slots to be free", || {
        let nodes = sandbox.json(&["nodes", "--grid", &eve, "--json"]);
        let free = nodes.as_array().unwrap().iter();
        let free: u64 = free.map(|node| node["free"].as_u64().unwrap()).sum();
        (free == 3).then_some(())
    });
    sandbox.file("lives/gate-last", "");
    until_it_is(&world, &ana, &first, "completed");
}
