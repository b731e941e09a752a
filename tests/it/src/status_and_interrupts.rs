//! Questions about running and ended processes, several processes at once, and interruptions.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use crate::blocked_process;
use crate::sandbox::{Sandbox, Started};
use crate::wait;

/// Runs it, and waits until its second activity does.
fn started(sandbox: &Sandbox, more: &[&str]) -> Started {
    let arguments = blocked_process::arguments(sandbox, "run");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = sandbox.start(&[&arguments, more].concat());
    sandbox.wait_for_lines("log", 2);
    run
}

fn newest(sandbox: &Sandbox) -> String {
    let list = sandbox.json(&["list", "--json"]);
    list[0]["process"].as_str().unwrap().to_owned()
}

#[test]
fn questions_are_answered_while_it_runs_and_afterwards() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &[]);
    let id = newest(&sandbox);
    sandbox
        .xav(&["list"])
        .expect(0)
        .shows(&id)
        .shows("running")
        .shows("1/3");
    let status = wait::until("the second activity is known to run", || {
        let status = sandbox.json(&["status", "--json"]);
        (status["activity_list"][1]["state"] == "running").then_some(status)
    });
    assert_eq!(status["is_live"], true);
    assert!(
        status["activity_list"][1]["attempts"][0]["pid"]
            .as_u64()
            .is_some(),
        "{status}"
    );
    sandbox
        .xav(&["status", &id[..5]])
        .expect(0)
        .shows("second")
        .shows("waiting");
    sandbox
        .xav(&["logs", &id, "first"])
        .expect(0)
        .shows("said by first\n");
    sandbox
        .xav(&["logs", &id, "second"])
        .expect(0)
        .shows("asked for a word\n");
    let following = sandbox.start(&["logs", &id, "second", "--follow"]);
    sandbox
        .xav(&["why", &id, "third"])
        .expect(0)
        .shows("third waits\n  after second, which runs\n");
    sandbox
        .xav(&["why", "second"])
        .expect(0)
        .shows("second runs\n");
    sandbox
        .xav(&["why", &id])
        .expect(0)
        .shows("gated runs: 1 of 3 activities ended, 1 at work\n  second runs\n");
    let why = sandbox.json(&["why", &id, "--json"]);
    assert_eq!(why["activities"][0]["activity"], "second", "{why}");
    assert_eq!(why["order"], serde_json::Value::Null, "{why}");
    sandbox
        .xav(&["results", &id])
        .expect(1)
        .says("has no outputs: it is running");
    let resume = sandbox.xav(&["resume", &id]).expect(1);
    resume.says(&format!("{id} is running, in process {}", run.pid()));

    blocked_process::open(&sandbox);
    let done = run.end().expect(0).says("gated completed in ");
    assert_eq!(done.stdout, "word: done\n");
    let followed = following.end().expect(0);
    assert_eq!(followed.stdout, "asked for a word\nhad it\n");
    sandbox
        .xav(&["list"])
        .expect(0)
        .shows("completed")
        .shows("3/3");
    let status = sandbox.json(&["status", &id[..6], "--json"]);
    assert_eq!(
        (&status["state"], &status["is_live"]),
        (&"completed".into(), &false.into())
    );
    sandbox
        .xav(&["results", &id])
        .expect(0)
        .shows("word: done\n");
    sandbox
        .xav(&["logs"])
        .expect(0)
        .shows("==> first, stdout <==\nsaid by first\n");
    sandbox
        .xav(&["logs", &id, "secnd"])
        .expect(2)
        .says("did you mean second?");
    sandbox
        .xav(&["status", "zzz"])
        .expect(2)
        .says("there is no process zzz");
    sandbox
        .xav(&["resume"])
        .expect(2)
        .says("has completed: there is nothing to go on with");
    sandbox
        .xav(&["cancel"])
        .expect(2)
        .says("has completed already");
    assert_eq!(sandbox.lines("log"), ["first", "second", "third"]);
}

#[test]
fn two_run_side_by_side() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    let first = started(&one, &[]);
    let arguments = blocked_process::arguments(&other, "run");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // The same user, so the same data directory.
    let second = one.start(&arguments);
    other.wait_for_lines("log", 2);
    assert_eq!(
        one.json(&["list", "--json"]).as_array().map(Vec::len),
        Some(2)
    );
    one.xav(&["status"]).expect(0).shows(arguments[1]);
    blocked_process::open(&one);
    blocked_process::open(&other);
    first.end().expect(0);
    second.end().expect(0);
}

#[test]
fn a_state_directory_belongs_to_one_run_at_a_time_and_to_several_in_turn() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &["--state", "s"]);
    assert_eq!(sandbox.n_runs(), 0);
    let file = sandbox.file("true.yaml", TRUE);
    let refused = sandbox.xav(&["run", &file, "--state", "s"]).expect(1);
    refused.says(&format!("s is in use by process {}", run.pid()));
    sandbox
        .xav(&["list"])
        .expect(0)
        .says("there is no process yet");
    sandbox
        .xav(&["list", "--state", "s"])
        .expect(0)
        .shows("gated")
        .shows("running");
    blocked_process::open(&sandbox);
    run.end().expect(0);
    sandbox.xav(&["run", &file, "--state", "s"]).expect(0);
    let list = sandbox.json(&["list", "--state", "s", "--json"]);
    let names: Vec<&Value> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["yes", "gated"]);
    sandbox
        .xav(&["status", "--state", "s"])
        .expect(0)
        .shows("yes");
}

