//! Named limits and further tries, with commands that run.

use std::fs;

use crate::sandbox::Sandbox;

/// Items that each say when they begin and end, two at a time.
const LICENSED: &str = "\
xavantes: 1
name: licensed
limits: { licence: 2 }
body:
  for-each:
    item: n
    in: [1, 2, 3, 4, 5, 6]
    do:
      activity: solve
      run: { shell: 'echo begin >> LOG; sleep 0.2; echo end >> LOG' }
      uses-limit: licence
";

#[test]
fn never_more_commands_run_than_a_limit_has_units() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log").display().to_string();
    let file = sandbox.file("licensed.yaml", LICENSED.replace("LOG", &log));
    let done = sandbox.xav(&["run", &file, "--slots", "6"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    let lines = sandbox.lines("log");
    assert_eq!(lines.len(), 12);
    let mut n_running = 0;
    for line in &lines {
        match line.as_str() {
            "begin" => n_running += 1,
            _ => n_running -= 1,
        }
        assert!(n_running <= 2, "{lines:?}");
    }
}

#[test]
fn a_limit_that_nobody_has_is_refused_before_anything_starts() {
    let sandbox = Sandbox::new();
    let text = LICENSED.replace("limits: { licence: 2 }\n", "");
    let file = sandbox.file("licensed.yaml", text);
    let done = sandbox.xav(&["run", &file]);
    assert_eq!(done.status, Some(2), "{done:?}");
    assert!(
        done.stderr.contains("takes of the limit `licence`"),
        "{done:?}"
    );
    assert_eq!(sandbox.n_runs(), 0);
}

#[test]
fn a_command_is_tried_again_for_the_causes_that_are_named_alone() {
    let sandbox = Sandbox::new();
    let log = sandbox.path("log").display().to_string();
    let file = |status: u32, on: &str| {
        let text = format!(
            "xavantes: 1\nname: again\nbody:\n  activity: a\n  run: {{ shell: 'echo try >> {log}; exit {status}' }}\n  \
             retry: {{ attempts: 3, on: [{on}] }}\n"
        );
        sandbox.file("again.yaml", text)
    };
    for (status, on, n_tries) in [
        (75, "75", 3),
        (75, "exit", 3),
        (75, "74, timeout, out-of-memory, lost", 1),
    ] {
        let done = sandbox.xav(&["run", &file(status, on)]);
        assert_eq!(done.status, Some(1), "{done:?}");
        assert_eq!(sandbox.lines("log").len(), n_tries, "{on}");
        fs::remove_file(sandbox.path("log")).unwrap();
    }
    let done = sandbox.xav(&["run", &file(75, "75")]);
    assert_eq!(done.status, Some(1), "{done:?}");
    let why = sandbox.xav(&["why", "a"]);
    let told = "3 of 3 tries failed: exit-code, exit-code, exit-code";
    assert!(why.stdout.contains(told), "{why:?}");
}
