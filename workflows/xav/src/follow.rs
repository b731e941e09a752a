//! A process that a grid of this program runs, from its start to its end or to the signal that
//! interrupts it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use model::{Definition, ProcessId, Span};
use serde_json::json;
use shell::{Client, Signal, Signals, clock};
use wire::client::{Answer, Phase, Request, Status, Summary};

use crate::arguments::Following;
use crate::failure::{Failure, Outcome, status};
use crate::grid::Grid;
use crate::input_copies::InputCopies;
use crate::location::Location;
use crate::measure::{self, Usage};
use crate::progress::Display;
use crate::publish::Published;
use crate::sources::Sources;
use crate::state::{Held, StateDirectory};
use crate::watch::{End, Ended, Host, Watched};
use crate::{due, export, garbage, json, publish, render, screen, summary_file, text};

/// The longest wait for the managers' end before signals are checked.
const LOOK_AT_END: Duration = Duration::from_millis(20);
/// The time after which one who waits for the managers' end is told what it waits for.
const LOOK_SLOW: Span = Span::from_secs(1);
const SLOW_END: &str =
    "the results are there; removing the work directories (Ctrl-C leaves them where they are)\n";

/// A process that a grid of this program runs.
pub(crate) struct Followed<'a> {
    /// The grid.
    pub(crate) grid: Grid,
    /// Where it keeps everything.
    pub(crate) directory: &'a StateDirectory,
    /// The process.
    pub(crate) process: ProcessId,
    /// Its definition.
    pub(crate) definition: &'a Definition,
    /// The options that advices repeat.
    pub(crate) options: Option<String>,
    /// The definition's file.
    pub(crate) origin: String,
    /// Where its outputs are written; none where they lie in the state directory, or are published.
    pub(crate) to: Option<PathBuf>,
}

/// Ctrl-C and its like. Those that come while no grid runs end the program by itself.
pub(crate) fn signals() -> Result<Signals, Failure> {
    Signals::take().map_err(|error| Failure::because(&error))
}

