//! The environment of commands, as definitions choose it: variables of the process, of a file, and of whoever
//! submits it; installed software; and what a rerun makes of another value.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::sandbox::{Done, Sandbox};

/// One activity that prints what it finds.
fn print(sandbox: &Sandbox, head: &str, keys: &str) -> String {
    let log = sandbox.path("log").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: print
inputs:
  n: {{ type: int, default: 3 }}
variables:
  seen: string
outputs:
  seen: ${{ seen }}
{head}
body:
  activity: print
  run:
    shell: |
      echo run >> {log}
      echo \"A=$A B=$B C=$C D=$D tool=$(tool)\"
  stdout: {{ into: seen }}
{keys}
"
    );
    sandbox.file("print.yaml", text)
}

#[track_caller]
fn seen(done: &Done) -> String {
    assert_eq!(done.status, Some(0), "{done:?}");
    let line = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("seen: "));
    line.unwrap_or_default().to_owned()
}

/// A directory with a program in its `bin` that says its name.
fn installed(sandbox: &Sandbox, name: &str) -> String {
    let root = sandbox.path(name);
    let tool = root.join("bin/tool");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::write(&tool, format!("#!/bin/sh\necho {name}\n")).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    root.display().to_string()
}

#[test]
fn a_command_finds_what_its_definition_chooses_and_nothing_else() {
    let sandbox = Sandbox::new();
    let (common, own) = (installed(&sandbox, "common"), installed(&sandbox, "own"));
    sandbox.file("run.env", "A=file\nB='of the file' # remark\nC=file\n");
    let head = format!(
        "env-file: run.env\npass: [B, UNSET]\nenv: {{ C: 'n is ${{inputs.n}}' }}\nenvironment: {{ path: {common} }}"
    );
    let file = print(&sandbox, &head, "");
    // B is passed on, D is not.
    let run = |file: &str| {
        let mut command = sandbox.command(&["run", file]);
        command.env("B", "passed").env("D", "dropped");
        Done::from(command.output().unwrap())
    };
    let done = run(&file);
    assert_eq!(seen(&done), "A=file B=passed C=n is 3 D= tool=common");
    assert!(
        done.stderr
            .contains("UNSET, which `pass` names, is not set here"),
        "{done:?}"
    );
    let keys = format!("  env: {{ C: own }}\n  environment: {{ path: {own} }}");
    let done = run(&print(&sandbox, &head, &keys));
    assert_eq!(seen(&done), "A=file B=passed C=own D= tool=own");
}

#[test]
fn a_rerun_reads_variables_again_and_runs_what_they_change() {
    let sandbox = Sandbox::new();
    installed(&sandbox, "common");
    sandbox.file("run.env", "A=1\n");
    let file = print(&sandbox, "env-file: run.env\npass: [B]", "");
    assert_eq!(
        sandbox.xav_with(("B", "b"), &["run", &file]).status,
        Some(0)
    );
    let n_runs = || sandbox.lines("log").len();
    assert_eq!(n_runs(), 1);
    let again = |value: &str, more: &[&str]| {
        let arguments = [&["rerun"], more].concat();
        seen(&sandbox.xav_with(("B", value), &arguments))
    };
    assert_eq!(again("b", &[]), "A=1 B=b C= D= tool=");
    assert_eq!(n_runs(), 1, "nothing has changed");
    assert_eq!(again("c", &[]), "A=1 B=c C= D= tool=");
    assert_eq!(n_runs(), 2, "a value that is passed on");
    sandbox.file("run.env", "A=2\n");
    assert_eq!(again("d", &["--same-files"]), "A=1 B=c C= D= tool=");
    assert_eq!(n_runs(), 2, "everything is as it was");
    assert_eq!(again("c", &[]), "A=2 B=c C= D= tool=");
    assert_eq!(n_runs(), 3, "the file of variables");
}

#[test]
fn what_is_wrong_with_an_environment_is_told_at_its_place() {
    let sandbox = Sandbox::new();
    let file = print(
        &sandbox,
        "env-file: run.env\npass: [B, B]\nenv: { B: x, E: '${ no }' }\nenvironment: { path: opt/x }",
        "",
    );
    let done = sandbox.xav(&["validate", &file]);
    assert_eq!(done.status, Some(2), "{done:?}");
    for part in [
        "`B` is listed twice",
        "`B` is in `env` too, which counts",
        "`opt/x` is not an absolute path",
        "`no`",
    ] {
        assert!(done.stderr.contains(part), "{part} in {}", done.stderr);
    }
    let file = print(&sandbox, "env-file: run.env", "");
    sandbox.file("run.env", "A=1\nB = 2\nC\n");
    for command in ["validate", "run"] {
        let done = sandbox.xav(&[command, &file]);
        assert_eq!(done.status, Some(2), "{done:?}");
        for part in [
            "run.env:2: a blank before `=`: write NAME=value",
            "run.env:3: no `=` in it",
        ] {
            assert!(done.stderr.contains(part), "{part} in {}", done.stderr);
        }
    }
    fs::remove_file(sandbox.path("run.env")).unwrap();
    let done = sandbox.xav(&["run", &file]);
    assert_eq!(done.status, Some(2), "{done:?}");
    assert!(done.stderr.contains("`run.env` of `env-file`"), "{done:?}");
    assert!(sandbox.lines("log").is_empty(), "nothing was started");
}

#[test]
fn a_command_does_not_start_without_its_installed_software() {
    let sandbox = Sandbox::new();
    let missing = sandbox.path("nowhere").display().to_string();
    let head = format!("environment: {{ path: {missing} }}");
    let done = sandbox.xav(&["run", &print(&sandbox, &head, "")]);
    assert_eq!(done.status, Some(1), "{done:?}");
    let told = format!("its environment is not on this machine: no directory {missing}/bin");
    assert!(done.stderr.contains(&told), "{done:?}");
    assert!(sandbox.lines("log").is_empty());
}
