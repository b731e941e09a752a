//! The graph of a recording, for comparisons of schedulers: the duration of each task, and the data on
//! each edge.

use super::parse::Recording;
use super::workflow::{Task, Workflow};

/// The tasks of a recording and what each waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedGraph {
    /// Its recorded name; may be empty.
    pub name: String,
    /// In the order of the recording, by which schedulers tell tasks that are alike.
    pub tasks: Vec<RecordedTask>,
    /// Tail and head, as places of tasks, and the bytes of all files that the tail is the first
    /// listed to write and the head reads; each edge once.
    pub edges: Vec<(u32, u32, f64)>,
}

/// A task as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTask {
    /// Its id, which is [`super::Burn::name`] of the command that stands for it.
    pub id: String,
    /// Seconds that it took; 0 where that was not recorded.
    pub runtime: f64,
    /// CPU seconds that it used.
    pub cpu: f64,
}

pub(super) fn graph(recording: &Recording<'_>, workflow: &Workflow) -> RecordedGraph {
    let listed = |place: u32| workflow.tasks[place as usize].listed;
    let mut data = vec![0.0; workflow.edges.len()];
    for (to, task) in (0u32..).zip(&workflow.tasks) {
        for &file in &task.reads {
            let from = workflow.producers[file as usize];
            // A task gets the files that it reads from its parents.
            if let Ok(edge) = workflow.edges.binary_search(&(from, to)) {
                data[edge] += workflow.sizes[file as usize] as f64;
            }
        }
    }
    let edges = workflow.edges.iter().zip(data);
    let mut tasks: Vec<&Task> = workflow.tasks.iter().collect();
    tasks.sort_unstable_by_key(|task| task.listed);
    let tasks = tasks.into_iter().map(|task| RecordedTask {
        id: task.id.clone(),
        runtime: task.runtime,
        cpu: task.cpu,
    });
    RecordedGraph {
        name: recording.name.as_deref().unwrap_or_default().to_owned(),
        tasks: tasks.collect(),
        edges: edges
            .map(|(&(from, to), data)| (listed(from), listed(to), data))
            .collect(),
    }
}

#[test]
fn runtimes_and_sizes_are_those_of_the_recording() {
    let text = r#"{"name": "two", "schemaVersion": "1.5", "workflow": {
        "specification": {
            "tasks": [
                {"id": "b", "name": "b", "parents": ["a"], "children": [], "inputFiles": ["x", "y", "x"], "outputFiles": []},
                {"id": "a", "name": "a", "parents": [], "children": ["b", "c"], "inputFiles": [], "outputFiles": ["x", "y"]},
                {"id": "c", "name": "c", "parents": ["a"], "children": [], "inputFiles": [], "outputFiles": ["y"]}],
            "files": [{"id": "x", "sizeInBytes": 5}, {"id": "y", "sizeInBytes": 7}]},
        "execution": {"tasks": [
            {"id": "a", "runtimeInSeconds": 2.5, "avgCPU": 200}, {"id": "b", "runtimeInSeconds": 1}]}}}"#;
    let graph = super::graph(text.as_bytes()).unwrap();
    let task = |id: &str, runtime, cpu| RecordedTask {
        id: id.to_owned(),
        runtime,
        cpu,
    };
    assert_eq!(
        graph,
        RecordedGraph {
            name: "two".to_owned(),
            tasks: vec![
                task("b", 1.0, 1.0),
                task("a", 2.5, 5.0),
                task("c", 0.0, 0.0)
            ],
            edges: vec![(1, 0, 12.0), (1, 2, 0.0)],
        }
    );
}
