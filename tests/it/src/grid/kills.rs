//! `kill -9` of each daemon of a grid, and of an executor, at drawn moments of a recorded workflow:
//! it completes by itself with the outputs of an undisturbed run. The kill of a daemon that is back
//! in time costs no command a second run; that of an executor costs no more than what it held.
//!
//! `XAVANTES_KILLS` says how many runs there are; with `XAVANTES_DATA` the same is done to a recorded
//! workflow of 472 activities.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use model::{Span, Wall};
use serde_json::Value;

use super::world::World;
use crate::kills::{drawn, hashes, kills};
use crate::recorded;
use crate::sandbox::root;
use crate::wait;

/// Slots of each machine.
const SLOTS: usize = 2;

/// Commands that have ended and of which an executor alone knows: those in its slots, and as many that ended
/// before and that it gathers for one message.
const HELD_MAX: usize = 2 * SLOTS;

/// The time around the kill of an executor or its daemon in which an end may be lost. An end is durable at
/// the process manager some milliseconds later, or when that is back; and a command may outlive its
/// executor by as little.
const A_MOMENT: Span = Span::from_secs(1);

/// The program that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    GroupManager,
    ProcessManager,
    ActivityManager(usize),
    Executor(usize),
}

/// A workflow, how it is scaled, and the outputs that it has.
struct Subject<'a> {
    file: &'a Path,
    scales: &'a [&'a str],
    n_activities: usize,
    wanted: BTreeMap<String, Value>,
}

impl Subject<'_> {
    fn new<'a>(file: &'a Path, scales: &'a [&'a str]) -> Subject<'a> {
        let mut subject = Subject {
            file,
            scales,
            n_activities: recorded::tasks(file).len(),
            wanted: BTreeMap::new(),
        };
        subject.wanted = subject.run(0, &[]);
        subject
    }

    /// Runs it, with kills when the log has so many lines; the hashes of its outputs.
    fn run(&self, seed: u64, victims: &[(usize, Victim)]) -> BTreeMap<String, Value> {
        let mut world = World::new(1, 2);
        let ana = world.user("ana");
        let record = format!("--record={}", world.sandbox.path("log").display());
        let file = self.file.to_str().unwrap();
        let mut submit = vec!["submit", file, "--grid", &ana, &record];
        submit.extend(self.scales);
        let id = world.sandbox.xav(&submit).expect(0).stdout;
        let id = id.trim_end();
        let watch = world.sandbox.start(&["watch", id, "--grid", &ana]);
        let mut killed = Vec::new();
        for &(at, victim) in victims {
            wait::until("the line at which one is killed", || {
                (world.sandbox.lines("log").len() >= at).then_some(())
            });
            wait::moment(Duration::from_micros(drawn(seed ^ at as u64) % 20_000));
            match victim {
                Victim::GroupManager => world.kill_group_manager(),
                Victim::ProcessManager => world.kill_process_manager(0),
                Victim::ActivityManager(index) => world.kill_activity_manager(index),
                Victim::Executor(index) => world.kill_executor(index),
            }
            killed.push((victim, shell::clock::wall()));
        }
        watch.end().expect(0);
        let told = format!("seed {seed}: {victims:?}");
        let status = world
            .sandbox
            .json(&["status", id, "--grid", &ana, "--json"]);
        assert_eq!(status["state"], "completed", "{told}");
        let ended: Vec<Value> = world
            .sandbox
            .lines("log")
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(ended.len() >= self.n_activities, "{told}");
        let again = ran_again(&status, &ended, &killed);
        let n_of = |reason| again.iter().filter(|(_, why)| *why == reason).count();
        assert!(
            n_of(Reason::Nothing) == 0 && n_of(Reason::Executor) <= HELD_MAX,
            "{told}: commands that ended and ran again: {again:?}\n{}\n{}",
            tried_again(&status),
            world.logs()
        );
        hashes(&status)
    }

    fn kill(&self, seed: u64) {
        let mut victims = vec![
            Victim::GroupManager,
            Victim::ProcessManager,
            Victim::ActivityManager(0),
            Victim::ActivityManager(1),
        ];
        if !seed.is_multiple_of(2) {
            victims.push(Victim::Executor(usize::from(seed.is_multiple_of(4))));
        }
        // Drawn order, drawn places, none just before the end.
        for place in (1..victims.len()).rev() {
            let other = drawn(seed * 31 + place as u64) % (place as u64 + 1);
            victims.swap(place, usize::try_from(other).unwrap());
        }
        let last = (self.n_activities * 9 / 10) as u64;
        let mut places: Vec<usize> = (0..victims.len() as u64)
            .map(|number| usize::try_from(1 + drawn(seed * 37 + number) % last).unwrap())
            .collect();
        places.sort_unstable();
        let victims: Vec<(usize, Victim)> = places.into_iter().zip(victims).collect();
        let hashes = self.run(seed, &victims);
        assert!(
            hashes == self.wanted,
            "seed {seed}: {victims:?}: other outputs than those of an undisturbed run"
        );
    }
}

