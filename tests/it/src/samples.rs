//! The samples, as their READMEs run them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::{Sandbox, root};

fn sample(name: &str) -> String {
    let path = root().join("workflows/samples").join(name);
    path.to_str().unwrap().to_owned()
}

fn expected(name: &str) -> Value {
    let text = fs::read_to_string(sample(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn primes_are_counted() {
    let sandbox = Sandbox::new();
    let primes = sample("primes/primes.yaml");
    let done = sandbox.xav(&["run", &primes]).expect(0);
    assert_eq!(done.stdout, "count: 148933\n");
    let done = done
        .says("primes completed in ")
        .says(" (planned ")
        .says("9 activities, CPU ");
    done.says(", speedup ").says(" of ");
    let quiet = sandbox
        .xav(&["run", &primes, "--quiet", "--input", "limit=3000000"])
        .expect(0);
    assert_eq!(quiet.stdout, "count: 216816\n");
    let warning = "warning: running as root: so do the commands of the process\n";
    assert!(
        quiet.stderr.is_empty() || quiet.stderr == warning,
        "{}",
        quiet.stderr
    );
}

#[test]
fn a_run_tells_everything_as_json() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&[
        "run",
        &sample("primes/primes.yaml"),
        "--json",
        "--slots",
        "2",
    ]);
    assert_eq!(json["outputs"], expected("primes/expected.json"));
    assert_eq!(json["state"], "completed");
    assert_eq!(json["name"], "primes");
    assert_eq!(json["inputs"]["limit"], 2_000_000);
    assert_eq!(json["activities"]["completed"], 9);
    assert_eq!(json["faults"], Value::Array(Vec::new()));
    for field in [
        "makespan_seconds",
        "planned_makespan_seconds",
        "cpu_seconds",
        "cpu_seconds_managers",
        "peak_memory_bytes_managers",
        "peak_memory_bytes_executor",
    ] {
        assert!(
            json[field].as_f64().is_some_and(|number| number > 0.0),
            "{field}: {json}"
        );
    }
    assert!(json["cpu_seconds_executor"].is_number(), "{json}");
    let id = json["process"].as_str().unwrap();
    assert!(
        json["directory"]
            .as_str()
            .unwrap()
            .ends_with(&format!("runs/{id}"))
    );
}

#[test]
fn words_are_counted_and_the_table_is_written_to_a_file() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&["run", &sample("wordcount/wordcount.yaml"), "--json"]);
    let expected = expected("wordcount/expected.json");
    for name in ["words", "different", "frequent", "times"] {
        assert_eq!(json["outputs"][name], expected[name], "{name}");
    }
    let is_the_table = |path: &PathBuf| {
        let table = fs::read_to_string(path).unwrap();
        assert_eq!(table.lines().next(), expected["table"]["first"].as_str());
        assert_eq!(
            Some(table.lines().count() as u64),
            expected["table"]["lines"].as_u64()
        );
    };
    let path = PathBuf::from(json["outputs"]["table"]["path"].as_str().unwrap());
    assert!(path.ends_with("table.txt"), "{}", path.display());
    is_the_table(&path);

    let results = sandbox.xav(&["results"]).expect(0);
    results
        .shows("words: 688\n")
        .shows(&format!("table: {}\n", path.display()));
    let to = sandbox.path("mine");
    sandbox
        .xav(&["results", "--to", to.to_str().unwrap()])
        .expect(0);
    is_the_table(&to.join("table.txt"));
}

#[test]
fn tiles_are_joined_into_a_picture() {
    let sandbox = Sandbox::new();
    let json = sandbox.json(&["run", &sample("mosaic/mosaic.yaml"), "--json"]);
    let expected = expected("mosaic/expected.json");
    for name in ["levels", "checksum"] {
        assert_eq!(json["outputs"][name], expected[name], "{name}");
    }
    let picture = &json["outputs"]["picture"];
    assert_eq!(picture["bytes"], expected["picture"]["bytes"]);
    let text = fs::read_to_string(picture["path"].as_str().unwrap()).unwrap();
    let numbers: Vec<&str> = text.split_whitespace().collect();
    let width = expected["picture"]["width"].as_u64().unwrap();
    let height = expected["picture"]["height"].as_u64().unwrap();
    let head = ["P3".to_owned(), width.to_string(), height.to_string()];
    assert_eq!(numbers[..3], head);
    assert_eq!(numbers.len() as u64, 4 + 3 * width * height);
}

