//! Two attempts at one activity never write at the same time, whatever becomes of the machine that has
//! the first: its manager is frozen or killed, its executor is killed, its network is cut. What writes
//! has left the process group of its command, and its parent too.
//!
//! `XAVANTES_KILLS` says how many runs there are of each; by turns, commands are held in the way that the
//! system allows and as trees of processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::until_it_is;
use super::world::World;
use crate::kills::{drawn, kills};
use crate::sandbox::Sandbox;
use crate::wait;

/// As many as there are slots: half of them run in a group of their own, half have lost their parent.
const ACTIVITIES: [&str; 4] = ["timed1", "forked1", "timed2", "forked2"];

/// The least lines that say that an attempt writes, rather than that it has begun to.
const LINES: usize = 3;

/// The activities' script, `write.sh NAME`: appends lines with its attempt's number until its gate opens.
const WRITE: &str = r#"
place=$(dirname "$0")
echo "$XAVANTES_ATTEMPT $PWD" >> "$place/$1"
until [ -e "$place/gate-$1" ]; do
    echo "$XAVANTES_ATTEMPT" >> "$place/$1"
    sleep 0.01
done
"#;

/// A way to fail for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    ManagerFrozen,
    ManagerKilled,
    ExecutorKilled,
    /// Nobody is left who could end anything but the executor's own guardian.
    ManagerFrozenAndExecutorKilled,
    NetworkCut,
}

fn definition(sandbox: &Sandbox) -> String {
    fs::create_dir(sandbox.path("writes")).unwrap();
    let script = sandbox.file("writes/write.sh", WRITE);
    let gate = sandbox.path("writes/gate-").display().to_string();
    let mut text = "xavantes: 1\nname: fenced\nbody:\n  parallel:\n".to_owned();
    for name in ACTIVITIES {
        let line = if name.starts_with("timed") {
            format!("timeout 60 sh {script} {name}")
        } else {
            format!("(setsid sh {script} {name} &); until [ -e {gate}{name} ]; do sleep 0.02; done")
        };
        text += &format!("    - {{ activity: {name}, run: {{ shell: \"{line}\" }}, work: 60s }}\n");
    }
    sandbox.file("fenced.yaml", text)
}

/// The lines of one activity's attempts, in the order of writing.
fn written(sandbox: &Sandbox, name: &str) -> Vec<(u32, Option<String>)> {
    let lines = sandbox.lines(&format!("writes/{name}"));
    // The last may be on its way.
    let lines = lines.iter().filter(|line| !line.is_empty());
    lines
        .map(|line| match line.split_once(' ') {
            Some((number, place)) => (number.parse().unwrap(), Some(place.to_owned())),
            None => (line.parse().unwrap(), None),
        })
        .collect()
}

/// Counts the lines of each attempt. An attempt that writes after a later one has begun fails the test.
#[track_caller]
fn counts(sandbox: &Sandbox, name: &str, told: &str) -> BTreeMap<u32, usize> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, _) in written(sandbox, name) {
        let last = counts.last_key_value().map(|(&last, _)| last);
        assert!(
            last.is_none_or(|last| last <= number),
            "{told}: attempt {number} at {name} writes after attempt {last:?} has begun"
        );
        *counts.entry(number).or_default() += 1;
    }
    counts
}

fn run(failure: Failure, seed: u64) {
    let containment = if seed.is_multiple_of(2) {
        "best"
    } else {
        "process-tree"
    };
    let told = format!("{failure:?}, {containment}, seed {seed}");
    let mut world = World::for_fencing(containment);
    let ana = world.user("ana");
    let file = definition(&world.sandbox);
    let submit = ["submit", &file, "--grid", &ana];
    let id = world.sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    wait::until("all to write", || {
        let writes = |name: &&str| written(&world.sandbox, name).len() >= LINES;
        ACTIVITIES.iter().all(writes).then_some(())
    });
    let machine_of = |name: &str| {
        let (_, place) = &written(&world.sandbox, name)[0];
        world.machine_of(Path::new(place.as_ref().unwrap()))
    };
    let machine = machine_of(ACTIVITIES[0]);
    let mut there = ACTIVITIES.to_vec();
    there.retain(|name| machine_of(name) == machine);

    wait::moment(Duration::from_micros(drawn(seed) % 500_000));
    match failure {
        Failure::ManagerFrozen => world.freeze_activity_manager(machine),
        Failure::ManagerKilled => world.end_activity_manager(machine),
        Failure::ExecutorKilled => world.kill_executor(machine),
        Failure::ManagerFrozenAndExecutorKilled => {
            world.freeze_activity_manager(machine);
            world.kill_executor(machine);
        }
        Failure::NetworkCut => world.cut_off(machine),
    }
    let open = |name: &str| world.sandbox.file(&format!("writes/gate-{name}"), "");
    // The others give their slots to what is lost.
    let others = ACTIVITIES.iter().filter(|name| !there.contains(name));
    others.for_each(|name| {
        open(name);
    });
    wait::until("the next attempts to write", || {
        let writes = |name: &&str| {
            let counts = counts(&world.sandbox, name, &told);
            counts.len() > 1 && counts.values().next_back().is_some_and(|&n| n >= LINES)
        };
        there.iter().all(writes).then_some(())
    });
    // Whoever should be dead and lives writes meanwhile.
    wait::moment(Duration::from_millis(300));
    match failure {
        Failure::ManagerFrozen | Failure::ManagerFrozenAndExecutorKilled => {
            world.thaw_activity_manager(machine);
        }
        Failure::NetworkCut => world.join_again(machine),
        Failure::ManagerKilled | Failure::ExecutorKilled => {}
    }
    wait::moment(Duration::from_millis(drawn(seed ^ 1) % 300));
    there.iter().for_each(|name| {
        open(name);
    });
    until_it_is(&world, &ana, id, "completed");
    for name in ACTIVITIES {
        let counts = counts(&world.sandbox, name, &told);
        assert_eq!(
            counts.len() > 1,
            there.contains(&name),
            "{told}: {name}: {counts:?}"
        );
    }
}

fn runs(failure: Failure) {
    for seed in 0..kills() {
        run(failure, seed);
        println!("{failure:?}: {} of {}", seed + 1, kills());
    }
}

#[test]
fn frozen_manager_lets_no_two_attempts_write() {
    runs(Failure::ManagerFrozen);
}

#[test]
fn killed_manager_lets_no_two_attempts_write() {
    runs(Failure::ManagerKilled);
}

#[test]
fn killed_executor_lets_no_two_attempts_write() {
    runs(Failure::ExecutorKilled);
}

#[test]
fn killed_executor_of_a_frozen_manager_lets_no_two_attempts_write() {
    runs(Failure::ManagerFrozenAndExecutorKilled);
}

#[test]
fn cut_network_lets_no_two_attempts_write() {
    runs(Failure::NetworkCut);
}
