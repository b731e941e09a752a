//! `xav plan`: where and when the activities of a definition would run, on this machine or on
//! machines that are only described. Nothing is stored and nothing is started.
//!
//! `subject.rs` makes a problem of a file and a platform, `result.rs` has it solved and judges the
//! answer, `show.rs`, `compare.rs` and `as_json.rs` are how it looks.

mod as_json;
mod compare;
mod goal;
mod result;
mod show;
mod source;
mod subject;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use model::{Artifact, ArtifactKind, Bytes, Hash, Span, Value};
use schedule::SchedulerKind;
use schedule::draw::{Chart, Drawn};

use crate::arguments::{Recording, duration, scheduler};
use crate::failure::{Failure, Outcome};
use crate::inputs::{self, InputValue, Taking, reason};
use crate::screen;

use goal::Goal;
use result::PlanResult;
use source::PlanSource;
use subject::Subject;

/// `xav plan`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The definition, YAML or JSON, or the recorded workflow
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The machines: a file, or a name such as `reference:64:ccr1` or `paper:10:7`; this machine
    /// where left out
    #[arg(long, short, value_name = "PLATFORM")]
    platform: Option<String>,
    /// The algorithm: `xavantes`, `heft`, `pch` and others (--compare lists them)
    #[arg(long, value_name = "NAME", value_parser = scheduler, conflicts_with = "compare")]
    scheduler: Option<SchedulerKind>,
    /// Time that `xavantes` may search: `5s`; where left out, a second or a fiftieth of the makespan
    ///
    /// It is counted in steps, so that the same plan comes of it on every machine.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    plan_budget: Option<Span>,
    /// How data goes from activity to activity
    #[arg(long, value_enum, default_value_t = Mode::Direct)]
    mode: Mode,
    /// Plan with every algorithm, and show them side by side
    #[arg(long)]
    compare: bool,
    #[command(flatten)]
    goal: Goal,
    /// Show every activity, however many there are
    #[arg(long, conflicts_with = "compare")]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the plan as a picture
    #[arg(long, value_name = "FILE.svg", conflicts_with = "compare")]
    svg: Option<PathBuf>,
    /// An input of the process; a plan needs none, so that those of a run may be given or left out
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    inputs: Vec<String>,
    #[command(flatten)]
    recording: Recording,
}

/// The way of data from activity to activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// From machine to machine
    Direct,
    /// Through the controllers between them, which are placed too
    Controllers,
}

/// Examples for its help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  xav plan primes.yaml                                    on this machine
  xav plan montage.json --platform grid.yaml              on the machines of a file
  xav plan montage.json --platform reference:64:ccr1 --compare
  xav plan montage.json --platform paper:10:7 --mode controllers --svg plan.svg
  xav plan montage.json --platform grid.yaml --scheduler heft --json
  xav plan montage.json --platform cloud.yaml --deadline 2h      on the fewest machines
  xav plan montage.json --platform cloud.yaml --minimise money --within 1.1";

impl Arguments {
    /// True if the answer is to be JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }
}

impl Mode {
    /// As it is written.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Mode::Direct => "direct",
            Mode::Controllers => "controllers",
        }
    }
}

/// `xav plan`
pub(crate) fn plan(arguments: &Arguments) -> Outcome {
    let (mode, as_json) = (arguments.mode, arguments.json);
    let source = PlanSource::read(&arguments.file, &arguments.recording, mode, as_json)?;
    check_inputs(&arguments.inputs, source.inputs())?;
    let values = values(&arguments.inputs, source.inputs(), &arguments.file);
    let source = source.with_known_items(&values);
    let subject = Subject::new(
        source,
        &arguments.recording,
        arguments.platform.as_deref(),
        mode,
        as_json,
    )?;
    if arguments.compare {
        return compare::compare(&subject, arguments.plan_budget, arguments.json);
    }
    // As in a run: where nobody gave any work a search would only polish a guess.
    let usual = if subject.is_guess {
        SchedulerKind::Best
    } else {
        SchedulerKind::default()
    };
    let scheduler = arguments.scheduler.unwrap_or(usual);
    let budget = arguments.plan_budget;
    let made = if arguments.goal.is_given() {
        arguments.goal.plan(&subject, scheduler, budget)?
    } else {
        PlanResult::new(&subject, scheduler, budget)?
    };
    let chart = chart(&subject, &made);
    if let Some(path) = &arguments.svg {
        let (title, said) = show::heading(&subject, &made);
        write(path, &chart.svg(&title, &said))?;
    }
    if arguments.json {
        screen::json(&as_json::plan(&subject, &made, chart.critical_path()))?;
    } else {
        screen::out(&show::plan(&subject, &made, &chart, arguments.all))?;
    }
    Ok(0)
}

/// The values of the inputs, by which the items of a for-each may be known: those that are given, else their
/// defaults. What is missing or cannot be read is `Null`.
fn values(inputs: &[String], declared: &[model::Input], file: &Path) -> Vec<Value> {
    let missing = declared.iter().filter(|input| input.default.is_none());
    let missing: Vec<(String, Value)> = missing
        .map(|input| (input.name.clone(), Value::Null))
        .collect();
    let mut given = inputs::read(inputs, declared, &missing).unwrap_or_default();
    let directory = std::path::absolute(file).unwrap_or_default();
    let directory = directory.parent().unwrap_or(Path::new("/"));
    for input in declared
        .iter()
        .filter(|input| input.paths_beside().is_some())
    {
        // Files need not be there yet.
        let one = std::slice::from_ref(input);
        if inputs::add_beside(directory, one, &mut given).is_err() {
            given.push((input.name.clone(), InputValue::Value(Value::Null)));
        }
    }
    // Only how many files there are is of interest.
    let mut add = |taking: Taking<'_>| {
        let kind = match taking.is_directory {
            true => ArtifactKind::Directory,
            false => ArtifactKind::File,
        };
        let (hash, bytes) = (Hash([0; 32]), Bytes::ZERO);
        Ok(Artifact { hash, bytes, kind })
    };
    let value = |input: &model::Input| {
        let given = given.iter().find(|(name, _)| *name == input.name);
        let given = given.and_then(|(_, value)| value.resolve(&mut add).ok());
        given.or_else(|| input.default.clone()).unwrap_or_default()
    };
    declared.iter().map(value).collect()
}

/// Inputs change little in a plan, but a slip in them is better told than passed over. Files need not be
/// there yet.
fn check_inputs(inputs: &[String], declared: &[model::Input]) -> Result<(), Failure> {
    for argument in inputs {
        let name = argument.split_once('=').map(|(name, _)| name);
        let known = name.is_some_and(|name| declared.iter().any(|input| input.name == name));
        if !known {
            let mistakes = inputs::read(std::slice::from_ref(argument), declared, &[]);
            let first = mistakes
                .err()
                .and_then(|mistakes| mistakes.into_iter().next());
            return Err(Failure::refused(first.unwrap_or_else(|| argument.clone())));
        }
    }
    Ok(())
}

fn chart(subject: &Subject, made: &PlanResult) -> Chart {
    Chart::new(&Drawn {
        problem: &subject.problem,
        schedule: &made.schedule,
        name: &|task| subject.name(task),
        group: &|group| subject.group(group),
        colour: &|task| subject.colour(task),
        legend: &subject.legend,
        transfer: &|from, to, edge| made.transfer(subject, from, to, edge),
    })
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        let shown = path.display();
        Failure::new(format!("could not write {shown}: {}", reason(&error)))
    })
}

#[cfg(test)]
mod tests;