/// Why a command that had ended ran again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Its executor was killed then, before its daemon had heard of the end.
    Executor,
    /// Its executor was killed then, and its daemon in the same moment: nobody knew of the end.
    ExecutorAndDaemon,
    /// None.
    Nothing,
}

/// The commands that ended and ran again all the same.
fn ran_again(status: &Value, ended: &[Value], killed: &[(Victim, Wall)]) -> Vec<(String, Reason)> {
    let number = |run: &Value| run["attempt"].as_str().unwrap().parse::<u64>().unwrap();
    let is_followed = |run: &&Value| {
        let mut others = ended.iter().filter(|other| other["name"] == run["name"]);
        others.any(|other| number(other) > number(run))
    };
    let again = ended.iter().filter(is_followed).map(|run| {
        let name = run["name"].as_str().unwrap();
        let machine = machine_of(status, name, number(run));
        let end = Wall(run["end"].as_u64().unwrap());
        let was_killed = |wanted: Victim| {
            let is_near = |at: Wall| at.since(end).max(end.since(at)) <= A_MOMENT;
            killed
                .iter()
                .any(|&(victim, at)| victim == wanted && is_near(at))
        };
        let reason = match (
            was_killed(Victim::Executor(machine)),
            was_killed(Victim::ActivityManager(machine)),
        ) {
            (true, true) => Reason::ExecutorAndDaemon,
            (true, false) => Reason::Executor,
            (false, _) => Reason::Nothing,
        };
        (format!("{name} on machine {machine}"), reason)
    });
    again.collect()
}

/// The machine of an attempt, counted from 0.
fn machine_of(status: &Value, name: &str, number: u64) -> usize {
    let mut activities = status["activity_list"].as_array().unwrap().iter();
    let activity = activities.find(|one| one["activity"] == name).unwrap();
    let mut attempts = activity["attempts"].as_array().unwrap().iter();
    let attempt = attempts.find(|one| one["number"] == number).unwrap();
    let resource = attempt["resource"].as_str().unwrap();
    let number: usize = resource.strip_prefix("am").unwrap().parse().unwrap();
    number - 1
}

/// The activities that more than one attempt was made at: when each began, on which machine, and how
/// it ended.
fn tried_again(status: &Value) -> String {
    let activities = status["activity_list"].as_array().unwrap();
    let several = activities.iter().filter_map(|activity| {
        let attempts = activity["attempts"].as_array()?.iter();
        let tries: Vec<String> = attempts
            .map(|one| {
                let of = |name: &str| one[name].as_str().unwrap_or("?").to_owned();
                format!("{} on {} {}", of("start"), of("resource"), of("state"))
            })
            .collect();
        (tries.len() > 1).then(|| format!("{}: {}", activity["activity"], tries.join(", ")))
    });
    several.collect::<Vec<String>>().join("\n")
}

#[test]
fn a_grid_whose_daemons_are_killed_completes_what_it_was_given() {
    let file = root().join("workflows/samples/recorded/recorded.json");
    let subject = Subject::new(&file, &["--cpu-total=4s", "--data-scale=0.001"]);
    for seed in 0..kills() {
        subject.kill(seed);
    }
}

#[test]
fn a_large_workflow_survives_kills_of_all_daemons_of_a_grid() {
    let Some(file) = recorded::data("montage-chameleon-dss-10d-001.json") else {
        return;
    };
    let subject = Subject::new(&file, &["--cpu-total=20s", "--data-scale=0.001"]);
    for seed in 0..kills() {
        subject.kill(seed);
    }
}
