//! The part of a WfFormat recording that a scheduler needs.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use schedule::{Dag, Task};
use serde_json::Value;

/// The folder `workflows` of the data pack that the variable XAVANTES_DATA names; none, said aloud,
/// if it is not set.
#[expect(
    clippy::disallowed_methods,
    reason = "the data pack lies outside the project"
)]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn workflows() -> Option<PathBuf> {
    match std::env::var_os("XAVANTES_DATA") {
        Some(data) => Some(Path::new(&data).join("workflows")),
        None => {
            eprintln!("SKIPPED: XAVANTES_DATA does not name the folder of the data pack");
            None
        }
    }
}

/// Works are runtimes, the data of an edge is the size of the files that its head reads and its
/// tail is listed first to write. Edges are those listed, files without an edge are left out.
pub(crate) fn read(path: &Path) -> Dag {
    let mut bytes = std::fs::read(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut unpacked)
            .unwrap();
        bytes = unpacked;
    }
    let file: Value = serde_json::from_slice(&bytes).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let specification = &file["workflow"]["specification"];
    let sizes: BTreeMap<String, f64> = list(&specification["files"])
        .iter()
        .map(|file| (id(file), file["sizeInBytes"].as_f64().unwrap()))
        .collect();
    let runtimes: BTreeMap<String, f64> = list(&file["workflow"]["execution"]["tasks"])
        .iter()
        .map(|task| (id(task), task["runtimeInSeconds"].as_f64().unwrap()))
        .collect();
    let tasks = list(&specification["tasks"]);
    let number: BTreeMap<String, u32> = tasks.iter().map(id).zip(0..).collect();
    let mut producer: BTreeMap<String, u32> = BTreeMap::new();
    for (task, value) in (0u32..).zip(&tasks) {
        for file in list(&value["outputFiles"]) {
            producer
                .entry(file.as_str().unwrap().to_owned())
                .or_insert(task);
        }
    }
    let mut edges: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for (task, value) in (0u32..).zip(&tasks) {
        for child in list(&value["children"]) {
            edges.insert((task, number[child.as_str().unwrap()]), 0.0);
        }
    }
    for (task, value) in (0u32..).zip(&tasks) {
        let mut files: Vec<String> = list(&value["inputFiles"])
            .iter()
            .map(|file| file.as_str().unwrap().to_owned())
            .collect();
        files.sort();
        files.dedup();
        for file in files {
            if let Some(from) = producer.get(&file)
                && let Some(data) = edges.get_mut(&(*from, task))
            {
                *data += sizes[&file];
            }
        }
    }
    let works: Vec<Task> = tasks
        .iter()
        .map(|task| Task {
            work: runtimes[&id(task)],
            cores: 1,
        })
        .collect();
    let edges: Vec<(u32, u32, f64)> = edges
        .into_iter()
        .map(|((a, b), data)| (a, b, data))
        .collect();
    Dag::new(&works, &edges).unwrap()
}
