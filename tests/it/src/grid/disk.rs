//! Daemons of a grid whose disk is full. On a machine, what does not fit is a fault that says so; a
//! process manager takes nothing more and records what comes of what it has; what runs goes on
//! without its group manager.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use model::Role;
use serde_json::Value;

use super::world::World;
use super::{submitted, until_it_is};
use crate::blocked_process;
use crate::sandbox::{Done, Sandbox};
use crate::wait;

/// MiB of the disk of a machine: 16 that its journal has in reserve, 16 without which it lends nothing, and
/// less than twice the large output.
const DISK: u32 = 64;

/// MiB of the disk of a manager: what it keeps of it for such times, and what it needs to take work.
const MANAGERS_DISK: u32 = 96;

/// Activities whose outcomes are too much for a journal's tail, though it packs them, and bytes of each before they are
/// letters: a third more.
const WORDS: usize = 40;
const WORD_BYTES: usize = 30_000;

/// One activity whose output does not fit beside itself, after one whose output does. It has two names, so
/// that it is copied.
const LARGE: &str = "\
xavantes: 1
name: large
outputs: { a: small.a }
body:
  sequence:
    - { activity: small, run: { shell: 'echo small > a' }, outputs: { a: a } }
    - activity: large
      run: { shell: ': > b; ln b c; head -c 30000000 /dev/zero > b' }
      outputs: { b: b }
";

