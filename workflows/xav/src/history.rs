//! Times that activities took in earlier runs: where that of this user's embedded runs is, what plans read of it, and
//! `xav history`, on this machine or of a grid.

use std::path::Path;

use clap::Args;
use history::{Bodies, Forecast, Key, Record, SizeClass, Store, Template};
use model::{Bytes, Definition, Work};
use process_daemon::{HistoryFile, HistoryPlace};
use serde_json::{Value as Json, json};

use crate::arguments::GridChoice;
use crate::failure::{Failure, Outcome, status};
use crate::machines::LocalMachine;
use crate::remote::{self, Remote};
use crate::{home, screen, text};

pub(crate) const EXAMPLES: &str = "\
Examples:
  xav history                      what activities took in earlier runs, of all definitions
  xav history mosaic               of the definition named mosaic
  xav history mosaic --json
  xav history mosaic --forget      plan it as if it had never run
  xav history --grid lab           what they took on a grid

Times are those of a core of this machine, on a grid of a machine of power 1. A killed attempt counts as one that would have taken longer.
The bars are how often the shortest to the longest times were seen. docs/history.md tells more.";

/// Attempts from which a bound for the memory is suggested.
const SUGGESTED_FROM: u32 = 3;

/// The suggested bound beyond the most memory that was seen, in percent.
const ROOM_PERCENT: u64 = 25;

/// Suggested bounds are multiples of this.
const ROUND: u64 = 16 << 20;

/// The bars that a distribution is drawn with.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// `xav history`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The name of a definition; all where left out
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    grid: GridChoice,
    /// Forget it, so that plans rest on what is given alone
    #[arg(long)]
    forget: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// True if the answer is to be JSON.
    pub(crate) fn wants_json(&self) -> bool {
        self.json
    }
}

/// The place where a run keeps the works of its activities, and the definitions that its process manager reads
/// of it. Without a directory for data it remembers nothing.
pub(crate) fn place(definition: Option<&Definition>, machines: &[LocalMachine]) -> HistoryPlace {
    let Ok(path) = home::history() else {
        return HistoryPlace::Nowhere;
    };
    HistoryPlace::Shared {
        path,
        // This machine has power 1 in the file, whatever it passes for.
        factor: machines.first().map_or(1.0, |machine| machine.own_power),
        // An activity that takes longer because a power has fallen in between is no longer work.
        keeps: !machines.iter().any(LocalMachine::changes_power),
        definitions: definition.iter().map(|one| one.name().to_owned()).collect(),
    }
}

/// The history that plans of a definition read.
pub(crate) fn of_definition(definition: &Definition) -> Store {
    let file = home::history().ok().map(HistoryFile::new);
    let read = file.and_then(|file| file.of_definition(definition.name()).ok());
    read.unwrap_or_default()
}

/// `xav history`
pub(crate) fn history(arguments: &Arguments) -> Outcome {
    if let Some(remote) = remote::chosen(&arguments.grid, None)? {
        return match arguments.forget {
            true => forget_of_grid(&remote, arguments),
            false => show_of_grid(&remote, arguments),
        };
    }
    let path = home::history()?;
    let file = HistoryFile::new(path.clone());
    let name = arguments.name.as_deref();
    if arguments.forget {
        let forgotten = file.forget(name);
        let n_forgotten = forgotten.map_err(|error| failed("write", &path, &error))?;
        tell_forgotten(arguments, n_forgotten as u64)?;
        return Ok(0);
    }
    let read = match name {
        // Names that share a place in the file come with it.
        Some(name) => file.of_definition(name),
        None => file.all(),
    };
    let store = read.map_err(|error| failed("read", &path, &error))?;
    show(arguments, &store.of_owner("", name))?;
    Ok(0)
}

