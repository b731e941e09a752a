//! The published comparisons, repeated by the real command.

use std::fs;

use rustix::process::Signal;

use crate::sandbox::Sandbox;

/// Some seconds of one thread.
const LONG: [&str; 6] = [
    "experiment",
    "on-off",
    "--groups",
    "10",
    "--repetitions",
    "100",
];

#[test]
fn a_killed_experiment_goes_on_to_the_same_bytes() {
    let sandbox = Sandbox::new();
    let to = |name: &str| sandbox.path(name).to_str().unwrap().to_owned();
    let (whole, killed) = (to("whole"), to("killed"));
    let arguments = |to: &str, threads: &'static str| {
        let more = ["--to", to, "--threads", threads].map(str::to_owned);
        let all = LONG.into_iter().map(str::to_owned).chain(more);
        all.collect::<Vec<_>>()
    };
    let results = |to: &str| fs::read(format!("{to}/on-off.results")).unwrap();
    let words = arguments(&whole, "2");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = sandbox.xav(&words).expect(0);
    done.shows("100 repetitions, seed 1").shows("on-off.md");

    let words = arguments(&killed, "1");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let started = sandbox.start(&words);
    // The heading and the first units.
    sandbox.wait_for_lines("killed/on-off.results", 2);
    started.signal(Signal::KILL);
    started.end();
    let n_lines = results(&killed).split(|&byte| byte == b'\n').count();
    assert!(n_lines < 101, "it was killed while it ran");
    sandbox.xav(&words).expect(0);
    assert_eq!(results(&killed), results(&whole));
    for file in ["on-off.csv", "on-off.json", "on-off.md"] {
        let read = |to: &str| fs::read_to_string(format!("{to}/{file}")).unwrap();
        assert_eq!(read(&killed), read(&whole));
    }
}

#[test]
fn experiments_are_listed_and_a_wrong_name_or_number_is_refused() {
    let sandbox = Sandbox::new();
    let done = sandbox.xav(&["experiment", "list"]).expect(0);
    done.shows("static").shows("planetlab").shows("on-off");
    let done = sandbox.xav(&["experiment", "statics"]).expect(2);
    done.says("did you mean `static`?");
    let done = sandbox
        .xav(&["experiment", "static", "--repetitions", "0"])
        .expect(2);
    done.says("0 repetitions");
    let done = sandbox
        .xav(&["experiment", "static", "--groups", "0"])
        .expect(2);
    done.says("0 groups");
    assert!(!sandbox.path("experiments").exists());
}
