//! The first minutes: a definition to begin with, a definition from a pipe, and a list that is narrowed.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::sandbox::Sandbox;

#[test]
fn a_definition_to_begin_with_runs_and_is_never_written_over() {
    let sandbox = Sandbox::new();
    let begun = sandbox.xav(&["init", "first"]).expect(0);
    begun.shows("first.yaml is written: read it, then run it: xav run first.yaml\n");
    // As other tools call `validate`.
    sandbox
        .xav(&["check", "first.yaml"])
        .expect(0)
        .shows("first.yaml: first is valid");
    let run = ["run", "first.yaml", "--input", "who=reader"];
    sandbox.xav(&run).expect(0).shows("letters: 13\n");
    sandbox.xav(&["results", "--to", "made"]).expect(0);
    assert_eq!(
        fs::read_to_string(sandbox.path("made/shout.txt")).unwrap(),
        "HELLO READER\n"
    );
    let again = sandbox.xav(&["init", "first.yaml"]).expect(2);
    again.says("first.yaml is there already: give another name");
    let wrong = sandbox.xav(&["init", "My Pipeline"]).expect(2);
    wrong.says("`My Pipeline` is no name: a process name is a lower-case letter");
    // Its comments name the first commands.
    let written = fs::read_to_string(sandbox.path("first.yaml")).unwrap();
    let commands = written.lines().filter(|line| line.contains("  xav "));
    assert_eq!(commands.count(), 4);
}

#[test]
fn a_definition_may_come_from_standard_input() {
    let sandbox = Sandbox::new();
    let run = |definition: &str| {
        let mut command = sandbox.command(&["run", "-", "--quiet"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut given = child.stdin.take().unwrap();
        given.write_all(definition.as_bytes()).unwrap();
        drop(given);
        child.wait_with_output().unwrap()
    };
    let done = run(
        "xavantes: 1\nname: p\nvariables: { v: string }\noutputs: { v: '${ v }' }\nbody: { activity: a, run: [echo, hi], stdout: { into: v } }\n",
    );
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(text(&done.stdout).contains("v: hi"), "{done:?}");
    let bad = run("xavantes: 1\nname: p\nbodi: {}\n");
    assert_eq!(bad.status.code(), Some(2));
    assert!(
        text(&bad.stderr).contains("did you mean `body`?"),
        "{bad:?}"
    );
}

#[test]
fn a_list_is_narrowed_by_name_phase_and_time() {
    let sandbox = Sandbox::new();
    let define = |name: &str, command: &str| {
        let text =
            format!("xavantes: 1\nname: {name}\nbody: {{ activity: a, run: [{command}] }}\n");
        sandbox.file(&format!("{name}.yaml"), text)
    };
    let (good, bad) = (define("good", "'true'"), define("bad", "'false'"));
    sandbox.xav(&["run", &good, "--quiet"]).expect(0);
    sandbox.xav(&["run", &bad, "--quiet"]).expect(1);
    let names = |more: &[&str]| {
        let arguments = [&["list", "--json"], more].concat();
        let all = sandbox.json(&arguments);
        let all = all.as_array().unwrap().iter();
        let names = all.map(|one| one["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["bad", "good"]);
    assert_eq!(names(&["--name", "good"]), ["good"]);
    assert_eq!(names(&["--phase", "faulted"]), ["bad"]);
    assert_eq!(names(&["--phase", "completed", "--since", "1h"]), ["good"]);
    assert_eq!(names(&["--owner", "nobody"]), Vec::<String>::new());
    sandbox
        .xav(&["list", "--name", "other"])
        .expect(0)
        .says("there is no such process");
}

#[test]
fn the_name_of_a_process_means_its_newest_run() {
    let sandbox = Sandbox::new();
    let define = |name: &str, command: &str| {
        let text = format!(
            "xavantes: 1\nname: {name}\nbody: {{ activity: say, run: [sh, -c, '{command}'] }}\n"
        );
        sandbox.file(&format!("{name}.yaml"), text)
    };
    let (line, other) = (
        define("one-line", "echo one"),
        define("other", "echo >&2 no; exit 3"),
    );
    let run = |file: &str| {
        let json = sandbox.json(&["run", file, "--json"]);
        json["process"].as_str().unwrap().to_owned()
    };
    let first = run(&line);
    let newest = run(&line);
    let last = run(&other);
    let process = |arguments: &[&str]| {
        let json = sandbox.json(&[arguments, &["--json"]].concat());
        json["process"].as_str().unwrap().to_owned()
    };
    assert_eq!(process(&["status", "one-line"]), newest);
    assert_eq!(process(&["status", "other"]), last);
    assert_eq!(process(&["status", &first[..6]]), first);
    sandbox
        .xav(&["logs", "one-line", "say"])
        .expect(0)
        .shows("one");
    sandbox.xav(&["why", "other", "say"]).expect(0).shows("3");
    sandbox.xav(&["results", "one-line"]).expect(0);
    sandbox.xav(&["rerun", "one-line", "--dry-run"]).expect(0);
    // A slip leads to the name that was meant.
    sandbox
        .xav(&["status", "one-lime"])
        .expect(2)
        .says("did you mean one-line?");
    // Whoever failed is shown alone.
    let failed = sandbox.xav(&["status", "other", "--failed"]).expect(0);
    failed.shows("say").shows("1 activity that is faulted");
    let failed = sandbox.xav(&["status", "one-line", "--failed"]).expect(0);
    assert!(!failed.stdout.contains("say"), "{failed:?}");
    let listed = sandbox.json(&["list", "--json", "--after", "other"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    sandbox
        .xav(&["forget", "one-line"])
        .expect(0)
        .shows(&newest);
    assert_eq!(process(&["status", "one-line"]), first);
}

#[test]
fn a_run_says_where_it_runs_to_people_alone() {
    let sandbox = Sandbox::new();
    let text = "xavantes: 1\nname: short\nbody: { activity: a, run: ['true'] }\n";
    let file = sandbox.file("short.yaml", text);
    let told = sandbox.xav(&["run", &file, "--slots", "3"]).expect(0);
    told.says(" runs on this machine, on 3 slots\n");
    for option in ["--quiet", "--json", "--dry-run"] {
        let told = sandbox.xav(&["run", &file, option]).expect(0);
        assert!(!told.stderr.contains("runs on"), "{told:?}");
    }
}