/// Shows what all process managers remember. It counts as told if at least one of them has answered.
fn show_of_grid(remote: &Remote, arguments: &Arguments) -> Outcome {
    let name = arguments.name.as_deref();
    let rememberers = remote.rememberers(name);
    let is_any = rememberers.is_any();
    let (known, failures) = rememberers.known(name);
    if !is_any {
        return Err(remote::several(failures));
    }
    for failure in &failures {
        screen::warn(&failure.to_string());
    }
    let known: Vec<(Key, &Record)> = known.iter().map(|(key, one)| (key.clone(), one)).collect();
    show(arguments, &known)?;
    Ok(0)
}

/// Has all process managers forget. One that does not answer remembers still, which is a failure.
fn forget_of_grid(remote: &Remote, arguments: &Arguments) -> Outcome {
    let name = arguments.name.as_deref();
    let rememberers = remote.rememberers(name);
    let is_any = rememberers.is_any();
    let forgotten = rememberers.forget(name);
    if !is_any {
        return Err(remote::several(forgotten.failures));
    }
    for failure in &forgotten.failures {
        screen::warn(&format!("{failure}; what it remembers is not forgotten"));
    }
    tell_forgotten(arguments, forgotten.n_records)?;
    Ok(match forgotten.failures.is_empty() {
        true => 0,
        false => status::FAULTED,
    })
}

fn show(arguments: &Arguments, known: &[(Key, &Record)]) -> Result<(), Failure> {
    if arguments.json {
        let all: Vec<Json> = known.iter().map(|(key, one)| document(key, one)).collect();
        return Ok(screen::json(&json!({ "history": all }))?);
    }
    if known.is_empty() {
        let of = arguments.name.as_deref().map_or(String::new(), |name| {
            format!(" of {}", text::one_line(name, 60))
        });
        return Ok(screen::out(&format!("nothing is remembered{of}\n"))?);
    }
    Ok(screen::out(&table(known))?)
}

fn tell_forgotten(arguments: &Arguments, n_forgotten: u64) -> Result<(), Failure> {
    if arguments.json {
        return Ok(screen::json(&json!({ "forgotten": n_forgotten }))?);
    }
    let what = text::count(n_forgotten, "record", "records");
    Ok(screen::out(&format!("{what} forgotten\n"))?)
}

fn failed(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    let shown = text::quoted(&path.display().to_string());
    Failure::new(format!("could not {action} the history {shown}: {error}"))
}

/// A table for each definition.
fn table(known: &[(Key, &Record)]) -> String {
    let head = [
        "activity", "inputs", "runs", "p50", "p90", "", "memory", "bound",
    ];
    let head = || vec![head.map(str::to_owned).to_vec()];
    let tables = known.chunk_by(|(one, _), (other, _)| one.definition == other.definition);
    let tables = tables.map(|of_one| {
        let rows = of_one.iter().map(|(key, record)| match record {
            Record::Attempts(template) => row(key, template),
            Record::Bodies(bodies) => row_of_bodies(key, bodies),
        });
        let rows: Vec<Vec<String>> = head().into_iter().chain(rows).collect();
        let name = of_one.first().map_or("", |(key, _)| &key.definition);
        format!("{}\n{}", text::one_line(name, 100), text::table(&rows))
    });
    tables.collect::<Vec<_>>().join("\n")
}

fn row(key: &Key, template: &Template) -> Vec<String> {
    let forecast = template.forecast();
    let time = |of: fn(&Forecast) -> Work| {
        let span = forecast.as_ref().map(|forecast| span(of(forecast)));
        span.unwrap_or_default()
    };
    let killed = match template.n_killed() {
        0 => String::new(),
        n => format!(" ({n} killed)"),
    };
    let memory = template.memory_p95();
    vec![
        text::one_line(&key.activity, 40),
        size(key.class),
        format!("{}{killed}", template.n_completed()),
        time(|forecast| forecast.p50),
        time(|forecast| forecast.p90),
        bars(template.sampled()),
        memory.map_or(String::new(), |_| text::bytes(template.peak_memory())),
        suggested(template).map_or(String::new(), text::bytes),
    ]
}

