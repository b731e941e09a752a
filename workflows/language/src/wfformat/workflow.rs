//! A recording as a graph: tasks in topological order, edges, files that flow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ImportError;
use super::limits::{FILE_BYTES_MAX, SECONDS_MAX, THREADS_MAX};
use super::parse::{RawTask, Recording};
use super::warnings::{Oddity, Warnings};

const NONE: u32 = u32::MAX;

/// The tasks of a recording, each edge from a lower place to a higher one.
#[derive(Debug, Default)]
pub(super) struct Workflow {
    pub(super) tasks: Vec<Task>,
    /// Tails and heads, sorted, each once.
    pub(super) edges: Vec<(u32, u32)>,
    /// Bytes by the place of the file's id.
    pub(super) sizes: Vec<u64>,
    /// The place of the task that writes each file, or `u32::MAX`.
    pub(super) producers: Vec<u32>,
    pub(super) warnings: Warnings,
}

/// A task; files are places of ids.
#[derive(Debug, Default)]
pub(super) struct Task {
    pub(super) id: String,
    /// Its place in the recording.
    pub(super) listed: u32,
    /// Seconds that it took; 0 where that was not recorded.
    pub(super) runtime: f64,
    /// CPU seconds, not scaled.
    pub(super) cpu: f64,
    pub(super) threads: u32,
    /// Files that come from a parent.
    pub(super) reads: Vec<u32>,
    /// Files that it makes itself before it reads them.
    pub(super) sources: Vec<u32>,
    pub(super) writes: Vec<u32>,
}

impl Workflow {
    /// Makes references of ids and settles what is odd. O((n + e) log n).
    pub(super) fn resolve(recording: &Recording<'_>) -> Result<Workflow, ImportError> {
        let mut warnings = Warnings::default();
        check_version(recording, &mut warnings)?;
        if recording.tasks.is_empty() {
            return Err(ImportError::NoTasks);
        }
        let ids = Handles::new(recording)?;
        let edges = ids.edges(recording)?;
        let order = order(&ids.handles, &edges)?;
        let mut place = vec![0u32; order.len()];
        for (at, &task) in order.iter().enumerate() {
            place[task as usize] = at as u32;
        }
        let mut edges: Vec<(u32, u32)> = edges
            .iter()
            .map(|&(from, to)| (place[from as usize], place[to as usize]))
            .collect();
        edges.sort_unstable();

        let sizes = sizes(recording, &mut warnings)?;
        let mut producers = vec![NONE; recording.file_ids.len()];
        for (raw, handle) in recording.tasks.iter().zip(&ids.handles) {
            let own = place[handle.index as usize];
            for &file in &raw.outputs {
                let producer = &mut producers[file as usize];
                match *producer {
                    NONE => *producer = own,
                    first if first == own => {}
                    _ => warnings.add(Oddity::SecondProducer, || {
                        format!("`{}`, `{}`", recording.file_ids.text(file), handle.text)
                    }),
                }
            }
        }
        let mut flows = Flows {
            recording,
            edges: &edges,
            carries: vec![false; edges.len()],
            producers: &producers,
            listed_in: vec![NONE; recording.file_ids.len()],
            listed_out: vec![NONE; recording.file_ids.len()],
        };
        let mut tasks = Vec::with_capacity(order.len());
        let runs = runs(recording, &ids, &mut warnings);
        for (at, &index) in order.iter().enumerate() {
            let raw = &recording.tasks[index as usize];
            let id = ids.handles[index as usize].text.clone();
            let (runtime, percent) = match runs[index as usize] {
                NONE => (raw.runtime, raw.cpu_percent),
                run => {
                    let run = &recording.runs[run as usize];
                    (
                        run.runtime.or(raw.runtime),
                        run.cpu_percent.or(raw.cpu_percent),
                    )
                }
            };
            let (cpu, threads) = cpu(&id, runtime, percent, &mut warnings)?;
            let mut task = Task {
                id,
                listed: index,
                runtime: runtime.unwrap_or(0.0),
                cpu,
                threads,
                ..Task::default()
            };
            flows.sort(at as u32, raw, &mut task, &mut warnings);
            tasks.push(task);
        }
        for (&(from, to), _) in edges
            .iter()
            .zip(&flows.carries)
            .filter(|(_, carries)| !**carries)
        {
            warnings.add(Oddity::ControlEdge, || {
                format!(
                    "`{}` to `{}`",
                    tasks[from as usize].id, tasks[to as usize].id
                )
            });
        }
        Ok(Workflow {
            tasks,
            edges,
            sizes,
            producers,
            warnings,
        })
    }
}

fn check_version(recording: &Recording<'_>, warnings: &mut Warnings) -> Result<(), ImportError> {
    let Some(version) = recording.version.as_deref() else {
        warnings.add(Oddity::Version, || "none is given".to_owned());
        return Ok(());
    };
    match version {
        "1.4" | "1.5" | "1.6" => Ok(()),
        _ if version.starts_with("1.") => {
            warnings.add(Oddity::Version, || format!("`{}`", shorten(version)));
            Ok(())
        }
        _ => Err(ImportError::Version(shorten(version))),
    }
}

fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    text.chars().take(SHOWN).collect()
}

/// The names of tasks, and the task that an id means.
struct Handles {
    handles: Vec<Handle>,
    /// The task by the place of the id.
    owners: Vec<u32>,
}

struct Handle {
    index: u32,
    text: String,
}

/// An id that is several tasks' name: it names none of them.
const AMBIGUOUS: u32 = u32::MAX - 1;

impl Handles {
    fn new(recording: &Recording<'_>) -> Result<Handles, ImportError> {
        let text = |id: u32| recording.task_ids.text(id);
        let mut owners = vec![NONE; recording.task_ids.len()];
        let mut handles = Vec::with_capacity(recording.tasks.len());
        for (index, task) in recording.tasks.iter().enumerate() {
            let Some(id) = task.id.or(task.name) else {
                return Err(ImportError::NoId(index + 1));
            };
            if owners[id as usize] != NONE {
                return Err(ImportError::DuplicateTask(text(id).to_owned()));
            }
            owners[id as usize] = index as u32;
            // Up to 1.4 the name has the id in it where it is the fuller of the two.
            let fuller = task.name.map(text).filter(|name| name.contains(text(id)));
            handles.push(Handle {
                index: index as u32,
                text: fuller.unwrap_or(text(id)).to_owned(),
            });
        }
        for (index, task) in recording.tasks.iter().enumerate() {
            let Some(name) = task
                .name
                .filter(|name| task.id.is_some_and(|id| id != *name))
            else {
                continue;
            };
            let is_id = |owner: u32| {
                let task = recording.tasks.get(owner as usize);
                task.is_some_and(|task| task.id.or(task.name) == Some(name))
            };
            let owner = &mut owners[name as usize];
            *owner = match *owner {
                NONE => index as u32,
                first if is_id(first) => first,
                _ => AMBIGUOUS,
            };
        }
        Ok(Handles { handles, owners })
    }

