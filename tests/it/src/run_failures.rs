//! Failures of a run: missing commands, missing outputs, full disks, state directories of later versions.

use std::fs;
use std::process::Command;

use crate::sandbox::Sandbox;

fn only(more: &str) -> String {
    format!("xavantes: 1\nname: trouble\nbody: {{ activity: only, {more} }}\n")
}

#[test]
fn a_command_that_is_not_there_is_a_fault() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a.yaml", only("run: [no-such-command, x]"));
    sandbox
        .xav(&["run", &file])
        .expect(1)
        .says("fault: activity only: ")
        .says("no-such-command")
        .says("(not-started)");
}

#[test]
fn a_command_that_cannot_be_run_is_a_fault() {
    let sandbox = Sandbox::new();
    sandbox.file("plain.txt", "just text");
    let text = format!("files: [plain.txt]\n{}", only("run: [./plain.txt]"));
    let file = sandbox.file(
        "a.yaml",
        text.replacen("xavantes: 1\n", "", 1)
            .replacen("files", "xavantes: 1\nfiles", 1),
    );
    let done = sandbox.xav(&["run", &file]).expect(1);
    done.says("fault: activity only: ")
        .says("plain.txt")
        .says("(not-started)");
}

#[test]
fn a_file_beside_the_definition_that_was_not_laid_out_is_named() {
    let sandbox = Sandbox::new();
    sandbox.file("count.sh", "#!/bin/sh\necho 1\n");
    let advice = "count.sh lies beside the definition, but not in the activity's directory: write `files: [count.sh]`";
    for (name, run) in [
        ("started", "run: [./count.sh, x]"),
        ("shell", "run: { shell: './count.sh x' }"),
        ("read", "run: [cat, count.sh]"),
    ] {
        let file = sandbox.file(&format!("{name}.yaml"), only(run));
        sandbox.xav(&["run", &file]).expect(1).says(advice);
    }
    // A failure of another kind has no such advice.
    let file = sandbox.file(
        "other.yaml",
        only("run: { shell: 'echo count.sh >&2; exit 3' }"),
    );
    let done = sandbox.xav(&["run", &file]).expect(1);
    assert!(!done.stderr.contains("advice"), "{}", done.stderr);
}

#[test]
fn a_script_that_may_not_be_executed_is_told_with_the_command_for_it() {
    let sandbox = Sandbox::new();
    sandbox.file("count.sh", "#!/bin/sh\necho 1\n");
    let path = sandbox.path("count.sh").display().to_string();
    for (name, run) in [
        ("a", "run: [./count.sh]"),
        ("b", "run: { shell: ./count.sh }"),
    ] {
        let text = only(run).replace("body:", "files: [count.sh]\nbody:");
        let file = sandbox.file(&format!("{name}.yaml"), text);
        let done = sandbox.xav(&["run", &file]).expect(1);
        done.says(&format!("count.sh may not be executed: chmod +x {path}"));
    }
}

#[test]
fn an_output_that_was_not_written_is_a_fault() {
    let sandbox = Sandbox::new();
    let file = sandbox.file(
        "a.yaml",
        only("run: ['true'], outputs: { table: table.txt }"),
    );
    let done = sandbox.xav(&["run", &file]).expect(1);
    done.says("fault: activity only: ")
        .says("table.txt")
        .says("(missing-output)");
}

#[test]
fn a_command_that_takes_too_long_is_a_fault() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a.yaml", only("run: [sleep, '60'], timeout: 50ms"));
    sandbox.xav(&["run", &file]).expect(1).says("(timeout)");
}

#[test]
fn a_state_directory_of_a_later_version_is_not_touched() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("a.yaml", only("run: ['true']"));
    sandbox.xav(&["run", &file, "--state", "s"]).expect(0);
    let before = sandbox.path("s/version");
    let text = fs::read_to_string(&before).unwrap();
    fs::write(&before, "xavantes state 9\nmade by xavantes 9.1.0\n").unwrap();
    for arguments in [
        ["run", &file, "--state", "s"].as_slice(),
        &["status", "--state", "s"],
    ] {
        sandbox
            .xav(arguments)
            .expect(1)
            .says("was made by xavantes 9.1.0 (layout 9)");
    }
    // The same of a journal in it.
    fs::write(&before, text).unwrap();
    let journal = sandbox.path("s/pm/journal/version");
    fs::write(&journal, "journal format 99\nwritten by xavantes 9.1.0\n").unwrap();
    for arguments in [
        ["run", &file, "--state", "s"].as_slice(),
        &["status", "--state", "s"],
    ] {
        sandbox.xav(arguments).expect(1).says("9.1.0");
    }
}

#[test]
fn a_full_disk_is_told_and_what_was_recorded_stays() {
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=24m,mode=700", "none"])
        .arg(&disk)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        println!("SKIPPED: a small disk cannot be mounted here (only root may)");
        return;
    }
    let text = "\
xavantes: 1
name: large
body:
  sequence:
    - { activity: small, run: { shell: 'echo small > a' }, outputs: { a: a } }
    - activity: large
      # A file of two names is copied.
      run: { shell: ': > b; ln b c; head -c 64000000 /dev/zero > b; test -s b' }
      outputs: { b: b }
";
    let file = sandbox.file("a.yaml", text);
    let state = disk.join("s");
    let state = state.to_str().unwrap();
    let done = sandbox.xav(&["run", &file, "--state", state]);
    let status = sandbox.xav(&["status", "--state", state]);
    let unmounted = Command::new("umount").arg("-l").arg(&disk).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(
        done.stderr.contains("No space left") || done.stderr.contains("disk is full"),
        "{}",
        done.stderr
    );
    let small = status.stdout.lines().find(|line| line.starts_with("small"));
    assert!(
        small.is_some_and(|line| line.contains("completed")),
        "{status:?}"
    );
}
