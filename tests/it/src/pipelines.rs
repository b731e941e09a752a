//! The three pipelines of workflows/samples/pipelines: their results, and what `xav run` runs again after each edit.
//!
//! A test works on a copy. Each command of it says its name in a log before it begins, by a program that it finds in
//! `PATH`, so what ran is known from outside and no command names anything outside of its directory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::sandbox::{Done, Sandbox, root};

/// The directory of the pipelines.
const PIPELINES: &str = "workflows/samples/pipelines";

/// The reads of each sample: fewer than a user has, since only their number matters to what runs.
const FEW_READS: &str = "60";

/// A copy of one pipeline with its data.
struct Pipeline {
    sandbox: Sandbox,
    name: &'static str,
}

/// An edit, and how many activities of each step run after it.
struct Edit<'a> {
    what: &'a str,
    file: &'a str,
    from: &'a str,
    to: &'a str,
    runs: &'a [(&'a str, usize)],
}

impl Pipeline {
    fn new(name: &'static str, n_reads: &str) -> Pipeline {
        let pipeline = Pipeline {
            sandbox: Sandbox::new(),
            name,
        };
        let own = pipeline.path("");
        fs::create_dir(&own).unwrap();
        for entry in fs::read_dir(root().join(PIPELINES).join(name)).unwrap() {
            let from = entry.unwrap().path();
            if from.is_file() {
                fs::copy(&from, own.join(from.file_name().unwrap())).unwrap();
            }
        }
        pipeline.make_program();
        let script = pipeline.sandbox.path("generate.sh");
        fs::copy(root().join(PIPELINES).join("generate.sh"), &script).unwrap();
        let made = Command::new("sh").arg(&script).arg(n_reads).status();
        assert!(made.unwrap().success());
        let text = pipeline.text(&pipeline.definition());
        let said = text.replace("shell: \"", "shell: \"ran || exit 3; ");
        fs::write(pipeline.definition(), said).unwrap();
        pipeline
    }

    /// Makes the program by which a command says that it runs; it fails where the test says so.
    fn make_program(&self) {
        let log = self.sandbox.path("log").display().to_string();
        let faulty = self.sandbox.path("faulty").display().to_string();
        let text = format!(
            "#!/bin/sh\necho $XAVANTES_ACTIVITY >> {log}; test ! -e {faulty}/$XAVANTES_ACTIVITY\n"
        );
        fs::create_dir(self.sandbox.path("bin")).unwrap();
        let program = self.sandbox.path("bin/ran");
        fs::write(&program, text).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn xav(&self, arguments: &[&str]) -> Done {
        let own = self.sandbox.path("bin").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        self.sandbox
            .xav_with(("PATH", &format!("{own}:{path}")), arguments)
    }

    /// A path in the directory of its definition.
    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(self.name).join(name)
    }

    fn definition(&self) -> PathBuf {
        self.path(&format!("{}.yaml", self.name))
    }

