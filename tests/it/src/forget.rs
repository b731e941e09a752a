//! Removal of processes: `xav forget`, `--keep`, and the disk use in `xav list`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, Started};

const MADE: &str = "\
xavantes: 1
name: made
inputs: { word: string }
outputs: { table: make.table }
body:
  activity: make
  run: { shell: 'echo ${inputs.word} > table.txt; head -c 300000 /dev/zero >> table.txt' }
  outputs: { table: table.txt }
";

const WAITS: &str = "\
xavantes: 1
name: waits
inputs: { log: string, gate: string }
body:
  activity: only
  run: { shell: 'echo here >> ${inputs.log}; while [ ! -e ${inputs.gate} ]; do sleep 0.01; done' }
";

/// A run that waits in a state directory.
fn waiting(sandbox: &Sandbox, more: &[&str]) -> Started {
    let file = sandbox.file("waits.yaml", WAITS);
    let log = format!("log={}", sandbox.path("log").display());
    let gate = format!("gate={}", sandbox.path("gate").display());
    let mut arguments = vec!["run", &file, "-i", &log, "-i", &gate];
    arguments.extend(more);
    let run = sandbox.start(&arguments);
    sandbox.wait_for_lines("log", 1);
    run
}

/// Runs one to its end and gives its name.
fn made(sandbox: &Sandbox, word: &str, more: &[&str]) -> String {
    let file = sandbox.file("made.yaml", MADE);
    let word = format!("word={word}");
    let mut arguments = vec!["run", &file, "-i", &word, "--json"];
    arguments.extend(more);
    let json = sandbox.json(&arguments);
    assert_eq!(json["state"], "completed", "{json}");
    json["process"].as_str().unwrap().to_owned()
}

/// Checks that the results of a process in the directory `s` can be written, and how they begin.
#[track_caller]
fn check_results(sandbox: &Sandbox, process: &str, beginning: &str) {
    let results = ["results", process, "--state", "s", "--to", "to"];
    sandbox.xav(&results).expect(0);
    let table = fs::read_to_string(sandbox.path("to/table.txt")).unwrap();
    assert!(table.starts_with(beginning));
}

#[test]
fn a_process_is_forgotten_with_all_that_was_its_own() {
    let sandbox = Sandbox::new();
    let (one, other) = (made(&sandbox, "one", &[]), made(&sandbox, "other", &[]));
    sandbox
        .xav(&["list"])
        .expect(0)
        .shows("DISK")
        .shows("2 processes, ");
    let forgotten = sandbox.xav(&["forget", &one[..8]]).expect(0);
    forgotten.shows(&format!("forgot {one}, "));
    assert_eq!(sandbox.n_runs(), 1);
    sandbox
        .xav(&["status", &one])
        .expect(2)
        .says(&format!("there is no process {one}"));
    sandbox
        .xav(&["forget", "--older-than", "1h"])
        .expect(0)
        .shows("nothing was forgotten");
    sandbox
        .xav(&["forget", "--older-than", "0s"])
        .expect(0)
        .shows(&other);
    assert_eq!(sandbox.n_runs(), 0);
    sandbox
        .xav(&["list"])
        .expect(0)
        .says("there is no process yet");
}

