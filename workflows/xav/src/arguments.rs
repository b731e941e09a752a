//! The command line.

mod alone;
mod run;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::{Span, Wall};
use wire::client::{Phase, Summary};

pub(crate) use self::run::{
    Ending, Following, Recording, Rerun, Run, Submission, Submit, duration, scheduler,
};
use crate::chosen::Only;
use crate::{
    completions, experiment, forecast, grid_admin, history, init, plan, platform, report,
    self_check, text, trace,
};

const EXAMPLES: &str = "\
Examples:
  xav run primes.yaml --input limit=3000000    run a process and print its outputs
  xav list                                     all processes, the newest first
  xav status                                   the newest process, activity by activity
  xav status 0c4r                              the process whose ID begins so
  xav logs 0c4r merge                          what the activity `merge` wrote
  xav resume                                   go on after Ctrl-C, a crash or a power cut
  xav rerun 0c4r --file primes.yaml            run what was mended, and what depends on it

Exit status: 0 completed, 1 faulted or cancelled, 2 bad definition, input or command line,
130 interrupted (143 by SIGTERM): the process can be resumed.";

/// Runs processes: definitions of commands, in which order they run, and what flows between them.
#[derive(Debug, Parser)]
#[command(name = "xav", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a small commented definition that runs, to begin with
    Init(init::Arguments),
    /// Run a process and wait for its end
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// Give a process to a grid, and print its ID
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(Submit),
    /// Show how far a process is until it ends
    Watch(Watch),
    /// List all processes, the newest first
    List(List),
    /// Show a process, activity by activity
    #[command(after_help = STATUS_EXAMPLES)]
    Status(Status),
    /// Print what the activities of a process wrote
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(Logs),
    /// Print the outputs of a process, or write them to files
    Results(Results),
    /// Go on with a process that was interrupted
    Resume(Resume),
    /// Run a process again: only what has changed or failed, and what depends on that
    #[command(after_help = RERUN_EXAMPLES)]
    Rerun(Rerun),
    /// Say why an activity waits, failed, or was or was not run again
    #[command(after_help = WHY_EXAMPLES)]
    Why(Why),
    /// Write a page about a process: its plan, its run, its critical path
    #[command(after_help = report::EXAMPLES)]
    Report(report::Arguments),
    /// Stop a process for good
    Cancel(Cancel),
    /// Remove processes that have ended, with their files
    #[command(after_help = FORGET_EXAMPLES)]
    Forget(Forget),
    /// Check definitions without running them
    #[command(alias = "check")]
    Validate(Validate),
    /// Show where and when activities would run, on this machine or on described ones
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::Arguments),
    /// Descriptions of machines, for `xav plan` and `xav run --machines`
    #[command(subcommand)]
    Platform(platform::Command),
    /// Forecast measured runtimes, loads or bandwidths with every predictor, and compare them
    #[command(after_help = forecast::EXAMPLES)]
    Forecast(forecast::Arguments),
    /// Series of measurements: their statistics, and synthetic ones
    #[command(subcommand)]
    Trace(trace::Command),
    /// Show what activities took in earlier runs, by which plans are made
    #[command(after_help = history::EXAMPLES)]
    History(history::Arguments),
    /// Repeat the published comparisons of schedulers and rescheduling, and judge their claims
    #[command(after_help = experiment::EXAMPLES)]
    Experiment(experiment::Arguments),
    /// Print the JSON Schema of definitions, for editors
    Schema,
    /// Print a definition as a tree, as a graph for Graphviz, or as JSON
    Show(Show),
    /// Write a definition or a recorded workflow as YAML, DOT or WfFormat
    Export(Export),
    /// Make a grid of several machines, become a user of one, choose the one that runs processes
    #[command(subcommand)]
    Grid(grid_admin::Grid),
    /// Tokens by which machines and users join a grid
    #[command(subcommand)]
    Token(grid_admin::Token),
    /// Certificates of a grid: list, renew, revoke
    #[command(subcommand)]
    Cert(grid_admin::Certificates),
    /// Configuration files of a grid's daemons
    #[command(subcommand)]
    Config(grid_admin::Check),
    /// Show the machines of a grid: slots, load, power, and why one is not used
    Nodes(grid_admin::Nodes),
    /// Send nothing more to a machine of a grid
    Drain(grid_admin::Drain),
    /// Use a machine of a grid again
    Undrain(grid_admin::Drain),
    /// This program and the managers of this machine
    #[command(name = "self", subcommand)]
    Itself(self_check::Command),
    /// Print what a shell needs to complete words of these commands
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Arguments),
    /// Write a manual page of each command to a directory
    Man(completions::Man),
    /// Small programs that processes may use
    #[command(subcommand, hide = true)]
    Tool(Tool),
}

