//! Recorded workflows in WfFormat JSON (1.4 to 1.6, gzip too) become definitions that can be run
//! without the recorded programs.
//!
//! Each task becomes an activity that runs `xav tool burn` (see [`Burn`] for its command line): it
//! uses the recorded CPU time, reads the files that its producers wrote and writes files of the
//! recorded sizes, both scaled. The tree is made of sequences and parallels wherever the order of
//! the tasks is series-parallel; a piece that is not becomes one parallel with links. Either way
//! the order of execution is exactly that of the recorded graph.
//!
//! The import leaves out all other fields: commands, machines, memory, dates. The recorded number of
//! cores describes how the original machine was shared and says nothing about the machines here, so an
//! activity holds one slot. A task that kept several cores busy spends its CPU time on that many
//! threads.
//!
//! Odd but usable data is imported, with a warning in [`Imported::warnings`]:
//! - a file belongs to the first task listed that produces it; others do not write it;
//! - an edge without a file only orders its tasks;
//! - a file that flows where there is no edge adds none: its reader makes the file itself;
//! - a task without a runtime computes nothing; a file without a size is empty;
//! - a file that a task reads and, as its first producer, writes is only written.
//!
//! File ids become file names without directories, so that no file leaves an activity's directory
//! or lies inside another; contents follow from the id itself.
//!
//! Read [`import`] first, then [`Imported`] and [`Burn`].

mod build;
mod burn;
mod graph;
mod names;
mod parse;
mod structure;
#[cfg(test)]
mod tests;
mod text;
mod warnings;
mod workflow;

use model::{Draft, Span};
use thiserror::Error;

pub use burn::{Burn, BurnError, BurnFile};
pub use graph::{RecordedGraph, RecordedTask};
pub use text::{TextError, compact};

/// Limits on recordings.
pub mod limits {
    /// Bytes of a recording after decompression: a recorded workflow of 100,000 tasks has 250 MB.
    pub const RECORDING_BYTES_MAX: usize = 512 << 20;
    /// Tasks of a recording. It bounds memory and the time that checking takes.
    pub const TASKS_MAX: usize = 200_000;
    /// Different files of a recording.
    pub const FILES_MAX: usize = 4_000_000;
    /// Mentions of parents, children and files in all tasks together: no more edges than a
    /// definition may have links.
    pub const MENTIONS_MAX: usize = model::limits::LINKS_MAX;
    /// Bytes of the id of a task or a file.
    pub const ID_BYTES_MAX: usize = 4_096;
    /// Bytes of the largest file: beyond that a floating-point number does not tell one byte.
    pub const FILE_BYTES_MAX: u64 = 1 << 53;
    /// Seconds of the longest task, some 30,000 years: beyond that microseconds overflow.
    pub const SECONDS_MAX: f64 = 1e12;
    /// Threads of one task, however many cores it was recorded to keep busy.
    pub const THREADS_MAX: u32 = 256;
    /// Bytes of one command line as the kernel counts them: Linux refuses more than 2 MiB, the
    /// environment included.
    pub const COMMAND_BYTES_MAX: usize = 1_900_000;
}

/// The scales of a run of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// CPU seconds used for each recorded one.
    pub time_scale: f64,
    /// Bytes written for each recorded one; sizes are rounded.
    pub data_scale: f64,
    /// CPU time that all activities together use; where it is given it decides the time scale.
    pub cpu_total: Option<Span>,
    /// The file to which each command appends what it did, if any.
    pub record: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            time_scale: 1.0,
            data_scale: 1.0,
            cpu_total: None,
            record: None,
        }
    }
}

impl Options {
    /// Scales are numbers of 0 or more.
    fn check(&self) -> Result<(), ImportError> {
        for (what, scale) in [("time", self.time_scale), ("data", self.data_scale)] {
            if !(scale.is_finite() && scale >= 0.0) {
                return Err(ImportError::Scale { what, scale });
            }
        }
        Ok(())
    }
}

/// A definition made of a recording.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The definition; it passes [`Draft::check`].
    pub draft: Draft,
    /// Oddities of the recording and how each was imported: a sentence for each kind, with the number
    /// of occurrences.
    pub warnings: Vec<String>,
    /// The time scale that was used.
    pub time_scale: f64,
    /// CPU time of all activities together, scaled.
    pub cpu: Span,
    /// Bytes of all files that are written, those that their readers make themselves included,
    /// each once for each activity that writes it.
    pub written_bytes: u64,
    /// Activities.
    pub n_activities: usize,
    /// Edges of the recording, each once.
    pub n_edges: usize,
    /// Files of the recording that a task reads or writes.
    pub n_files: usize,
    /// Links of the definition: 0 where all of it is sequences and parallels.
    pub n_links: usize,
}

