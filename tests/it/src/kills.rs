//! `kill -9` of a run and of its executor at drawn moments, each followed by `xav resume`: the
//! process completes with the outputs of an undisturbed run, and nothing whose outcome had been
//! recorded runs again.
//!
//! `XAVANTES_KILLS` says how many kills of each kind there are; a few where it is not set. With
//! `XAVANTES_DATA` the same is done to a recorded workflow of 472 activities.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::recorded;
use crate::sandbox::{Sandbox, root};
use crate::wait;

/// Kills of each kind where nobody says otherwise.
const KILLS: u64 = 2;

/// Layers of activities with files between them, and activities of each.
const LAYERS: usize = 20;
const WIDTH: usize = 20;

/// Items of a for-each, and those of another one in its body.
const ROWS: usize = 20;
const COLUMNS: usize = 10;
/// Activities of these items: two in the inner body, one in the outer one.
const IN_BODIES: usize = ROWS * (2 * COLUMNS + 1);

/// Rounds of a loop, and items of the for-each in each of them.
const ROUNDS: usize = 20;
const PARTS: usize = 19;
/// Activities of these rounds: one for each item, and one that gathers.
const IN_ROUNDS: usize = ROUNDS * (PARTS + 1);

/// The program that is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// The run, from outside.
    Run,
    /// The run, by itself: what its process manager recorded is durable, and neither the
    /// acknowledgement nor anything else that follows has left.
    RunAfterFlush,
    Executor,
}

/// The workflow of a test.
enum Subject {
    /// Layers of small activities with files between them.
    Layers,
    /// A for-each in the body of another one.
    Items,
    /// A for-each in a loop, with a file that goes from one iteration to the next.
    Rounds,
    /// A recorded workflow, and how it is scaled.
    Recorded(PathBuf, &'static [&'static str]),
}

impl Subject {
    /// The arguments of `xav run`, in a sandbox. Its commands write their names to `log`.
    fn arguments(&self, sandbox: &Sandbox) -> Vec<String> {
        let owned =
            |words: &[&str]| -> Vec<String> { words.iter().map(|&word| word.to_owned()).collect() };
        let mut arguments = owned(&["run", "--quiet", "--slots", "4"]);
        match self {
            Subject::Layers => arguments.push(definition(sandbox)),
            Subject::Items => arguments.push(items(sandbox)),
            Subject::Rounds => arguments.push(rounds(sandbox)),
            Subject::Recorded(file, scales) => {
                arguments.push(file.display().to_string());
                arguments.extend(owned(scales));
                arguments.push(format!("--record={}", sandbox.path("log").display()));
            }
        }
        arguments
    }

    /// Lines of the log of an undisturbed run.
    fn n_lines(&self) -> usize {
        match self {
            Subject::Layers => 2 * LAYERS * WIDTH,
            Subject::Items => 2 * IN_BODIES,
            Subject::Rounds => 2 * IN_ROUNDS,
            Subject::Recorded(file, _) => recorded::tasks(file).len(),
        }
    }

    /// Flushes that a run of it has for certain after those of its beginning: outcomes share one, but
    /// seldom more than a slot's worth.
    fn n_flushes(&self) -> u64 {
        let n_activities = match self {
            Subject::Layers => LAYERS * WIDTH,
            Subject::Items => IN_BODIES,
            Subject::Rounds => IN_ROUNDS,
            Subject::Recorded(..) => self.n_lines(),
        };
        (n_activities as u64 / 6).clamp(1, 60)
    }

    /// True if a line of the log is one start of an activity.
    fn is_run(&self, line: &str, name: &str) -> bool {
        match self {
            Subject::Layers | Subject::Items | Subject::Rounds => {
                line.ends_with(&format!(" start {name}"))
            }
            Subject::Recorded(..) => line.contains(&format!("\"name\":\"{name}\"")),
        }
    }
}