const RUN_EXAMPLES: &str = "\
Examples:
  xav run primes.yaml
  xav run primes.yaml --input limit=3000000 --slots 2
  xav run align.yaml --input sample=reads.fastq --input names=a --input names=b
  xav run montage.json.gz --cpu-total 20s --data-scale 0.001
  xav run report.yaml --input table='{\"rows\": 3}' --input more=@more.json --json > result.json";

const SUBMIT_EXAMPLES: &str = "\
Examples:
  xav submit primes.yaml --grid lab
  id=$(xav submit primes.yaml --input limit=3000000) && xav watch $id && xav results $id";

const LOGS_EXAMPLES: &str = "\
Examples:
  xav logs                     everything of the newest process, in the order in which it started
  xav logs 0c4r merge          the last attempt of the activity `merge`
  xav logs align               the items of `align`, those that failed first
  xav logs 'align[3]'          what one item wrote; --all prints what all wrote
  xav logs 0c4r merge --attempt 1 --stderr
  xav logs merge --follow      what `merge` writes, until it ends";

const STATUS_EXAMPLES: &str = "\
Examples:
  xav status                         the newest process
  xav status 0c4r --of align --page 3    the items of `align`, the third hundred
  xav status --only failed           all that failed
  xav status --of align --only running --json";

const RERUN_EXAMPLES: &str = "\
Examples:
  xav rerun                               what failed in the newest process, and what depends on it
  xav rerun 0c4r --file mended.yaml       what has changed in the definition as well
  xav rerun 0c4r --input limit=3000000    what this input changes
  xav rerun --dry-run                     tell what would run, and why
  xav rerun 0c4r --file run.json --cpu-total 20s    a recorded workflow, scaled as it was

Files that inputs and `files` name are read again from where they were, if they have changed since.
An outcome of the earlier process stands where command, environment and inputs are the same,
whatever cores, memory, timeout or retry say. The earlier process stays as it is.";

const WHY_EXAMPLES: &str = "\
Examples:
  xav why merge         of the newest process
  xav why 0c4r merge    also while it runs
  xav why align         where the items of `align` are, and why some of them are there";

const FORGET_EXAMPLES: &str = "\
Examples:
  xav forget 0c4r 3m9v          these two
  xav forget --older-than 7d    all that ended more than a week ago
  xav forget align --dry-run    what would be free without the newest run of `align`";

/// The choice of a process.
#[derive(Args, Debug)]
pub(crate) struct Which {
    /// The process, by its ID or the beginning of it, or by its name, which means the newest run of it;
    /// the newest process where left out
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) state: State,
}

/// The choice of a state directory or grid.
#[derive(Args, Clone, Debug)]
pub(crate) struct State {
    /// The state directory of the process; without it, all of the user's own are looked through
    #[arg(long = "state", value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) grid: GridChoice,
}

/// The choice between a grid and this machine.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct GridChoice {
    /// The grid: its directory, or its name among the user's grids; without it, the one that
    /// XAVANTES_GRID names or that `xav grid use` has chosen
    #[arg(long, value_name = "DIR|NAME")]
    pub(crate) grid: Option<String>,
    /// This machine, whatever grid is chosen
    #[arg(long)]
    pub(crate) embedded: bool,
}

impl GridChoice {
    /// The options that say the same again, for advices.
    pub(crate) fn options(&self) -> Option<String> {
        match (&self.grid, self.embedded) {
            (Some(grid), _) => Some(format!("--grid {}", text::quoted(grid))),
            (None, true) => Some("--embedded".to_owned()),
            (None, false) => None,
        }
    }
}

impl State {
    /// The options that say the same again, for advices.
    pub(crate) fn options(&self) -> Option<String> {
        let dir = self.dir.as_ref();
        let of_dir = dir.map(|dir| format!("--state {}", text::quoted(&dir.display().to_string())));
        of_dir.or_else(|| self.grid.options())
    }
}

