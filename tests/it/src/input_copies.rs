//! Copies of input files are let go when their process has completed, and taken again from where the files are.

use std::fs;

use rustix::process::Signal;

use crate::blocked_process;
use crate::damaged_files::blobs;
use crate::sandbox::Sandbox;

/// More bytes than a file has whose copy stays.
const LARGE_BYTES: usize = 100_000;

fn large(word: &str) -> String {
    format!("{word}\n").repeat(LARGE_BYTES / word.len())
}

/// True if copies take space of their own here: otherwise none is let go.
fn copies_take_space(sandbox: &Sandbox) -> bool {
    let from = fs::File::open(sandbox.file("probe", "probe")).unwrap();
    let to = fs::File::create(sandbox.path("probe.copy")).unwrap();
    let is_copied = rustix::fs::ioctl_ficlone(&to, &from).is_err();
    if !is_copied {
        println!("skipped: needs a file system without reflinks");
    }
    is_copied
}

/// `first` sorts the input and is what the process gives; `copy` passes the second input on as it is; `hold`
/// waits for a gate; `second` reads both, with a number, which `hold` has too. Each says its name in a log.
fn definition(sandbox: &Sandbox) -> String {
    let log = sandbox.path("log").display().to_string();
    let gate = sandbox.path("gate").display().to_string();
    sandbox.file("data.txt", large("data"));
    sandbox.file("passed.txt", large("passed"));
    sandbox.file("gate", "");
    let text = format!(
        "\
xavantes: 1
name: copies
inputs:
  data: {{ type: file, default: data.txt }}
  passed: {{ type: file, default: passed.txt }}
  n: {{ type: int, default: 1 }}
outputs: {{ first: first.out, second: second.out }}
body:
  sequence:
    - activity: first
      run: {{ shell: 'echo first >> {log}; sort in.txt | uniq > out.txt' }}
      inputs: {{ in.txt: inputs.data }}
      outputs: {{ out: out.txt }}
    - activity: copy
      run: {{ shell: 'echo copy >> {log}; cat in.txt > out.txt' }}
      inputs: {{ in.txt: inputs.passed }}
      outputs: {{ out: out.txt }}
    - activity: hold
      run: {{ shell: 'echo hold >> {log}; while [ ! -e {gate} ]; do sleep 0.01; done; : ${{ inputs.n }}' }}
    - activity: second
      run: {{ shell: 'echo second >> {log}; tail -n ${{ inputs.n }} in.txt > out.txt; [ ! -e {gate}.fails ]' }}
      inputs: {{ in.txt: inputs.data, out: copy.out }}
      outputs: {{ out: out.txt }}
"
    );
    sandbox.file("copies.yaml", text)
}

/// The activities that ran since the last call.
fn ran(sandbox: &Sandbox) -> Vec<String> {
    let lines = sandbox.lines("log");
    let _ = fs::remove_file(sandbox.path("log"));
    lines
}

/// True if a store of the state directory `s` has a file with just this content.
fn has(sandbox: &Sandbox, content: &str) -> bool {
    let all = blobs(&sandbox.path("s/am/blobs")).into_iter();
    all.map(|blob| fs::read(blob).unwrap())
        .any(|blob| blob == content.as_bytes())
}

/// The content of a result.
fn result(sandbox: &Sandbox, name: &str) -> String {
    let to = ["results", "--state", "s", "--to", "there"];
    sandbox.xav(&to).expect(0);
    fs::read_to_string(sandbox.path("there").join(name)).unwrap()
}

fn run(sandbox: &Sandbox, file: &str) {
    sandbox.xav(&["run", file, "--state", "s"]).expect(0);
    assert_eq!(ran(sandbox), ["first", "copy", "hold", "second"]);
}

#[test]
fn a_copy_is_let_go_and_a_rerun_takes_it_again() {
    let sandbox = Sandbox::new();
    if !copies_take_space(&sandbox) {
        return;
    }
    let file = definition(&sandbox);
    run(&sandbox, &file);
    assert!(!has(&sandbox, &large("data")));
    assert!(has(&sandbox, &large("passed")), "it is an output too");
    // Nothing runs, and nothing is copied.
    let same = sandbox.xav(&["rerun", "--state", "s"]).expect(0);
    same.says("none of 4 runs; 4 stand");
    // With another number it is read again, and let go again.
    let other = ["rerun", "--state", "s", "-i", "n=2"];
    sandbox.xav(&other).expect(0).says("2 of 4 run");
    assert_eq!(ran(&sandbox), ["hold", "second"]);
    assert_eq!(result(&sandbox, "second.txt"), "data\ndata\n");
    assert!(!has(&sandbox, &large("data")));
    // Also where only --same-files names it, again and again.
    for (n, text) in [("3", "data\ndata\ndata\n"), ("1", "data\n")] {
        let input = format!("n={n}");
        let same = ["rerun", "--state", "s", "--same-files", "-i", &input];
        sandbox.xav(&same).expect(0);
        assert_eq!(result(&sandbox, "second.txt"), text);
        assert!(!has(&sandbox, &large("data")));
    }
    // A lost output is made again from it.
    let out = blobs(&sandbox.path("s/am/blobs"));
    let made = out.iter().find(|blob| fs::read(blob).unwrap() == b"data\n");
    fs::remove_file(made.unwrap()).unwrap();
    let _ = ran(&sandbox);
    sandbox.xav(&["rerun", "--state", "s"]).expect(0);
    assert!(ran(&sandbox).contains(&"first".to_owned()));
    assert_eq!(result(&sandbox, "first.txt"), "data\n");
    assert!(!has(&sandbox, &large("data")));
}