    /// The edges that parents and children tell, as tails and heads, sorted, each once.
    fn edges(&self, recording: &Recording<'_>) -> Result<Vec<(u32, u32)>, ImportError> {
        let owner = |task: usize, relation, id: u32| match self.owners[id as usize] {
            NONE | AMBIGUOUS => Err(ImportError::UnknownTask {
                task: self.handles[task].text.clone(),
                relation,
                unknown: recording.task_ids.text(id).to_owned(),
            }),
            owner => Ok(owner),
        };
        let mut edges = Vec::new();
        for (index, task) in recording.tasks.iter().enumerate() {
            for &parent in &task.parents {
                edges.push((owner(index, "parent", parent)?, index as u32));
            }
            for &child in &task.children {
                edges.push((index as u32, owner(index, "child", child)?));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        Ok(edges)
    }
}

/// The tasks in topological order, of those that could come next the first listed first.
fn order(handles: &[Handle], edges: &[(u32, u32)]) -> Result<Vec<u32>, ImportError> {
    let mut n_before = vec![0u32; handles.len()];
    for &(_, to) in edges {
        n_before[to as usize] += 1;
    }
    let mut open: BinaryHeap<Reverse<u32>> = (0..handles.len() as u32)
        .filter(|&task| n_before[task as usize] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(handles.len());
    while let Some(Reverse(task)) = open.pop() {
        order.push(task);
        let first = edges.partition_point(|&(from, _)| from < task);
        for &(_, to) in edges[first..].iter().take_while(|&&(from, _)| from == task) {
            n_before[to as usize] -= 1;
            if n_before[to as usize] == 0 {
                open.push(Reverse(to));
            }
        }
    }
    match order.len() == handles.len() {
        true => Ok(order),
        false => Err(ImportError::Cycle(cycle(handles, edges, &n_before))),
    }
}

/// A cycle among the tasks that still wait for some, as a path of ids.
fn cycle(handles: &[Handle], edges: &[(u32, u32)], n_before: &[u32]) -> String {
    const SHOWN: usize = 12;
    // Every task left over waits for one that is left over, so going backwards must come round.
    let left = |task: u32| n_before[task as usize] > 0;
    let mut tail_of = vec![NONE; handles.len()];
    for &(from, to) in edges.iter().filter(|&&(from, to)| left(from) && left(to)) {
        tail_of[to as usize] = from;
    }
    let Some(mut task) = (0..handles.len() as u32).find(|&task| left(task)) else {
        return String::new();
    };
    for _ in 0..handles.len() {
        task = tail_of[task as usize];
    }
    let first = task;
    let mut path = vec![first];
    loop {
        task = tail_of[task as usize];
        path.push(task);
        if task == first {
            break;
        }
    }
    path.reverse();
    let text = |task: &u32| format!("`{}`", shorten(&handles[*task as usize].text));
    let mut names: Vec<String> = path.iter().take(SHOWN).map(text).collect();
    if path.len() > SHOWN {
        names.push("...".to_owned());
        names.push(text(&first));
    }
    names.join(" -> ")
}

fn sizes(recording: &Recording<'_>, warnings: &mut Warnings) -> Result<Vec<u64>, ImportError> {
    let mut sizes = vec![None; recording.file_ids.len()];
    for &(file, size) in &recording.files {
        let Some(size) = size else { continue };
        let name = || recording.file_ids.text(file).to_owned();
        if !(0.0..=FILE_BYTES_MAX as f64).contains(&size) {
            return Err(ImportError::Amount {
                what: "size",
                name: name(),
                amount: size,
                wanted: "bytes are 0 to 2^53",
            });
        }
        let known: &mut Option<u64> = &mut sizes[file as usize];
        let size = size.round() as u64;
        if *known.get_or_insert(size) != size {
            warnings.add(Oddity::TwoSizes, || format!("`{}`", name()));
        }
    }
    let mut without = |file: usize| {
        warnings.add(Oddity::NoSize, || {
            format!("`{}`", recording.file_ids.text(file as u32))
        });
        0
    };
    let sizes = sizes.iter().enumerate();
    Ok(sizes
        .map(|(file, size)| size.unwrap_or_else(|| without(file)))
        .collect())
}

/// The execution of each task.
fn runs(recording: &Recording<'_>, ids: &Handles, warnings: &mut Warnings) -> Vec<u32> {
    let mut runs = vec![NONE; recording.tasks.len()];
    for (index, run) in recording.runs.iter().enumerate() {
        let Some(id) = run.id else { continue };
        let text = || format!("`{}`", recording.task_ids.text(id));
        match runs.get_mut(ids.owners[id as usize] as usize) {
            None => warnings.add(Oddity::RunOfUnknown, text),
            Some(known) if *known != NONE => warnings.add(Oddity::SecondRun, text),
            Some(known) => *known = index as u32,
        }
    }
    runs
}

/// CPU seconds and the threads that used them.
fn cpu(
    id: &str,
    runtime: Option<f64>,
    percent: Option<f64>,
    warnings: &mut Warnings,
) -> Result<(f64, u32), ImportError> {
    let check = |what, amount: f64, most, wanted| match (0.0..=most).contains(&amount) {
        true => Ok(amount),
        false => Err(ImportError::Amount {
            what,
            name: id.to_owned(),
            amount,
            wanted,
        }),
    };
    /// Percent of one core that a task may be recorded to have used: 65,536 cores.
    const PERCENT_MAX: f64 = 6_553_600.0;
    let percent = percent.unwrap_or(100.0);
    let percent = check("avgCPU", percent, PERCENT_MAX, "percent are 0 to 6553600")?;
    let threads = ((percent / 100.0).ceil() as u32).clamp(1, THREADS_MAX);
    let Some(runtime) = runtime else {
        warnings.add(Oddity::NoRuntime, || format!("`{id}`"));
        return Ok((0.0, threads));
    };
    let runtime = check("runtime", runtime, SECONDS_MAX, "seconds are 0 to 10^12")?;
    Ok((runtime * percent / 100.0, threads))
}

/// Sorts the files of tasks into what is read, made and written.
struct Flows<'a, 'de> {
    recording: &'a Recording<'de>,
    edges: &'a [(u32, u32)],
    /// True if a file flows along each edge.
    carries: Vec<bool>,
    producers: &'a [u32],
    /// The task that listed each file as an input last, and as an output.
    listed_in: Vec<u32>,
    listed_out: Vec<u32>,
}

impl Flows<'_, '_> {
    fn sort(&mut self, own: u32, raw: &RawTask, task: &mut Task, warnings: &mut Warnings) {
        let text = |file: u32| format!("`{}`", self.recording.file_ids.text(file));
        for &file in &raw.inputs {
            if std::mem::replace(&mut self.listed_in[file as usize], own) == own {
                warnings.add(Oddity::ListedTwice, || {
                    format!("{}, `{}`", text(file), task.id)
                });
                continue;
            }
            let producer = self.producers[file as usize];
            if producer == own {
                warnings.add(Oddity::ReadsOwn, || {
                    format!("{}, `{}`", text(file), task.id)
                });
            } else if producer == NONE {
                task.sources.push(file);
            } else if let Ok(edge) = self.edges.binary_search(&(producer, own)) {
                self.carries[edge] = true;
                task.reads.push(file);
            } else {
                warnings.add(Oddity::FlowWithoutEdge, || {
                    format!("{}, read by `{}`", text(file), task.id)
                });
                task.sources.push(file);
            }
        }
        for &file in &raw.outputs {
            if self.producers[file as usize] != own {
                continue;
            }
            if std::mem::replace(&mut self.listed_out[file as usize], own) == own {
                warnings.add(Oddity::ListedTwice, || {
                    format!("{}, `{}`", text(file), task.id)
                });
            } else {
                task.writes.push(file);
            }
        }
    }
}
