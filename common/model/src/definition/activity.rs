//! An activity: its command line, files, demands, and what happens when it fails.

use std::fmt;

use minicbor::{Decode, Encode};

use super::{Activation, Caching, Template};
use crate::{Bytes, FaultName, NodeId, Span, Work};

/// A leaf: one command line.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Activity {
    /// The command line.
    #[n(0)]
    pub command: Command,
    /// Environment variables, by name.
    #[n(1)]
    pub env: Vec<(String, Template)>,
    /// Its standard input.
    #[n(2)]
    pub stdin: Option<Stdin>,
    /// Files and directories that are staged into its directory before it starts.
    #[n(3)]
    pub inputs: Vec<Staged>,
    /// Files and directories that are taken from its directory when it has succeeded.
    #[n(4)]
    pub outputs: Vec<Produced>,
    /// The variable that takes what it writes to stdout.
    #[n(5)]
    pub stdout: Option<Capture>,
    /// The variable that takes what it writes to stderr.
    #[n(6)]
    pub stderr: Option<Capture>,
    /// The amount of its computation; learned where none is declared.
    #[n(7)]
    pub work: Option<Work>,
    /// Slots of one machine that it holds.
    #[n(8)]
    pub cores: u32,
    /// The most memory it may use.
    #[n(9)]
    pub memory: Option<Bytes>,
    /// Labels that the machine must have.
    #[n(10)]
    pub labels: Vec<(String, String)>,
    /// The longest it may run.
    #[n(11)]
    pub timeout: Option<Span>,
    /// The ends after which it is tried again.
    #[n(12)]
    pub retry: Retry,
    /// Whether an outcome that another process recorded for the same command, environment and
    /// inputs may stand for it.
    #[cbor(n(13), default)]
    pub cache: Caching,
    /// True if two attempts may run at the same time, so that nobody waits for one of which nothing
    /// is heard.
    #[cbor(n(14), default)]
    pub repeatable: bool,
    /// True if it must never run twice, whatever becomes of an attempt.
    #[cbor(n(15), default)]
    pub at_most_once: bool,
    /// Its turn among the activities of its process that are ready for the same machine: a greater
    /// number goes first. 0 where nothing is said.
    #[n(16)]
    pub priority: Option<i32>,
    /// The files beside the definition that lie in its directory in addition to those for all
    /// activities, by their places in [`super::Draft::files`]; nothing is said where there are none.
    #[n(17)]
    pub uses: Option<Vec<u32>>,
    /// The software that it runs with; that of all activities where nothing is said.
    #[n(18)]
    pub activation: Option<Activation>,
    /// The units of named limits that it takes, from the moment that it is sent until its end is recorded: limits of
    /// its process, or else of its process manager. Nothing is said where it takes none.
    #[n(19)]
    pub limits: Option<Vec<(String, u32)>>,
    /// The attempts that are started on different machines from the beginning, of which the first result counts: from
    /// 2 to [`super::limits::REPLICAS_MAX`], of an activity that is repeatable. Nothing is said where there is one.
    #[n(20)]
    pub replicas: Option<u32>,
}

/// The command line of an activity.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Command {
    /// A program and its arguments, with no shell between.
    #[n(0)]
    List(#[n(0)] Vec<Template>),
    /// A line for `sh -c`; values are put in as one quoted word each.
    #[n(1)]
    Shell(#[n(0)] Template),
}

/// The source of an activity's stdin.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Stdin {
    /// Text.
    #[n(0)]
    Text(#[n(0)] Template),
    /// A file in the activity's directory, staged or beside the definition.
    #[n(1)]
    File(#[n(0)] String),
}

/// A file or directory laid into an activity's directory.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Staged {
    /// Its relative path; a `/` at the end stands for a directory.
    #[n(0)]
    pub path: String,
    /// Its source.
    #[n(1)]
    pub source: Source,
    /// True if the path is a directory that takes an output of each item of a for-each, under the
    /// name of the item. The activity of the source lies in that for-each, and this one does not.
    #[cbor(n(2), default)]
    pub gathers: bool,
    /// What is read instead from the second iteration on: an output of the iteration before. Its activity
    /// lies in the body of a loop, not deeper, and this one somewhere in the same body.
    #[n(3)]
    pub carried: Option<Source>,
}

/// The source of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Source {
    /// An output of an activity that runs before.
    #[n(0)]
    Output {
        /// The producer.
        #[n(0)]
        activity: NodeId,
        /// The place in its [`Activity::outputs`].
        #[n(1)]
        output: u32,
    },
    /// An input of the process: the place in [`super::Draft::inputs`].
    #[n(1)]
    Input(#[n(0)] u32),
    /// The item that a body is run for, which is a file or a directory: the root of the body.
    #[n(2)]
    Item(#[n(0)] NodeId),
    /// An output of one of many items, which is picked by an expression: the place in
    /// [`super::Draft::picks`]. In a process another source stands in its place once it is known.
    #[n(3)]
    Pick(#[n(0)] u32),
}

/// An output that an activity declares.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Produced {
    /// Its name, read as `ACTIVITY.NAME`.
    #[n(0)]
    pub name: String,
    /// A path in the activity's directory: a file; with a `/` at its end a directory; with `*`,
    /// `?` or `[` a glob, and what it finds is a directory.
    #[n(1)]
    pub path: String,
}

/// A variable that takes a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Capture {
    /// The place of the variable in [`super::Draft::variables`].
    #[n(0)]
    pub variable: u32,
    /// The conversion of the bytes to a value.
    #[n(1)]
    pub parse: Parse,
}

/// The conversion of a command's output to a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Parse {
    /// Text, without the last line's end.
    #[n(0)]
    #[default]
    Text,
    /// A whole number.
    #[n(1)]
    Int,
    /// A number.
    #[n(2)]
    Float,
    /// JSON.
    #[n(3)]
    Json,
    /// A list of text, a line each.
    #[n(4)]
    Lines,
}