/// The number of expected bodies, where times are told of activities.
fn row_of_bodies(key: &Key, bodies: &Bodies) -> Vec<String> {
    let expected = bodies.expected().unwrap_or_default();
    let name = text::one_line(&key.activity, 40);
    let told = [
        name,
        String::new(),
        bodies.n_runs().to_string(),
        format!("{expected:.1} times"),
    ];
    told.to_vec()
}

/// A work as the time that it takes on a core of this machine.
fn span(work: Work) -> String {
    text::span(model::Span(work.0))
}

/// The greatest size of a class.
fn bytes_max(SizeClass(class): SizeClass) -> Bytes {
    Bytes(
        1_u64
            .checked_shl(u32::from(class))
            .map_or(u64::MAX, |more| more - 1),
    )
}

fn size(class: SizeClass) -> String {
    match class {
        SizeClass(0) => "none".to_owned(),
        class => format!("< {}", Bytes(bytes_max(class).0.saturating_add(1))),
    }
}

/// A bound for `memory`: some more than was ever seen.
fn suggested(template: &Template) -> Option<Bytes> {
    let peak = template.peak_memory().0;
    let is_known = template.n_completed() >= SUGGESTED_FROM && peak > 0;
    let more = peak.saturating_add(peak / 100 * ROOM_PERCENT);
    is_known.then(|| Bytes(more.div_ceil(ROUND).saturating_mul(ROUND)))
}

/// Numbers of times as bars, from the shortest to the longest.
fn bars(sampled: &[f32]) -> String {
    let values = || sampled.iter().map(|value| value.abs());
    let (least, most) = (
        values().fold(f32::INFINITY, f32::min),
        values().fold(0.0, f32::max),
    );
    if sampled.len() < 2 {
        return String::new();
    }
    let mut counts = [0_usize; BARS.len()];
    for value in values() {
        let part = (value - least) / (most - least).max(f32::MIN_POSITIVE);
        let place = (part * counts.len() as f32) as usize;
        counts[place.min(counts.len() - 1)] += 1;
    }
    let highest = counts.iter().copied().max().unwrap_or(1).max(1);
    let bar = |count: usize| match count {
        0 => ' ',
        count => BARS[(count * BARS.len() - 1) / highest],
    };
    counts.map(bar).iter().collect()
}

fn document(key: &Key, record: &Record) -> Json {
    match record {
        Record::Attempts(template) => document_of_activity(key, template),
        Record::Bodies(bodies) => json!({
            "definition": key.definition,
            "controller": key.activity,
            "runs": bodies.n_runs(),
            "bodies": bodies.expected(),
        }),
    }
}

fn document_of_activity(key: &Key, template: &Template) -> Json {
    let forecast = template.forecast();
    let seconds = |of: fn(&Forecast) -> Work| {
        let forecast = forecast.as_ref();
        forecast.map(|forecast| of(forecast).reference_seconds())
    };
    json!({
        "definition": key.definition,
        "activity": key.activity,
        "input_bytes_max": bytes_max(key.class).0,
        "completed": template.n_completed(),
        "killed": template.n_killed(),
        "work_seconds": seconds(|forecast| forecast.work),
        "work_seconds_p50": seconds(|forecast| forecast.p50),
        "work_seconds_p90": seconds(|forecast| forecast.p90),
        "cpu_share": template.cpu(),
        "peak_memory_bytes": template.peak_memory().0,
        "peak_memory_bytes_p95": template.memory_p95().map(|bytes| bytes.0),
        "suggested_memory_bytes": suggested(template).map(|bytes| bytes.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_where_times_lie() {
        assert_eq!(bars(&[1.0]), "");
        assert_eq!(bars(&[1.0, 1.0, 2.0, 9.0]), "█▄     ▄");
        assert_eq!(bars(&[2.0, 2.0]), "█       ");
    }

    #[test]
    fn sizes_are_told_by_their_bounds() {
        assert_eq!(size(SizeClass(0)), "none");
        assert_eq!(size(SizeClass::of(Bytes(1_000))), "< 1.0 KiB");
        assert_eq!(bytes_max(SizeClass(64)), Bytes(u64::MAX));
    }
}
