//! A process manager that starts with a process which another version has accepted.

use model::Role;

use super::world::World;
use super::{until_it_is, words};
use crate::held::{self, Incompatibility};
use crate::{blocked_process, wait};

#[test]
fn a_process_that_is_not_understood_gives_its_slots_back_and_says_why_it_is_held() {
    let mut world = World::new(1, 1);
    let ana = world.user("ana");
    let submit = |world: &World| {
        let mut submit = held::arguments(&world.sandbox, "submit");
        submit.extend(["--grid", &ana].map(str::to_owned));
        let done = world.sandbox.xav(&words(&submit)).expect(0);
        done.stdout.trim_end().to_owned()
    };
    let id = submit(&world);
    world.sandbox.wait_for_lines("log", 2);
    world.end_process_manager(0);
    held::recorded(&world.state_of(Role::Pm), Incompatibility::Later);
    world.start_process_manager(0);

    let sandbox = &world.sandbox;
    let reason = Incompatibility::Later.reason();
    let list = sandbox.xav(&["list", "--grid", &ana]).expect(0);
    list.shows("faulted, held").shows(reason);
    let logs = sandbox.xav(&["logs", &id, "--grid", &ana]).expect(2);
    logs.says(reason);
    let cancel = sandbox.xav(&["cancel", &id, "--grid", &ana]).expect(2);
    cancel.says("has faulted already");
    // Its commands are stopped, and other processes get its slots.
    let eve = world.admin("eve");
    wait::until("its slots to be free", || {
        let nodes = sandbox.json(&["nodes", "--grid", &eve, "--json"]);
        (nodes[0]["free"] == 2).then_some(())
    });
    blocked_process::open(sandbox);
    let other = submit(&world);
    until_it_is(&world, &ana, &other, "completed");
    let log = world.sandbox.lines("log");
    assert_eq!(log, ["first", "second", "first", "second"]);
}
