//! The history of a grid: it plans later processes of the same user, is told to nobody else, and outlives its
//! process manager.

use serde_json::Value;

use super::world::World;
use crate::history::{TILES, mosaic};
use crate::wait;

/// Times that a user's activities of mosaic took, by the name of the activity: how many attempts have completed.
fn completed(world: &World, user: &str) -> Vec<(String, u64)> {
    let known = world
        .sandbox
        .json(&["history", "mosaic", "--json", "--grid", user]);
    let known = known["history"].as_array().unwrap().iter();
    let activities = known.filter(|one| one["activity"].is_string());
    let told = activities.map(|one| {
        assert!(one["work_seconds"].as_f64() > Some(0.0), "{one}");
        let name = one["activity"].as_str().unwrap();
        (name.to_owned(), one["completed"].as_u64().unwrap())
    });
    told.collect()
}

/// The records of so many runs.
fn of_runs(n: u64) -> Vec<(String, u64)> {
    let expose = ("expose".to_owned(), n * TILES as u64);
    vec![expose, ("join".to_owned(), n)]
}

/// Waits until all that was reported so far is on the disks of the process managers: whoever forgets is answered
/// after that, also where there is nothing of this name.
fn until_durable(world: &World, user: &str) {
    let forget = ["history", "nothing", "--forget", "--grid", user];
    let done = world.sandbox.xav(&forget);
    done.expect(0).shows("0 records forgotten");
}

fn run(world: &World, file: &str, user: &str) -> Value {
    let ended = world.sandbox.json(&["run", file, "--json", "--grid", user]);
    assert_eq!(ended["state"], "completed", "{ended}");
    ended
}

#[test]
fn a_second_process_is_planned_by_the_first_one_across_a_kill_and_for_its_owner_alone() {
    let mut world = World::new(1, 1);
    let (ana, ben) = (world.user("ana"), world.user("ben"));
    let file = mosaic(&world.sandbox);
    let first = run(&world, &file, &ana);
    assert_eq!(first["planned_makespan_seconds"], Value::Null, "{first}");
    until_durable(&world, &ana);
    world.kill_process_manager(0);
    assert_eq!(completed(&world, &ana), of_runs(1));

    // Another user learns nothing of it, and can make nobody forget it.
    assert_eq!(completed(&world, &ben), []);
    let sandbox = &world.sandbox;
    let forget = |user: &str| sandbox.xav(&["history", "mosaic", "--forget", "--grid", user]);
    forget(&ben).expect(0).shows("0 records forgotten");
    let of_ben = run(&world, &file, &ben);
    assert_eq!(of_ben["planned_makespan_seconds"], Value::Null, "{of_ben}");
    assert_eq!(completed(&world, &ana), of_runs(1));

    let until = format!("until={}", sandbox.path("until").display());
    let second = sandbox.start(&["run", &file, "--json", "--grid", &ana, "--input", &until]);
    let status = wait::until("the last step runs", || {
        let done = sandbox.xav(&["status", "--json", "--grid", &ana]);
        let status: Value = serde_json::from_str(&done.stdout).ok()?;
        let numbers = &status["activities"];
        let is_last = numbers["running"] == 1 && numbers["completed"] == TILES;
        is_last.then_some(status)
    });
    assert!(
        status["planned_makespan_seconds"].as_f64() > Some(0.0),
        "{status}"
    );
    assert!(status["left_seconds"].is_number(), "{status}");
    assert!(status["left_seconds_p90"].as_f64() >= status["left_seconds"].as_f64());
    sandbox.file("until", "");
    let second: Value = serde_json::from_str(&second.end().expect(0).stdout).unwrap();
    assert!(
        second["planned_makespan_seconds"].as_f64() > Some(0.0),
        "{second}"
    );
    let shown = sandbox.xav(&["history", "--grid", &ana]).expect(0);
    shown.shows("mosaic\n").shows("expose");
    // It is no history of this machine.
    let here = sandbox.xav(&["history"]).expect(0);
    here.shows("nothing is remembered");

    forget(&ana).expect(0).shows("3 records forgotten");
    world.kill_process_manager(0);
    assert_eq!(completed(&world, &ana), []);
    assert_eq!(completed(&world, &ben), of_runs(1));
    let third = run(&world, &file, &ana);
    assert_eq!(third["planned_makespan_seconds"], Value::Null, "{third}");
}

#[test]
fn several_process_managers_tell_one_history_and_one_that_is_away_is_named() {
    let mut world = World::new(2, 1);
    let ana = world.user("ana");
    let file = mosaic(&world.sandbox);
    // The first manager takes what is submitted; without it, the second does.
    run(&world, &file, &ana);
    until_durable(&world, &ana);
    world.end_process_manager(0);
    run(&world, &file, &ana);
    let gone = "could not reach pm pm1 at ";
    let history = |world: &World, more: &[&str]| {
        let all = [&["history", "mosaic", "--grid", &ana], more].concat();
        world.sandbox.xav(&all)
    };
    let of_second = history(&world, &[]).expect(0);
    of_second.says(gone).says(" within 2.0s").shows("expose");
    assert_eq!(completed(&world, &ana), of_runs(1));
    world.start_process_manager(0);
    wait::until("both to tell what they know", || {
        (completed(&world, &ana) == of_runs(2)).then_some(())
    });

    // One that is away cannot forget, and the others do.
    world.end_process_manager(0);
    let forgotten = history(&world, &["--forget"]).expect(1);
    let forgotten = forgotten.says(gone).shows("3 records forgotten");
    forgotten.says("what it remembers is not forgotten");
    world.start_process_manager(0);
    wait::until("the first to tell what it knows", || {
        (completed(&world, &ana) == of_runs(1)).then_some(())
    });
    history(&world, &["--forget"]).expect(0);
    assert_eq!(completed(&world, &ana), []);
    world.end_process_manager(0);
    world.end_process_manager(1);
    let nobody = history(&world, &["--json"]).expect(1);
    nobody.says(gone).says("could not reach pm pm2 at ");
}
