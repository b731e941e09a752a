//! `xav` against a grid of the real daemons: each command does what it does without one.

mod absent_manager;
mod accounts;
mod alerts;
mod bad_network;
mod copies;
mod disk;
mod endless;
mod fencing;
mod files;
mod flood;
mod forgotten;
mod freeze;
mod frozen_executor;
mod held;
mod history;
mod holdings;
mod in_rounds;
mod intruder;
mod kills;
mod labels;
mod lease;
mod leave;
mod limits;
mod logs;
mod many;
mod member;
mod metrics;
mod namespaces;
mod private;
mod probes;
mod races;
mod relay;
mod replicas;
mod returns;
mod rule;
mod shelf;
mod shown;
mod silent_group;
mod sockets;
mod two_managers;
mod unavailable;
mod watchers;
mod world;

use serde_json::Value;

use crate::blocked_process;
use crate::sandbox::{Sandbox, Started};
use crate::wait;
use world::World;

pub(crate) use member::Disk;

/// The first arguments of a command that gives the blocked process to a grid.
fn arguments(sandbox: &Sandbox, word: &str, grid: &str) -> Vec<String> {
    let mut arguments = blocked_process::arguments(sandbox, word);
    arguments.extend(["--grid", grid].map(str::to_owned));
    arguments
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Submits the gated process, waits until its second activity runs, and gives its ID.
fn submitted(world: &World, grid: &str) -> String {
    let sandbox = &world.sandbox;
    let before = sandbox.lines("log").len();
    let done = sandbox
        .xav(&words(&arguments(sandbox, "submit", grid)))
        .expect(0);
    sandbox.wait_for_lines("log", before + 2);
    done.stdout.trim_end().to_owned()
}

/// Waits until a process is in a state.
fn until_it_is(world: &World, grid: &str, id: &str, state: &str) -> Value {
    wait::until(state, || {
        let status = world
            .sandbox
            .json(&["status", id, "--grid", grid, "--json"]);
        (status["state"] == state).then_some(status)
    })
}

#[test]
fn a_run_is_followed_to_its_outputs_and_asked_about_from_elsewhere() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let run = sandbox.start(&words(&arguments(sandbox, "run", &ana)));
    sandbox.wait_for_lines("log", 2);
    let list = sandbox.json(&["list", "--json", "--grid", &ana]);
    assert_eq!(list[0]["name"], "gated");
    assert_eq!(list[0]["is_live"], true);
    assert_eq!(list[0]["owner"], "xav://grid/lab/user/ana");
    assert_eq!(list[0]["grid"], ana.as_str());
    assert_eq!(list[0]["process_manager"], "pm1");
    assert_eq!(list[0]["directory"], Value::Null);
    sandbox
        .xav(&["list", "--grid", &ana])
        .expect(0)
        .shows("OWNER");
    let id = list[0]["process"].as_str().unwrap();
    // Nothing of it is on this machine.
    let here = sandbox.xav(&["status", id]).expect(2);
    here.says("there is no process");
    sandbox
        .xav(&["status", "--grid", &ana])
        .expect(0)
        .shows("xav://grid/lab/user/ana")
        .shows("pm1 of the grid in ");
    sandbox
        .xav(&["why", id, "third", "--grid", &ana])
        .expect(0)
        .shows("after second, which runs");
    // The log of an ended activity comes from its machine, of a running one from its executor.
    let said = |arguments: &[&str]| {
        let mut all = vec!["logs", "--grid", &ana];
        all.extend(arguments);
        sandbox.xav(&all).expect(0).stdout
    };
    assert_eq!(said(&[id, "first", "--stdout"]), "said by first\n");
    let counted: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(said(&["first", "--stderr"]) == counted, "100,000 lines");
    wait::until("what runs to be told", || {
        (said(&[id, "second"]) == "asked for a word\n").then_some(())
    });
    let follow = sandbox.start(&["logs", id, "second", "--follow", "--grid", &ana]);
    blocked_process::open(sandbox);
    let run = run.end().expect(0);
    assert_eq!(run.stdout, "word: done\n");
    let ended = run.says("gated completed in ");
    assert!(ended.stderr.contains("2 slots of am1"), "{}", ended.stderr);
    let followed = follow.end().expect(0).stdout;
    assert_eq!(followed, "asked for a word\nhad it\n");
    let document = sandbox.json(&["logs", id, "--grid", &ana, "--json"]);
    assert_eq!(document[2]["activity"], "third");
    assert_eq!(document[0]["stderr_bytes"], counted.len());
    let results = sandbox.xav(&["results", id, "--grid", &ana]).expect(0);
    assert_eq!(results.stdout, "word: done\n");
    let page = sandbox.xav(&["report", id, "--out", "-", "--grid", &ana]);
    assert!(page.expect(0).stdout.contains("pm1 of the grid in "));
    let nothing = sandbox.xav(&["resume", id, "--grid", &ana]).expect(2);
    nothing.says("there is nothing to go on with");
}