/// Each activity appends its name and pid to one log, reads the outputs of two activities of the
/// layer before, and writes what follows from both and its own name. When it ends it says so.
fn definition(sandbox: &Sandbox) -> String {
    let log = sandbox.path("log").display().to_string();
    let mut text =
        String::from("xavantes: 1\nname: layers\noutputs: { sum: last.sum }\nbody:\n  sequence:\n");
    for layer in 0..LAYERS {
        text.push_str("    - parallel:\n");
        for place in 0..WIDTH {
            let name = format!("l{layer}p{place}");
            let script = format!(
                "echo $$ start {name} >> {log}; cat in* 2> /dev/null | cksum > out; \
                 echo {name} >> out; echo $$ end {name} >> {log}"
            );
            write!(
                text,
                "        - activity: {name}\n          run: {{ shell: \"{script}\" }}\n          outputs: {{ out: out }}\n"
            )
            .unwrap();
            if layer > 0 {
                let (one, other) = (place, (place + 1) % WIDTH);
                writeln!(
                    text,
                    "          inputs: {{ in1: l{0}p{one}.out, in2: l{0}p{other}.out }}",
                    layer - 1
                )
                .unwrap();
            }
        }
    }
    text.push_str("    - activity: last\n      run: { shell: 'cat in* > sum' }\n      outputs: { sum: sum }\n      inputs:\n");
    for place in 0..WIDTH {
        writeln!(text, "        in{place}: l{}p{place}.out", LAYERS - 1).unwrap();
    }
    sandbox.file("layers.yaml", text)
}

