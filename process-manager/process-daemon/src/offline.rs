//! What a process manager knew when it last ran.

use std::path::Path;

use machine::Drive;
use model::{Draft, ProcessId};
use process_core::{Process, ProcessManager, State, Stream};
use thiserror::Error;
use wire::client::{Answer, Request, Status, Summary};

use crate::daemon::journal_directory;

/// The processes of a manager that does not run. What it says of running attempts is what was
/// recorded: they may have gone on or ended since.
pub struct Offline {
    drive: Drive<ProcessManager>,
}

/// Why a stopped manager's processes cannot be told.
#[derive(Debug, Error)]
#[error("could not read the journal of the process manager")]
pub struct OfflineError(#[from] shell::StoreError);

impl Offline {
    /// Reads the journal of a manager that keeps its state in `directory`. It is locked meanwhile,
    /// and free afterwards.
    pub fn open(directory: &Path) -> Result<Offline, OfflineError> {
        let histories = shell::read_only(&journal_directory(directory))?;
        let core = ProcessManager::new(process_core::Config::default());
        Ok(Offline {
            drive: Drive::replay(core, histories),
        })
    }

    /// All processes, the newest first.
    pub fn list(&self) -> Vec<Summary> {
        process_core::summaries(self.drive.states())
    }

    /// Everything about one process.
    pub fn status(&self, process: ProcessId) -> Option<Status> {
        self.process(process).map(process_core::status)
    }

    /// What a process is a run of.
    pub fn definition(&self, process: ProcessId) -> Option<Draft> {
        self.process(process)
            .map(|process| process.definition().draft().clone())
    }

    /// Answers as the manager would. What changes something is refused: that needs one that runs.
    pub fn answer(&self, request: &Request) -> Answer {
        match request {
            Request::List => Answer::Processes(self.list()),
            Request::Status(process) => self
                .status(*process)
                .map_or(Answer::Unknown(*process), |status| {
                    Answer::Status(Box::new(status))
                }),
            Request::Definition(process) => self
                .definition(*process)
                .map_or(Answer::Unknown(*process), |draft| {
                    Answer::Definition(Box::new(draft))
                }),
            Request::Submit(_) | Request::Cancel(_) | Request::Watch(_) => {
                Answer::Refused(vec!["no process manager is running".to_owned()])
            }
        }
    }

    fn process(&self, process: ProcessId) -> Option<&Process> {
        match self.drive.states().get(Stream::Process(process))? {
            State::Process(process) => Some(process),
            State::Empty | State::Manager { .. } => None,
        }
    }
}