#[test]
fn a_process_is_submitted_cancelled_run_again_and_forgotten() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let id = submitted(&world, &ana);
    sandbox
        .xav(&["forget", &id, "--grid", &ana])
        .expect(2)
        .says("has not ended: it is not forgotten");
    sandbox
        .xav(&["cancel", &id, "--grid", &ana])
        .expect(0)
        .shows("cancelled");
    sandbox
        .xav(&["cancel", &id, "--grid", &ana])
        .expect(2)
        .says("was cancelled already");
    blocked_process::open(sandbox);
    let again = sandbox.json(&["rerun", &id, "--grid", &ana, "--json"]);
    assert_eq!(again["state"], "completed");
    assert_eq!(again["activities"]["reused"], 1);
    assert_eq!(sandbox.lines("log").len(), 4);
    let second = again["process"].as_str().unwrap();
    let watched = sandbox.xav(&["watch", second, "--grid", &ana]).expect(0);
    assert!(
        watched.stdout.starts_with("gated completed in "),
        "{watched:?}"
    );
    let forgotten = sandbox.json(&["forget", &id, second, "--grid", &ana, "--json"]);
    assert_eq!(forgotten["forgotten"].as_array().unwrap().len(), 2);
    assert_eq!(
        sandbox.json(&["list", "--grid", &ana, "--json"]),
        Value::Array(vec![])
    );
}

#[test]
fn what_is_over_its_time_is_forgotten_by_the_next_run() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    blocked_process::open(sandbox);
    let run = |more: &[&str]| {
        let mut all = arguments(sandbox, "run", &ana);
        all.extend(more.iter().map(ToString::to_string));
        sandbox.xav(&words(&all)).expect(0)
    };
    run(&["--keep", "1ms"]);
    run(&[]).says("forgot 1 process whose time to be kept was over");
    let list = sandbox.json(&["list", "--json", "--grid", &ana]);
    assert_eq!(list.as_array().unwrap().len(), 1);
}

#[test]
fn a_watch_goes_on_while_the_process_manager_is_killed_and_starts_again() {
    let mut world = World::new(1, 1);
    let ana = world.user("ana");
    let id = submitted(&world, &ana);
    let watch: Started = world.sandbox.start(&["watch", &id, "--grid", &ana]);
    let json = world
        .sandbox
        .start(&["watch", &id, "--grid", &ana, "--json"]);
    world.kill_process_manager(0);
    // It answers from its journal.
    until_it_is(&world, &ana, &id, "running");
    blocked_process::open(&world.sandbox);
    let watched = watch.end().expect(0);
    assert!(
        watched.stdout.starts_with("gated completed in "),
        "{watched:?}"
    );
    let document: Value = serde_json::from_str(&json.end().expect(0).stdout).unwrap();
    assert_eq!(document["state"], "completed");
    assert_eq!(world.sandbox.lines("log"), ["first", "second", "third"]);
}

#[test]
fn who_stops_watching_stops_nothing() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let run = sandbox.start(&words(&arguments(sandbox, "run", &ana)));
    sandbox.wait_for_lines("log", 2);
    run.signal(rustix::process::Signal::INT);
    let left = run.end().expect(130);
    let list = sandbox.json(&["list", "--json", "--grid", &ana]);
    let id = list[0]["process"].as_str().unwrap();
    left.says(&format!("watch it again: xav watch {} --grid ", &id[..6]));
    assert_eq!(list[0]["state"], "running");
    let mut resumed = sandbox.start(&["resume", id, "--grid", &ana]);
    resumed.until_it_says("goes on in the grid by itself");
    blocked_process::open(sandbox);
    assert_eq!(resumed.end().expect(0).stdout, "word: done\n");
}

