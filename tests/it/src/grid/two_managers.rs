//! Two process managers on the machines of one group.

use super::freeze::{runs, staying};
use super::until_it_is;
use super::world::World;
use crate::wait;

/// Activities that stay until their gates are opened, on half of the slots.
const STAYING: [&str; 2] = ["a", "b"];

/// Wider than what is left beside them.
const WIDE: &str = "\
xavantes: 1
name: wide
body:
  parallel:
    - { activity: one, run: ['true'] }
    - { activity: two, run: ['true'] }
    - { activity: three, run: ['true'] }
";

#[test]
fn each_of_two_process_managers_plans_on_what_the_other_leaves() {
    let world = World::new(2, 2);
    let sandbox = &world.sandbox;
    let (ana, ben) = (world.user_of(0, "ana"), world.user_of(1, "ben"));
    let submit = |file: &str, user: &str| {
        let done = sandbox.xav(&["submit", file, "--grid", user]).expect(0);
        done.stdout.trim_end().to_owned()
    };
    let wide = sandbox.file("wide.yaml", WIDE);
    let held = submit(&staying(sandbox, &STAYING), &ana);
    wait::until("half of the slots to be in use", || {
        (runs(sandbox).len() == STAYING.len()).then_some(())
    });

    // Both go on beside what is held, one after another and by turns.
    for _ in 0..2 {
        for user in [&ben, &ana] {
            let id = submit(&wide, user);
            let status = until_it_is(&world, user, &id, "completed");
            let activities = status["activity_list"].as_array().unwrap();
            let is_first = |one: &serde_json::Value| one["attempts"].as_array().unwrap().len() == 1;
            assert!(activities.iter().all(is_first), "{status:#}");
        }
    }
    let eve = world.admin("eve");
    let list = sandbox.json(&["list", "--json", "--grid", &eve]);
    let managers = list.as_array().unwrap().iter();
    let managers: std::collections::BTreeSet<&str> = managers
        .map(|one| one["process_manager"].as_str().unwrap())
        .collect();
    assert_eq!(managers, ["pm1", "pm2"].into());

    for name in STAYING {
        sandbox.file(&format!("lives/gate-{name}"), "");
    }
    until_it_is(&world, &ana, &held, "completed");
}
