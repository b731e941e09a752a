//! A machine that is slower than measured: the next process knows it from its first plan on, whatever manager has
//! planned the one before.

use serde_json::Value;

use super::until_it_is;
use super::world::World;
use crate::wait;

/// So many activities, of 200 ms by their definition.
pub(super) const ACTIVITIES: usize = 24;

/// The definition of a process of naps, with further lines in its head, and their command.
pub(super) fn naps(world: &World, name: &str, head: &str, command: &str) -> String {
    let text = format!(
        "\
xavantes: 1
name: {name}
{head}
body:
  for-each:
    item: n
    in: ${{ range(0, {ACTIVITIES}) }}
    do:
      activity: nap
      run: {{ shell: '{command}' }}
      work: 200ms
"
    );
    world.sandbox.file(&format!("{name}.yaml"), &text)
}

/// Machines by the activities that a process has planned there.
fn planned(status: &Value, machine: &str) -> usize {
    let all = status["activity_list"].as_array().unwrap();
    let there = all
        .iter()
        .filter(|one| one["planned"]["resource"] == machine);
    there.count()
}

#[test]
fn the_first_plan_of_another_process_knows_that_a_machine_is_slow() {
    let mut world = World::new(2, 2);
    let (ana, ben) = (world.user_of(0, "ana"), world.user_of(1, "ben"));
    let admin = world.admin("eve");
    let home = world.home_of(0).display().to_string();
    let slow = format!("case $PWD in {home}/*) sleep 0.8;; *) sleep 0.2;; esac");
    let submit = |world: &World, file: &str, user: &str| {
        let done = world
            .sandbox
            .xav(&["submit", file, "--grid", user])
            .expect(0);
        let id = done.stdout.trim_end().to_owned();
        until_it_is(world, user, &id, "completed")
    };
    // Nobody knows anything yet, so both machines are planned with alike.
    let before = naps(&world, "before", "policy: static", "true");
    let even = planned(&submit(&world, &before, &ben), "am1");
    assert_eq!(even, ACTIVITIES / 2);

    let first = naps(&world, "first", "", &slow);
    submit(&world, &first, &ana);
    let history = |world: &World| {
        let ask = ["nodes", "am1", "--history", "--json", "--grid", &admin];
        world.sandbox.json(&ask)
    };
    let lowest = |moments: &Value| {
        let parts = moments.as_array().unwrap().iter();
        let parts = parts.filter_map(|one| one["shown_part"].as_f64());
        parts.fold(1.0, f64::min)
    };
    wait::until("the group to know that am1 is slow", || {
        (lowest(&history(&world)) < 0.6).then_some(())
    });
    let nodes = world.sandbox.json(&["nodes", "--json", "--grid", &admin]);
    let nodes = nodes.as_array().unwrap().iter();
    let parts: Vec<Value> = nodes.map(|node| node["shown_part"].clone()).collect();
    assert!(
        parts[0].as_f64() < Some(0.6) && parts[1].is_null(),
        "{parts:?}"
    );
    let drawn = ["nodes", "am1", "--history", "--grid", &admin];
    world
        .sandbox
        .xav(&drawn)
        .expect(0)
        .shows("of that, which fades");
    let none = ["nodes", "am9", "--history", "--grid", &admin];
    world
        .sandbox
        .xav(&none)
        .expect(1)
        .says("there is no machine");

    // The other process manager has seen nothing by itself.
    let after = naps(&world, "after", "policy: static", "true");
    let uneven = planned(&submit(&world, &after, &ben), "am1");
    assert!((1..=ACTIVITIES / 3).contains(&uneven), "{uneven}");

    // A group manager that is started again goes on with it.
    world.kill_group_manager();
    world.wait_for_machines();
    assert!(lowest(&history(&world)) < 0.6);
    let again = naps(&world, "again", "policy: static", "true");
    let uneven = planned(&submit(&world, &again, &ben), "am1");
    assert!((1..=ACTIVITIES / 3).contains(&uneven), "{uneven}");
}