#[test]
fn of_several_in_a_directory_the_others_keep_their_files() {
    let sandbox = Sandbox::new();
    let state = ["--state", "s"];
    let (one, other) = (
        made(&sandbox, "one", &state),
        made(&sandbox, "other", &state),
    );
    let blobs = || -> usize {
        let shards = fs::read_dir(sandbox.path("s/am/blobs/blobs")).unwrap();
        shards
            .map(|shard| fs::read_dir(shard.unwrap().path()).unwrap().count())
            .sum()
    };
    assert_eq!(blobs(), 2);
    let json = sandbox.json(&["forget", &one, "--state", "s", "--json"]);
    assert_eq!(json["forgotten"][0], one);
    assert!(json["freed_bytes"].as_u64().unwrap() >= 300_000, "{json}");
    assert_eq!(blobs(), 1);
    assert!(!sandbox.path("s/results").join(&one).exists());
    sandbox.xav(&["status", &one, "--state", "s"]).expect(2);
    check_results(&sandbox, &other, "other\n");
    // It is still a directory in which processes run.
    made(&sandbox, "third", &state);
    // The last one takes the directory with it, but not what is not ours.
    sandbox.file("s/letter", "dear");
    sandbox
        .xav(&["forget", "--older-than", "0s", "--state", "s"])
        .expect(0);
    let left: Vec<_> = fs::read_dir(sandbox.path("s"))
        .unwrap()
        .map(|one| one.unwrap().file_name())
        .collect();
    assert_eq!(left, ["letter"]);
}

/// The bytes on the disk that the files of a directory take.
fn disk_use(directory: &std::path::Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(|one| one.unwrap());
    let sizes = entries.map(|entry| {
        let metadata = entry.metadata().unwrap();
        let below = match metadata.is_dir() {
            true => disk_use(&entry.path()),
            false => 0,
        };
        metadata.blocks() * 512 + below
    });
    sizes.sum()
}

#[test]
fn a_dry_run_tells_what_would_be_free_and_changes_nothing() {
    let sandbox = Sandbox::new();
    let (one, other) = (made(&sandbox, "one", &[]), made(&sandbox, "other", &[]));
    let dry = ["forget", "--older-than", "0s", "--dry-run"];
    let told = sandbox.xav(&dry).expect(0);
    told.shows(&format!("{one} made has completed "))
        .shows(&format!("{other} made has completed "))
        .shows("2 processes would be forgotten, ");
    let dry = |id: &str, more: &[&str]| {
        let arguments = [&["forget", id, "--dry-run", "--json"], more].concat();
        let json = sandbox.json(&arguments);
        assert_eq!(json["would_forget"][0], id, "{json}");
        json["would_free_bytes"].as_u64().unwrap()
    };
    let foretold = dry(&one, &[]);
    assert_eq!(sandbox.n_runs(), 2);
    let before = disk_use(&sandbox.runs());
    sandbox.xav(&["forget", &one]).expect(0);
    let freed = before - disk_use(&sandbox.runs());
    // The directory itself is one block or none.
    assert!(freed.abs_diff(foretold) <= 8_192, "{freed} {foretold}");
    sandbox
        .xav(&["forget", "--older-than", "1h", "--dry-run"])
        .expect(0)
        .shows("nothing would be forgotten");

    // In a directory that keeps others: its blobs, results and logs, while a run has it and after that.
    let state = ["--state", "s"];
    let (third, fourth) = (made(&sandbox, "3", &state), made(&sandbox, "4", &state));
    let run = waiting(&sandbox, &state);
    let beside = dry(&third, &state);
    let list = sandbox.json(&["list", "--state", "s", "--json"]);
    let running = list[0]["process"].as_str().unwrap();
    sandbox
        .xav(&["forget", running, "--dry-run", "--state", "s"])
        .expect(2)
        .says("it is not forgotten");
    sandbox.file("gate", "");
    run.end().expect(0);
    let foretold = dry(&third, &state);
    assert_eq!(beside, foretold);
    assert!((600_000..700_000).contains(&foretold), "{foretold}");
    let directory = sandbox.path("s");
    let before = disk_use(&directory.join("am")) + disk_use(&directory.join("results"));
    sandbox.xav(&["forget", &third, "--state", "s"]).expect(0);
    let after = disk_use(&directory.join("am")) + disk_use(&directory.join("results"));
    let freed = before - after;
    assert!(freed.abs_diff(foretold) <= 20_000, "{freed} {foretold}");
    check_results(&sandbox, &fourth, "4\n");
}

