//! The keys of the language, in one table for each mapping: what the reader accepts and what the
//! published schema says are both made of it.

mod controllers;

use model::RetryOn;

pub(crate) use self::controllers::{
    BRANCH, CARRIED, CASE, CHOSEN, DEFAULT, FOR_EACH, FOR_EACH_FORM, IF, PARALLEL, PARALLEL_FORM,
    REPEAT_UNTIL, SEQUENCE, SEQUENCE_FORM, SWITCH, WHILE,
};

/// A mapping of the language.
#[derive(Debug)]
pub(crate) struct Table {
    /// The object's name with its article, for messages and as the schema's title.
    pub(crate) what: &'static str,
    /// The keys that it may have.
    pub(crate) keys: &'static [Key],
    /// Keys that later versions of the language will have.
    pub(crate) later: &'static [&'static str],
}

/// A key of a mapping.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) required: bool,
    pub(crate) shape: Shape,
    /// The key's meaning, which editors show.
    pub(crate) says: &'static str,
}

/// The values that a key may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Version,
    ProcessName,
    Inputs,
    Variables,
    Outputs,
    Files,
    Data,
    Copies,
    /// A step, or a list of steps, which is a sequence.
    Block,
    /// A list of steps, or the mapping form of a sequence.
    SequenceSteps,
    /// A list of steps, or the mapping form of a parallel.
    ParallelSteps,
    /// A list of steps.
    Steps,
    Links,
    /// The further branches of an `if`.
    Branches,
    /// The cases of a `switch`.
    Cases,
    ForEach,
    /// An expression, or a list of values.
    Items,
    AtMost,
    Enough,
    Iterations,
    Name,
    /// A name that expressions can use.
    Identifier,
    Text,
    Run,
    Env,
    /// Names of variables of the environment.
    Pass,
    Activation,
    Container,
    Limits,
    UsesLimit,
    MemoryGrowth,
    Stdin,
    Staged,
    /// One source of a file.
    Source,
    /// One source of a file, or a choice between several.
    ChosenSource,
    Produced,
    Publish,
    Capture,
    Duration,
    Size,
    Cores,
    Priority,
    Labels,
    Retry,
    Join,
    Assign,
    Empty,
    Type,
    Literal,
    Number,
    Path,
    Expression,
    Parse,
    Attempts,
    Replicas,
    RetryOn,
    Truth,
    OnFault,
    Policy,
    /// A number from 0 on in thousandths.
    Part,
}

const fn key(name: &'static str, shape: Shape, says: &'static str) -> Key {
    Key {
        name,
        required: false,
        shape,
        says,
    }
}

const fn must(name: &'static str, shape: Shape, says: &'static str) -> Key {
    Key {
        name,
        required: true,
        shape,
        says,
    }
}

