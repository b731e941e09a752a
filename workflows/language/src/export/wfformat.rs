//! A definition as a recorded workflow in WfFormat 1.5.

use std::collections::{BTreeMap, BTreeSet};

use model::{Activity, Definition, NodeId, NodeKind, Source, Span};
use serde::Serialize;
use thiserror::Error;

use crate::wfformat::Burn;

/// Edges that a file is written with at most: where many activities meet many, WfFormat has an
/// edge for each pair.
const EDGES_MAX: usize = 4_000_000;

/// Why a definition is not written as WfFormat.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExportError {
    /// Too many pairs of activities of which one waits for the other.
    #[error("could not write WfFormat: it needs an edge for each pair, more than {EDGES_MAX}")]
    Edges,
    /// A definition without activities, which WfFormat does not allow.
    #[error("could not write WfFormat: the definition has no activities")]
    NoActivities,
    /// A definition with bodies that are done for each item of a list, or again and again.
    #[error(
        "could not write WfFormat: it lists each task, and those of a {0} are known when it runs"
    )]
    Bodies(&'static str),
}

/// A definition as WfFormat 1.5 JSON: a task for each activity, an edge where one waits for
/// another and nothing between them already says so, the files that are named.
///
/// Of an activity that runs `xav tool burn` the task's id, its files with their ids and sizes and
/// its threads are those of the command line; of others the id is the activity's name, a file's id
/// has its producer's name before it, and sizes are 0 for not known. The runtime is the work over
/// the threads, 0 where none is given. Conditions, joins, variables and all that WfFormat cannot
/// say is left out.
pub fn wfformat(definition: &Definition) -> Result<String, ExportError> {
    if definition.activities().is_empty() {
        return Err(ExportError::NoActivities);
    }
    let mut nodes = definition.draft().nodes.iter();
    if let Some(controller) = nodes.find(|node| node.kind.has_bodies()) {
        return Err(ExportError::Bodies(controller.keyword()));
    }
    let waits = Waits::new(definition)?;
    let burns: BTreeMap<NodeId, Burn> = activities(definition)
        .filter_map(|(node, activity)| Some((node, Burn::of_command(&activity.command)?)))
        .collect();
    let ids = task_ids(definition, &burns);
    let mut files = Files {
        definition,
        burns: &burns,
        list: Vec::new(),
        places: BTreeMap::new(),
    };
    let mut tasks = Vec::with_capacity(ids.len());
    let mut runs = Vec::with_capacity(ids.len());
    for (node, activity) in activities(definition) {
        let id = &ids[&node];
        let list = |nodes: Option<&Vec<NodeId>>| -> Vec<String> {
            nodes
                .into_iter()
                .flatten()
                .map(|node| ids[node].clone())
                .collect()
        };
        tasks.push(Task {
            name: id.clone(),
            id: id.clone(),
            parents: list(waits.parents.get(&node)),
            children: list(waits.children.get(&node)),
            input_files: files.read_by(node, activity),
            output_files: files.written_by(node, activity),
        });
        runs.push(run(id, activity, burns.get(&node)));
    }
    let makespan: f64 = runs.iter().map(|run| run.runtime_in_seconds).sum();
    let recording = Recording {
        name: definition.name(),
        description: "Exported by xav: runtimes are reference seconds of work, not a recording",
        created_at: "1970-01-01T00:00:00Z",
        schema_version: "1.5",
        workflow: Workflow {
            specification: Specification {
                tasks,
                files: files.list.into_iter().map(file).collect(),
            },
            execution: Execution {
                makespan_in_seconds: makespan,
                executed_at: "1970-01-01T00:00:00Z",
                tasks: runs,
            },
        },
    };
    let text = serde_json::to_string_pretty(&recording);
    Ok(text.expect("text, numbers and lists are always JSON"))
}

fn activities(definition: &Definition) -> impl Iterator<Item = (NodeId, &Activity)> {
    let ids = definition.activities().iter();
    ids.filter_map(|&id| Some((id.node(), definition.activity(id)?)))
}

