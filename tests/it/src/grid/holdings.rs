//! Slots of a process manager that is away: others use them, and it goes on when it returns.

use super::freeze::{runs, staying};
use super::until_it_is;
use super::world::World;
use crate::wait;

/// Activities of which each stays until its own gate is opened: as many as there are slots.
const STAYING: [&str; 4] = ["a", "b", "c", "d"];

const SHORT: &str = "\
xavantes: 1
name: short
body: { activity: one, run: ['true'] }
";

#[test]
fn slots_of_a_process_manager_that_is_away_are_for_others_and_it_goes_on_when_it_returns() {
    let mut world = World::whose_holdings_end(2, 2, "2s");
    let ana = world.user("ana");
    let (long, short) = (
        staying(&world.sandbox, &STAYING),
        world.sandbox.file("short.yaml", SHORT),
    );
    let submit = |world: &World, file: &str| {
        let done = world.sandbox.xav(&["submit", file, "--grid", &ana]);
        done.expect(0).stdout.trim_end().to_owned()
    };
    let held = submit(&world, &long);
    wait::until("four commands to run", || {
        (runs(&world.sandbox).len() == STAYING.len()).then_some(())
    });

    world.end_process_manager(0);
    // The other process manager takes this one, and there is no slot but those that were held.
    let id = submit(&world, &short);
    until_it_is(&world, &ana, &id, "completed");

    world.start_process_manager(0);
    for name in STAYING {
        world.sandbox.file(&format!("lives/gate-{name}"), "");
    }
    let status = until_it_is(&world, &ana, &held, "completed");
    let activities = status["activity_list"].as_array().unwrap();
    for activity in activities {
        let attempts = activity["attempts"].as_array().unwrap();
        assert_eq!(attempts.last().unwrap()["state"], "completed", "{status:#}");
    }
    assert_eq!(activities.len(), STAYING.len());
}
