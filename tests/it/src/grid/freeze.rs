//! SIGSTOP of the daemon of a machine and of the process manager, for longer than a lease, together
//! and the manager alone, while commands run and more wait behind them, or files wait for readers. Nothing that anybody tells
//! counts here: each command writes down when it starts, that it lives, and when it ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::until_it_is;
use super::world::World;
use crate::sandbox::Sandbox;
use crate::wait;

/// The time for which a daemon is frozen: three leases.
const FROZEN: Duration = Duration::from_secs(30);

/// Activities of which each stays until it may end: as many as there are slots.
const STAYING: [&str; 4] = ["stay1", "once", "stay2", "stay3"];
/// Activities that wait behind those, and take a moment.
const WAITING: usize = 12;

/// One attempt, by what it wrote: seconds of the clock of this machine.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) number: u32,
    pid: u32,
    /// The directory in which it ran.
    pub(super) place: String,
    pub(super) start: f64,
    /// When it ended, or wrote for the last time that it lives.
    pub(super) last: f64,
    pub(super) has_ended: bool,
}

impl Run {
    fn is_over(&self) -> bool {
        !Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

/// The activities' script, `live.sh NAME GATE`: logs its start, its life and its end.
const LIVE: &str = r#"
log=$(dirname "$0")
life=$log/$1.$XAVANTES_ATTEMPT.$$
echo "start $(date +%s.%N) $PWD" > "$life"
i=0
until [ -e "$log/$2" ] && [ $i -ge 6 ]; do
    date "+lives %s.%N" >> "$life"
    sleep 0.05
    i=$((i + 1))
done
date "+end %s.%N" >> "$life"
"#;

/// Lays out [`LIVE`] and a definition of activities side by side, each of which stays until a file
/// `gate-NAME` is beside the script; gives the definition's path.
pub(super) fn staying(sandbox: &Sandbox, names: &[&str]) -> String {
    let script = live(sandbox);
    let mut text = "xavantes: 1\nname: stay\nbody:\n  parallel:\n".to_owned();
    for name in names {
        text += &format!(
            "    - {{ activity: {name}, run: [sh, {script}, {name}, gate-{name}], work: 60s }}\n"
        );
    }
    sandbox.file("stay.yaml", text)
}

pub(super) fn live(sandbox: &Sandbox) -> String {
    fs::create_dir(sandbox.path("lives")).unwrap();
    sandbox.file("lives/live.sh", LIVE)
}

fn definition(sandbox: &Sandbox) -> String {
    let script = live(sandbox);
    let mut text = format!(
        "\
xavantes: 1
name: frozen
variables: {{ early: string }}
body:
  sequence:
    - activity: early
      run: {{ shell: \"sh {script} early live.sh; date +%N\" }}
      stdout: {{ into: early, as: text }}
    - parallel:
"
    );
    for name in STAYING {
        let once = if name == "once" {
            ", at-most-once: true"
        } else {
            ""
        };
        text += &format!(
            "        - {{ activity: {name}, run: [sh, {script}, {name}, gate], work: 60s{once} }}\n"
        );
    }
    for number in 0..WAITING {
        text += &format!(
            "        - {{ activity: wait{number}, run: [sh, {script}, wait{number}, live.sh], work: 20s }}\n"
        );
    }
    sandbox.file("frozen.yaml", text)
}

/// All attempts at each activity, in the order in which they started.
pub(super) fn runs(sandbox: &Sandbox) -> BTreeMap<String, Vec<Run>> {
    let mut found: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for entry in fs::read_dir(sandbox.path("lives")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let parts: Vec<&str> = name.split('.').collect();
        let [activity, number, pid] = parts[..] else {
            continue; // The script and the gate.
        };
        let text = fs::read_to_string(entry.path()).unwrap();
        let lines = text.lines().map(|line| line.split(' '));
        let moments: Vec<(&str, f64, Option<&str>)> = lines
            .filter_map(|mut line| {
                let (word, moment) = (line.next()?, line.next()?.parse().ok()?);
                Some((word, moment, line.next()))
            })
            .collect();
        // An attempt that was killed at once may have written nothing.
        let (Some((_, start, Some(place))), Some((word, last, _))) =
            (moments.first(), moments.last())
        else {
            continue;
        };
        found.entry(activity.to_owned()).or_default().push(Run {
            number: number.parse().unwrap(),
            pid: pid.parse().unwrap(),
            place: (*place).to_owned(),
            start: *start,
            last: *last,
            has_ended: *word == "end",
        });
    }
    for of in found.values_mut() {
        of.sort_by(|one, other| one.start.total_cmp(&other.start));
    }
    found
}

fn activity<'a>(status: &'a Value, name: &str) -> &'a Value {
    let all = status["activity_list"].as_array().unwrap();
    all.iter().find(|one| one["activity"] == name).unwrap()
}

/// A process whose first activity has ended, while what stays runs on both machines.
struct Running {
    world: World,
    user: String,
    id: String,
    /// The status of the first activity, which had ended.
    early: Value,
    first: BTreeMap<String, Vec<Run>>,
}

impl Running {
    fn begin() -> Running {
        let world = World::new(1, 2);
        let user = world.user("ana");
        let file = definition(&world.sandbox);
        let submit = ["submit", &file, "--keep-going", "--grid", &user];
        let id = world.sandbox.xav(&submit).expect(0).stdout;
        let first = wait::until("what stays runs", || {
            let runs = runs(&world.sandbox);
            let all = STAYING.iter().all(|name| runs.contains_key(*name));
            all.then_some(runs)
        });
        let mut running = Running {
            world,
            user,
            id: id.trim_end().to_owned(),
            early: Value::Null,
            first,
        };
        running.early = activity(&running.status(), "early").clone();
        assert_eq!(running.early["state"], "completed");
        running
    }

    fn status(&self) -> Value {
        let status = ["status", &self.id, "--grid", &self.user, "--json"];
        self.world.sandbox.json(&status)
    }

    /// All attempts, when the process has ended as it should.
    fn check_at_the_end(&self) -> BTreeMap<String, Vec<Run>> {
        let ended = until_it_is(&self.world, &self.user, &self.id, "faulted");
        let runs = runs(&self.world.sandbox);
        check(&ended, &self.early, &runs);
        runs
    }
}

#[test]
fn frozen_daemons_run_nothing_twice_at_a_time_and_take_nothing_back() {
    let running = Running::begin();
    let (world, first) = (&running.world, &running.first);
    let sandbox = &world.sandbox;

    // The machine that has what must not run twice.
    let has = |index: usize| {
        let home = world.home_of(index).to_str().unwrap().to_owned();
        first["once"][0].place.starts_with(&home)
    };
    let frozen = usize::from(has(1));
    assert!(has(frozen));
    let home = world.home_of(frozen).to_str().unwrap();
    let there: Vec<&str> = STAYING
        .into_iter()
        .filter(|name| *name != "once" && first[*name][0].place.starts_with(home))
        .collect();
    let begun = Instant::now();
    world.freeze_activity_manager(frozen);
    // When the process manager has given up what was there, it is frozen as well, and so long that
    // what runs on the other machine is stopped by its own executor.
    wait::until("the fault of what must not run twice", || {
        let status = running.status();
        (activity(&status, "once")["state"] == "faulted").then_some(())
    });
    world.freeze_process_manager(0);
    wait::moment(FROZEN.saturating_sub(begun.elapsed()));
    world.thaw_process_manager(0);
    world.thaw_activity_manager(frozen);
    sandbox.file("lives/gate", "");
    let runs = running.check_at_the_end();
    // Whatever stayed on the frozen machine has run again.
    for name in there {
        assert!(runs[name].len() > 1, "{name}: {runs:?}");
    }
}

#[test]
fn a_frozen_process_manager_takes_nothing_back_and_machines_stop_what_it_does_not_renew() {
    let running = Running::begin();
    let (world, first) = (&running.world, &running.first);
    let sandbox = &world.sandbox;

    world.freeze_process_manager(0);
    let begun = Instant::now();
    // Nobody tells the machines to stop: their executors do when the leases end.
    wait::until("the end of the commands that stay", || {
        first.values().flatten().all(Run::is_over).then_some(())
    });
    let stopped = runs(sandbox);
    assert!(
        begun.elapsed() < FROZEN,
        "they ended when nobody was frozen"
    );
    wait::moment(FROZEN.saturating_sub(begun.elapsed()));
    // Nothing has started meanwhile, since nobody could have said so.
    assert_eq!(runs(sandbox), stopped);
    for name in STAYING {
        assert_eq!(stopped[name].len(), 1, "{name}: {stopped:?}");
        assert!(!stopped[name][0].has_ended, "{name}: {stopped:?}");
    }
    world.thaw_process_manager(0);
    sandbox.file("lives/gate", "");
    let runs = running.check_at_the_end();
    for name in STAYING {
        let n_runs = if name == "once" { 1 } else { 2 };
        assert_eq!(runs[name].len(), n_runs, "{name}: {runs:?}");
    }
}

#[test]
fn a_frozen_activity_manager_keeps_no_command_beyond_its_lease() {
    let world = World::new(1, 1);
    let (sandbox, user) = (&world.sandbox, world.user("ana"));
    let file = staying(sandbox, &["long"]);
    let submit = ["submit", &file, "--grid", &user];
    let id = sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    let attempt = |number: usize| {
        wait::until("an attempt to run", || {
            runs(sandbox).remove("long")?.into_iter().nth(number)
        })
    };
    let first = attempt(0);
    world.freeze_activity_manager(0);
    wait::until("the command to end", || first.is_over().then_some(()));
    let n_attempts = runs(sandbox)["long"].len();
    assert_eq!(n_attempts, 1, "the first had ended before");
    world.thaw_activity_manager(0);
    let second = attempt(1);
    assert!(!second.is_over());
    sandbox.xav(&["cancel", id, "--grid", &user]).expect(0);
    until_it_is(&world, &user, id, "cancelled");
    wait::until("the second to end", || second.is_over().then_some(()));
}

#[test]
fn files_of_machines_are_still_there_for_a_process_manager_that_stood_still() {
    let world = World::with_leases(1, "5s");
    let (sandbox, user) = (&world.sandbox, world.user("ana"));
    let script = live(sandbox);
    let text = format!(
        "\
xavantes: 1
name: kept
body:
  sequence:
    - {{ activity: make, run: {{ shell: \"sh {script} make live.sh; date > out\" }}, outputs: {{ out: out }} }}
    - {{ activity: hold, run: [sh, {script}, hold, gate], work: 60s }}
    - {{ activity: use, run: [cat, in], inputs: {{ in: make.out }} }}
"
    );
    let file = sandbox.file("kept.yaml", text);
    let submit = ["submit", &file, "--grid", &user];
    let id = sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    let held = wait::until("the second activity to run", || {
        runs(sandbox).remove("hold")?.into_iter().next()
    });
    world.freeze_process_manager(0);
    let begun = Instant::now();
    wait::until("its command to end", || held.is_over().then_some(()));
    // Two seconds after the manager would have given up the machine.
    wait::moment(Duration::from_secs(8).saturating_sub(begun.elapsed()));
    world.thaw_process_manager(0);
    sandbox.file("lives/gate", "");
    until_it_is(&world, &user, id, "completed");
    let runs = runs(sandbox);
    assert_eq!((runs["make"].len(), runs["hold"].len()), (1, 2), "{runs:?}");
}

/// Checks the final status and the commands' own logs. Holds for every daemon that may be frozen while an
/// `at-most-once` activity runs.
fn check(ended: &Value, early: &Value, runs: &BTreeMap<String, Vec<Run>>) {
    // The recorded outcome is unchanged, and its activity ran once.
    assert_eq!(activity(ended, "early"), early);
    assert_eq!(runs["early"].len(), 1);
    // It ran once, and what became of it is not known.
    assert_eq!(runs["once"].len(), 1, "{runs:?}");
    assert!(!runs["once"][0].has_ended);
    let faults = ended["faults"].as_array().unwrap();
    let told: Vec<(&Value, &Value)> = faults
        .iter()
        .map(|fault| (&fault["activity"], &fault["fault"]))
        .collect();
    assert_eq!(told, [(&"once".into(), &"outcome-unknown".into())]);
    // Everything else has ended well once.
    assert_eq!(runs.len(), 1 + STAYING.len() + WAITING);
    for (name, of) in runs {
        if name != "once" {
            let n_ended = of.iter().filter(|run| run.has_ended).count();
            assert_eq!(n_ended, 1, "{name}: {of:?}");
            assert_eq!(activity(ended, name)["state"], "completed");
        }
        let mut numbers: Vec<u32> = of.iter().map(|run| run.number).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), of.len(), "one attempt started twice: {of:?}");
        // One is dead before the next one starts.
        for pair in of.windows(2) {
            assert!(pair[0].last < pair[1].start, "{name}: {of:?}");
        }
    }
}