/// `xav watch`
#[derive(Args, Debug)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Print one JSON document at the end: what xav status tells
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav why`
#[derive(Args, Debug)]
pub(crate) struct Why {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The activity, by its name; without one, the process as a whole
    #[arg(value_name = "ACTIVITY")]
    pub(crate) activity: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav forget`
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["ids", "older_than"]))]
pub(crate) struct Forget {
    /// The processes, by their IDs or the beginnings of them; a name means the newest run of it
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// All processes that ended so long ago: `7d`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) older_than: Option<Span>,
    /// Tell what would be forgotten and how many bytes would be free; change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) state: State,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav export`
#[derive(Args, Debug)]
pub(crate) struct Export {
    /// The definition, YAML or JSON, or the recorded workflow
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// In which form
    #[arg(long, value_enum, default_value_t = ExportFormat::Yaml)]
    pub(crate) format: ExportFormat,
    #[command(flatten)]
    pub(crate) recording: Recording,
}

/// A form in which definitions are passed on.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The language of this program
    Yaml,
    /// Graphviz
    Dot,
    /// The recorded activities as WfFormat 1.5 JSON
    Wfformat,
}

/// `xav tool`
#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// Use CPU time, read and write files: what the commands of a recorded workflow do
    Burn {
        /// As `xav export FILE` shows them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// `xav list`
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only processes of this name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Only those in this phase
    #[arg(long, value_name = "PHASE", value_enum)]
    pub(crate) phase: Option<PhaseOf>,
    /// Only those that were submitted since so long: `7d`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) since: Option<Span>,
    /// Only those of this user of a grid
    #[arg(long, value_name = "NAME")]
    pub(crate) owner: Option<String>,
    /// Show at most so many, the newest ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Show those that come after this process: the last one of an earlier list
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) state: State,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The phase of a process, as users ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PhaseOf {
    /// It has not ended
    Running,
    /// It completed
    Completed,
    /// A fault ended it
    #[value(alias = "failed")]
    Faulted,
    /// It was cancelled
    Cancelled,
}

impl PhaseOf {
    fn admits(self, phase: Phase) -> bool {
        match phase {
            Phase::Running | Phase::Faulting | Phase::Cancelling => self == PhaseOf::Running,
            Phase::Completed => self == PhaseOf::Completed,
            Phase::Faulted => self == PhaseOf::Faulted,
            Phase::Cancelled => self == PhaseOf::Cancelled,
        }
    }
}

impl List {
    /// True if not all processes are asked for.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.name.is_some() || self.phase.is_some() || self.since.is_some() || self.owner.is_some()
    }

    /// True if this process is asked for.
    pub(crate) fn admits(&self, summary: &Summary, now: Wall) -> bool {
        let owner = summary.owner.as_deref();
        let owner = owner.map(|owner| owner.rsplit('/').next().unwrap_or(owner));
        let is_young = |since: Span| now.since(summary.submitted) <= since;
        self.name.as_ref().is_none_or(|name| *name == summary.name)
            && self.phase.is_none_or(|phase| phase.admits(summary.phase))
            && self.since.is_none_or(is_young)
            && self.owner.as_deref().is_none_or(|name| owner == Some(name))
    }
}

/// `xav status`
#[derive(Args, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Show every activity, however many there are
    #[arg(long, conflicts_with = "page")]
    pub(crate) all: bool,
    /// Only this activity: one, `align[3]`, with its values, or all items of one, `align`
    #[arg(long, value_name = "ACTIVITY")]
    pub(crate) of: Option<String>,
    /// Only activities that are there
    #[arg(long, value_name = "WHERE", value_enum)]
    pub(crate) only: Option<Only>,
    /// Only activities that failed: `--only faulted`
    #[arg(long, conflicts_with = "only")]
    pub(crate) failed: bool,
    /// Show activities in pages of 100, and this page
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) page: Option<u32>,
    /// Print JSON: every activity with its attempts
    #[arg(long)]
    pub(crate) json: bool,
    /// Print at most so many activities as JSON, and where to go on: the process is described in short
    #[arg(long, value_name = "N", requires = "json", conflicts_with_all = ["all", "of", "page"],
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Go on after this place, the `next` of what `--limit` has printed
    #[arg(long, value_name = "NEXT", requires = "limit")]
    pub(crate) after: Option<u32>,
}

