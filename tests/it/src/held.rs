//! Processes that another version accepted and this one cannot understand are held: shown with their outputs,
//! never run. The real program writes the journal, and the test changes the recorded submission.

use std::fs;
use std::path::Path;

use journal::{Batch, Journal, Options, open_read};
use rustix::process::Signal;

use crate::blocked_process;
use crate::sandbox::{Sandbox, Started};

/// Writes two words into the sandbox's `log`, the second waits for its `gate`, and gives one.
const DEFINITION: &str = "\
xavantes: 1
name: answers
inputs: { log: string, gate: string }
variables: { word: string }
outputs: { word: '${ word }' }
body:
  sequence:
    - activity: first
      run: { shell: \"echo first >> ${inputs.log}; echo fortytwo\" }
      stdout: { into: word, as: text }
    - activity: second
      run: { shell: \"echo second >> ${inputs.log}; while [ ! -e ${inputs.gate} ]; do sleep 0.01; done; echo said by second\" }
";

/// A way in which this version cannot understand a recorded submission.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Incompatibility {
    /// Under a number of semantics that this version does not know.
    Later,
    /// With a sequence that names a node which is not there: a later check refuses it.
    Broken,
}

impl Incompatibility {
    /// The reason that users read.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Incompatibility::Later => {
                "its semantics are number 23, and this version knows those up to 1"
            }
            Incompatibility::Broken => "n0: its child n23 cannot be a child of it",
        }
    }

    fn change(self, founding: &mut [u8]) {
        match self {
            Incompatibility::Later => {
                // The number is the last of what is recorded of a submission.
                let semantics = founding.last_mut().unwrap();
                assert_eq!(*semantics, 1);
                *semantics = 23;
            }
            Incompatibility::Broken => {
                // The first two nodes below the root, which are its list of two.
                let children = [0x82, 1, 2];
                let mut found =
                    (0..founding.len()).filter(|&at| founding[at..].starts_with(&children));
                let at = found.next().unwrap();
                assert_eq!(found.next(), None);
                founding[at + 2] = 23;
            }
        }
    }
}

/// Changes the only process of a process manager that does not run.
pub(crate) fn recorded(process_manager: &Path, incompatibility: Incompatibility) {
    let place = process_manager.join("journal");
    let (histories, _) = open_read(&place).unwrap();
    fs::remove_dir_all(&place).unwrap();
    let options = Options::new(env!("CARGO_PKG_VERSION"));
    let (mut journal, _) = Journal::open_visiting(&place, &options, |_| {}).unwrap();
    let mut n_changed = 0;
    for (number, mut history) in (1..).zip(histories) {
        let is_process = history.founding.windows(7).any(|bytes| bytes == b"answers");
        if is_process {
            incompatibility.change(&mut history.founding);
            n_changed += 1;
        }
        let key = |bytes: Vec<u8>| (history.stream.clone(), bytes);
        let batch = |events: Vec<Vec<u8>>, snapshots: Option<Vec<u8>>| Batch {
            number,
            events: events.into_iter().map(key).collect(),
            snapshots: snapshots.into_iter().map(key).collect(),
            chapters: Vec::new(),
            forgotten: Vec::new(),
        };
        let mut first = batch(vec![history.founding.clone()], history.snapshot.clone());
        let chapters = history.chapters.iter();
        let chapters = chapters.map(|(&at, bytes)| (history.stream.clone(), at, bytes.clone()));
        first.chapters = chapters.collect();
        journal.commit(&[first]).unwrap();
        journal
            .commit(&[batch(history.tail.clone(), None)])
            .unwrap();
    }
    assert_eq!(n_changed, 1, "processes of the test");
    journal.close().unwrap();
}

/// The first arguments of `run`.
pub(crate) fn arguments(sandbox: &Sandbox, word: &str) -> Vec<String> {
    let file = sandbox.file("answers.yaml", DEFINITION);
    let log = format!("log={}", sandbox.path("log").display());
    let gate = format!("gate={}", sandbox.path("gate").display());
    [word, &file, "-i", &log, "-i", &gate]
        .map(str::to_owned)
        .into()
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Begins a run in `state`; its ID, and the run itself, whose second activity has begun.
fn begun(sandbox: &Sandbox) -> (String, Started) {
    let mut run = arguments(sandbox, "run");
    run.extend(["--state", "state"].map(str::to_owned));
    let run = sandbox.start(&words(&run));
    sandbox.wait_for_lines("log", 2);
    let list = sandbox.json(&["list", "--json", "--state", "state"]);
    (list[0]["process"].as_str().unwrap().to_owned(), run)
}

const BOTH: [Incompatibility; 2] = [Incompatibility::Later, Incompatibility::Broken];

#[test]
fn an_ended_process_that_is_not_understood_is_shown_with_its_outputs_and_stays() {
    for incompatibility in BOTH {
        let sandbox = Sandbox::new();
        let (id, run) = begun(&sandbox);
        blocked_process::open(&sandbox);
        run.end().expect(0);
        recorded(&sandbox.path("state/pm"), incompatibility);
        let held = format!(
            "held, accepted by another version: {}",
            incompatibility.reason()
        );
        let xav = |arguments: &[&str]| {
            let mut all = arguments.to_vec();
            all.extend(["--state", "state"]);
            sandbox.xav(&all)
        };
        let is_told = || {
            let list = xav(&["list"]).expect(0);
            list.shows("completed, held").shows(&held);
            let status = xav(&["status", &id]).expect(0);
            status
                .shows("state    completed")
                .shows(incompatibility.reason())
                .shows("word = fortytwo");
            let results = xav(&["results", &id]).expect(0);
            assert_eq!(results.stdout, "word: fortytwo\n");
        };
        is_told();
        for command in [
            &["logs", &id] as &[&str],
            &["logs", &id, "first"],
            &["logs", &id, "--follow"],
            &["why", &id, "first"],
            &["resume", &id],
            &["rerun", &id],
            &["report", &id],
        ] {
            xav(command).expect(2).says(&held);
        }
        let watch = xav(&["watch", &id]).expect(0);
        watch.shows("held: accepted by another version");
        let cancel = xav(&["cancel", &id]).expect(2);
        cancel.says("has completed already");

        // Another process of the same manager runs, which replays the journal and goes on with it.
        xav(&words(&arguments(&sandbox, "run"))).expect(0);
        is_told();
        let log = sandbox.lines("log");
        assert_eq!(log, ["first", "second", "first", "second"]);
        xav(&["forget", &id]).expect(0);
        xav(&["status", &id]).expect(2).says("there is no process");
    }
}

#[test]
fn an_interrupted_process_that_is_not_understood_says_so_and_does_not_go_on() {
    for incompatibility in BOTH {
        let sandbox = Sandbox::new();
        let (id, run) = begun(&sandbox);
        run.signal(Signal::INT);
        run.end().expect(130);
        recorded(&sandbox.path("state/pm"), incompatibility);
        blocked_process::open(&sandbox);
        let xav = |word: &str| sandbox.xav(&[word, &id, "--state", "state"]);
        let status = xav("status").expect(0);
        status
            .shows("state    faulted")
            .shows("Nothing of it runs here");
        xav("resume").expect(2).says(incompatibility.reason());
        xav("results").expect(2).says(incompatibility.reason());
        assert_eq!(sandbox.lines("log"), ["first", "second"]);
        xav("forget").expect(0);
    }
}