#[test]
fn users_see_their_own_and_an_administrator_all() {
    let world = World::new(1, 1);
    let sandbox = &world.sandbox;
    let (ana, ben, eve) = (world.user("ana"), world.user("ben"), world.admin("eve"));
    let id = submitted(&world, &ana);
    assert_eq!(
        sandbox.json(&["list", "--json", "--grid", &ben]),
        Value::Array(vec![])
    );
    let nobodys = "0000000000000";
    for command in [
        "status", "watch", "cancel", "forget", "results", "rerun", "resume",
    ] {
        let theirs = sandbox.xav(&[command, &id, "--grid", &ben]).expect(2);
        let none = sandbox.xav(&[command, nobodys, "--grid", &ben]).expect(2);
        assert_eq!(theirs.stdout, "");
        assert_eq!(
            theirs.stderr.replace(&id, nobodys),
            none.stderr,
            "{command}"
        );
    }
    for command in ["logs", "why"] {
        let done = sandbox.xav(&[command, &id, "first", "--grid", &ben]);
        done.expect(2).says("there is no process");
    }
    let done = sandbox.xav(&["why", &id, "--grid", &ben]);
    done.expect(2).says("there is no process");
    let list = sandbox.json(&["list", "--json", "--grid", &eve]);
    assert_eq!(list[0]["owner"], "xav://grid/lab/user/ana");
    sandbox.xav(&["cancel", &id, "--grid", &eve]).expect(0);
    until_it_is(&world, &ana, &id, "cancelled");
}

#[test]
fn a_process_is_found_at_whichever_manager_has_it() {
    let mut world = World::new(2, 1);
    let ana = world.user("ana");
    // The first manager takes what is submitted; without it, the second does.
    let first = submitted(&world, &ana);
    world.end_process_manager(0);
    let sandbox = &world.sandbox;
    let run = sandbox.start(&words(&arguments(sandbox, "run", &ana)));
    sandbox.wait_for_lines("log", 4);
    let status = sandbox.json(&["list", "--json", "--grid", &ana]);
    assert_eq!(status[0]["process_manager"], "pm2");
    blocked_process::open(sandbox);
    let run = run.end().expect(0);
    run.says("could not reach pm pm1 at ");
    let lost = sandbox.xav(&["status", &first, "--grid", &ana]);
    lost.expect(1).says("could not reach pm pm1 at ");
}

#[test]
fn mistakes_about_grids_are_told() {
    let world = World::new(1, 0);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let list = |grid: &str| sandbox.xav(&["list", "--grid", grid]);
    list("lab").expect(2).says("there is no grid lab");
    list("./lab").expect(2).says("there is no directory ./lab");
    let empty = sandbox.path("grids");
    list(empty.to_str().unwrap())
        .expect(2)
        .says("there is no grid.toml in it");
    sandbox
        .xav(&["list", "--grid", &ana, "--state", "x"])
        .expect(2)
        .says("give one of them");
    sandbox
        .xav_with(("XAVANTES_GRID", "lab"), &["list"])
        .expect(2)
        .says("XAVANTES_GRID=lab: there is no grid lab");
    let file = blocked_process::definition(sandbox);
    sandbox
        .xav(&["submit", &file])
        .expect(2)
        .says("none is named");
    let slots = ["run", &file, "-i", "log=a", "-i", "gate=b", "--slots", "2"];
    sandbox
        .xav_with(("XAVANTES_GRID", &ana), &slots)
        .expect(2)
        .says("--slots is for processes that run on this machine");
    // The client refuses the manager, whose certificate another authority has signed.
    let stranger = world.stranger("ana");
    let done = list(&stranger).expect(1);
    done.says("could not reach pm pm1 at ")
        .says("the certificate is of an authority that is not trusted");
    let broken = format!("{ana}/grid.toml");
    std::fs::write(&broken, "identity = 7\n").unwrap();
    list(&ana)
        .expect(2)
        .says("grid.toml:1:12: identity must be a text in quotes")
        .says("process-managers is missing");
}