#[test]
fn a_fault_says_what_its_reader_needs() {
    let sandbox = Sandbox::new();
    let done = sandbox
        .xav(&["run", &sample("faulty/faulty.yaml")])
        .expect(1);
    let expected = expected("faulty/expected.json");
    assert_eq!(done.stdout, "");
    let done = done
        .says("fault: activity check: exited with status 3 (exit-code)\n")
        .says("  activity   sequence/check, attempt 3 of 3\n")
        .says("  command    awk '")
        .says("  exit code  3\n")
        .says(&format!("    | {}\n", expected["stderr"].as_str().unwrap()))
        .says("Mend it, and run again what that changes: xav rerun ");
    let directory = done.stderr.split("  directory  ").nth(1).unwrap();
    let directory = PathBuf::from(directory.split(" (kept)").next().unwrap());
    assert!(
        directory.join("numbers.txt").is_file(),
        "{}",
        directory.display()
    );

    let status = sandbox.json(&["status", "--json"]);
    let fault = &status["faults"][0];
    for name in ["fault", "activity", "attempt", "exit_code"] {
        assert_eq!(fault[name], expected[name], "{name}");
    }
    let add = &status["activity_list"][2];
    assert_eq!(
        (&add["activity"], &add["state"]),
        (&"add".into(), &"skipped".into())
    );
    assert_eq!(add["attempts"], Value::Array(Vec::new()));

    // Once for each attempt.
    let logs = sandbox
        .xav(&["logs"])
        .expect(0)
        .shows("==> check, attempt 2, stderr <==\n");
    let line = expected["stderr"].as_str().unwrap();
    assert_eq!(logs.stdout.matches(line).count(), 3, "{}", logs.stdout);
    let last = sandbox.xav(&["logs", "check"]).expect(0);
    assert_eq!(last.stdout, format!("{line}\n"));
}

/// `xav run workflows/samples/primes/ranges.yaml`
#[test]
fn primes_are_counted_for_each_range() {
    let sandbox = Sandbox::new();
    let ranges = sample("primes/ranges.yaml");
    let expected = expected("primes/expected.json");
    for inputs in [
        &[][..],
        &["--input", "ranges=1"],
        &["--input", "ranges=100"],
    ] {
        let arguments = [&["run", &ranges, "--json"], inputs].concat();
        let json = sandbox.json(&arguments);
        assert_eq!(json["outputs"]["count"], expected["count"], "{inputs:?}");
    }
    let done = sandbox.xav(&["results"]).expect(0);
    assert_eq!(done.stdout, "count: 148933\n");
}

/// `xav run workflows/samples/wordcount/texts.yaml --input texts='workflows/samples/wordcount/*.txt'`
#[test]
fn words_of_any_texts_are_counted() {
    let sandbox = Sandbox::new();
    let texts = format!("texts={}", sample("wordcount/*.txt"));
    let file = sample("wordcount/texts.yaml");
    let json = sandbox.json(&["run", &file, "--input", &texts, "--json"]);
    let expected = expected("wordcount/expected.json");
    for name in ["words", "different", "frequent", "times"] {
        assert_eq!(json["outputs"][name], expected[name], "{name}");
    }
    let to = sandbox.path("mine");
    sandbox
        .xav(&["results", "--to", to.to_str().unwrap()])
        .expect(0);
    let table = fs::read_to_string(to.join("table.txt")).unwrap();
    assert_eq!(table.lines().next(), expected["table"]["first"].as_str());
    let n_lines = table.lines().count() as u64;
    assert_eq!(Some(n_lines), expected["table"]["lines"].as_u64());
    // The counts of each text, by its place in the list.
    let mut n_words = 0;
    for place in 0..4 {
        let counts = fs::read_to_string(to.join(format!("counts/{place}.txt"))).unwrap();
        let counts = counts.lines().filter_map(|line| line.split(' ').next());
        n_words += counts
            .map(|count| count.parse::<u64>().unwrap())
            .sum::<u64>();
    }
    assert_eq!(Some(n_words), expected["words"].as_u64());
}