pub(crate) const PROCESS: Table = Table {
    what: "a process",
    keys: &[
        must("xavantes", Shape::Version, "The version of the language: 1"),
        must(
            "name",
            Shape::ProcessName,
            "The process's name: a lower-case letter, then a-z, 0-9 and -",
        ),
        key(
            "inputs",
            Shape::Inputs,
            "What is given when the process is started",
        ),
        key(
            "variables",
            Shape::Variables,
            "What activities and assigns write and expressions read",
        ),
        key(
            "outputs",
            Shape::Outputs,
            "What the process gives at its end: `${...}` or `activity.output`",
        ),
        key(
            "publish",
            Shape::Publish,
            "Outputs that are laid beside the definition at the end: name: path",
        ),
        key(
            "files",
            Shape::Files,
            "Files beside the definition that lie in every activity's directory; see `uses` of activities",
        ),
        key(
            "env",
            Shape::Env,
            "Environment variables of all commands; `env` of an activity comes before",
        ),
        key(
            "pass",
            Shape::Pass,
            "Variables that commands get from the environment of whoever submits the process",
        ),
        key(
            "env-file",
            Shape::Path,
            "A file beside the definition with lines NAME=value: variables of all commands",
        ),
        key(
            "environment",
            Shape::Activation,
            "The software that all commands run with: { path: DIR }, { venv: FILE } or { conda: FILE }",
        ),
        key(
            "container",
            Shape::Container,
            "The container that all commands run in: a directory on the machines, or an image for podman",
        ),
        key(
            "limits",
            Shape::Limits,
            "Named limits: `licence: 2` lets activities with `uses-limit: licence` run two at a time",
        ),
        key(
            "data",
            Shape::Data,
            "The way of files from activity to activity: direct, or through the machines of their controllers",
        ),
        key(
            "copies",
            Shape::Copies,
            "Machines that keep a copy of what activities produce, beside those that made it: 0 or 1",
        ),
        key(
            "keep-intermediates",
            Shape::Truth,
            "False: files that nobody needs any more are deleted while the process runs",
        ),
        key(
            "cache",
            Shape::Truth,
            "`cache` of all activities that do not say it themselves",
        ),
        key(
            "on-fault",
            Shape::OnFault,
            "When an activity has faulted: `finish` what runs, `stop` it, or `continue` with all else",
        ),
        key(
            "policy",
            Shape::Policy,
            "Machines slower than planned: `xavantes` moves what has not started, `static` moves nothing; or `rounds:T`, `adaptive`",
        ),
        key(
            "threshold",
            Shape::Part,
            "Of `rounds:T` and `adaptive`: the part by which a round may be late; 0.1 by default",
        ),
        key(
            "reward",
            Shape::Part,
            "Of `adaptive`: the part by which a round grows that was not late; 0.05 by default",
        ),
        key(
            "priority",
            Shape::Priority,
            "Its turn among the waiting processes of its owner: a greater number goes first",
        ),
        must("body", Shape::Block, "What is done"),
    ],
    later: &["import"],
};

pub(crate) const INPUT: Table = Table {
    what: "an input",
    keys: &[
        must("type", Shape::Type, "What it may be"),
        key(
            "default",
            Shape::Literal,
            "What it is where nothing is given",
        ),
        key("minimum", Shape::Number, "The least number it may be"),
        key("maximum", Shape::Number, "The greatest number it may be"),
    ],
    later: &[],
};

pub(crate) const VARIABLE: Table = Table {
    what: "a variable",
    keys: &[
        must("type", Shape::Type, "What it may hold"),
        key("value", Shape::Literal, "What it holds at the start"),
    ],
    later: &[],
};

const JOIN: Key = key(
    "join",
    Shape::Join,
    "What the links that end here must say: all, any or `${...}`",
);
const NAME: Key = key("name", Shape::Name, "What it is called");