impl Followed<'_> {
    /// Follows it to its end by a client of its process manager, ends the grid, and says how it went.
    pub(crate) fn finish(self, client: Client, signals: &Signals, how: Following) -> Outcome {
        let quietly = how.quiet || how.json;
        let mut display = Display::begin(self.definition, self.process, quietly);
        let followed = self.follow(client, signals, &mut display, quietly);
        display.end();
        match followed {
            Ok((End::Process(ended), told_faults, listed)) => {
                self.ended(*ended, (told_faults, listed), signals, how)
            }
            Ok((End::Signal(signal), ..)) => self.interrupted(signal, signals, how),
            Err(failure) => {
                let breakdown = self.grid.breakdown();
                let resume = self.watched().command("resume");
                let stopped = stop_or_signal(self.grid, signals, None).failure();
                let help = format!("what was recorded is safe: mend the cause, then {resume}");
                Err(breakdown.or(stopped).unwrap_or(failure).help(help))
            }
        }
    }

    /// Its end, whether its faults have been shown, and all processes of the state directory if it has
    /// ended.
    fn follow(
        &self,
        mut client: Client,
        signals: &Signals,
        display: &mut Display,
        quietly: bool,
    ) -> Result<(End, bool, Option<Vec<Summary>>), Failure> {
        let watched = self.watched();
        let (end, told_faults) = watched.follow(&mut client, signals, display, quietly)?;
        let listed = match &end {
            End::Process(_) => list(&mut client),
            End::Signal(_) => None,
        };
        Ok((end, told_faults, listed))
    }

    fn watched(&self) -> Watched<'_> {
        Watched {
            host: &self.grid,
            process: self.process,
            definition: self.definition,
            origin: &self.origin,
            options: self.options.as_deref(),
        }
    }

    fn ended(
        self,
        last: Ended,
        (told_faults, listed): (bool, Option<Vec<Summary>>),
        signals: &Signals,
        how: Following,
    ) -> Outcome {
        let ended = &last.status;
        let in_state = || self.directory.results(self.process);
        let results = self.to.clone().unwrap_or_else(in_state);
        let write = |artifact, path: &Path| {
            let exported = self.grid.blobs().export(artifact, path);
            exported.map_err(|error| Failure::because(&error))
        };
        let published = match ended.summary.phase == Phase::Completed {
            true => self.publish(&last, write),
            false => Published::default(),
        };
        let exported = match self.to {
            Some(_) => export::all(write, self.definition, &ended.outputs, &results),
            None => {
                let others = published.others(&ended.outputs);
                let exported = export::all(write, self.definition, &others, &results);
                exported.map(|exported| exported.and(published.outputs()))
            }
        };
        // Files that were taken from other state directories have names here that are not flushed.
        if ended.summary.totals.reused > 0
            && let Err(error) = self.grid.blobs().flush()
        {
            screen::warn(&format!("could not flush what was recalled: {error}"));
        }
        let shown = match exported {
            Ok(exported) => self.show(&last, told_faults, (&exported, &published), how),
            Err(failure) => Err(export::lost(failure, self.process)),
        };
        let copies = listed
            .as_deref()
            .and_then(|listed| InputCopies::of(&self.grid, self.directory, ended, listed));
        // Whoever only wants the results has them before the managers end: where many work directories are to be
        // removed, that takes long on some file systems.
        let slowly = (!how.quiet && !how.json).then_some(SLOW_END);
        match (stop_or_signal(self.grid, signals, slowly), listed) {
            (Stopped::Failed(failed), _) => screen::warn(&failed.to_string()),
            // Nothing changes any more.
            (Stopped::InOrder(held), Some(processes))
                if processes.iter().all(|one| one.phase.has_ended()) =>
            {
                // It has the store open, which a collection opens too.
                if let Some(copies) = copies {
                    copies.let_go();
                }
                garbage::collect_if_marked(self.directory.path());
                due::note(&processes);
                // Without it the journal is read.
                let _ = summary_file::write(self.directory.path(), processes);
                drop(held);
            }
            (Stopped::InOrder(_) | Stopped::BySignal, _) => {}
        }
        shown?;
        Ok(
            if ended.summary.phase == Phase::Completed && published.is_whole() {
                0
            } else {
                status::FAULTED
            },
        )
    }

    /// Shows what has come of it.
    fn show(
        &self,
        last: &Ended,
        told_faults: bool,
        (exported, published): (&export::Exported, &Published),
        how: Following,
    ) -> Result<(), Failure> {
        let (ended, definition) = (&last.status, &last.definition);
        if how.json {
            let location = Location::Here(self.directory.clone());
            let used = (measure::own(), self.grid.executor_usage());
            let mut document = document(ended, definition, &location, exported, Some(used));
            published.add_to(&mut document);
            screen::json(&document)?;
        } else {
            if !told_faults {
                screen::tell(&self.watched().faults(ended, definition));
            }
            if !how.quiet {
                let n_slots = self.grid.n_slots();
                screen::tell(&render::ending(ended, Some(n_slots)));
            }
            screen::out(&outputs(&ended.outputs, exported, how.quiet))?;
        }
        published.tell(self.process, how.quiet || how.json);
        Ok(())
    }

    /// Lays what the definition publishes beside it.
    fn publish(
        &self,
        last: &Ended,
        write: impl Fn(model::Artifact, &Path) -> Result<(), Failure>,
    ) -> Published {
        let sources = Sources::read(self.directory.path(), self.process);
        let subject = publish::Subject {
            process: self.process,
            definition: &last.definition,
            outputs: &last.status.outputs,
            sources: sources.as_ref(),
        };
        let ask = |request| {
            let answer = self.grid.client()?.ask(request);
            answer.map_err(|error| Failure::because(&error))
        };
        subject.publish(ask, write)
    }

    fn interrupted(self, signal: Signal, signals: &Signals, how: Following) -> Outcome {
        let (process, name) = (self.process, self.definition.name().to_owned());
        let directory = self.directory.path().to_owned();
        let resume = self.watched().command("resume");
        screen::tell("interrupted: stopping the commands that run (once more: at once)\n");
        let failed = stop_or_signal(self.grid, signals, None).failure();
        let (status, word) = match signal {
            Signal::Interrupt => (status::INTERRUPTED, "Ctrl-C"),
            Signal::Terminate => (status::TERMINATED, "a signal to terminate"),
            Signal::HangUp => (status::TERMINATED, "the end of the terminal"),
        };
        if let Some(failed) = failed {
            screen::warn(&failed.to_string());
        }
        screen::tell(&format!(
            "{name} was interrupted by {word}; go on with: {resume}\n"
        ));
        if how.json {
            screen::json(&json!({
                "process": process.to_string(),
                "state": "interrupted",
                "name": name,
                "directory": directory,
            }))?;
        }
        Ok(status)
    }
}