const SMALL: &str = "\
xavantes: 1
name: small
variables: { word: string }
outputs: { word: \"${ word }\" }
body: { activity: small, run: [echo, fits], stdout: { into: word, as: text } }
";

#[test]
fn a_full_disk_of_a_machine_is_told_and_costs_nothing_that_was_recorded() {
    let Some(world) = World::on_small_disks(1, 1, (Role::Am, DISK)) else {
        return;
    };
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let large = sandbox.file("large.yaml", LARGE);
    let submit = ["submit", &large, "--grid", &ana];
    let id = sandbox.xav(&submit).expect(0).stdout.trim_end().to_owned();
    let status = until_it_is(&world, &ana, &id, "faulted");
    let fault = &status["faults"][0];
    assert_eq!(fault["activity"], "large");
    assert_eq!(fault["fault"], "disk-full", "{status}");
    assert_eq!(fault["exit_code"], 0);
    let told = fault["message"].as_str().unwrap();
    assert!(told.contains("the disk is full"), "{told}");
    assert_eq!(status["activity_list"][0]["state"], "completed");

    // The directory of what failed is kept, so the disk is as full as before; with what a user
    // removes there, the same daemon has room again.
    let directory = fault["directory"].as_str().unwrap();
    for name in ["b", "c"] {
        fs::remove_file(format!("{directory}/{name}")).unwrap();
    }
    let small = sandbox.file("small.yaml", SMALL);
    let run = sandbox.xav(&["run", &small, "--grid", &ana]).expect(0);
    assert_eq!(run.stdout, "word: fits\n");
    // The first activity is reused from the record, with its file.
    let mended = LARGE.replace("30000000", "1000000");
    let mended = sandbox.file("mended.yaml", mended);
    let rerun = ["rerun", &id, "--file", &mended, "--grid", &ana, "--json"];
    let again = sandbox.json(&rerun);
    assert_eq!(again["state"], "completed", "{again}");
    assert_eq!(again["activities"]["reused"], 1, "{again}");
    let second = again["process"].as_str().unwrap();
    let results = ["results", second, "--grid", &ana, "--to", "out"];
    sandbox.xav(&results).expect(0);
    let a = fs::read_to_string(sandbox.path("out/a")).unwrap();
    assert_eq!(a, "small\n");

    // A file of one name needs no room beside itself.
    let once = sandbox.file("once.yaml", LARGE.replace("ln b c; ", ""));
    // Its results are not fetched: once it has ended, the machine may evict them to have room again.
    let submit = ["submit", &once, "--grid", &ana];
    let id = sandbox.xav(&submit).expect(0).stdout.trim_end().to_owned();
    until_it_is(&world, &ana, &id, "completed");
}

/// A file that fills a disk to the last byte until it is dropped.
struct Ballast(PathBuf);

impl Ballast {
    fn on(disk: &Path) -> Ballast {
        let ballast = Ballast(disk.join("ballast"));
        ballast.fill();
        ballast
    }

    fn fill(&self) {
        let file = OpenOptions::new().append(true).create(true).open(&self.0);
        let mut file = file.unwrap();
        for bytes in [1 << 20, 4_096, 1] {
            while file.write_all(&vec![1; bytes]).is_ok() {}
        }
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A process whose activities write down that they run, wait for a gate, and give long words.
fn wordy(sandbox: &Sandbox, gate: &str) -> String {
    let (log, gate) = (sandbox.path("log"), sandbox.path(gate));
    let (log, gate) = (log.display(), gate.display());
    let names: Vec<String> = (0..WORDS).map(|number| format!("word{number}")).collect();
    let variables: String = names
        .iter()
        .map(|name| format!("  {name}: string\n"))
        .collect();
    let activities: String = names
        .iter()
        .map(|name| {
            format!(
                "    - activity: {name}\n      run: {{ shell: \"echo {name} >> {log}; until [ -e \
                 {gate} ]; do sleep 0.01; done; head -c {WORD_BYTES} /dev/urandom | base64 -w 0\" }}\n      \
                 stdout: {{ into: {name}, as: text }}\n"
            )
        })
        .collect();
    let text = format!(
        "xavantes: 1\nname: wordy\nvariables:\n{variables}body:\n  parallel:\n{activities}"
    );
    sandbox.file("wordy.yaml", text)
}

/// A definition that is a quarter of the disk of a manager.
fn vast() -> String {
    let word = "x".repeat(100_000);
    let commands =
        (0..240).map(|number| format!("    - {{ activity: a{number}, run: [echo, {word}] }}\n"));
    let commands: String = commands.collect();
    format!("xavantes: 1\nname: vast\nbody:\n  sequence:\n{commands}")
}

/// Submits a process that is to run on after the disk is full, and waits until it runs.
fn begun(world: &World, grid: &str, gate: &str) -> String {
    let sandbox = &world.sandbox;
    let before = sandbox.lines("log").len();
    let file = wordy(sandbox, gate);
    let done = sandbox.xav(&["submit", &file, "--grid", grid]).expect(0);
    sandbox.wait_for_lines("log", before + 2);
    done.stdout.trim_end().to_owned()
}

/// Runs a short process to its end.
fn run_small(world: &World, grid: &str) {
    let small = world.sandbox.file("small.yaml", SMALL);
    let run = world.sandbox.xav(&["run", &small, "--grid", grid]);
    assert_eq!(run.expect(0).stdout, "word: fits\n");
}

/// The lines of the activities' log after the first `n_lines`, sorted.
fn words_since(world: &World, n_lines: usize) -> Vec<String> {
    let mut lines = world.sandbox.lines("log").split_off(n_lines);
    lines.sort();
    lines
}

fn all_words() -> Vec<String> {
    let mut all: Vec<String> = (0..WORDS).map(|number| format!("word{number}")).collect();
    all.sort();
    all
}

#[test]
fn a_process_manager_with_a_full_disk_takes_nothing_more_and_records_what_it_has() {
    let Some(mut world) = World::on_small_disks(1, 1, (Role::Pm, MANAGERS_DISK)) else {
        return;
    };
    let (ana, eve) = (world.user("ana"), world.admin("eve"));
    let disk = world.state_of(Role::Pm);
    let reserve = disk.join("journal/reserve");
    let whole = fs::metadata(&reserve).unwrap().len();
    assert!(whole > 0);
    let small = world.sandbox.file("small.yaml", SMALL);
    let first = begun(&world, &ana, "gate1");
    // It refuses a definition that is larger than its room.
    let vast = world.sandbox.file("vast.yaml", vast());
    let done = world.sandbox.xav(&["submit", &vast, "--grid", &ana]);
    done.expect(2).says("has room for one of");

    let ballast = Ballast::on(&disk);
    let refused = wait::until("nothing more to be taken", || {
        let done = world.sandbox.xav(&["submit", &small, "--grid", &ana]);
        (done.status != Some(0)).then_some(done)
    });
    refused
        .expect(2)
        .says("the process manager takes no process at the moment: its disk is full: ");
    let warned = wait::until("the group manager to know", || {
        let done = world.sandbox.xav(&["nodes", "--grid", &ana]).expect(0);
        done.stderr.contains("disk").then_some(done)
    });
    warned.says("pm pm1: its disk is full: ");
    let log = ["logs", "--daemon", "pm1", "--grid", &eve];
    world
        .sandbox
        .xav(&log)
        .expect(0)
        .shows("nothing more is taken")
        .shows("its disk is full");
    // Running activities are still recorded.
    world.sandbox.file("gate1", "");
    let ended = until_it_is(&world, &ana, &first, "completed");
    assert!(world.has_process_manager(0));
    assert_eq!(words_since(&world, 0), all_words());
    assert!(fs::metadata(&reserve).unwrap().len() < whole);
    // It starts from what it has kept, too.
    ballast.fill();
    world.kill_process_manager(0);
    let status = |world: &World, id: &str| -> Value {
        let status = ["status", id, "--grid", &ana, "--json"];
        world.sandbox.json(&status)
    };
    assert_eq!(status(&world, &first), ended);

    // With room, it takes processes again, and nothing that was recorded is lost.
    drop(ballast);
    wait::until("a process to be taken", || {
        let done = world.sandbox.xav(&["submit", &small, "--grid", &ana]);
        (done.status == Some(0)).then_some(())
    });
    run_small(&world, &ana);
    assert_eq!(fs::metadata(&reserve).unwrap().len(), whole);
    world.kill_process_manager(0);
    assert_eq!(status(&world, &first), ended);

    // Without its reserve it ends itself, and continues when the disk has room.
    let second = begun(&world, &ana, "gate2");
    let ballast = Ballast::on(&disk);
    OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&reserve)
        .unwrap();
    ballast.fill();
    world.sandbox.file("gate2", "");
    wait::until("the process manager to end", || {
        (!world.has_process_manager(0)).then_some(())
    });
    drop(ballast);
    world.start_process_manager(0);
    until_it_is(&world, &ana, &second, "completed");
    // No ended activity ran again, recorded or not.
    assert_eq!(words_since(&world, WORDS), all_words());
    assert_eq!(status(&world, &first), ended);
    run_small(&world, &ana);
}

#[test]
fn a_process_goes_to_another_process_manager_where_the_first_one_has_a_full_disk() {
    let Some(mut world) = World::on_small_disks(2, 1, (Role::Pm, MANAGERS_DISK)) else {
        return;
    };
    let (ana, eve) = (world.user("ana"), world.admin("eve"));
    let small = world.sandbox.file("small.yaml", SMALL);
    let submit = |world: &World| {
        let submit = ["submit", &small, "--grid", &ana, "--json"];
        world.sandbox.xav(&submit)
    };
    let given = |done: &Done| -> (String, String) {
        let given: Value = serde_json::from_str(&done.stdout).unwrap();
        let text = |key: &str| given[key].as_str().unwrap().to_owned();
        (text("process"), text("process_manager"))
    };
    let (first, manager) = given(&submit(&world).expect(0));
    assert_eq!(manager, "pm1");
    until_it_is(&world, &ana, &first, "completed");

    let ballast = Ballast::on(&world.state_of(Role::Pm));
    let (second, told) = wait::until("the other one to take a process", || {
        let done = submit(&world).expect(0);
        let (process, manager) = given(&done);
        (manager == "pm2").then_some((process, done))
    });
    told.says("pm pm1: the process manager takes no process at the moment: its disk is full: ")
        .says(": pm2 has taken the process");
    until_it_is(&world, &ana, &second, "completed");
    run_small(&world, &ana);

    // A list shows what both have.
    let list = world.sandbox.json(&["list", "--json", "--grid", &eve]);
    let manager_of = |id: &str| {
        let mut all = list.as_array().unwrap().iter();
        let listed = all.find(|one| one["process"] == id).unwrap();
        listed["process_manager"].clone()
    };
    assert_eq!([manager_of(&first), manager_of(&second)], ["pm1", "pm2"]);

    // Where no other one answers, the reason is that of the first one.
    world.end_process_manager(1);
    let refused = submit(&world).expect(2);
    refused
        .says("its disk is full: ")
        .says("could not reach pm pm2 at ");
    drop(ballast);
}

#[test]
fn what_runs_goes_on_while_the_disk_of_the_group_manager_is_full() {
    let Some(mut world) = World::on_small_disks(1, 1, (Role::Gm, MANAGERS_DISK)) else {
        return;
    };
    let ana = world.user("ana");
    let first = submitted(&world, &ana);
    let ballast = Ballast::on(&world.state_of(Role::Gm));
    let warned = wait::until("the group manager to know", || {
        let done = world.sandbox.xav(&["nodes", "--grid", &ana]).expect(0);
        done.stderr.contains("disk").then_some(done)
    });
    warned.says("gm gm1: its disk is full: ");
    // It grants slots from what it has kept.
    run_small(&world, &ana);
    // A process that has its slots does not need the group manager.
    world.end_group_manager();
    blocked_process::open(&world.sandbox);
    until_it_is(&world, &ana, &first, "completed");
    // It starts from what it has kept, too.
    ballast.fill();
    world.start_group_manager();
    run_small(&world, &ana);
    drop(ballast);
    run_small(&world, &ana);
    wait::until("the group manager to have room", || {
        let done = world.sandbox.xav(&["nodes", "--grid", &ana]).expect(0);
        done.stderr.is_empty().then_some(())
    });
}