    fn text(&self, path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn expected(&self) -> Value {
        serde_json::from_str(&self.text(&self.path("expected.json"))).unwrap()
    }

    /// `xav run` of it, which ends with this status.
    #[track_caller]
    fn run(&self, status: i32) -> Done {
        let file = self.definition();
        self.xav(&["run", file.to_str().unwrap()]).expect(status)
    }

    /// The number of activities of each step that ran since the last call. None ran twice.
    #[track_caller]
    fn ran(&self) -> BTreeMap<String, usize> {
        let mut lines = self.sandbox.lines("log");
        let _ = fs::remove_file(self.sandbox.path("log"));
        let n_lines = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), n_lines, "an activity ran twice");
        let mut steps = BTreeMap::new();
        for line in lines {
            let step = line.split('[').next().unwrap_or_default().to_owned();
            *steps.entry(step).or_default() += 1;
        }
        steps
    }

    #[track_caller]
    fn runs(&self, what: &str, expected: &[(&str, usize)]) {
        let done = self.run(0);
        let ran = self.ran();
        let expected = expected.iter().map(|(step, n)| ((*step).to_owned(), *n));
        assert_eq!(ran, expected.collect(), "after {what}\n{}", done.stderr);
    }

    /// The first file of its data.
    fn first_data(&self) -> PathBuf {
        let files = fs::read_dir(self.path("data")).unwrap();
        files.map(|file| file.unwrap().path()).min().unwrap()
    }

    /// Runs it, does everything to it that a day brings, and compares what ran.
    #[track_caller]
    fn lives_through(&self, all: &[(&str, usize)], edits: &[Edit], result: &str) {
        self.runs("nothing", all);
        self.runs("a run", &[]);
        let data = self.first_data();
        let content = fs::read(&data).unwrap();
        fs::write(&data, content).unwrap();
        self.runs("a file that was written again", &[]);
        for edit in edits {
            let path = self.path(edit.file);
            let text = self.text(&path);
            assert!(text.contains(edit.from), "{}", edit.what);
            fs::write(&path, text.replacen(edit.from, edit.to, 1)).unwrap();
            self.runs(edit.what, edit.runs);
        }
        let result = self.path(result);
        let before = fs::read(&result).unwrap();
        fs::remove_file(&result).unwrap();
        self.runs("a result that was deleted", &[]);
        assert_eq!(fs::read(&result).unwrap(), before);
    }

    /// Runs it with a fault in one activity, and again without: all succeed once, whatever succeeded before.
    #[track_caller]
    fn lives_through_a_fault(&self, activity: &str, n_activities: usize) {
        let faulty = self.sandbox.path("faulty");
        fs::create_dir(&faulty).unwrap();
        fs::write(faulty.join(activity), "").unwrap();
        self.run(1).says(&format!("activity {activity}"));
        let before: usize = self.ran().values().sum();
        assert!(before < n_activities, "{before}");
        fs::remove_file(faulty.join(activity)).unwrap();
        self.run(0);
        let after: usize = self.ran().values().sum();
        assert_eq!(before + after, n_activities + 1, "{before} and {after}");
    }
}

/// `sh workflows/samples/pipelines/generate.sh`, then `xav run workflows/samples/pipelines/reads/reads.yaml`
#[test]
fn reads_are_found_in_their_genome() {
    let reads = Pipeline::new("reads", "1000");
    reads.run(0).says(", 51 activities, ");
    let report = reads.text(&reads.path("results/report.txt"));
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(Value::from(lines), reads.expected()["report"]);
    // Every read that was not dropped has a line, and the lines are in the order of their places.
    let aligned = reads.text(&reads.path("results/aligned.txt"));
    let places = aligned.lines().map(|line| line.split(' ').next().unwrap());
    let places: Vec<u32> = places.map(|place| place.parse().unwrap()).collect();
    assert!(places.is_sorted());
    let numbers = report.lines().take(12);
    let numbers = numbers.map(|line| line.split(' ').nth(1).unwrap());
    let n_reads: usize = numbers.map(|n| n.parse::<usize>().unwrap()).sum();
    assert_eq!(places.len(), n_reads);
}

/// `xav run workflows/samples/pipelines/reads/reads.yaml --input quality=25`
#[test]
fn reads_run_again_where_something_has_changed() {
    let reads = Pipeline::new("reads", FEW_READS);
    let of_samples = [("align", 12), ("sort", 12), ("stats", 12), ("trim", 12)];
    let last = [("merge", 1), ("report", 1)];
    let all_but_index = [&of_samples[..], &last].concat();
    let all = [&all_but_index[..], &[("index", 1)]].concat();
    let one_sample = [("align", 1), ("sort", 1), ("stats", 1), ("trim", 1)];
    let sample = reads.text(&reads.path("data/s07.fastq"));
    let first: String = sample
        .split_inclusive('\n')
        .take(4)
        .collect::<Vec<_>>()
        .concat();
    let edits = [
        Edit {
            what: "an edit of a sample",
            file: "data/s07.fastq",
            from: &first,
            to: "@s07.1\nTTTTTTTTTTTTTTTTTTTT\n+\nIIIIIIIIIIIIIIIIIIII\n",
            runs: &[&one_sample[..], &last].concat(),
        },
        Edit {
            what: "another quality",
            file: "reads.yaml",
            from: "default: 20",
            to: "default: 25",
            runs: &all_but_index,
        },
        Edit {
            what: "another command",
            file: "reads.yaml",
            from: "sort -k1,1n -k2,2 places.txt",
            to: "sort --key=1,1n -k2,2 places.txt",
            runs: &[("sort", 12)],
        },
        Edit {
            what: "a comment in a script",
            file: "align.awk",
            from: "# Looks up",
            to: "# Finds",
            runs: &[("align", 12)],
        },
    ];
    reads.lives_through(&all, &edits, "results/report.txt");
    // The quality of the first run: all of it is recorded, but for the sample that was edited meanwhile.
    let file = reads.definition();
    let given = ["run", file.to_str().unwrap(), "--input", "quality=20"];
    reads.xav(&given).expect(0);
    assert_eq!(reads.ran().get("trim"), None);
}

