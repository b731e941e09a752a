//! The graph of a recording, for comparisons of schedulers: the duration of each task, and the data on
//! each edge.

use model::Work;

use super::build::{activity_names, scaled, time_scale, work};
use super::names;
use super::parse::Recording;
use super::warnings::Warnings;
use super::workflow::Workflow;
use super::{ImportError, Options};

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
    /// Oddities, as in [`super::Imported::warnings`].
    warnings: Warnings,
}

/// A task as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTask {
    /// Its id, which is [`super::Burn::name`] of the command that stands for it.
    pub id: String,
    /// The name of the activity that stands for it.
    pub activity: String,
    /// Seconds that it took; 0 where that was not recorded.
    pub runtime: f64,
    /// CPU seconds that it used.
    pub cpu: f64,
}

impl RecordedGraph {
    /// The name of the process that stands for it.
    pub fn process(&self) -> String {
        names::process(&self.name)
    }

    /// The works of the activities that stand for the tasks, which use the recorded CPU time, scaled.
    pub fn works(&mut self, options: &Options) -> Result<Vec<Work>, ImportError> {
        options.check()?;
        let recorded: f64 = self.tasks.iter().map(|task| task.cpu).sum();
        let scale = time_scale(recorded, options, &mut self.warnings);
        let works = self.tasks.iter().map(|task| work(scaled(task.cpu, scale)));
        Ok(works.collect())
    }

    /// What is odd about the recording, as in [`super::Imported::warnings`].
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.sentences()
    }
}

pub(super) fn graph(recording: &Recording<'_>, workflow: Workflow) -> RecordedGraph {
    let Workflow {
        tasks,
        edges,
        sizes,
        producers,
        warnings,
    } = workflow;
    let mut data = vec![0.0; edges.len()];
    for (to, task) in (0u32..).zip(&tasks) {
        for &file in &task.reads {
            let from = producers[file as usize];
            // A task gets the files that it reads from its parents.
            if let Ok(edge) = edges.binary_search(&(from, to)) {
                data[edge] += sizes[file as usize] as f64;
            }
        }
    }
    let listed: Vec<u32> = tasks.iter().map(|task| task.listed).collect();
    let edges = edges.into_iter().zip(data);
    let edges = edges
        .map(|((from, to), data)| (listed[from as usize], listed[to as usize], data))
        .collect();
    let names = activity_names(&tasks);
    let mut tasks: Vec<(u32, RecordedTask)> = tasks
        .into_iter()
        .zip(names)
        .map(|(task, activity)| {
            let recorded = RecordedTask {
                id: task.id,
                activity,
                runtime: task.runtime,
                cpu: task.cpu,
            };
            (task.listed, recorded)
        })
        .collect();
    tasks.sort_unstable_by_key(|(listed, _)| *listed);
    RecordedGraph {
        name: recording.name.as_deref().unwrap_or_default().to_owned(),
        tasks: tasks.into_iter().map(|(_, task)| task).collect(),
        edges,
        warnings,
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
        activity: id.to_owned(),
        runtime,
        cpu,
    };
    assert_eq!(graph.process(), "two");
    assert_eq!(
        graph.tasks,
        [
            task("b", 1.0, 1.0),
            task("a", 2.5, 5.0),
            task("c", 0.0, 0.0)
        ]
    );
    assert_eq!(graph.edges, [(1, 0, 12.0), (1, 2, 0.0)]);

    // Names, works and warnings are those of a definition made of the same.
    for options in [
        Options::default(),
        Options {
            time_scale: 0.5,
            ..Options::default()
        },
        Options {
            cpu_total: Some(model::Span::from_secs(12)),
            ..Options::default()
        },
    ] {
        let mut graph = super::graph(text.as_bytes()).unwrap();
        let imported = super::import(text.as_bytes(), &options).unwrap();
        let works = graph.works(&options).unwrap();
        let mut planned: Vec<(&str, Work)> = graph
            .tasks
            .iter()
            .zip(works)
            .map(|(task, work)| (task.activity.as_str(), work))
            .collect();
        let mut run: Vec<(&str, Work)> = imported
            .draft
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(id, node)| {
                let activity = imported.draft.activity(model::ActivityId(id as u32))?;
                Some((node.name.as_str(), activity.work?))
            })
            .collect();
        planned.sort();
        run.sort();
        assert_eq!(planned, run);
        assert_eq!(graph.warnings(), imported.warnings);
    }
}
