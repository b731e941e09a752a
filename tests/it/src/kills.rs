//! `kill -9` of a run and of its executor at drawn moments, each followed by `xav resume`: the
//! process completes with the outputs of an undisturbed run, and nothing whose outcome had been
//! recorded runs again.
//!
//! `XAVANTES_KILLS` says how many kills of each kind there are; a few where it is not set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::wait;

/// Kills of each kind where nobody says otherwise.
const KILLS: u64 = 2;

/// Layers of activities with files between them, and activities of each.
const LAYERS: usize = 20;
const WIDTH: usize = 20;

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    /// The run, from outside.
    Run,
    /// The run, by itself: what its process manager recorded is durable, and neither the
    /// acknowledgement nor anything else that follows has left.
    RunAfterFlush,
    Executor,
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

fn kills() -> u64 {
    let told = std::env::var("XAVANTES_KILLS").ok();
    told.map_or(KILLS, |number| {
        number.parse().expect("XAVANTES_KILLS is a number")
    })
}

/// Numbers that look drawn: splitmix64.
fn drawn(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The hash of every output of every activity.
fn hashes(status: &Value) -> BTreeMap<String, Value> {
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

fn undisturbed() -> BTreeMap<String, Value> {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    sandbox
        .xav(&["run", &file, "--quiet", "--slots", "4"])
        .expect(0);
    hashes(&sandbox.json(&["status", "--json"]))
}

/// The executor of a sandbox's only run.
fn executor(sandbox: &Sandbox) -> Option<Pid> {
    let home = sandbox.path("").display().to_string();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .find_map(|entry| {
            let command = fs::read(entry.path().join("cmdline")).ok()?;
            let command = String::from_utf8_lossy(&command).into_owned();
            let is_it = command.contains("__executor") && command.contains(&home);
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            if is_it { Pid::from_raw(pid) } else { None }
        })
}

/// One life: killed when the log has a drawn number of lines and a drawn moment has passed.
fn life(victim: Victim, seed: u64, wanted: &BTreeMap<String, Value>) {
    let sandbox = Sandbox::new();
    let file = definition(&sandbox);
    let n_lines = 2 * LAYERS * WIDTH;
    let at = 2 + usize::try_from(drawn(seed)).unwrap_or(usize::MAX) % (n_lines - 40);
    // Half of the kills come at once after a line, when an outcome is on its way to the journal.
    let moment = if seed.is_multiple_of(2) {
        0
    } else {
        drawn(seed ^ 1) % 3_000
    };
    // The first flushes are of the submission and the plan; a run has several times as many.
    let n_flushes = 3 + drawn(seed ^ 2) % 60;
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

    let arguments = ["run", &file, "--quiet", "--slots", "4"];
    let mut run = sandbox.start_with(("XAVANTES_CRASH", &crash), &arguments);
    wait::until("the line at which it is killed", || {
        let reached = match victim {
            Victim::RunAfterFlush => false,
            Victim::Run | Victim::Executor => sandbox.lines("log").len() >= at,
        };
        (reached || run.has_ended()).then_some(())
    });
    wait::moment(Duration::from_micros(moment));
    // How often each activity has started whose outcome is recorded: that has ended, so it stays.
    let starts = |name: &str| {
        let start = format!(" start {name}");
        sandbox
            .lines("log")
            .iter()
            .filter(|line| line.ends_with(&start))
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
            let executor = executor(&sandbox).expect("a run has an executor");
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

#[test]
fn a_run_that_is_killed_is_resumed_without_repeating_what_was_recorded() {
    let wanted = undisturbed();
    assert_eq!(wanted.len(), LAYERS * WIDTH + 1);
    for seed in 0..kills() {
        let victim = if seed.is_multiple_of(2) {
            Victim::RunAfterFlush
        } else {
            Victim::Run
        };
        life(victim, seed, &wanted);
    }
}

#[test]
fn a_run_whose_executor_is_killed_goes_on_without_repeating_what_was_recorded() {
    let wanted = undisturbed();
    for seed in 100..100 + kills() {
        life(Victim::Executor, seed, &wanted);
    }
}