#[test]
fn the_farthest_throw_of_each_drag_is_found() {
    let sandbox = Sandbox::new();
    let sweep = sample("sweep/sweep.yaml");
    let json = sandbox.json(&["run", &sweep, "--json"]);
    assert_eq!(
        json["outputs"]["rows"],
        expected("sweep/expected.json")["rows"]
    );
    sandbox.xav(&["logs", "throw[0.05][16]"]).expect(0);
    let inputs = [
        "--input",
        "drags=0.02",
        "--input",
        "drags=0.1",
        "--input",
        "step=1",
    ];
    let arguments = [&["run", &sweep, "--json"], &inputs[..]].concat();
    let rows = sandbox.json(&arguments)["outputs"]["rows"].clone();
    let rows: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(rows, ["0.02 39 42.19", "0.1 33 16.39"]);
}

/// `xav run workflows/samples/heat/heat.yaml`
#[test]
fn a_plate_is_heated_until_nothing_moves_any_more() {
    let sandbox = Sandbox::new();
    let heat = sample("heat/heat.yaml");
    let json = sandbox.json(&["run", &heat, "--json"]);
    let expected = expected("heat/expected.json");
    for name in ["middle", "sweeps"] {
        assert_eq!(json["outputs"][name], expected[name], "{name}");
    }
    let rounds = expected["sweeps"].as_u64().unwrap() / 10;
    let last = format!("relax[{}]", rounds - 1);
    sandbox.xav(&["logs", &last]).expect(0);
    let to = sandbox.path("mine");
    let to = to.to_str().unwrap();
    sandbox.xav(&["results", "--to", to]).expect(0);
    let plate = fs::read_to_string(sandbox.path("mine/plate.txt")).unwrap();
    assert_eq!(plate.lines().count(), 24);
    assert!(plate.starts_with("100.000000000 100.000000000 "));
}

/// `xav run workflows/samples/heat/heat.yaml --input size=40 --input precision=0.000001`
#[test]
fn a_finer_plate_takes_more_rounds() {
    let sandbox = Sandbox::new();
    let heat = sample("heat/heat.yaml");
    let inputs = ["--input", "size=40", "--input", "precision=0.000001"];
    let json = sandbox.json(&[&["run", &heat, "--json"], &inputs[..]].concat());
    assert_eq!(json["outputs"]["middle"], 26.069);
    assert_eq!(json["outputs"]["sweeps"], 370);
}

#[test]
fn samples_are_valid_and_can_be_shown() {
    let sandbox = Sandbox::new();
    let files = [
        "primes/primes.yaml",
        "primes/ranges.yaml",
        "wordcount/wordcount.yaml",
        "wordcount/texts.yaml",
        "sweep/sweep.yaml",
        "heat/heat.yaml",
        "mosaic/mosaic.yaml",
        "faulty/faulty.yaml",
    ];
    let files = files.map(sample);
    let mut arguments = vec!["validate"];
    arguments.extend(files.iter().map(String::as_str));
    sandbox
        .xav(&arguments)
        .expect(0)
        .shows("primes is valid, 9 activities\n");
    for (format, words) in [
        ("tree", "merge: "),
        ("dot", "digraph"),
        ("json", "\"merge\""),
    ] {
        sandbox
            .xav(&["show", &files[0], "--format", format])
            .expect(0)
            .shows(words);
    }
    let schema = sandbox.json(&["schema"]);
    assert!(
        schema["$schema"]
            .as_str()
            .is_some_and(|name| name.contains("json-schema.org"))
    );
}
