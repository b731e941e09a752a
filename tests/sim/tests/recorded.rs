//! Recorded workflows run to their end in the simulator: the sample always, and those from outside where
//! XAVANTES_DATA names the directory that holds them under `workflows`.
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::disallowed_methods, reason = "a test finds its data")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sim::recorded::{Figures, files, run};

/// Recordings of more bytes are left out where nothing is optimised: they would take minutes.
const BYTES_BELOW: u64 = if cfg!(debug_assertions) {
    300_000
} else {
    u64::MAX
};

fn ends_well(path: &Path) -> Figures {
    match run(&fs::read(path).unwrap()) {
        Ok(figures) => figures,
        Err(error) => panic!("{}: {error:?}", path.display()),
    }
}

#[test]
fn the_recorded_sample_runs_to_its_end() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows/samples");
    let figures = ends_well(&samples.join("recorded/recorded.json"));
    assert_eq!(figures.n_activities, 16);
    assert!(figures.bound <= figures.planned, "{figures}");
}

/// Activities of the workflow that is made up: fewer where nothing is optimised.
const MADE_UP: usize = if cfg!(debug_assertions) {
    2_000
} else {
    10_000
};
/// Tasks of one of its steps; each waits for two of the step before.
const SIDE_BY_SIDE: usize = 100;

/// A recording of so many tasks of a second, each with an output that two others read.
fn made_up(n_tasks: usize) -> Value {
    let id = |task: usize| format!("task_{task}");
    let file = |task: usize| format!("out-{task}");
    let before = |task: usize| {
        let step = (task / SIDE_BY_SIDE).checked_sub(1)?;
        let beside = [task, task + 1].map(|one| step * SIDE_BY_SIDE + one % SIDE_BY_SIDE);
        Some(beside)
    };
    let parents: Vec<Vec<usize>> = (0..n_tasks)
        .map(|task| before(task).into_iter().flatten().collect())
        .collect();
    let mut children = vec![Vec::new(); n_tasks];
    for (task, parents) in parents.iter().enumerate() {
        for &parent in parents {
            children[parent].push(id(task));
        }
    }
    let tasks = (0..n_tasks).map(|task| {
        let named = parents[task].iter().map(|&one| id(one));
        let inputs = parents[task].iter().map(|&one| file(one));
        json!({
            "name": "step",
            "id": id(task),
            "parents": named.collect::<Vec<_>>(),
            "children": children[task],
            "inputFiles": inputs.collect::<Vec<_>>(),
            "outputFiles": [file(task)],
        })
    });
    let files = (0..n_tasks).map(|task| json!({ "id": file(task), "sizeInBytes": 1_000 }));
    let ran = (0..n_tasks).map(|task| {
        json!({
            "id": id(task),
            "runtimeInSeconds": 1.0,
            "command": { "program": "step" },
            "coreCount": 1.0,
        })
    });
    json!({
        "name": "made up",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": tasks.collect::<Vec<_>>(),
                "files": files.collect::<Vec<_>>(),
            },
            "execution": { "makespanInSeconds": 1.0, "tasks": ran.collect::<Vec<_>>() },
        },
    })
}

#[test]
fn a_workflow_of_ten_thousand_activities_runs_to_its_end() {
    let recording = serde_json::to_vec(&made_up(MADE_UP)).unwrap();
    let figures = run(&recording).unwrap();
    assert_eq!(figures.n_activities, MADE_UP);
    eprintln!("{figures}");
}

#[test]
fn every_recorded_workflow_runs_to_its_end() {
    let Some(data) = std::env::var_os("XAVANTES_DATA") else {
        eprintln!("SKIPPED: XAVANTES_DATA names no directory with recorded workflows");
        return;
    };
    let paths = files(&PathBuf::from(data).join("workflows")).unwrap();
    assert_eq!(paths.len(), 28);
    let mut n_run = 0;
    for path in &paths {
        if fs::metadata(path).unwrap().len() < BYTES_BELOW {
            let figures = ends_well(path);
            eprintln!("{}: {figures}", path.display());
            n_run += 1;
        }
    }
    eprintln!(
        "{n_run} of {} recorded workflows ran to their end",
        paths.len()
    );
}