pub(crate) const ACTIVITY: Table = Table {
    what: "an activity",
    keys: &[
        must("activity", Shape::Name, "Its name, which no other step has"),
        must(
            "run",
            Shape::Run,
            "The command: a list without a shell, or { shell: \"...\" }",
        ),
        key("env", Shape::Env, "Environment variables"),
        key(
            "environment",
            Shape::Activation,
            "The software that it runs with, in place of that of the process: { path: DIR }, { venv: FILE } or { conda: FILE }",
        ),
        key(
            "container",
            Shape::Container,
            "The container that it runs in, in place of that of the process: a directory on the machines, or an image for podman",
        ),
        key(
            "stdin",
            Shape::Stdin,
            "What it reads: text, or { file: path }",
        ),
        key(
            "inputs",
            Shape::Staged,
            "Files laid into its directory: path: producer.output, in a loop also path: { first: ..., then: ... }",
        ),
        key(
            "outputs",
            Shape::Produced,
            "Files taken out of its directory: name: path",
        ),
        key(
            "publish",
            Shape::Publish,
            "Outputs of it that are laid beside the definition at the end: name: path",
        ),
        key(
            "stdout",
            Shape::Capture,
            "The variable that takes what it writes to stdout",
        ),
        key(
            "stderr",
            Shape::Capture,
            "The variable that takes what it writes to stderr",
        ),
        key(
            "work",
            Shape::Duration,
            "How long it takes on a core of power 1.0",
        ),
        key("cores", Shape::Cores, "Cores of one machine that it holds"),
        key("memory", Shape::Size, "The most memory it may use"),
        key("labels", Shape::Labels, "What the machine must be or have"),
        key("timeout", Shape::Duration, "The longest it may run"),
        key("retry", Shape::Retry, "When it is tried again"),
        key(
            "cache",
            Shape::Truth,
            "Whether what the same command made of the same inputs before may stand for it: `false` never, `true` also of other definitions and on grids",
        ),
        key(
            "repeatable",
            Shape::Truth,
            "Whether two attempts may run at the same time, so that none is waited for whose machine is silent, or that takes far too long",
        ),
        key(
            "replicas",
            Shape::Replicas,
            "How many attempts start at once on different machines, where slots are free: the first result counts, and `repeatable` has to be true",
        ),
        key(
            "at-most-once",
            Shape::Truth,
            "Whether it is never run twice, whatever becomes of an attempt",
        ),
        key(
            "priority",
            Shape::Priority,
            "Its turn among activities that are ready for the same machine: a greater number goes first",
        ),
        key(
            "uses",
            Shape::Files,
            "Files beside the definition that this activity needs, in addition to the process's `files`",
        ),
        key(
            "uses-limit",
            Shape::UsesLimit,
            "What it takes of named limits while it runs: a name, or { name: units }",
        ),
        JOIN,
    ],
    later: &["disk", "gpu", "on-partition"],
};

pub(crate) const ASSIGN: Table = Table {
    what: "an assign",
    keys: &[
        must(
            "assign",
            Shape::Assign,
            "Variables and what is written to them, all at once",
        ),
        NAME,
        JOIN,
    ],
    later: &[],
};

pub(crate) const EMPTY: Table = Table {
    what: "an empty step",
    keys: &[must("empty", Shape::Empty, "Does nothing"), NAME, JOIN],
    later: &[],
};

pub(crate) const LINK: Table = Table {
    what: "a link",
    keys: &[
        must("from", Shape::Name, "The step that ends first"),
        must("to", Shape::Name, "The step that waits for it"),
        key(
            "when",
            Shape::Expression,
            "Whether the link is true, found out when `from` has ended",
        ),
    ],
    later: &[],
};

pub(crate) const RUN: Table = Table {
    what: "a command",
    keys: &[must(
        "shell",
        Shape::Text,
        "A line for sh -c; each `${...}` becomes one word",
    )],
    later: &[],
};

pub(crate) const STDIN: Table = Table {
    what: "a stdin",
    keys: &[must(
        "file",
        Shape::Path,
        "A file among its inputs or the process's files",
    )],
    later: &[],
};

pub(crate) const CAPTURE: Table = Table {
    what: "a capture",
    keys: &[
        must("into", Shape::Name, "The variable"),
        key("as", Shape::Parse, "How the bytes become a value"),
    ],
    later: &[],
};

pub(crate) const RETRY: Table = Table {
    what: "a retry",
    keys: &[
        must("attempts", Shape::Attempts, "Tries in all"),
        key(
            "backoff",
            Shape::Duration,
            "The wait before the second try; it doubles each time",
        ),
        key(
            "on",
            Shape::RetryOn,
            "After which ends: exit statuses, exit for any of them, timeout, out-of-memory, lost",
        ),
        key(
            "memory",
            Shape::MemoryGrowth,
            "The growth of `memory` after each try that exceeded it: x2 is twice as much",
        ),
    ],
    later: &[],
};

