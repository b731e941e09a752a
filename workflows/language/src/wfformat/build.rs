//! A definition made of a workflow.

use model::limits::{NAME_BYTES_MAX, PARTS_MAX};
use model::{Activity, Command, Draft, Join, Link, Node, NodeId, NodeKind, Produced, Source, Span};
use model::{Staged, Work};

use super::limits::{COMMAND_BYTES_MAX, FILE_BYTES_MAX};
use super::names::{self, Unique};
use super::parse::Recording;
use super::structure::{Shape, structure};
use super::warnings::{Oddity, Warnings};
use super::workflow::{Task, Workflow};
use super::{Burn, BurnFile, ImportError, Imported, Options};

/// Names that mean something else where a file is named: `inputs.NAME` is an input of the process.
const RESERVED: [&str; 1] = ["inputs"];

pub(super) fn build(
    recording: &Recording<'_>,
    mut workflow: Workflow,
    options: &Options,
) -> Result<Imported, ImportError> {
    let recorded: f64 = workflow.tasks.iter().map(|task| task.cpu).sum();
    let time_scale = time_scale(recorded, options, &mut workflow.warnings);
    let tree = structure(workflow.tasks.len(), &workflow.edges);
    let mut paths = Unique::default();
    let files = (0..recording.file_ids.len() as u32).map(|file| {
        let id = recording.file_ids.text(file);
        let size = workflow.sizes[file as usize] as f64 * options.data_scale;
        BurnFile {
            path: paths.take(names::path(id)),
            bytes: size.round().min(FILE_BYTES_MAX as f64) as u64,
            seed: id.to_owned(),
        }
    });
    let files: Vec<BurnFile> = files.collect();
    let mut builder = Builder {
        names: activity_names(&workflow.tasks),
        node_of: vec![NodeId(u32::MAX); workflow.tasks.len()],
        output_of: vec![0; files.len()],
        workflow: &workflow,
        files: &files,
        options,
        time_scale,
        nodes: Vec::with_capacity(workflow.tasks.len() * 2),
        cpu: Span::ZERO,
        written_bytes: 0,
        n_links: 0,
    };
    builder.node(&tree)?;
    let Builder {
        nodes,
        cpu,
        written_bytes,
        n_links,
        ..
    } = builder;
    let name = recording.name.as_deref().unwrap_or_default();
    let draft = Draft {
        name: names::process(name),
        nodes,
        ..Draft::default()
    };
    debug_assert!(draft.name.len() <= NAME_BYTES_MAX);
    Ok(Imported {
        draft,
        warnings: workflow.warnings.sentences(),
        time_scale,
        cpu,
        written_bytes,
        n_activities: workflow.tasks.len(),
        n_edges: workflow.edges.len(),
        n_files: files.len(),
        n_links,
    })
}

/// CPU seconds for each of those `recorded` by all tasks together.
pub(super) fn time_scale(recorded: f64, options: &Options, warnings: &mut Warnings) -> f64 {
    let Some(total) = options.cpu_total else {
        return options.time_scale;
    };
    if recorded > 0.0 {
        return total.seconds() / recorded;
    }
    warnings.add(Oddity::NothingToScale, || format!("the total is {total}"));
    options.time_scale
}

/// The scaled CPU time of a task.
pub(super) fn scaled(cpu: f64, time_scale: f64) -> Span {
    Span((cpu * time_scale * 1e6).round() as u64)
}

/// The work of an activity that uses this CPU time: none at all would mean that it is not known.
pub(super) fn work(cpu: Span) -> Work {
    Work(cpu.0.max(1))
}

/// The names of the activities that stand for tasks.
pub(super) fn activity_names(tasks: &[Task]) -> Vec<String> {
    let mut names = Unique::without(&RESERVED);
    let name = |task: &Task| names.take(names::name(&task.id));
    tasks.iter().map(name).collect()
}

struct Builder<'a> {
    workflow: &'a Workflow,
    files: &'a [BurnFile],
    options: &'a Options,
    time_scale: f64,
    /// By the place of the task, as is `node_of`.
    names: Vec<String>,
    node_of: Vec<NodeId>,
    /// The place of each file among its producer's outputs.
    output_of: Vec<u32>,
    nodes: Vec<Node>,
    cpu: Span,
    written_bytes: u64,
    n_links: usize,
}

