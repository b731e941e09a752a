//! A process from its start to its end, or to the signal that interrupts it.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use model::{Definition, ProcessId, Span};
use serde_json::json;
use shell::{Client, ClientError, Signal, Signals};
use wire::client::{Answer, Phase, Request, Status, Summary};

use crate::arguments::Following;
use crate::ask::unfit;
use crate::failure::{Failure, Outcome, status};
use crate::fault;
use crate::grid::Grid;
use crate::measure::{self, Usage};
use crate::progress::Display;
use crate::state::StateDirectory;
use crate::{export, garbage, json, screen, summary_file, tell, text};

/// How long to wait for progress before signals are looked at.
const LOOK: Span = Span::from_millis(50);

/// The same while the managers end.
const LOOK_AT_END: Duration = Duration::from_millis(20);

/// A process that a grid of this program runs.
pub(crate) struct Followed<'a> {
    /// The grid.
    pub(crate) grid: Grid,
    /// Where it keeps everything.
    pub(crate) directory: &'a StateDirectory,
    /// The process.
    pub(crate) process: ProcessId,
    /// What it is a run of.
    pub(crate) definition: &'a Definition,
    /// The directory that the user named, for advices.
    pub(crate) state: Option<String>,
    /// The definition's file.
    pub(crate) origin: String,
}

/// How following ended.
enum End {
    /// With the process.
    Process(Box<Status>),
    /// With a signal.
    Signal(Signal),
}

/// Ctrl-C and its like. Those that come while no grid runs end the program by itself.
pub(crate) fn signals() -> Result<Signals, Failure> {
    Signals::take().map_err(|error| Failure::because(&error))
}