#[test]
fn beside_a_run_results_are_written_and_processes_are_forgotten() {
    let sandbox = Sandbox::new();
    let state = ["--state", "s"];
    let (one, other) = (
        made(&sandbox, "one", &state),
        made(&sandbox, "other", &state),
    );
    let run = waiting(&sandbox, &state);
    let list = sandbox.json(&["list", "--state", "s", "--json"]);
    let running = list[0]["process"].as_str().unwrap();
    sandbox
        .xav(&["forget", running, "--state", "s"])
        .expect(2)
        .says("has not ended");
    check_results(&sandbox, &one, "one\n");
    sandbox
        .xav(&["forget", &one, "--state", "s"])
        .expect(0)
        .shows(&one);
    sandbox.xav(&["status", &one, "--state", "s"]).expect(2);
    sandbox.file("gate", "");
    run.end().expect(0);
    // The run collected garbage at its end.
    assert!(!sandbox.path("s/garbage").exists());
    assert!(!sandbox.path("s/results").join(&one).exists());
    assert!(sandbox.path("s/results").join(&other).exists());
}

#[test]
fn a_run_forgets_what_is_over_its_time() {
    let sandbox = Sandbox::new();
    let kept = made(&sandbox, "kept", &["--keep", "7d"]);
    made(&sandbox, "gone", &["--keep", "1us"]);
    let file = sandbox.file("made.yaml", MADE);
    let done = sandbox.xav(&["run", &file, "-i", "word=x"]).expect(0);
    done.says("forgot 1 process whose time to be kept was over, ");
    let status = sandbox.json(&["status", &kept, "--json"]);
    assert_eq!(status["keep_seconds"], 604_800.0);
    let list = sandbox.json(&["list", "--json"]);
    assert_eq!(list.as_array().map(Vec::len), Some(2), "{list}");
}

#[test]
fn earlier_runs_are_looked_at_when_one_is_due_or_nobody_can_tell() {
    let sandbox = Sandbox::new();
    made(&sandbox, "gone", &["--keep", "1us"]);
    let due = sandbox.path("data/xavantes/due");
    // Somebody has just looked, and nothing will be over its time.
    fs::write(&due, format!("{} {}\n", u64::MAX / 2, u64::MAX)).unwrap();
    let clock_set_back = made(&sandbox, "next", &["--keep", "1us"]);
    assert_eq!(sandbox.n_runs(), 1, "the clock was set back since");
    assert!(sandbox.runs().join(&clock_set_back).is_dir());
    fs::write(&due, "nonsense").unwrap();
    let kept = made(&sandbox, "kept", &[]);
    assert_eq!(sandbox.n_runs(), 1, "a damaged file says nothing");
    assert!(sandbox.runs().join(kept).is_dir());
    let looked = fs::read_to_string(&due).unwrap();
    made(&sandbox, "more", &[]);
    assert_eq!(fs::read_to_string(&due).unwrap(), looked, "nothing is due");
    assert_eq!(sandbox.n_runs(), 2);
}

#[test]
fn many_runs_are_listed_without_reading_their_journals() {
    /// The bar, with much room for a busy machine.
    const PATIENCE: Duration = Duration::from_secs(1);

    let sandbox = Sandbox::new();
    let first = made(&sandbox, "one", &[]);
    // Copies of one run stand for many runs: only journals would tell that they are copies.
    let directory = sandbox.runs().join(&first);
    assert!(directory.join("summary").is_file());
    let begun = Instant::now();
    sandbox.xav(&["list"]).expect(0).shows(&first);
    assert!(begun.elapsed() < PATIENCE);
    // A summary that the journal does not fit is not believed.
    fs::write(directory.join("summary"), "xavantes summary 1\nnonsense").unwrap();
    sandbox
        .xav(&["list"])
        .expect(0)
        .shows(&first)
        .shows("completed");
    let text = fs::read(directory.join("summary")).unwrap();
    assert!(
        text.len() > 100,
        "whoever reads the journal writes it again"
    );
}
