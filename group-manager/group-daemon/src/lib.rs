//! A group manager as a part of a program: its core, its journal, the repository of resource
//! records.
//!
//! It decides nothing about machines and claims, that is `group-core`. Read [`start`] and
//! [`Handle`]; [`Service`] is what the program `xavantes-gm` runs.

mod admin;
mod issue;
mod members;
mod questions;
mod service;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use group_core::{Effect, GroupManager, Input, Peer, Record};
use journal::{Records, RecordsCommitter, RecordsError};
use model::{Bytes, GroupId, Mono, Span};
use shell::{Damaged, EffectHandler, End, Peers, Received, RunError, Runner, SetAside, Stats};
use thiserror::Error;
use wire::admin::Node;
use wire::group::{FromGroup, ToGroup};
use wire::resource::{FromResource, ToResource};

pub use admin::AdminServer;
pub use members::Members;
pub use service::{Service, Settings};

use crate::questions::Questions;

/// What to start.
pub struct Config {
    /// Where it keeps its journal and its repository; made if need be.
    pub directory: PathBuf,
    /// Whether there is a repository. Where all is one program, every machine says what it is when
    /// that starts, and nobody would read what another life had kept.
    pub keeps_records: bool,
    /// Its number.
    pub group: GroupId,
    /// What is done about a damaged journal. In a grid it holds what nobody else knows: the machines'
    /// numbers, and which are drained.
    pub damaged: Damaged,
    /// What is kept of the disk for what has to be recorded when that is full.
    pub reserve: Bytes,
    /// The length of its members' leases; none where all is one program.
    pub lease: Option<Span>,
    /// Called once, from the manager's thread, if it ends by an error.
    pub failed: Box<dyn FnOnce(&RunError) + Send>,
}