impl Followed<'_> {
    /// Follows it to its end, ends the grid, and says how it went.
    pub(crate) fn finish(self, signals: &Signals, how: Following) -> Outcome {
        let quietly = how.quiet || how.json;
        let mut display = Display::begin(self.definition, self.process, quietly);
        let followed = self.follow(signals, &mut display, quietly);
        display.end();
        match followed {
            Ok((End::Process(ended), told_faults)) => self.ended(&ended, told_faults, how),
            Ok((End::Signal(signal), _)) => self.interrupted(signal, signals, how),
            Err(failure) => {
                let trouble = self.grid.trouble();
                let resume = self.resume();
                let stopped = self.stop_or_signal(signals);
                let help = format!("what was recorded is safe: mend the cause, then {resume}");
                Err(trouble.or(stopped).unwrap_or(failure).help(help))
            }
        }
    }

    /// The second answer is whether the faults have been shown.
    fn follow(
        &self,
        signals: &Signals,
        display: &mut Display,
        quietly: bool,
    ) -> Result<(End, bool), Failure> {
        let mut client = self.grid.client()?;
        let mut questions = self.grid.client()?;
        let mut watch = client
            .watch(self.process)
            .map_err(|error| Failure::because(&error))?;
        let mut told_faults = false;
        while !watch.has_ended() {
            if let Some(signal) = signals.next_now() {
                return Ok((End::Signal(signal), told_faults));
            }
            if let Some(trouble) = self.grid.trouble() {
                return Err(trouble);
            }
            let now = shell::clock::wall();
            match watch.next_within(LOOK) {
                Ok(Some(progress)) => {
                    if progress.phase == Phase::Faulting && !told_faults && !quietly {
                        let status = self.status(&mut questions)?;
                        display.tell(&self.faults(&status));
                        told_faults = !status.faults.is_empty();
                    }
                    display.update(progress, self.definition, shell::clock::wall());
                }
                Ok(None) => display.tick(self.definition, now),
                Err(ClientError::UnknownProcess(process)) => {
                    return Err(Failure::refused(format!("there is no process {process}")));
                }
                Err(error) => return Err(Failure::because(&error)),
            }
        }
        let status = self.status(&mut questions)?;
        Ok((End::Process(Box::new(status)), told_faults))
    }

    fn status(&self, client: &mut Client) -> Result<Status, Failure> {
        let answer = client
            .ask(Request::Status(self.process))
            .map_err(|error| Failure::because(&error))?;
        if let Answer::Status(status) = answer {
            Ok(*status)
        } else {
            Err(unfit(&answer))
        }
    }

    /// All processes of the state directory.
    fn list(&self) -> Option<Vec<Summary>> {
        match self.grid.client().ok()?.ask(Request::List).ok()? {
            Answer::Processes(processes) => Some(processes),
            Answer::Submitted(_)
            | Answer::Refused(_)
            | Answer::Status(_)
            | Answer::Unknown(_)
            | Answer::Cancelling(_)
            | Answer::Progress(_)
            | Answer::Submission(_)
            | Answer::Forgotten(_)
            | Answer::Why(_)
            | Answer::Peeked(_)
            | Answer::LogPart(_)
            | Answer::Machines(_) => None,
        }
    }

    fn faults(&self, status: &Status) -> String {
        let context = fault::Context {
            process: self.process,
            definition: self.definition,
            origin: &self.origin,
            state: self.state.as_deref(),
        };
        fault::all(&status.faults, &context)
    }

    fn ended(self, ended: &Status, told_faults: bool, how: Following) -> Outcome {
        let results = self.directory.results(self.process);
        let exported = export::all(
            |artifact, path| self.grid.blobs().export(artifact, path),
            self.definition,
            &ended.outputs,
            &results,
        );
        let n_slots = self.grid.n_slots();
        let executor = if how.json {
            self.grid.executor_usage()
        } else {
            None
        };
        let faults = self.faults(ended);
        let (definition, directory) = (self.definition, self.directory);
        let listed = self.list();
        let (failed, held) = self.grid.stop_and_hold();
        let exported = exported?;
        if how.json {
            let own = measure::own();
            screen::json(&document(
                ended, definition, directory, &exported, own, executor,
            ))?;
        } else {
            if !told_faults {
                screen::tell(&faults);
            }
            if !how.quiet {
                screen::tell(&tell::ending(ended, n_slots));
            }
            screen::out(&outputs(&ended.outputs, &exported, how.quiet))?;
        }
        match (failed, listed) {
            (Some(failed), _) => screen::warn(&failed.to_string()),
            // Nothing changes any more.
            (None, Some(processes)) if processes.iter().all(|one| one.phase.has_ended()) => {
                garbage::collect_if_marked(directory.path());
                // Without it the journal is read.
                let _ = summary_file::write(directory.path(), processes);
            }
            (None, _) => {}
        }
        drop(held);
        Ok(if ended.summary.phase == Phase::Completed {
            0
        } else {
            status::FAULTED
        })
    }

    fn interrupted(self, signal: Signal, signals: &Signals, how: Following) -> Outcome {
        let (process, name) = (self.process, self.definition.name().to_owned());
        let directory = self.directory.path().to_owned();
        let resume = self.resume();
        screen::tell("interrupted: stopping the commands that run (once more: at once)\n");
        let failed = self.stop_or_signal(signals);
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

    /// The command that goes on.
    fn resume(&self) -> String {
        let state = self
            .state
            .as_ref()
            .map(|dir| format!(" --state {}", text::quoted(dir)));
        format!(
            "xav resume {}{}",
            fault::short(self.process),
            state.unwrap_or_default()
        )
    }

    /// Ends the grid; another signal does not wait for that.
    fn stop_or_signal(self, signals: &Signals) -> Option<Failure> {
        let (sender, ended) = sync_channel(1);
        let grid = self.grid;
        let stopping = std::thread::Builder::new()
            .name("stop".to_owned())
            .spawn(move || {
                let _ = sender.send(grid.stop());
            });
        if let Err(error) = stopping {
            return Some(Failure::new(format!(
                "could not end the managers in order: {error}"
            )));
        }
        loop {
            match ended.recv_timeout(LOOK_AT_END) {
                Ok(failed) => return failed,
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if signals.next_now().is_some() {
                return Some(Failure::new(
                    "ended at once: commands that run are killed within some seconds",
                ));
            }
        }
    }
}

/// The outputs as text, a line each.
fn outputs(
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

fn document(
    ended: &Status,
    definition: &Definition,
    directory: &StateDirectory,
    exported: &export::Exported,
    own: Option<Usage>,
    executor: Option<Usage>,
) -> serde_json::Value {
    let summary = &ended.summary;
    let path_of = |name: &str| exported.path(name).map(|path| path.display().to_string());
    json!({
        "process": summary.process.to_string(),
        "state": summary.phase.word(),
        "name": summary.name,
        "inputs": json::values(&ended.inputs),
        "outputs": json::outputs(&ended.outputs, path_of),
        "makespan_seconds": json::makespan(summary).map(Span::seconds),
        "planned_makespan_seconds": ended.planned.map(Span::seconds),
        "cpu_seconds": json::cpu(ended).seconds(),
        "speedup": tell::speedup(ended),
        "activities": json::totals(&summary.totals),
        "faults": json::faults(ended, definition),
        "directory": directory.path(),
        "cpu_seconds_managers": own.map(|usage| usage.cpu_seconds),
        "cpu_seconds_executor": executor.map(|usage| usage.cpu_seconds),
        "peak_memory_bytes_managers": own.map(|usage| usage.peak_memory_bytes),
        "peak_memory_bytes_executor": executor.map(|usage| usage.peak_memory_bytes),
    })
}
