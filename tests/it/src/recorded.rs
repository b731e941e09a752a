//! Recorded workflows, run as real commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::check::{self, Expected};
use crate::sandbox::{Sandbox, root};

/// The sample.
pub(crate) fn sample() -> PathBuf {
    root().join("workflows/samples/recorded/recorded.json")
}

/// A file of the large data set in `XAVANTES_DATA`; prints SKIPPED and returns `None` where it is missing.
pub(crate) fn data(name: &str) -> Option<PathBuf> {
    let found = std::env::var_os("XAVANTES_DATA").map(|data| {
        let data = PathBuf::from(data);
        let inner = data.join("workflows").join(name);
        if inner.is_file() {
            inner
        } else {
            data.join(name)
        }
    });
    let found = found.filter(|path| path.is_file());
    if found.is_none() {
        println!("SKIPPED: {name} is not in the directory that XAVANTES_DATA names");
    }
    found
}

/// The tasks of a recording, by id, with the ids of their parents.
pub(crate) fn tasks(file: &Path) -> BTreeMap<String, Vec<String>> {
    let recorded: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let tasks = recorded["workflow"]["specification"]["tasks"].as_array();
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let parents = |task: &Value| task["parents"].as_array().unwrap().iter().map(id).collect();
    tasks
        .unwrap()
        .iter()
        .map(|task| (id(&task["id"]), parents(task)))
        .collect()
}

/// Runs a recording and compares its status with its commands' log.
fn compared(file: &Path, expected: &Expected) {
    let sandbox = Sandbox::new();
    let log = sandbox.path("burns.log");
    let json = sandbox.json(&[
        "run",
        file.to_str().unwrap(),
        &format!("--cpu-total={}s", expected.cpu_seconds),
        &format!("--data-scale={}", expected.data_scale),
        &format!("--slots={}", expected.slots),
        "--record",
        log.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(json["state"], "completed");
    let recording = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let log = fs::read_to_string(&log).unwrap();
    let status = sandbox.json(&["status", "--json"]);
    let found = check::compare(&recording, &status, &log, expected);
    let found = found.unwrap_or_else(|differences| panic!("{differences}"));
    assert_eq!(found.n_activities, tasks(file).len());
    println!("{}: {found}", file.display());
}

#[test]
fn a_recorded_workflow_does_what_its_status_tells() {
    // As its README runs it: `run workflows/samples/recorded/recorded.json --cpu-total 2s
    // --data-scale 0.01`, with a record of it.
    compared(
        &sample(),
        &Expected {
            cpu_seconds: 2.0,
            data_scale: 0.01,
            slots: 2,
            // The start of such short commands takes a part of their CPU time.
            cpu_margin: 0.3,
        },
    );
}

/// Ids like nf-core's, with dots and spaces; two tasks and two files get one name each before numbering.
#[test]
fn tasks_whose_ids_are_no_names_are_checked_by_their_ids() {
    let task = |id: &str, parents: &[&str], reads: &[&str], writes: &[&str]| {
        json!({
            "id": id, "name": id, "parents": parents, "children": [],
            "inputFiles": reads, "outputFiles": writes,
        })
    };
    let ids = ["QC.TRIM_1", "QC_TRIM_1", "ALIGN.SORT (a+b)_2", "REPORT"];
    let recording = json!({
        "name": "dots",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    task(ids[0], &[], &["reads/s1.fq"], &["s1.trim.fq", "s1_trim.fq"]),
                    task(ids[1], &[], &["reads/s2.fq"], &["s2.trim.fq"]),
                    task(ids[2], &[ids[0], ids[1]], &["s1.trim.fq", "s2.trim.fq"], &["out/x.bam"]),
                    task(ids[3], &[ids[2], ids[0]], &["out/x.bam", "s1_trim.fq"], &[]),
                ],
                "files": [
                    { "id": "reads/s1.fq", "sizeInBytes": 10_000 },
                    { "id": "reads/s2.fq", "sizeInBytes": 20_000 },
                    { "id": "s1.trim.fq", "sizeInBytes": 8_000 },
                    { "id": "s1_trim.fq", "sizeInBytes": 7_000 },
                    { "id": "s2.trim.fq", "sizeInBytes": 16_000 },
                    { "id": "out/x.bam", "sizeInBytes": 30_000 },
                ],
            },
            "execution": {
                "makespanInSeconds": 4,
                "tasks": ids.map(|id| json!({ "id": id, "runtimeInSeconds": 1, "avgCPU": 100 })),
            },
        },
    });
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("dots.json");
    fs::write(&file, recording.to_string()).unwrap();
    let expected = Expected {
        cpu_seconds: 1.0,
        data_scale: 0.1,
        slots: 2,
        cpu_margin: 0.3,
    };
    compared(&file, &expected);
}

#[test]
fn large_recorded_workflows_do_what_their_status_tells() {
    for name in [
        "montage-chameleon-2mass-005d-001.json",
        "epigenomics-chameleon-hep-1seq-100k-001.json",
        "1000genome-chameleon-2ch-100k-001.json",
        "montage-chameleon-dss-10d-001.json",
    ] {
        let Some(file) = data(name) else { continue };
        compared(
            &file,
            &Expected {
                cpu_seconds: 20.0,
                data_scale: 0.001,
                slots: 2,
                cpu_margin: 0.1,
            },
        );
    }
}

#[test]
fn a_recorded_workflow_is_exported_in_every_form() {
    let sandbox = Sandbox::new();
    let file = root().join("workflows/samples/recorded/recorded.json");
    let file = file.to_str().unwrap();
    let yaml = sandbox.xav(&["export", file]).expect(0).stdout;
    let path = sandbox.path("recorded.yaml");
    fs::write(&path, &yaml).unwrap();
    sandbox.xav(&["validate", path.to_str().unwrap()]).expect(0);
    let again = sandbox
        .xav(&["export", path.to_str().unwrap()])
        .expect(0)
        .stdout;
    assert_eq!(again, yaml);
    let dot = sandbox
        .xav(&["export", file, "--format", "dot"])
        .expect(0)
        .stdout;
    assert!(dot.starts_with("digraph"), "{dot}");
    let wfformat = sandbox
        .xav(&["export", file, "--format", "wfformat"])
        .expect(0)
        .stdout;
    let wfformat: Value = serde_json::from_str(&wfformat).unwrap();
    assert_eq!(
        wfformat["workflow"]["specification"]["tasks"]
            .as_array()
            .unwrap()
            .len(),
        16
    );
}

#[test]
fn what_cannot_be_a_recording_is_refused_in_a_sentence() {
    let sandbox = Sandbox::new();
    let definition = sandbox.path("one.yaml");
    fs::write(&definition, "xavantes: 1\nname: one\nbody:\n  empty:\n").unwrap();
    sandbox
        .xav(&["run", definition.to_str().unwrap(), "--cpu-total", "2s"])
        .expect(2)
        .says("is not a recorded workflow");
    let cut = sandbox.path("cut.json");
    let whole = fs::read(root().join("workflows/samples/recorded/recorded.json")).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    sandbox.xav(&["run", cut.to_str().unwrap()]).expect(2);
}
