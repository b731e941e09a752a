//! One user floods a process manager with definitions that decide without an end in sight. The others
//! are served meanwhile, and nobody's lease runs out.
//!
//! In CI it is a small flood, of which only is asserted what is no time. The whole bar (20
//! submissions, 60 s, answers within a second) is run by
//! `XAVANTES_FLOOD=60 cargo test -p it --release -- grid::flood --nocapture`.

use std::time::{Duration, Instant};

use super::freeze::{runs, staying};
use super::until_it_is;
use super::world::World;
use crate::sandbox::Started;
use crate::wait;

/// Says how many seconds the whole flood is to take.
const WHOLE: &str = "XAVANTES_FLOOD";
/// Submissions of the whole flood, and of the one in CI.
const SUBMISSIONS: usize = 20;
const SUBMISSIONS_IN_CI: usize = 4;
/// Assignments of one definition, which makes it 209 kB.
const ASSIGNS: usize = 4_000;
/// Requests of others in CI.
const REQUESTS_IN_CI: usize = 10;
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of the definition that stopped a process manager for minutes.
const DEFINITION_BYTES: usize = 209_000;

/// Assignments of some milliseconds each, one after another.
fn stalling() -> String {
    // Together nearly all the steps that one decision may use.
    let list: Vec<String> = (0..80).map(|number| (number % 10).to_string()).collect();
    let list = list.join(",");
    let mut text = format!(
        "xavantes: 1\nname: stall\nvariables:\n  n: {{ type: int, value: 0 }}\n  wide: {{ type: json, value: [{list}] }}\nbody:\n  sequence:\n"
    );
    for _ in 0..ASSIGNS {
        text += "    - assign: { n: \"${wide.map(a, wide.map(b, a*b+a-b)).size()}\" }\n";
    }
    text
}

#[test]
fn a_flood_of_decisions_stalls_nobody_else() {
    let seconds = std::env::var(WHOLE)
        .ok()
        .map(|text| text.parse::<u64>().unwrap());
    let n_submissions = match seconds {
        Some(_) => SUBMISSIONS,
        None => SUBMISSIONS_IN_CI,
    };
    let mut world = World::with_leases(1, "5s");
    let (ana, bob) = (world.user("ana"), world.user("bob"));

    // Another user's process runs meanwhile, under the shortest possible lease.
    let file = staying(&world.sandbox, &["stay"]);
    let stays = world
        .sandbox
        .xav(&["submit", &file, "--grid", &ana])
        .expect(0);
    let stays = stays.stdout.trim_end().to_owned();
    wait::until("the command to run", || {
        runs(&world.sandbox).get("stay").map(|_| ())
    });

    let text = stalling();
    assert!(text.len() >= DEFINITION_BYTES, "{}", text.len());
    let file = world.sandbox.file("stall.yaml", text);
    let submit = ["submit", &file, "--grid", &bob];
    let flood: Vec<Started> = (0..n_submissions)
        .map(|_| world.sandbox.start(&submit))
        .collect();
    let one = "xavantes: 1\nname: one\nbody:\n  activity: one\n  run: [\"true\"]\n";
    let one = world.sandbox.file("one.yaml", one);
    let begun = Instant::now();
    let mut took: Vec<Duration> = Vec::new();
    let mut whole_runs: Vec<Duration> = Vec::new();
    let goes_on = |n_asked: usize| match seconds {
        Some(seconds) => begun.elapsed() < Duration::from_secs(seconds),
        None => n_asked < REQUESTS_IN_CI,
    };
    while goes_on(took.len()) {
        let asked = Instant::now();
        world
            .sandbox
            .xav(&["list", "--grid", &ana])
            .expect(0)
            .shows("stay");
        took.push(asked.elapsed());
        if took.len() % 10 == 1 {
            let asked = Instant::now();
            world
                .sandbox
                .xav(&["run", &one, "--grid", &ana, "--quiet"])
                .expect(0);
            whole_runs.push(asked.elapsed());
        }
        wait::moment(PAUSE);
    }
    let ids: Vec<String> = flood
        .into_iter()
        .map(|one| one.end().expect(0).stdout.trim_end().to_owned())
        .collect();
    took.sort_unstable();
    whole_runs.sort_unstable();
    let at = |all: &[Duration], percent: usize| all[(all.len() - 1) * percent / 100];
    println!(
        "{n_submissions} submissions, {:.0} s: {} lists, median {:?}, p99 {:?}, longest {:?}; {} runs of one command, median {:?}, longest {:?}",
        begun.elapsed().as_secs_f64(),
        took.len(),
        at(&took, 50),
        at(&took, 99),
        at(&took, 100),
        whole_runs.len(),
        at(&whole_runs, 50),
        at(&whole_runs, 100),
    );
    if seconds.is_some() {
        assert!(at(&took, 99) < Duration::from_secs(1), "{took:?}");
    }

    // A restart amid it answers before it has decided all that.
    world.kill_process_manager(0);
    let asked = Instant::now();
    wait::until("the process manager to answer", || {
        let list = world.sandbox.xav(&["list", "--grid", &ana]);
        (list.status == Some(0)).then_some(())
    });
    println!("answers {:?} after its restart", asked.elapsed());
    let states: Vec<String> = ids
        .iter()
        .map(|id| {
            let status = world
                .sandbox
                .json(&["status", id, "--grid", &bob, "--json"]);
            status["state"].as_str().unwrap().to_owned()
        })
        .collect();
    let is_sound = |state: &String| ["running", "completed"].contains(&state.as_str());
    assert!(states.iter().all(is_sound), "{states:?}");
    for id in &ids {
        world.sandbox.xav(&["cancel", id, "--grid", &bob]);
    }

    // The one attempt that was begun is the one that ends: its lease never ran out.
    world.sandbox.file("lives/gate-stay", "");
    let ended = until_it_is(&world, &ana, &stays, "completed");
    let runs = runs(&world.sandbox);
    assert_eq!(runs["stay"].len(), 1, "{runs:?}\n{ended:#}");
    assert_eq!(
        ended["activity_list"][0]["attempts"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
