//! Machines that take no work: `xav why` says which, and until when.

use std::process::Command;

use super::arguments;
use super::words;
use super::world::World;
use crate::{blocked_process, wait};

/// What `xav why` says of a process that waits, once it says this.
fn why(world: &World, user: &str, told: &str) {
    let submit = world
        .sandbox
        .xav(&words(&arguments(&world.sandbox, "submit", user)));
    let process = submit.expect(0).stdout.trim_end().to_owned();
    for about in [&[][..], &["first"]] {
        wait::until(told, || {
            let mut all = vec!["why", &process];
            all.extend(about);
            all.extend(["--grid", user]);
            let done = world.sandbox.xav(&all).expect(0);
            done.stdout.contains(told).then_some(())
        });
    }
    blocked_process::open(&world.sandbox);
}

#[test]
fn a_machine_that_is_drained_is_named_with_the_command_that_ends_that() {
    let world = World::new(1, 1);
    let (ana, eve) = (world.user("ana"), world.admin("eve"));
    let drain = ["drain", "am1", "--grid", &eve];
    world.sandbox.xav(&drain).expect(0);
    why(
        &world,
        &ana,
        "am1 is drained until an administrator ends that (xav undrain am1)",
    );
}

#[test]
fn a_machine_that_is_closed_is_named_with_the_hour_at_which_it_opens() {
    let now = Command::new("date").arg("+%H").output().unwrap().stdout;
    let now: u32 = String::from_utf8(now).unwrap().trim().parse().unwrap();
    let (from, until) = ((now + 2) % 24, (now + 3) % 24);
    let hours = format!("{from:02}:00-{until:02}:00");
    let world = World::with_machines(1, &format!("hours = \"{hours}\"\n"));
    let eve = world.admin("eve");
    wait::until("the machine to be closed", || {
        let nodes = world.sandbox.json(&["nodes", "--grid", &eve, "--json"]);
        (nodes[0]["state"] == "closed").then_some(())
    });
    let told = format!("am1 is closed until {from:02}:00 by its clock: its owner lends it {hours}");
    why(&world, &world.user("ana"), &told);
}