const TRUE: &str = "xavantes: 1\nname: yes\nbody: { activity: only, run: ['true'] }\n";

#[test]
fn ctrl_c_stops_the_commands_and_resume_goes_on() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &[]);
    run.signal(Signal::INT);
    let done = run
        .end()
        .expect(130)
        .says("gated was interrupted by Ctrl-C; go on with: xav resume ");
    let id = newest(&sandbox);
    assert!(
        done.stderr.contains(&format!("xav resume {}", &id[..6])),
        "{}",
        done.stderr
    );
    sandbox.xav(&["list"]).expect(0).shows("interrupted");
    sandbox
        .xav(&["status"])
        .expect(0)
        .shows("Go on with it: xav resume");
    assert_eq!(sandbox.lines("log"), ["first", "second"]);

    let resumed = sandbox.start(&["resume"]);
    sandbox.wait_for_lines("log", 3);
    blocked_process::open(&sandbox);
    assert_eq!(resumed.end().expect(0).stdout, "word: done\n");
    // The completed activity did not run again, the stopped one did.
    assert_eq!(sandbox.lines("log"), ["first", "second", "second", "third"]);
}

#[test]
fn a_signal_to_terminate_is_told_apart() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &["--json"]);
    run.signal(Signal::TERM);
    let done = run.end().expect(143);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(
        (&json["state"], &json["name"]),
        (&"interrupted".into(), &"gated".into())
    );
}

#[test]
fn cancel_ends_a_process_whoever_runs_it() {
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &[]);
    let cancelled = sandbox.xav(&["cancel"]).expect(0);
    assert!(cancelled.stdout.ends_with(" cancelled\n"), "{cancelled:?}");
    run.end().expect(1).says("gated cancelled in ");
    sandbox.xav(&["list"]).expect(0).shows("cancelled");
    sandbox
        .xav(&["resume"])
        .expect(2)
        .says("was cancelled: there is nothing to go on with");
    assert_eq!(sandbox.lines("log"), ["first", "second"]);

    // And one that nobody runs.
    let sandbox = Sandbox::new();
    let run = started(&sandbox, &[]);
    run.signal(Signal::KILL);
    assert_eq!(run.end().status, None);
    let json = sandbox.json(&["cancel", "--json"]);
    assert_eq!(json["state"], "cancelled");
    assert_eq!(sandbox.json(&["status", "--json"])["state"], "cancelled");
}

#[test]
fn questions_are_answered_at_every_moment_of_a_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("true.yaml", TRUE);
    sandbox.xav(&["run", &file]).expect(0);
    for _ in 0..5 {
        let mut run = sandbox.start(&["run", &file]);
        while !run.has_ended() {
            sandbox.xav(&["list"]).expect(0).shows("completed");
            sandbox.xav(&["status"]).expect(0).shows("only");
        }
        run.end().expect(0);
    }
}

#[test]
fn a_reader_that_goes_ends_the_command_quietly() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("true.yaml", TRUE);
    sandbox.xav(&["run", &file]).expect(0);
    let shell = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "{} schema | true",
            crate::sandbox::program().display()
        ))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stderr), "");
}

#[test]
fn results_are_shown_before_work_directories_are_removed_and_a_signal_leaves_these() {
    let sandbox = Sandbox::new();
    let file = sandbox.file(
        "swept.yaml",
        "\
xavantes: 1
name: swept
variables: { word: string }
outputs: { word: '${ word }' }
body:
  activity: say
  run: { shell: echo done | tee out.txt }
  outputs: { out: out.txt }
  stdout: { into: word }
",
    );
    let shown = sandbox.path("shown");
    let into = fs::File::create(&shown).unwrap();
    let mut run = sandbox.start_into(into, ("XAVANTES_STAND", "sweeper:1"), &["run", &file]);
    run.until_it_says("removing the work directories");
    assert_eq!(fs::read_to_string(&shown).unwrap(), "word: done\n");
    assert!(!run.has_ended());
    run.signal(Signal::INT);
    run.end().expect(0);
    let status = sandbox.json(&["status", "--json"]);
    assert_eq!(status["state"], "completed");
    let directory = PathBuf::from(status["directory"].as_str().unwrap());
    let work = directory
        .join("am/work")
        .join(status["process"].as_str().unwrap());
    assert!(work.join("1").is_dir());
    // Work directories that were left are in nobody's way.
    sandbox.xav(&["rerun"]).expect(0).shows("word: done");
}

#[test]
fn a_heading_of_logs_has_a_line_of_its_own() {
    let sandbox = Sandbox::new();
    let definition = sandbox.file(
        "open.yaml",
        "xavantes: 1\nname: open\nbody:\n  sequence:\n    - { activity: one, run: [printf, within] }\n    \
         - { activity: two, run: [echo, whole] }\n",
    );
    sandbox.xav(&["run", &definition]).expect(0);
    sandbox
        .xav(&["logs"])
        .expect(0)
        .shows("==> one, stdout <==\nwithin\n==> two, stdout <==\nwhole\n");
}
