//! Options of the commands that run and submit processes.

use std::path::PathBuf;

use clap::Args;
use model::limits::{PRIORITY_MAX, ROUNDS_MAX};
use model::{Definition, OnFault, Part, Policy, Span, Tuning};
use schedule::SchedulerKind;

use super::{GridChoice, State, Which};
use crate::failure::Failure;
use crate::text;

/// Slots that may be asked for: more commands than that at once no machine runs.
const SLOTS_MAX: i64 = 4_096;

/// Options for running and following a process.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Following {
    /// Commands that may run at the same time; as many as there are cores where left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=SLOTS_MAX))]
    pub(crate) slots: Option<u32>,
    /// The algorithm that makes plans: `xavantes` where left out, `best`, `heft`, `pch` and others
    /// (xav plan --compare)
    #[arg(long, value_name = "NAME", value_parser = scheduler)]
    pub(crate) scheduler: Option<SchedulerKind>,
    /// Print the outputs and nothing else
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print one JSON document at the end
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Tell what would run, for which reason, and what stands; start nothing and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A process to be submitted: its definition, its inputs, and how it ends.
#[derive(Args, Debug)]
pub(crate) struct Submission {
    /// The definition, YAML or JSON, or a recorded workflow in WfFormat (`.json`, `.json.gz`); `-` for
    /// standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// An input of the process; for a list, give it several times or as JSON
    ///
    /// Files and directories are given by their paths; for an input of type json,
    /// `NAME=@FILE` takes the value from a file.
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Run every activity, and recall no outcome of an earlier run
    ///
    /// Without it, a run on this machine recalls what an earlier run of the same definition made of the
    /// same command, environment and inputs (docs/language.md, Recalled outcomes).
    #[arg(long)]
    pub(crate) no_cache: bool,
    #[command(flatten)]
    pub(crate) ending: Ending,
    #[command(flatten)]
    pub(crate) adapting: Adapting,
}

/// `xav run`
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) submission: Submission,
    /// Where the process keeps everything; a directory of its own under the user's data directory
    /// where left out
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Pass for the machines of a file, each with a power and slots of its own
    ///
    /// Commands on a machine of half the power of the fastest have half of the time. The file is
    /// described in docs/platforms.md.
    #[arg(long, value_name = "FILE", conflicts_with = "slots")]
    pub(crate) machines: Option<PathBuf>,
    /// Write the files and directories among the outputs there when it has completed, as `xav results --to`
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub(crate) to: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) grid: GridChoice,
    #[command(flatten)]
    pub(crate) following: Following,
    #[command(flatten)]
    pub(crate) recording: Recording,
}

impl Run {
    /// Where the process is to be kept.
    pub(crate) fn state(&self) -> State {
        State {
            dir: self.state.clone(),
            grid: self.grid.clone(),
        }
    }
}

/// `xav submit`
#[derive(Args, Debug)]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) submission: Submission,
    #[command(flatten)]
    pub(crate) grid: GridChoice,
    /// Its turn among your processes that wait: a greater number, up to 1000, goes first
    ///
    /// It stands in place of the definition's `priority`; 0 where neither says anything. Processes
    /// of others are not overtaken by it.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
        value_parser = clap::value_parser!(i32).range(-i64::from(PRIORITY_MAX)..=i64::from(PRIORITY_MAX)))]
    pub(crate) priority: Option<i32>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) recording: Recording,
}

/// `xav rerun`
#[derive(Args, Debug)]
pub(crate) struct Rerun {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The mended definition; that of the earlier process where left out
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// An input that is another one than it was; all others stay, and files are read again
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// Do not read files again that inputs and `files` name: all are as they were
    #[arg(long)]
    pub(crate) same_files: bool,
    #[command(flatten)]
    pub(crate) ending: Ending,
    #[command(flatten)]
    pub(crate) adapting: Adapting,
    #[command(flatten)]
    pub(crate) following: Following,
    #[command(flatten)]
    pub(crate) recording: Recording,
}