impl Builder<'_> {
    /// Puts a shape and all below it behind the nodes that are there. Since that order is a
    /// topological one, whatever is read is there already. The recursion is as deep as the tree,
    /// which `structure` bounds.
    fn node(&mut self, shape: &Shape) -> Result<NodeId, ImportError> {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            name: String::new(),
            kind: NodeKind::Empty,
            join: Join::All,
        });
        let kind = match shape {
            Shape::Task(task) => {
                self.nodes[id.index()].name = std::mem::take(&mut self.names[*task as usize]);
                self.node_of[*task as usize] = id;
                NodeKind::Activity(Box::new(self.activity(*task)?))
            }
            Shape::Sequence(parts) => NodeKind::Sequence(self.children(parts)?),
            Shape::Parallel(parts) => NodeKind::Parallel {
                children: self.children(parts)?,
                links: Vec::new(),
            },
            Shape::Linked(tasks) => {
                let children: Result<Vec<NodeId>, ImportError> = tasks
                    .iter()
                    .map(|task| self.node(&Shape::Task(*task)))
                    .collect();
                NodeKind::Parallel {
                    children: children?,
                    links: self.links(id, tasks),
                }
            }
        };
        self.nodes[id.index()].kind = kind;
        Ok(id)
    }

    fn children(&mut self, parts: &[Shape]) -> Result<Vec<NodeId>, ImportError> {
        parts.iter().map(|part| self.node(part)).collect()
    }

    /// A link for each edge between two tasks of one parallel, whose children are all tasks and
    /// lie behind it without a gap.
    fn links(&mut self, controller: NodeId, tasks: &[u32]) -> Vec<Link> {
        let last = controller.0 + tasks.len() as u32;
        let within = |node: NodeId| node.0 > controller.0 && node.0 <= last;
        let mut links = Vec::new();
        for &task in tasks {
            let first = self
                .workflow
                .edges
                .partition_point(|&(from, _)| from < task);
            let edges = self.workflow.edges[first..].iter();
            for &(from, to) in edges.take_while(|&&(from, _)| from == task) {
                let (from, to) = (self.node_of[from as usize], self.node_of[to as usize]);
                if within(to) {
                    links.push(Link {
                        from,
                        to,
                        when: None,
                    });
                }
            }
        }
        self.n_links += links.len();
        links
    }

    fn activity(&mut self, place: u32) -> Result<Activity, ImportError> {
        let task = &self.workflow.tasks[place as usize];
        let files = self.files;
        let made = |list: &[u32]| -> Vec<BurnFile> {
            list.iter()
                .map(|&file| files[file as usize].clone())
                .collect()
        };
        let burn = Burn {
            name: task.id.clone(),
            cpu: scaled(task.cpu, self.time_scale),
            threads: task.threads,
            record: self.options.record.clone(),
            sources: made(&task.sources),
            reads: task
                .reads
                .iter()
                .map(|&file| files[file as usize].path.clone())
                .collect(),
            writes: made(&task.writes),
        };
        for file in burn.sources.iter().chain(&burn.writes) {
            self.written_bytes = self.written_bytes.saturating_add(file.bytes);
        }
        self.cpu = self.cpu + burn.cpu;
        let inputs = task.reads.iter().map(|&file| Staged {
            path: files[file as usize].path.clone(),
            source: Source::Output {
                activity: self.node_of[self.workflow.producers[file as usize] as usize],
                output: self.output_of[file as usize],
            },
            gathers: false,
            carried: None,
        });
        let inputs = inputs.collect();
        let mut names = Unique::default();
        let outputs = task.writes.iter().map(|&file| Produced {
            name: names.take(names::name(&files[file as usize].path)),
            path: files[file as usize].path.clone(),
        });
        let outputs = outputs.collect();
        for (output, &file) in task.writes.iter().enumerate() {
            self.output_of[file as usize] = output as u32;
        }
        let command = burn.to_command();
        check_width(task, &command)?;
        Ok(Activity {
            inputs,
            outputs,
            work: Some(work(burn.cpu)),
            ..Activity::new(command)
        })
    }
}

fn check_width(task: &Task, command: &Command) -> Result<(), ImportError> {
    let Command::List(words) = command else {
        return Ok(());
    };
    // The kernel counts each argument's end and the pointer to it too.
    let n_bytes = words
        .iter()
        .map(|word| word.0.len() + 1 + size_of::<usize>())
        .sum();
    let n_files = task.reads.len().max(task.writes.len());
    for (n, what, most) in [
        (n_files, "files", PARTS_MAX),
        (words.len(), "words in its command line", PARTS_MAX),
        (n_bytes, "bytes in its command line", COMMAND_BYTES_MAX),
    ] {
        if n > most {
            let task = task.id.clone();
            return Err(ImportError::TooWide {
                task,
                n,
                what,
                most,
            });
        }
    }
    Ok(())
}