/// Why a group manager did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] shell::StoreError),
    /// Its repository cannot be used.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Its loop did not start.
    #[error(transparent)]
    Loop(#[from] shell::StartError),
    /// There is no thread for the repository.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// A group manager that runs.
pub struct Handle {
    runner: Runner<GroupManager>,
    machines: Peers<ToResource>,
    processes: Peers<FromGroup>,
    n_machines: AtomicU32,
    questions: Arc<Questions>,
    aside: Option<SetAside>,
}

/// Starts a group manager: opens what it keeps, lets the core resume, and tells it what the
/// repository holds.
pub fn start(config: Config) -> Result<Handle, StartError> {
    let journal = journal_directory(&config.directory);
    let (store, aside) = shell::Store::open_despite(&journal, config.reserve, config.damaged)?;
    let (records, known) = if config.keeps_records {
        let (records, known) = repository(&config.directory.join("records"))?;
        (Some(records), known)
    } else {
        (None, Vec::new())
    };
    let handler = Handler {
        machines: Peers::new(),
        processes: Peers::new(),
        records,
        questions: Arc::default(),
    };
    let questions = Arc::clone(&handler.questions);
    let (machines, processes) = (handler.machines.clone(), handler.processes.clone());
    let (inbox, receiver) = shell::inbox();
    inbox.tell(Input::Known(known));
    let core = GroupManager::new(group_core::Config {
        group: config.group,
        lease: config.lease,
    });
    let runner = Runner::start(
        "group",
        core,
        store,
        (inbox, receiver),
        handler,
        config.failed,
    )?;
    Ok(Handle {
        runner,
        machines,
        processes,
        n_machines: AtomicU32::new(0),
        questions,
        aside,
    })
}

/// Where a group manager with this directory keeps its journal.
pub(crate) fn journal_directory(directory: &Path) -> PathBuf {
    directory.join("journal")
}

/// Opens a repository: who writes it from here on, and what it holds.
fn repository(directory: &Path) -> Result<(RecordsCommitter, Vec<Record>), StartError> {
    let (records, known, opened) = Records::open(directory)?;
    if let Some(aside) = opened.set_aside {
        tracing::warn!(
            reason = aside.reason,
            path = %aside.path.display(),
            "the resource records were in doubt and set aside; machines report again"
        );
    }
    let stopped = |error: RecordsError| {
        tracing::error!(%error, "resource records are not kept any more");
    };
    let committer = RecordsCommitter::start(records, stopped).map_err(StartError::Thread)?;
    let known = known.into_iter();
    let known = known.map(|(key, value)| Record { key, value }).collect();
    Ok((committer, known))
}

impl Handle {
    /// Joins it to an activity manager, which says itself which machine it is.
    pub fn connect_activity(&self, end: End<ToResource, FromResource>) {
        self.attach_activity(self.n_machines.fetch_add(1, Ordering::Relaxed), end);
    }

    /// As [`Handle::connect_activity`], where it is known which machine it is: under another name it
    /// is not registered.
    pub fn connect_machine(&self, name: &str, end: End<ToResource, FromResource>) {
        let connection = self.n_machines.fetch_add(1, Ordering::Relaxed);
        let introduced = Input::Introduced(connection, name.to_owned());
        self.runner.inbox().tell(introduced);
        self.attach_activity(connection, end);
    }

    fn attach_activity(&self, connection: u32, end: End<ToResource, FromResource>) {
        let received = Received {
            message: Input::Activity,
            up: |connection| Input::Up(Peer::Activity(connection)),
            down: |connection| Input::Down(Peer::Activity(connection)),
        };
        self.machines
            .attach(end, self.runner.inbox(), connection, received);
    }

    /// Joins it to a process manager, which keeps its number from connection to connection.
    pub fn connect_process(&self, number: u32, end: End<FromGroup, ToGroup>) {
        let received = Received {
            message: Input::Process,
            up: |number| Input::Up(Peer::Process(number)),
            down: |number| Input::Down(Peer::Process(number)),
        };
        self.processes
            .attach(end, self.runner.inbox(), number, received);
    }

    /// All machines, by their names; none where the manager does not answer.
    pub fn nodes(&self) -> Option<Vec<Node>> {
        let ask = |question| self.runner.inbox().tell(Input::Survey(question));
        self.questions.nodes.ask(ask)
    }

    /// Has a machine offered no more, or again; whether there is one of this name. None where the
    /// manager does not answer. It is durable when this returns.
    pub fn drain(&self, name: &str, is_drained: bool) -> Option<bool> {
        let name = name.to_owned();
        let drain = |question| Input::Drain {
            question,
            name,
            is_drained,
        };
        let ask = |question| self.runner.inbox().tell(drain(question));
        self.questions.drained.ask(ask)
    }

    /// Its journal, where that was damaged and put aside at the start.
    pub fn set_aside(&self) -> Option<&SetAside> {
        self.aside.as_ref()
    }

    /// What its loop has done.
    pub fn stats(&self) -> Stats {
        self.runner.stats()
    }

    /// Makes durable and carries out what was decided, writes what waits for the repository, and
    /// ends.
    pub fn stop(self) -> Result<(), RunError> {
        let result = self.runner.stop();
        self.machines.close();
        self.processes.close();
        result
    }
}

/// What the core's effects are carried out with.
struct Handler {
    machines: Peers<ToResource>,
    processes: Peers<FromGroup>,
    records: Option<RecordsCommitter>,
    questions: Arc<Questions>,
}

impl EffectHandler<GroupManager> for Handler {
    fn carry_out(&mut self, effects: Vec<Effect>, _: &mut Vec<Input>) {
        for effect in effects {
            match effect {
                Effect::ToActivity(connection, message) => self.machines.send(connection, &message),
                Effect::ToProcess(number, message) => self.processes.send(number, &message),
                Effect::Keep(Record { key, value }) => {
                    if let Some(records) = &self.records
                        && let Err(error) = records.keep(key, Some(value))
                    {
                        tracing::warn!(%error, "a resource record is not kept");
                    }
                }
                Effect::Surveyed(question, nodes) => self.questions.nodes.answer(question, nodes),
                Effect::Drained(question, is_known) => {
                    self.questions.drained.answer(question, is_known);
                }
            }
        }
        self.machines.wake_receivers();
        self.processes.wake_receivers();
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let due = [self.machines.next_wakeup(), self.processes.next_wakeup()];
        due.into_iter().flatten().min()
    }

    fn wake(&mut self, now: Mono, _: &mut Vec<Input>) {
        self.machines.reconnect(now);
        self.processes.reconnect(now);
    }
}

#[cfg(test)]
mod tests;