/// Options for planning again while it runs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Adapting {
    /// The rule for machines that are slower than planned, in place of `policy` in the definition:
    /// `xavantes` moves what has not started where that pays, `static` moves nothing, and `rounds:T` (T from 1 to
    /// 1000) and `adaptive` are the rounds of the published algorithms (docs/rounds.md)
    #[arg(long, value_name = "xavantes|static|rounds:T|adaptive", value_parser = policy)]
    pub(crate) policy: Option<Policy>,
    /// The part of its expected time by which a round of `rounds:T` or `adaptive` may be late before what has not
    /// started on its machine moves, in place of `threshold` in the definition; 0.1 by default
    #[arg(long, value_name = "NUMBER", value_parser = part, allow_negative_numbers = true)]
    threshold: Option<Part>,
    /// The part by which a round of `adaptive` is longer than the one before that was not late, in place of `reward` in
    /// the definition; 0.05 by default
    #[arg(long, value_name = "NUMBER", value_parser = part, allow_negative_numbers = true)]
    reward: Option<Part>,
}

impl Adapting {
    /// The definition with the rule and the parameters that options name.
    pub(crate) fn applied(self, definition: Definition) -> Result<Definition, Failure> {
        let tuning = Tuning {
            threshold: self.threshold,
            reward: self.reward,
        };
        let applied = definition.with_policy(self.policy, tuning);
        applied.map_err(|unused| Failure::refused(format!("--{}: {unused}", unused.name)))
    }
}

/// Options for the effect of a fault, and for keeping the process afterwards.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Ending {
    /// What happens when an activity fails, in place of `on-fault` in the definition: `finish` lets
    /// what runs end, `stop` stops it, `continue` goes on with all that does not depend on the fault
    #[arg(long, value_name = "finish|stop|continue", value_parser = on_fault)]
    on_fault: Option<OnFault>,
    /// The same as `--on-fault continue`
    #[arg(long, conflicts_with = "on_fault")]
    keep_going: bool,
    /// Forget the process so long after its end: `7d`
    ///
    /// Each `xav run` removes what is over its time. XAVANTES_KEEP gives it where it is left out;
    /// without both a process is kept until `xav forget`. On a grid its process manager removes it,
    /// at the latest when its own time for that is over.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) keep: Option<Span>,
}

impl Ending {
    /// The action on a fault, where an option says it.
    pub(crate) fn on_fault(self) -> Option<OnFault> {
        self.on_fault
            .or(self.keep_going.then_some(OnFault::Continue))
    }
}

/// Options for replaying a recorded workflow (WfFormat JSON, also `.json.gz`): its commands use the
/// recorded CPU time and read and write files of the recorded sizes, scaled.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Recorded workflows")]
pub(crate) struct Recording {
    /// CPU seconds used for each recorded one
    #[arg(long, value_name = "FACTOR", conflicts_with = "cpu_total")]
    pub(crate) time_scale: Option<f64>,
    /// Bytes written for each recorded one
    #[arg(long, value_name = "FACTOR")]
    pub(crate) data_scale: Option<f64>,
    /// CPU time that all commands together use: `20s`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) cpu_total: Option<Span>,
    /// Have each command append what it did to this file, a line of JSON each
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// An algorithm by its name.
pub(crate) fn scheduler(name: &str) -> Result<SchedulerKind, String> {
    let names = SchedulerKind::ALL.map(|kind| kind.scheduler().name());
    SchedulerKind::named(name).ok_or_else(|| unknown(name, &names))
}

/// The action on a fault, by its name.
fn on_fault(name: &str) -> Result<OnFault, String> {
    let names = OnFault::ALL.map(OnFault::name);
    OnFault::named(name).ok_or_else(|| unknown(name, &names))
}

/// The rule for slow machines, by its name.
fn policy(name: &str) -> Result<Policy, String> {
    Policy::named(name).ok_or_else(|| match name.starts_with("rounds") {
        true => format!("`rounds:T` has a whole number T from 1 to {ROUNDS_MAX}, such as rounds:4"),
        false => unknown(name, &Policy::WORDS),
    })
}

/// A parameter of a rule.
fn part(text: &str) -> Result<Part, String> {
    let part = text.parse().ok().and_then(Part::of);
    part.ok_or_else(|| format!("{} is expected", Part::WANTED))
}

/// The message for a name that is none of these.
fn unknown(name: &str, names: &[&'static str]) -> String {
    match text::nearest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are {}", names.join(", ")),
    }
}

/// A length of time as definitions write it.
pub(crate) fn duration(text: &str) -> Result<Span, String> {
    language::parse_duration(text).map_err(|error| format!("{}; {}", error.message, error.hint))
}