#[test]
fn a_file_that_has_changed_since_is_named_and_never_taken_for_what_it_was() {
    let sandbox = Sandbox::new();
    if !copies_take_space(&sandbox) {
        return;
    }
    let file = definition(&sandbox);
    run(&sandbox, &file);
    let data = sandbox.file("data.txt", large("edit"));
    let same = ["rerun", "--state", "s", "--same-files"];
    // Nothing runs, so nothing is read.
    sandbox.xav(&same).expect(0).says("none of 4 runs");
    let other = [&same[..], &["-i", "n=2"]].concat();
    for more in ["--quiet", "--dry-run"] {
        let refused = sandbox.xav(&[&other[..], &[more]].concat()).expect(2);
        refused
            .says("input `data` of ")
            .says("data.txt, which has changed since, and there is no copy of it")
            .says("--input NAME=FILE gives another one");
    }
    fs::remove_file(&data).unwrap();
    sandbox
        .xav(&other)
        .expect(2)
        .says("cannot be read any more");
    assert_eq!(ran(&sandbox), Vec::<String>::new());
    assert!(!has(&sandbox, &large("edit")));
    // As it was, by another file with the same content.
    sandbox.file("data.txt", large("data"));
    sandbox.xav(&other).expect(0);
    assert_eq!(ran(&sandbox), ["hold", "second"]);
    // As it is now.
    sandbox.file("data.txt", large("edit"));
    sandbox.xav(&["rerun", "--state", "s"]).expect(0);
    assert_eq!(result(&sandbox, "first.txt"), "edit\n");
    assert!(!has(&sandbox, &large("edit")));
}

#[test]
fn copies_of_files_that_are_edited_meanwhile_and_of_faulted_processes_stay() {
    let sandbox = Sandbox::new();
    if !copies_take_space(&sandbox) {
        return;
    }
    let file = definition(&sandbox);
    fs::remove_file(sandbox.path("gate")).unwrap();
    let edited = sandbox.start(&["run", &file, "--state", "s"]);
    sandbox.wait_for_lines("log", 3);
    sandbox.file("data.txt", large("edit"));
    blocked_process::open(&sandbox);
    edited.end().expect(0);
    assert!(has(&sandbox, &large("data")), "there is no other one");
    assert_eq!(result(&sandbox, "first.txt"), "data\n");
    let _ = ran(&sandbox);
    // One that faults keeps it, also when another one completes with the same file.
    sandbox.file("gate.fails", "");
    sandbox.xav(&["rerun", "--state", "s"]).expect(1);
    assert!(has(&sandbox, &large("edit")));
    fs::remove_file(sandbox.path("gate.fails")).unwrap();
    sandbox.xav(&["rerun", "--state", "s"]).expect(0);
    assert!(has(&sandbox, &large("edit")));
}

#[test]
fn an_input_that_the_store_lacks_is_taken_again_when_an_activity_reads_it() {
    let sandbox = Sandbox::new();
    if !copies_take_space(&sandbox) {
        return;
    }
    let file = definition(&sandbox);
    run(&sandbox, &file);
    // Killed before the activity that reads the input, which a completed process beside it has let go.
    for (changes, status) in [(false, 0), (true, 1)] {
        fs::remove_file(sandbox.path("gate")).unwrap();
        let n = if changes { "n=3" } else { "n=2" };
        let waits = sandbox.start(&["rerun", "--state", "s", "-i", n]);
        sandbox.wait_for_lines("log", 1);
        waits.signal(Signal::KILL);
        let _ = waits.end();
        let copy = blobs(&sandbox.path("s/am/blobs")).into_iter();
        let copy = copy.filter(|blob| fs::read(blob).unwrap() == large("data").as_bytes());
        let copy: Vec<_> = copy.collect();
        assert_eq!(copy.len(), 1);
        fs::remove_file(&copy[0]).unwrap();
        if changes {
            sandbox.file("data.txt", large("edit"));
        }
        sandbox.file("gate", "");
        let resumed = sandbox.xav(&["resume", "--state", "s"]).expect(status);
        if changes {
            resumed.says("the input `data` of the process is damaged or gone");
        } else {
            assert_eq!(result(&sandbox, "second.txt"), "data\ndata\n");
            assert!(!has(&sandbox, &large("data")));
        }
        let _ = ran(&sandbox);
    }
}