/// The end that the managers have had.
enum Stopped {
    /// All of them; the directory stays in use until this is dropped.
    InOrder(Held),
    Failed(Failure),
    /// A signal did not wait for them.
    BySignal,
}

impl Stopped {
    /// The failure to end them, as one says it whose commands may run.
    fn failure(self) -> Option<Failure> {
        match self {
            Stopped::InOrder(_) => None,
            Stopped::Failed(failure) => Some(failure),
            Stopped::BySignal => Some(Failure::new(
                "ended at once: commands that run are killed within some seconds",
            )),
        }
    }
}

/// Ends the grid; another signal does not wait for that. Whoever waits longer than a second is told why, in the words
/// that are given.
fn stop_or_signal(grid: Grid, signals: &Signals, mut slowly: Option<&str>) -> Stopped {
    let (sender, ended) = sync_channel(1);
    let stopping = std::thread::Builder::new()
        .name("stop".to_owned())
        .spawn(move || {
            let _ = sender.send(grid.stop_and_hold());
        });
    if let Err(error) = stopping {
        return Stopped::Failed(Failure::new(format!(
            "could not end the managers in order: {error}"
        )));
    }
    let began = clock::mono();
    loop {
        match ended.recv_timeout(LOOK_AT_END) {
            Ok((Some(failed), _)) => return Stopped::Failed(failed),
            Ok((None, held)) => return Stopped::InOrder(held),
            Err(RecvTimeoutError::Disconnected) => {
                return Stopped::Failed(Failure::new("could not end the managers in order"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals.next_now().is_some() {
            return Stopped::BySignal;
        }
        if clock::mono().since(began) >= LOOK_SLOW
            && let Some(words) = slowly.take()
        {
            screen::tell(words);
        }
    }
}

/// All processes of the state directory.
fn list(client: &mut Client) -> Option<Vec<Summary>> {
    let Answer::Processes(processes) = client.ask(Request::List).ok()? else {
        return None;
    };
    Some(processes)
}

/// The outputs as text, a line each.
pub(crate) fn outputs(
    outputs: &[(String, model::Value)],
    exported: &export::Exported,
    is_plain: bool,
) -> String {
    let lines = outputs.iter().map(|(name, value)| {
        let value = match exported.path(name) {
            Some(path) => path.display().to_string(),
            None if is_plain => text::value(value),
            None => text::harmless(&text::value(value)),
        };
        format!("{name}: {value}\n")
    });
    lines.collect()
}

/// The document of `xav run --json`. What the managers and the executors used is known where they are
/// this program's.
pub(crate) fn document(
    ended: &Status,
    definition: &Definition,
    location: &Location,
    exported: &export::Exported,
    used: Option<(Option<Usage>, Option<Usage>)>,
) -> serde_json::Value {
    let summary = &ended.summary;
    let (own, executor) = used.unwrap_or_default();
    let path_of = |name: &str| exported.path(name).map(|path| path.display().to_string());
    let mut document = json!({
        "process": summary.process.to_string(),
        "state": summary.phase.word(),
        "name": summary.name,
        "inputs": json::values(&ended.inputs),
        "outputs": json::outputs(&ended.outputs, path_of),
        "makespan_seconds": json::makespan(summary).map(Span::seconds),
        "planned_makespan_seconds": ended.planned.map(Span::seconds),
        "cpu_seconds": json::cpu(ended).seconds(),
        "speedup": render::speedup(ended),
        "activities": json::totals(&summary.totals),
        "faults": json::faults(ended, definition),
        "cpu_seconds_managers": own.map(|usage| usage.cpu_seconds),
        "cpu_seconds_executor": executor.map(|usage| usage.cpu_seconds),
        "peak_memory_bytes_managers": own.map(|usage| usage.peak_memory_bytes),
        "peak_memory_bytes_executor": executor.map(|usage| usage.peak_memory_bytes),
    });
    location.add_to(&mut document);
    document
}
