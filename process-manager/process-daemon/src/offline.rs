//! The state of a process manager that does not run.

use std::path::Path;

use machine::Drive;
use model::{ActivityId, Artifact, ProcessId};
use process_core::{Held, Process, ProcessManager, SharedOutcome, State, Stream, Submission};
use thiserror::Error;
use wire::client::{Answer, Request, Status, Submit, Summary};

use crate::daemon::journal_directory;

/// The processes of a manager that does not run. Running attempts are shown as recorded: they may
/// have gone on or ended since.
pub struct Offline {
    drive: Drive<ProcessManager>,
}

/// The forecast of the first process of a manager, as an answer to a client. `earlier` are outcomes of earlier
/// runs, and `has_file` says whether a file or directory of these is there.
pub fn foresee_first(
    submit: Submit,
    earlier: Vec<SharedOutcome>,
    has_file: &mut dyn FnMut(Artifact) -> bool,
) -> Answer {
    foresee(submit, std::iter::empty(), earlier, has_file)
}

/// The forecast of a process that would be submitted now, beside these.
fn foresee<'a>(
    mut submit: Submit,
    processes: impl Iterator<Item = &'a Process>,
    earlier: Vec<SharedOutcome>,
    has_file: &mut dyn FnMut(Artifact) -> bool,
) -> Answer {
    match std::mem::take(&mut submit.draft).check() {
        Ok(definition) => {
            let submission = Submission::local(definition, submit);
            process_core::foresee(submission, processes, earlier, &mut |reused| {
                reused.outputs.iter().all(|&output| has_file(output))
            })
        }
        Err(problems) => Answer::Refused(problems.iter().map(ToString::to_string).collect()),
    }
}

/// The processes of a stopped manager cannot be read.
#[derive(Debug, Error)]
#[error("could not read the journal of the process manager")]
pub struct OfflineError(#[from] shell::StoreError);

impl Offline {
    /// Reads the journal of the manager with this state directory. It is locked meanwhile, and free
    /// afterwards.
    pub fn open(directory: &Path) -> Result<Offline, OfflineError> {
        let histories = shell::read_only(&journal_directory(directory))?;
        let core = ProcessManager::new(process_core::Config::default());
        Ok(Offline {
            drive: Drive::replay(core, histories),
        })
    }

    /// All processes, the newest first.
    pub fn list(&self) -> Vec<Summary> {
        process_core::summaries(self.drive.states().iter().map(|(_, state)| state))
    }

    /// The description of one process.
    pub fn status(&self, process: ProcessId) -> Option<Status> {
        let known = self.process(process).map(process_core::status);
        known.or_else(|| self.held(process).map(Held::status))
    }

    /// The submission: inputs with their defaults filled in.
    pub fn submission(&self, process: ProcessId) -> Option<Submit> {
        let known = self.process(process).map(process_core::submission);
        known.or_else(|| self.held(process).map(Held::submission))
    }

    /// The explanation of an activity's state, as an answer to a client.
    pub fn why(&self, process: ProcessId, activity: ActivityId) -> Answer {
        match self.process(process) {
            Some(known) => {
                let base = known.base().and_then(|base| self.process(base));
                process_core::why(base, known, activity)
            }
            None => match self.held(process) {
                Some(held) => Answer::Refused(vec![held.told()]),
                None => Answer::Unknown(process),
            },
        }
    }

    /// The explanation of a process's state, as an answer to a client.
    pub fn why_process(&self, process: ProcessId) -> Answer {
        match self.process(process) {
            Some(known) => {
                let base = known.base().and_then(|base| self.process(base));
                process_core::why_process(base, known)
            }
            None => match self.held(process) {
                Some(held) => Answer::Refused(vec![held.told()]),
                None => Answer::Unknown(process),
            },
        }
    }

    /// Answers a request as the manager would. Requests that change something are refused, because
    /// they need a running manager.
    pub fn answer(&self, request: &Request) -> Answer {
        match request {
            Request::List => Answer::Processes(self.list()),
            Request::Status(process) => self
                .status(*process)
                .map_or(Answer::Unknown(*process), |status| {
                    Answer::Status(Box::new(status))
                }),
            Request::Submission(process) => {
                self.submission(*process)
                    .map_or(Answer::Unknown(*process), |submit| {
                        let known = self.process(*process);
                        let grown = known.map(process_core::expansions);
                        Answer::Submission(Box::new(submit), grown.unwrap_or_default())
                    })
            }
            Request::Why { process, activity } => self.why(*process, *activity),
            Request::WhyProcess(process) => self.why_process(*process),
            Request::Published { process, from } => match self.process(*process) {
                Some(known) => process_core::published(known, *from),
                None => Answer::Unknown(*process),
            },
            Request::Processes(wanted) => process_core::processes(self.list(), wanted),
            Request::Activities(wanted) => match self.process(wanted.process) {
                Some(known) => process_core::activities(known, wanted),
                None => match self.held(wanted.process) {
                    Some(held) => Answer::Refused(vec![held.told()]),
                    None => Answer::Unknown(wanted.process),
                },
            },
            Request::Values(wanted) => match self.process(wanted.process) {
                Some(known) => process_core::values(known, wanted),
                None => match self.held(wanted.process) {
                    Some(held) => Answer::Refused(vec![held.told()]),
                    None => Answer::Unknown(wanted.process),
                },
            },
            Request::Foresee(submit) => self.foresee((**submit).clone(), &mut |_| true),
            Request::Submit(_)
            | Request::Cancel(_)
            | Request::Watch(_)
            | Request::Forget(_)
            | Request::Tail(_)
            | Request::Log { .. }
            | Request::Machines
            | Request::History { .. }
            | Request::ForgetHistory(_) => {
                Answer::Refused(vec!["no process manager is running".to_owned()])
            }
        }
    }

    /// The forecast of a process that would be submitted now, as an answer to a client. `has_file` says whether
    /// a file or directory is there.
    pub fn foresee(&self, submit: Submit, has_file: &mut dyn FnMut(Artifact) -> bool) -> Answer {
        let processes = self.drive.states().iter();
        let processes = processes.filter_map(|(_, state)| state.process());
        foresee(submit, processes, Vec::new(), has_file)
    }

    /// The forecast of a process that would be resumed now, as an answer to a client.
    pub fn foresee_resumed(
        &self,
        process: ProcessId,
        has_file: &mut dyn FnMut(Artifact) -> bool,
    ) -> Answer {
        let Some(known) = self.process(process) else {
            return Answer::Unknown(process);
        };
        let submit = process_core::submission(known);
        let definition = match submit.draft.clone().recorded() {
            Ok(definition) => definition,
            Err(problems) => {
                return Answer::Refused(problems.iter().map(ToString::to_string).collect());
            }
        };
        let submission = Submission::local(definition, submit);
        let base = known.base().and_then(|base| self.process(base));
        process_core::foresee_resumed(known, base, submission, &mut |reused| {
            reused.outputs.iter().all(|&output| has_file(output))
        })
    }

    fn held(&self, process: ProcessId) -> Option<&Held> {
        match self.drive.states().get(Stream::Process(process))? {
            State::Held(held) => Some(held),
            State::Process(_) | State::Packed(_) | State::Empty | State::Manager { .. } => None,
        }
    }

    fn process(&self, process: ProcessId) -> Option<&Process> {
        let state = self.drive.states().get(Stream::Process(process))?;
        state.process()
    }
}