/// Each activity appends its name and pid to one log, as those of the layers do. Rows are as many as
/// an activity has printed, and each row has columns of its own.
fn items(sandbox: &Sandbox) -> String {
    let step = |script: &str| logged(sandbox, script);
    let (cell, next) = (
        step("echo ${row} ${column} > out"),
        step("cksum < in > out"),
    );
    let sum = step("cat in/* | cksum > out");
    let text = format!(
        "\
xavantes: 1
name: items
variables: {{ rows: list of string }}
outputs: {{ sum: last.sum, cells: 'cell[*].out' }}
body:
  sequence:
    - activity: first
      run: {{ shell: 'seq {ROWS}' }}
      stdout: {{ into: rows, as: lines }}
    - for-each:
        item: row
        key: ${{ \"r\" + row }}
        in: ${{ rows }}
        at-most: 7
        do:
          - for-each:
              item: column
              in: ${{ range(int(row), int(row) + {COLUMNS}) }}
              do:
                - activity: cell
                  run: {{ shell: '{cell}' }}
                  outputs: {{ out: out }}
                - activity: next
                  run: {{ shell: '{next}' }}
                  inputs: {{ in: cell.out }}
                  outputs: {{ out: out }}
          - activity: sum
            run: {{ shell: '{sum}' }}
            inputs: {{ in/: 'next[*].out' }}
            outputs: {{ out: out }}
    - activity: last
      run: {{ shell: 'cat in/* > sum' }}
      inputs: {{ in/: 'sum[*].out' }}
      outputs: {{ sum: sum }}
"
    );
    sandbox.file("items.yaml", text)
}

/// A script that tells its start and its end.
fn logged(sandbox: &Sandbox, script: &str) -> String {
    let log = sandbox.path("log").display().to_string();
    format!(
        "echo $$ start $XAVANTES_ACTIVITY >> {log}; {script}; \
         echo $$ end $XAVANTES_ACTIVITY >> {log}"
    )
}

/// In each round all parts read what the round before has gathered.
fn rounds(sandbox: &Sandbox) -> String {
    let part = logged(sandbox, "(cat in; echo ${round} ${part}) | cksum > out");
    let gather = logged(sandbox, "cat in/* | cksum > out");
    let text = format!(
        "\
xavantes: 1
name: rounds
outputs: {{ sum: gather.out, parts: 'part[*].out' }}
body:
  sequence:
    - activity: first
      run: {{ shell: 'echo begin > out' }}
      outputs: {{ out: out }}
    - while: ${{ round < {ROUNDS} }}
      index: round
      do:
        - for-each:
            item: part
            in: ${{ range({PARTS}) }}
            do:
              activity: part
              run: {{ shell: '{part}' }}
              inputs: {{ in: {{ first: first.out, then: gather.out }} }}
              outputs: {{ out: out }}
        - activity: gather
          run: {{ shell: '{gather}' }}
          inputs: {{ in/: 'part[*].out' }}
          outputs: {{ out: out }}
"
    );
    sandbox.file("rounds.yaml", text)
}

pub(crate) fn kills() -> u64 {
    let told = std::env::var("XAVANTES_KILLS").ok();
    told.map_or(KILLS, |number| {
        number.parse().expect("XAVANTES_KILLS is a number")
    })
}

/// Numbers that look drawn: splitmix64.
pub(crate) fn drawn(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The hash of every output of every activity.
pub(crate) fn hashes(status: &Value) -> BTreeMap<String, Value> {
    let activities = status["activity_list"].as_array().unwrap();
    let one = |activity: &Value| {
        (
            activity["activity"].as_str().unwrap().to_owned(),
            activity["outputs"].clone(),
        )
    };
    activities.iter().map(one).collect()
}

/// The activities that had completed.
fn completed(status: &Value) -> BTreeSet<String> {
    let activities = status["activity_list"].as_array().unwrap();
    let one = |activity: &&Value| activity["state"] == "completed";
    activities
        .iter()
        .filter(one)
        .map(|activity| activity["activity"].as_str().unwrap().to_owned())
        .collect()
}

fn undisturbed(subject: &Subject) -> BTreeMap<String, Value> {
    let sandbox = Sandbox::new();
    let arguments = subject.arguments(&sandbox);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    sandbox.xav(&arguments).expect(0);
    hashes(&sandbox.json(&["status", "--json"]))
}

/// The executor that has its state under a directory.
pub(crate) fn executor_under(home: &Path) -> Option<Pid> {
    let home = home.display().to_string();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .find_map(|entry| {
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).into_owned();
            // Its guardian has the same arguments, and so has a command that it is just starting.
            let is_it = command.contains("__executor")
                && command.contains(&home)
                && is_below_a_guardian(&entry.path());
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            if is_it { Pid::from_raw(pid) } else { None }
        })
}

/// Returns true if the parent of a process, given by its directory in `/proc`, is a guardian.
fn is_below_a_guardian(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let mut lines = status.lines();
    let parent = lines.find_map(|line| line.strip_prefix("PPid:"));
    let name = parent.map(|parent| Path::new("/proc").join(parent.trim()).join("comm"));
    name.is_some_and(|name| fs::read(name).is_ok_and(|name| name == b"guardian\n"))
}

/// One life: killed when the log has a drawn number of lines and a drawn moment has passed.
fn life(subject: &Subject, victim: Victim, seed: u64, wanted: &BTreeMap<String, Value>) {
    let sandbox = Sandbox::new();
    let arguments = subject.arguments(&sandbox);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // Not just before the end.
    let n_lines = subject.n_lines() * 9 / 10;
    let at = 1 + usize::try_from(drawn(seed)).unwrap_or(usize::MAX) % n_lines;
    // Half of the kills come at once after a line, when an outcome is on its way to the journal.
    let moment = if seed.is_multiple_of(2) {
        0
    } else {
        drawn(seed ^ 1) % 3_000
    };
    // The first flushes are of the submission and the plan.
    let n_flushes = 3 + drawn(seed ^ 2) % subject.n_flushes();
    let told = match victim {
        Victim::RunAfterFlush => format!("seed {seed}: after flush {n_flushes}"),
        Victim::Run | Victim::Executor => {
            format!("{victim:?}, seed {seed}: at line {at} and {moment} µs")
        }
    };
    let crash = match victim {
        Victim::RunAfterFlush => format!("process:{n_flushes}"),
        Victim::Run | Victim::Executor => String::new(),
    };

    let mut run = sandbox.start_with(("XAVANTES_CRASH", &crash), &arguments);
    wait::until("the line at which it is killed", || {
        let reached = match victim {
            Victim::RunAfterFlush => false,
            Victim::Run | Victim::Executor => sandbox.lines("log").len() >= at,
        };
        (reached || run.has_ended()).then_some(())
    });
    wait::moment(Duration::from_micros(moment));
    // Starts of each activity with a recorded outcome. It has ended, so the number stays.
    let starts = |name: &str| {
        let lines = sandbox.lines("log");
        lines
            .iter()
            .filter(|line| subject.is_run(line, name))
            .count()
    };
    let recorded = || -> BTreeMap<String, usize> {
        let status = sandbox.json(&["status", "--json"]);
        completed(&status)
            .into_iter()
            .map(|name| (name.clone(), starts(&name)))
            .collect()
    };
    let before = match victim {
        Victim::Run => {
            run.signal(Signal::KILL);
            assert_eq!(run.end().status, None, "{told}");
            recorded()
        }
        Victim::RunAfterFlush => {
            assert_eq!(run.end().status, None, "{told}");
            recorded()
        }
        Victim::Executor => {
            let executor = executor_under(&sandbox.path("")).expect("a run has an executor");
            kill_process(executor, Signal::KILL).unwrap();
            let before = recorded();
            // The run finds another one. Half of them go on to the end, half are interrupted.
            if seed.is_multiple_of(2) {
                run.signal(Signal::INT);
                let status = run.end().status;
                assert!(matches!(status, Some(0 | 130)), "{told}: {status:?}");
            } else {
                assert_eq!(run.end().status, Some(0), "{told}");
            }
            before
        }
    };
    let is_over = sandbox.json(&["status", "--json"])["state"] == "completed";
    if !is_over {
        sandbox
            .xav(&["resume", "--quiet", "--slots", "4"])
            .expect(0);
    }
    let after = sandbox.json(&["status", "--json"]);
    assert_eq!(after["state"], "completed", "{told}");
    assert!(
        hashes(&after) == *wanted,
        "{told}: other outputs than those of an undisturbed run"
    );
    for (name, n_before) in before {
        assert_eq!(
            starts(&name),
            n_before,
            "{told}: {name} was recorded and ran again"
        );
    }
}

/// Kills of a run, half of them by itself at a moment of its journal.
fn kill_runs(subject: &Subject, n_activities: usize) {
    let wanted = undisturbed(subject);
    assert_eq!(wanted.len(), n_activities);
    for seed in 0..kills() {
        let victim = if seed.is_multiple_of(2) {
            Victim::RunAfterFlush
        } else {
            Victim::Run
        };
        life(subject, victim, seed, &wanted);
    }
}

#[test]
fn a_run_that_is_killed_is_resumed_without_repeating_what_was_recorded() {
    kill_runs(&Subject::Layers, LAYERS * WIDTH + 1);
}

#[test]
fn items_of_a_for_each_that_is_killed_are_resumed_without_repeating_what_was_recorded() {
    kill_runs(&Subject::Items, IN_BODIES + 2);
    let wanted = undisturbed(&Subject::Items);
    for seed in 100..100 + kills() {
        life(&Subject::Items, Victim::Executor, seed, &wanted);
    }
}

#[test]
fn rounds_of_a_loop_that_is_killed_are_resumed_without_repeating_what_was_recorded() {
    kill_runs(&Subject::Rounds, IN_ROUNDS + 1);
    let wanted = undisturbed(&Subject::Rounds);
    for seed in 100..100 + kills() {
        life(&Subject::Rounds, Victim::Executor, seed, &wanted);
    }
}

#[test]
fn a_run_whose_executor_is_killed_goes_on_without_repeating_what_was_recorded() {
    let wanted = undisturbed(&Subject::Layers);
    for seed in 100..100 + kills() {
        life(&Subject::Layers, Victim::Executor, seed, &wanted);
    }
}

#[test]
fn a_recorded_workflow_that_is_killed_is_resumed() {
    let file = root().join("workflows/samples/recorded/recorded.json");
    let scales = &["--cpu-total=200ms", "--data-scale=0.001"];
    let subject = Subject::Recorded(file, scales);
    kill_runs(&subject, subject.n_lines());
}

#[test]
fn a_large_recorded_workflow_that_is_killed_is_resumed() {
    let Some(file) = recorded::data("montage-chameleon-dss-10d-001.json") else {
        return;
    };
    let scales = &["--cpu-total=2s", "--data-scale=0.0001"];
    let subject = Subject::Recorded(file, scales);
    kill_runs(&subject, 472);
    let wanted = undisturbed(&subject);
    for seed in 100..100 + kills() {
        life(&subject, Victim::Executor, seed, &wanted);
    }
}