pub(crate) const ENVIRONMENT: Table = Table {
    what: "an environment",
    keys: &[
        key(
            "path",
            Shape::Path,
            "Its directory on the machines: DIR/bin comes first in PATH",
        ),
        key(
            "venv",
            Shape::Path,
            "A file of requirements for pip beside the definition: a virtual environment is made of it",
        ),
        key(
            "conda",
            Shape::Path,
            "A YAML file beside the definition: an environment of conda is made of it",
        ),
    ],
    later: &[],
};

pub(crate) const CONTAINER: Table = Table {
    what: "a container",
    keys: &[
        must(
            "image",
            Shape::Path,
            "A directory on the machines with a root file system, or the name of an image for podman",
        ),
        key(
            "network",
            Shape::Truth,
            "True if commands reach the network; false where left out",
        ),
    ],
    later: &[],
};

/// The kinds of a step: the key that tells the kind is the first of its table.
pub(crate) const STEPS: [&Table; 10] = [
    &SEQUENCE,
    &PARALLEL,
    &IF,
    &SWITCH,
    &FOR_EACH,
    &WHILE,
    &REPEAT_UNTIL,
    &ACTIVITY,
    &ASSIGN,
    &EMPTY,
];

/// Kinds of a step that belong to the language, but not to this version.
pub(crate) const LATER_STEPS: [&str; 13] = [
    "bag",
    "call",
    "compensate",
    "exit",
    "farm",
    "import",
    "invoke",
    "iterate",
    "pick",
    "rethrow",
    "scope",
    "throw",
    "wait",
];

/// The names of the types, but for `list of ...`.
pub(crate) const TYPES: [&str; 7] = [
    "string",
    "int",
    "float",
    "bool",
    "json",
    "file",
    "directory",
];

/// The words for ends of an attempt, after which it may be tried again.
pub(crate) const RETRY_WORDS: [(&str, RetryOn); 4] = [
    ("exit", RetryOn::Failed),
    ("timeout", RetryOn::Timeout),
    ("out-of-memory", RetryOn::OutOfMemory),
    ("lost", RetryOn::Lost),
];

/// The ways to turn a command's output into a value.
pub(crate) const PARSES: [&str; 5] = ["text", "int", "float", "json", "lines"];

/// Returns true if a mapping with this key is a step.
pub(crate) fn is_step(key: &str) -> bool {
    STEPS.iter().any(|table| table.keys[0].name == key)
}

/// Keys that an activity does not have, though those of other languages do, and what stands for them.
pub(crate) const ELSEWHERE: [(&[&str], &str); 9] = [
    (
        &[
            "depends_on",
            "depends-on",
            "dependsOn",
            "depends",
            "dependencies",
            "needs",
            "requires",
            "after",
        ],
        "whoever reads a file of another activity waits for it; else put both into a `parallel` and order them by its `links: [{ from: A, to: B }]`, or into a `sequence`",
    ),
    (
        &["when", "condition", "only-if", "unless"],
        "put the step below `if: ${ ... }` and `then:`, or give a link of the `parallel` around it a `when`: `links: [{ from: A, to: B, when: \"${ ... }\" }]`",
    ),
    (
        &["command", "cmd", "exec", "args"],
        "the command is `run: [program, argument]`",
    ),
    (
        &["script", "shell", "bash"],
        "a line for the shell is `run: { shell: \"...\" }`, on several lines `run:` and below it `shell: |`",
    ),
    (
        &["variables", "vars"],
        "variables of the environment are `env: { NAME: text }`",
    ),
    (
        &["cpu", "cpus", "threads", "processes"],
        "the CPUs that it uses are `cores: 2`",
    ),
    (
        &["retries", "attempts"],
        "further attempts are `retry: { attempts: 3 }`",
    ),
    (
        &["foreach", "for", "matrix", "scatter", "loop", "with_items"],
        "a step for each item of a list is a `for-each` around the activity",
    ),
    (
        &["name", "id"],
        "the name of an activity stands behind `activity:`",
    ),
];