/// The ids of the tasks: no two the same, though the command lines may say so.
fn task_ids(definition: &Definition, burns: &BTreeMap<NodeId, Burn>) -> BTreeMap<NodeId, String> {
    let mut n_named: BTreeMap<&str, usize> = BTreeMap::new();
    let name = |node: NodeId| definition.node(node).name.as_str();
    let nodes = || definition.activities().iter().map(|id| id.node());
    let recorded = |node: NodeId| {
        let burn = burns.get(&node).filter(|burn| !burn.name.is_empty());
        burn.map_or(name(node), |burn| burn.name.as_str())
    };
    for node in nodes() {
        *n_named.entry(recorded(node)).or_default() += 1;
        if recorded(node) != name(node) {
            // The name of another activity is not to be had either.
            *n_named.entry(name(node)).or_default() += 1;
        }
    }
    let id = |node| match n_named[recorded(node)] {
        1 => recorded(node),
        _ => name(node),
    };
    nodes().map(|node| (node, id(node).to_owned())).collect()
}

fn run(id: &str, activity: &Activity, burn: Option<&Burn>) -> Run {
    let work = activity.work.map_or(0.0, |work| work.reference_seconds());
    let threads = burn.map_or(1, |burn| burn.threads.max(1));
    // An importer gives what computes nothing the least work there is.
    let idle = burn.is_some_and(|burn| burn.cpu == Span::ZERO);
    Run {
        id: id.to_owned(),
        runtime_in_seconds: if idle { 0.0 } else { work / f64::from(threads) },
        average_cpu: 100.0 * f64::from(threads),
    }
}

/// The files of a workflow, each once, in the order of their mention.
struct Files<'a> {
    definition: &'a Definition,
    burns: &'a BTreeMap<NodeId, Burn>,
    list: Vec<(String, u64)>,
    places: BTreeMap<String, usize>,
}

impl Files<'_> {
    fn read_by(&mut self, node: NodeId, activity: &Activity) -> Vec<String> {
        let made = self.burns.get(&node).map_or(&[][..], |burn| &burn.sources);
        let made = made.iter().map(|file| (file.seed.clone(), file.bytes));
        let staged = activity
            .inputs
            .iter()
            .map(|staged| self.produced(staged.source));
        let files: Vec<(String, u64)> = made.chain(staged).collect();
        self.add(files)
    }

    fn written_by(&mut self, node: NodeId, activity: &Activity) -> Vec<String> {
        let files: Vec<(String, u64)> = match self.burns.get(&node) {
            Some(burn) => burn
                .writes
                .iter()
                .map(|file| (file.seed.clone(), file.bytes))
                .collect(),
            None => (0..activity.outputs.len() as u32)
                .map(|output| {
                    self.produced(Source::Output {
                        activity: node,
                        output,
                    })
                })
                .collect(),
        };
        self.add(files)
    }

    /// The id and the size of a file that an activity declares or that is given to the process.
    fn produced(&self, source: Source) -> (String, u64) {
        let (producer, output) = match source {
            Source::Output { activity, output } => (activity, output as usize),
            Source::Input(input) => {
                let name = &self.definition.draft().inputs[input as usize].name;
                return (format!("inputs/{name}"), 0);
            }
            Source::Item(_) | Source::Pick(_) => {
                unreachable!("a definition with a for-each is not written")
            }
        };
        let node = self.definition.node(producer);
        let NodeKind::Activity(activity) = &node.kind else {
            unreachable!("a checked definition names outputs of activities only");
        };
        let path = &activity.outputs[output].path;
        let writes = self
            .burns
            .get(&producer)
            .map_or(&[][..], |burn| &burn.writes);
        // An importer declares outputs in the order in which they are written.
        let in_order = writes.get(output).filter(|file| file.path == *path);
        match in_order.or_else(|| writes.iter().find(|file| file.path == *path)) {
            Some(file) => (file.seed.clone(), file.bytes),
            None => (format!("{}/{path}", node.name), 0),
        }
    }

    /// The ids, each once; a file keeps the largest size that was told.
    fn add(&mut self, files: Vec<(String, u64)>) -> Vec<String> {
        let mut ids = Vec::with_capacity(files.len());
        let mut mentioned = BTreeSet::new();
        for (id, bytes) in files {
            let next = self.list.len();
            let place = *self.places.entry(id.clone()).or_insert(next);
            if place == next {
                self.list.push((id.clone(), bytes));
            }
            let size = &mut self.list[place].1;
            *size = bytes.max(*size);
            if mentioned.insert(place) {
                ids.push(id);
            }
        }
        ids
    }
}