#[test]
fn reads_go_on_after_a_fault() {
    Pipeline::new("reads", FEW_READS).lives_through_a_fault("align[s07]", 51);
}

/// `xav run workflows/samples/pipelines/sweep/sweep.yaml`
#[test]
fn an_illness_goes_through_each_town_at_each_rate() {
    let sweep = Pipeline::new("sweep", FEW_READS);
    sweep.run(0).says(", 61 activities, ");
    let table = sweep.text(&sweep.path("results/table.txt"));
    let expected = sweep.expected();
    assert_eq!(Value::from(table.lines().count()), expected["lines"]);
    for row in expected["rows"].as_array().unwrap() {
        let row = row.as_str().unwrap();
        assert!(table.lines().any(|line| line == row), "{row}\n{table}");
    }
}

#[test]
fn a_sweep_runs_again_where_something_has_changed() {
    let sweep = Pipeline::new("sweep", FEW_READS);
    let edits = [
        Edit {
            what: "an edit of a town",
            file: "data/porto.txt",
            from: "people ",
            to: "people 1",
            runs: &[("simulate", 15), ("summary", 1)],
        },
        Edit {
            what: "another rate",
            file: "sweep.yaml",
            from: "0.35",
            to: "0.36",
            runs: &[("simulate", 4), ("summary", 1)],
        },
        Edit {
            what: "another command",
            file: "sweep.yaml",
            from: "-v rate=${ rate } -f epidemic.awk town.txt",
            to: "-f epidemic.awk -v rate=${ rate } town.txt",
            runs: &[("simulate", 60)],
        },
        Edit {
            what: "a comment in a script",
            file: "epidemic.awk",
            from: "# Lets",
            to: "# It lets",
            runs: &[("simulate", 60)],
        },
    ];
    let all = [("simulate", 60), ("summary", 1)];
    sweep.lives_through(&all, &edits, "results/table.txt");
}

#[test]
fn a_sweep_goes_on_after_a_fault() {
    Pipeline::new("sweep", FEW_READS).lives_through_a_fault("simulate[porto][0.3]", 61);
}

/// `xav run workflows/samples/pipelines/merge/merge.yaml`
#[test]
fn lists_are_merged_into_one() {
    let merge = Pipeline::new("merge", FEW_READS);
    merge.run(0).says(", 63 activities, ");
    let mut lines = Vec::new();
    for file in fs::read_dir(merge.path("data")).unwrap() {
        let text = merge.text(&file.unwrap().path());
        lines.extend(text.lines().map(str::to_lowercase));
    }
    // By the word; lists have the same word seldom, and then the number decides, as text.
    lines.sort_by_cached_key(|line| {
        let (number, word) = line.split_once(' ').unwrap();
        (word.to_owned(), number.to_owned())
    });
    let all = merge.text(&merge.path("results/all.txt"));
    assert_eq!(all.lines().count(), 16_000);
    assert!(all.lines().eq(&lines));
}

#[test]
fn a_tree_runs_again_where_something_has_changed() {
    let merge = Pipeline::new("merge", FEW_READS);
    let one = [("merge", 5), ("sort", 1)];
    let all = [("merge", 31), ("sort", 32)];
    let edits = [
        Edit {
            what: "an edit of a list",
            file: "data/13.txt",
            from: "\n",
            to: " more\n7 xavantes\n",
            runs: &one,
        },
        Edit {
            what: "another column",
            file: "merge.yaml",
            from: "default: 2",
            to: "default: 1",
            runs: &all,
        },
        Edit {
            what: "another command",
            file: "merge.yaml",
            from: "| sort -k $COLUMN",
            to: "| sort --key=$COLUMN",
            runs: &[("sort", 32)],
        },
        Edit {
            what: "a comment in a script",
            file: "clean.awk",
            from: "# Writes",
            to: "# It writes",
            runs: &[("sort", 32)],
        },
    ];
    merge.lives_through(&all, &edits, "results/all.txt");
}

#[test]
fn a_tree_goes_on_after_a_fault() {
    Pipeline::new("merge", FEW_READS).lives_through_a_fault("merge[20]", 63);
}