/// The number of tries, and the ends after which there is another one.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Retry {
    /// Tries in all; 1 is no second one.
    #[n(0)]
    pub attempts: u32,
    /// The wait before the second try; it doubles before each further one.
    #[n(1)]
    pub backoff: Span,
    /// After which ends; empty means after any fault of the command.
    #[n(2)]
    pub on: Vec<RetryOn>,
    /// The memory of each try after one that exceeded it, in percent of what that one had; nothing is
    /// said where it stays the same. No machine of the grid has to have as much: it grows up to what
    /// the largest one has.
    #[n(3)]
    pub memory_percent: Option<u32>,
}

/// An end after which an activity is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum RetryOn {
    /// This exit status.
    #[n(0)]
    Exit(#[n(0)] i32),
    /// The attempt was lost with its machine.
    #[n(1)]
    Lost,
    /// It ran longer than its `timeout`.
    #[n(2)]
    Timeout,
    /// Memory beyond its `memory`.
    #[n(3)]
    OutOfMemory,
    /// Any exit status but 0, and any signal.
    #[n(4)]
    Failed,
}

impl fmt::Display for RetryOn {
    /// Prints it as a definition has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RetryOn::Exit(status) => write!(f, "{status}"),
            RetryOn::Lost => f.write_str("lost"),
            RetryOn::Timeout => f.write_str("timeout"),
            RetryOn::OutOfMemory => f.write_str("out-of-memory"),
            RetryOn::Failed => f.write_str("exit"),
        }
    }
}

impl Retry {
    /// True if an attempt that ended in this fault may be repeated.
    pub fn repeats(&self, name: &FaultName, exit_code: Option<i32>) -> bool {
        self.on.is_empty()
            || self.on.iter().any(|on| match on {
                RetryOn::Exit(code) => exit_code == Some(*code),
                RetryOn::Failed => *name == FaultName::ExitCode,
                RetryOn::Timeout => *name == FaultName::Timeout,
                RetryOn::OutOfMemory => *name == FaultName::OutOfMemory,
                RetryOn::Lost => *name == FaultName::Lost,
            })
    }
}

impl Default for Retry {
    fn default() -> Retry {
        Retry {
            attempts: 1,
            backoff: Span::ZERO,
            on: Vec::new(),
            memory_percent: None,
        }
    }
}

impl Activity {
    /// The units of named limits that it takes.
    pub fn used_limits(&self) -> &[(String, u32)] {
        self.limits.as_deref().unwrap_or_default()
    }

    /// The attempts that are started from the beginning.
    pub fn n_replicas(&self) -> u32 {
        self.replicas.filter(|_| self.repeatable).unwrap_or(1)
    }

    /// A command on one core, with nothing else said of it.
    pub fn new(command: Command) -> Activity {
        Activity {
            command,
            env: Vec::new(),
            stdin: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            stdout: None,
            stderr: None,
            work: None,
            cores: 1,
            memory: None,
            labels: Vec::new(),
            timeout: None,
            retry: Retry::default(),
            cache: Caching::Unsaid,
            repeatable: false,
            at_most_once: false,
            priority: None,
            uses: None,
            activation: None,
            limits: None,
            replicas: None,
        }
    }
}