/// `xav logs`
#[derive(Args, Debug)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) which: Which,
    /// The activity, by its name; all of them where left out
    #[arg(value_name = "ACTIVITY")]
    pub(crate) activity: Option<String>,
    /// Which attempt of the activity; the last one where left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: Option<u32>,
    /// Of an activity that ran for many items, print what all of them wrote, not a list of them
    #[arg(long, conflicts_with = "attempt")]
    pub(crate) all: bool,
    /// Go on while it runs, until it ends
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) follow: bool,
    /// Standard output only
    #[arg(long, conflicts_with = "stderr")]
    pub(crate) stdout: bool,
    /// Standard error only
    #[arg(long)]
    pub(crate) stderr: bool,
    /// Print JSON: each attempt with what it wrote
    #[arg(long)]
    pub(crate) json: bool,
    /// The end of the own log of a daemon of a grid, for administrators: of the group manager, or
    /// of the process or activity manager of this name (or ROLE/NAME)
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    #[arg(conflicts_with_all = ["id", "attempt", "stdout", "stderr", "json", "dir", "embedded"])]
    pub(crate) daemon: Option<Option<String>>,
    /// Number of lines of a daemon's log; 50 where left out
    #[arg(long, short = 'n', value_name = "LINES", requires = "daemon")]
    pub(crate) lines: Option<u32>,
}

/// `xav results`
#[derive(Args, Debug)]
pub(crate) struct Results {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Write the files and directories among the outputs there
    #[arg(long, value_name = "DIR")]
    pub(crate) to: Option<PathBuf>,
    /// Show what the definition publishes: where it lies, and whether it has changed since
    #[arg(long, conflicts_with = "to")]
    pub(crate) published: bool,
    /// Lay what the definition publishes beside it again, as at the end of `xav run`
    #[arg(long, conflicts_with_all = ["to", "published"])]
    pub(crate) publish: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav resume`
#[derive(Args, Debug)]
pub(crate) struct Resume {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) following: Following,
}

/// `xav cancel`
#[derive(Args, Debug)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) which: Which,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav validate`
#[derive(Args, Debug)]
pub(crate) struct Validate {
    /// Definitions, YAML or JSON
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON: each mistake with its line and column
    #[arg(long)]
    pub(crate) json: bool,
}

/// `xav show`
#[derive(Args, Debug)]
pub(crate) struct Show {
    /// The definition, YAML or JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// In which form
    #[arg(long, value_enum, default_value_t = Format::Tree)]
    pub(crate) format: Format,
}

/// A form of a definition.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// Indented text
    Tree,
    /// Graphviz
    Dot,
    /// JSON
    Json,
}

impl Command {
    /// True if the answer, or the failure, is to be JSON.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Command::Run(run) => run.following.json,
            Command::Submit(submit) => submit.json,
            Command::Watch(watch) => watch.json,
            Command::List(list) => list.json,
            Command::Status(status) => status.json,
            Command::Logs(logs) => logs.json,
            Command::Results(results) => results.json,
            Command::Resume(resume) => resume.following.json,
            Command::Rerun(rerun) => rerun.following.json,
            Command::Why(why) => why.json,
            Command::Forget(forget) => forget.json,
            Command::Cancel(cancel) => cancel.json,
            Command::Validate(validate) => validate.json,
            Command::Plan(plan) => plan.wants_json(),
            Command::Token(token) => token.wants_json(),
            Command::Cert(certificates) => certificates.wants_json(),
            Command::Nodes(nodes) => nodes.json,
            Command::Forecast(forecast) => forecast.json,
            Command::History(history) => history.wants_json(),
            Command::Trace(trace) => trace.wants_json(),
            Command::Itself(command) => command.wants_json(),
            Command::Init(_)
            | Command::Schema
            | Command::Platform(_)
            | Command::Report(_)
            | Command::Show(_)
            | Command::Export(_)
            | Command::Grid(_)
            | Command::Config(_)
            | Command::Drain(_)
            | Command::Undrain(_)
            | Command::Experiment(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Tool(_) => false,
        }
    }
}