#[test]
fn a_grid_is_chosen_for_good_and_left_again() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    sandbox
        .xav(&["grid", "use"])
        .expect(0)
        .shows("no grid is used");
    std::fs::create_dir_all(sandbox.path(".config/xavantes/grids")).unwrap();
    std::os::unix::fs::symlink(&ana, sandbox.path(".config/xavantes/grids/lab")).unwrap();
    sandbox
        .xav(&["grid", "use", "lap"])
        .expect(2)
        .says("did you mean lab?");
    let used = sandbox.xav(&["grid", "use", "lab"]).expect(0);
    used.shows("as xav://grid/lab/user/ana");
    // Commands for administrators use it too, and take a name.
    for nodes in [
        &["nodes", "--json"][..],
        &["nodes", "--json", "--grid", "lab"],
    ] {
        assert_eq!(sandbox.json(nodes)[0]["name"], "am1");
    }
    let id = submitted(&world, "lab");
    let list = sandbox.json(&["list", "--json"]);
    assert_eq!(list[0]["process"], id.as_str());
    // Its owner goes by the name that a certificate has, and it goes by its own name.
    for (owner, n_listed) in [("ana", 1), ("ben", 0)] {
        let list = sandbox.json(&["list", "--json", "--owner", owner]);
        assert_eq!(list.as_array().unwrap().len(), n_listed, "{owner}");
    }
    let status = sandbox.json(&["status", "gated", "--json"]);
    assert_eq!(status["process"], id.as_str());
    let early = sandbox.xav(&["forget", "gated", "--dry-run"]).expect(2);
    early.says("it is not forgotten");
    sandbox.xav(&["cancel"]).expect(0);
    until_it_is(&world, "lab", &id, "cancelled");
    let foretold = sandbox.json(&["forget", "gated", "--dry-run", "--json"]);
    assert_eq!(foretold["would_forget"][0], id.as_str());
    assert_eq!(foretold["would_free_bytes"], Value::Null);
    let file = sandbox.file(
        "short.yaml",
        "xavantes: 1\nname: short\nbody: { activity: a, run: ['true'] }\n",
    );
    let where_it_runs = " runs on the grid grid (";
    let given = sandbox.xav(&["submit", &file]).expect(0);
    assert_eq!(given.stdout.trim_end().len(), 13, "{given:?}");
    given.says(where_it_runs);
    sandbox.xav(&["run", &file]).expect(0).says(where_it_runs);
    let quiet = sandbox.xav(&["run", &file, "--quiet"]).expect(0);
    assert!(!quiet.stderr.contains(where_it_runs), "{quiet:?}");
    assert_eq!(
        sandbox.json(&["list", "--json", "--embedded"]),
        Value::Array(vec![])
    );
    sandbox.xav(&["grid", "use", "--none"]).expect(0);
    assert_eq!(sandbox.json(&["list", "--json"]), Value::Array(vec![]));
}

#[test]
fn a_command_line_of_ten_megabytes_is_a_fault_that_says_so() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let word = format!(", {}", "x".repeat(100_000));
    for (n_words, why) in [
        // More than a machine takes, and more than its system does.
        (100, "at most 8.0 MiB may be sent (too-large)"),
        (
            40,
            "the command line and environment are too long (not-started)",
        ),
    ] {
        let words = word.repeat(n_words);
        let text =
            format!("xavantes: 1\nname: long\nbody: {{ activity: a, run: [echo{words}] }}\n");
        let file = sandbox.file("long.yaml", text);
        sandbox
            .xav(&["run", &file, "--grid", &ana])
            .expect(1)
            .says(why);
    }
    let word = "x".repeat(10_000_000);
    let text = format!("xavantes: 1\nname: one\nbody: {{ activity: a, run: [echo, {word}] }}\n");
    let file = sandbox.file("one.yaml", text);
    let run = sandbox.xav(&["run", &file, "--grid", &ana]);
    run.expect(2)
        .says("one.yaml:3:34")
        .says("a text of 10000000 bytes; at most 131072");
}
