//! A group manager that is away while a process is submitted: users hear what the process waits for, and it runs as soon
//! as the group manager is back.

use super::world::World;

const PROCESS: &str = "\
xavantes: 1
name: short
body: { activity: one, run: ['true'] }
";

#[test]
fn a_process_that_waits_since_the_group_manager_is_away_says_so() {
    let mut world = World::new(1, 1);
    let ana = world.user("ana");
    let file = world.sandbox.file("short.yaml", PROCESS);
    world.end_group_manager();
    // Nothing but a revocation keeps a process manager from taking it.
    let mut run = world.sandbox.start(&["run", &file, "--grid", &ana]);
    run.until_it_says("waits for the group manager, which does not answer");
    world
        .sandbox
        .xav(&["why", "--grid", &ana])
        .expect(0)
        .shows("for the group manager, which does not answer");
    world.start_group_manager();
    run.end().expect(0);
}