/// Why a recording is not a definition.
#[derive(Debug, Error)]
pub enum ImportError {
    /// A scale that is not a number of 0 or more.
    #[error("cannot scale {what} by {scale}: a number of 0 or more is wanted")]
    Scale {
        /// Time or data.
        what: &'static str,
        /// The given scale.
        scale: f64,
    },
    /// Gzip that is damaged.
    #[error("could not decompress the recording: its gzip data is damaged")]
    Gzip(#[source] std::io::Error),
    /// Gzip that ends too early.
    #[error("could not decompress the recording: its gzip data ends in the middle")]
    TruncatedGzip,
    /// More than a limit allows.
    #[error("the recording has more than {most} {what}")]
    TooMany {
        /// The quantity that exceeds the limit, with its unit.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// JSON that ends in the middle.
    #[error("the recording ends in the middle, in line {line}")]
    Truncated {
        /// The last line, from 1.
        line: usize,
    },
    /// A number that JSON does not have.
    #[error("line {line}, column {column} of the recording: {written} is not an amount")]
    NotANumber {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The word in its place, such as `NaN`.
        written: &'static str,
    },
    /// Text that is not JSON, or JSON of another shape.
    #[error("line {line}, column {column} of the recording: {reason}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1; 0 where a line begins.
        column: usize,
        /// The mistake.
        reason: String,
    },
    /// JSON without a workflow in it.
    #[error("the file is not WfFormat: it has no `workflow` with `specification.tasks` or `tasks`")]
    NotWfFormat,
    /// A version that is not known.
    #[error("version `{0}` of WfFormat; 1.4, 1.5 and 1.6 are read")]
    Version(String),
    /// Nothing to do.
    #[error("the recording has no tasks")]
    NoTasks,
    /// A task without an id or a name.
    #[error("task {0} of the recording, counted from 1, has no id")]
    NoId(usize),
    /// Two tasks of one id.
    #[error("two tasks have the id `{0}`")]
    DuplicateTask(String),
    /// An id that cannot be given to a command.
    #[error("an id of the recording {0}")]
    Id(&'static str),
    /// A parent or child that is no task.
    #[error("task `{task}` has the {relation} `{unknown}`, which is no task of the recording")]
    UnknownTask {
        /// Whose.
        task: String,
        /// Parent or child.
        relation: &'static str,
        /// The name that is not defined.
        unknown: String,
    },
    /// Tasks that wait for each other.
    #[error("the tasks wait for each other: {0}")]
    Cycle(String),
    /// A size or a time that cannot be.
    #[error("the {what} of `{name}` is {amount}; {wanted}")]
    Amount {
        /// The kind of amount.
        what: &'static str,
        /// The task or file.
        name: String,
        /// The recorded value.
        amount: f64,
        /// The allowed values.
        wanted: &'static str,
    },
    /// A command line that Linux would refuse, or more files than an activity may have.
    #[error("task `{task}` has {n} {what}; at most {most}")]
    TooWide {
        /// The task.
        task: String,
        /// Their number.
        n: usize,
        /// Their kind.
        what: &'static str,
        /// The limit.
        most: usize,
    },
}

impl ImportError {
    fn too_large(most: usize) -> ImportError {
        ImportError::TooMany {
            what: "bytes of JSON",
            most,
        }
    }

    /// True if it tells a place in the text, which another form of the same recording has elsewhere.
    pub fn has_place(&self) -> bool {
        matches!(
            self,
            ImportError::Truncated { .. }
                | ImportError::NotANumber { .. }
                | ImportError::Json { .. }
        )
    }
}

/// Makes a definition of a recording. The time is near-linear in its size.
pub fn import(bytes: &[u8], options: &Options) -> Result<Imported, ImportError> {
    options.check()?;
    let text = parse::unpack(bytes)?;
    let recording = parse::parse(&text)?;
    let workflow = workflow::Workflow::resolve(&recording)?;
    build::build(&recording, workflow, options)
}

/// The recorded graph for schedulers, without commands. The time is near-linear in its size.
pub fn graph(bytes: &[u8]) -> Result<RecordedGraph, ImportError> {
    let text = parse::unpack(bytes)?;
    let recording = parse::parse(&text)?;
    let workflow = workflow::Workflow::resolve(&recording)?;
    Ok(graph::graph(&recording, workflow))
}

/// True if a file looks like a recording rather than like a definition in YAML or JSON: gzip, or
/// a JSON object that has a key which only WfFormat has before any which only a definition has.
pub fn recognises(bytes: &[u8]) -> bool {
    text::is_gzip(bytes) || parse::has_recording_keys(bytes)
}