fn file((id, size_in_bytes): (String, u64)) -> File {
    File { id, size_in_bytes }
}

/// The parents and children of each activity.
#[derive(Default)]
struct Waits {
    parents: BTreeMap<NodeId, Vec<NodeId>>,
    children: BTreeMap<NodeId, Vec<NodeId>>,
}

impl Waits {
    /// The edges of the activity graph without its gates: those that files and links between two
    /// activities make, and of those that controllers make the ones that no path over a third
    /// makes needless.
    fn new(definition: &Definition) -> Result<Waits, ExportError> {
        let graph = definition.graph();
        let nodes: Vec<Option<NodeId>> = graph
            .nodes()
            .map(|node| node.activity.map(|activity| activity.node()))
            .collect();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (from, to, _) in graph.edges() {
            before[to].push(from as u32);
        }
        let told = told(definition);
        let is_told = |from: u32, to: usize| match (nodes[from as usize], nodes[to]) {
            (Some(from), Some(to)) => told.binary_search(&(from, to)).is_ok(),
            (None, _) | (_, None) => false,
        };
        let mut waits = Waits::default();
        let mut n_edges = 0;
        // For each gate the activities that it stands for.
        let mut gates: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        let mut marks = vec![u32::MAX; nodes.len()];
        for (to, &node) in nodes.iter().enumerate() {
            for &between in &before[to] {
                for &from in &before[between as usize] {
                    marks[from as usize] = to as u32;
                }
            }
            let needless = |from: u32| marks[from as usize] == to as u32 && !is_told(from, to);
            let mut parents: Vec<u32> = Vec::new();
            for &from in before[to].iter().filter(|&&from| !needless(from)) {
                match nodes[from as usize] {
                    Some(_) => parents.push(from),
                    None => parents.extend_from_slice(&gates[from as usize]),
                }
            }
            parents.sort_unstable();
            parents.dedup();
            n_edges += parents.len();
            if n_edges > EDGES_MAX {
                return Err(ExportError::Edges);
            }
            let Some(node) = node else {
                gates[to] = parents;
                continue;
            };
            let parents: Vec<NodeId> = parents
                .iter()
                .filter_map(|&from| nodes[from as usize])
                .collect();
            for &parent in &parents {
                waits.children.entry(parent).or_default().push(node);
            }
            waits.parents.insert(node, parents);
        }
        Ok(waits)
    }
}

/// The pairs of activities between which a file flows or a link is, sorted.
fn told(definition: &Definition) -> Vec<(NodeId, NodeId)> {
    let links = definition
        .links()
        .iter()
        .map(|(_, link)| (link.from, link.to));
    let mut told: Vec<(NodeId, NodeId)> = links.collect();
    for (node, activity) in activities(definition) {
        told.extend(
            activity
                .inputs
                .iter()
                .filter_map(|staged| match staged.source {
                    Source::Output { activity, .. } => Some((activity, node)),
                    Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
                }),
        );
    }
    told.sort_unstable();
    told.dedup();
    told
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Recording<'a> {
    name: &'a str,
    description: &'a str,
    created_at: &'a str,
    schema_version: &'a str,
    workflow: Workflow,
}

#[derive(Serialize)]
struct Workflow {
    specification: Specification,
    execution: Execution,
}

#[derive(Serialize)]
struct Specification {
    tasks: Vec<Task>,
    files: Vec<File>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    name: String,
    id: String,
    parents: Vec<String>,
    children: Vec<String>,
    input_files: Vec<String>,
    output_files: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    id: String,
    size_in_bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Execution {
    makespan_in_seconds: f64,
    executed_at: &'static str,
    tasks: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    id: String,
    #[serde(rename = "runtimeInSeconds")]
    runtime_in_seconds: f64,
    #[serde(rename = "avgCPU")]
    average_cpu: f64,
}
