//! A group manager as a part of a program: its core, its journal, the repository of resource
//! records.
//!
//! `group-core` decides about machines and claims. Read [`start`] and [`Handle`]; [`Service`] is
//! the program `xavantes-gm`.

mod admin;
mod audit;
mod figures;
mod issue;
mod members;
mod questions;
mod service;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use group_core::{Effect, GivenUp, GroupManager, Holder, Input, Load, Peer, Record, Survey};
use journal::{Records, RecordsCommitter, RecordsError};
use model::{Bytes, Epoch, GroupId, Mono, Span};
use shell::audit::Audit;
use shell::metrics::Figures;
use shell::{
    Damaged, EffectHandler, End, Peers, Pulse, Received, RunError, Runner, SetAside, Stats,
};
use thiserror::Error;
use wire::admin::Moment;
use wire::group::{FromGroup, ToGroup};
use wire::resource::{FromResource, ToResource};

pub use admin::AdminServer;
pub use group_core::{FORGET_MACHINES_AFTER, HALF_LIFE, HOLDINGS_END_AFTER, Policy};
pub use members::Members;
pub use service::{Service, Settings};

use crate::figures::Counts;
use crate::questions::Questions;

/// Settings of a group manager.
pub struct Config {
    /// The directory of its journal and its repository; created if missing.
    pub directory: PathBuf,
    /// True if there is a repository. If all managers are one program, every machine registers at
    /// the start, and records of an earlier run would not be read.
    pub keeps_records: bool,
    /// Its number.
    pub group: GroupId,
    /// The treatment of a damaged journal. In a grid it has unique data: the machines' numbers, and
    /// which ones are drained.
    pub damaged: Damaged,
    /// Bytes reserved on the disk for events when it is full.
    pub reserve: Bytes,
    /// The length of its members' leases; none if all managers are one program.
    pub lease: Option<Span>,
    /// Time after which a process manager that is away loses what its processes hold and do not use.
    pub holdings_end_after: Span,
    /// How the owners of processes share the group.
    pub policy: Policy,
    /// Time after which a silent machine that nobody holds anything of is forgotten; never where none is given.
    pub forget_machines: Option<Span>,
    /// The last epoch of its links, which a restore raises; 0 if all managers are one program.
    pub links_epoch: Epoch,
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
    /// Its loop could not start.
    #[error(transparent)]
    Loop(#[from] shell::StartError),
    /// The thread of the repository could not be started.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// A running group manager.
pub struct Handle {
    runner: Runner<GroupManager>,
    machines: Peers<ToResource>,
    processes: Peers<FromGroup>,
    n_machines: AtomicU32,
    questions: Arc<Questions>,
    counts: Arc<Counts>,
    aside: Option<SetAside>,
}

/// Starts a group manager: opens its journal and repository, lets the core resume, and passes the
/// records to it.
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
        counts: Arc::default(),
        audit: Audit::default(),
    };
    let counts = Arc::clone(&handler.counts);
    let questions = Arc::clone(&handler.questions);
    let (machines, processes) = (handler.machines.clone(), handler.processes.clone());
    let (inbox, receiver) = shell::inbox();
    inbox.tell(Input::Known(known));
    let core = GroupManager::new(group_core::Config {
        group: config.group,
        lease: config.lease,
        holdings_end_after: config.holdings_end_after,
        policy: config.policy,
        forget_machines: config.forget_machines,
        epochs_above: config.links_epoch,
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
        counts,
        aside,
    })
}

/// The journal's directory of a group manager with this directory.
pub(crate) fn journal_directory(directory: &Path) -> PathBuf {
    directory.join("journal")
}

/// Opens a repository. Returns its writer and its content.
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
    /// Connects an activity manager, which names its machine itself.
    pub fn connect_activity(&self, end: End<ToResource, FromResource>) {
        self.attach_activity(self.n_machines.fetch_add(1, Ordering::Relaxed), end);
    }

    /// [`Handle::connect_activity`] for a known machine: it cannot register under another name.
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
            lane: shell::in_turn,
        };
        self.machines
            .attach(end, self.runner.inbox(), connection, received);
    }

    /// Connects a process manager, which keeps its number over connections.
    pub fn connect_process(&self, number: u32, end: End<FromGroup, ToGroup>) {
        let received = Received {
            message: Input::Process,
            up: |number| Input::Up(Peer::Process(number)),
            down: |number| Input::Down(Peer::Process(number)),
            lane: shell::in_turn,
        };
        self.processes
            .attach(end, self.runner.inbox(), number, received);
    }

    /// All machines by name, and how the owners of processes share them; none if the manager does not
    /// answer. A user, named by its identity, is told of own processes alone.
    pub fn survey(&self, user: Option<&str>) -> Option<Survey> {
        let user = user.map(str::to_owned);
        let ask = |question| self.runner.inbox().tell(Input::Survey(question, user));
        self.questions.surveys.ask(ask)
    }

    /// The past of a machine, oldest first. None within where there is no machine of this name, and none if the
    /// manager does not answer.
    pub fn history(&self, name: &str) -> Option<Option<Vec<Moment>>> {
        let name = name.to_owned();
        let ask = |question| self.runner.inbox().tell(Input::History(question, name));
        self.questions.histories.ask(ask)
    }

    /// A machine tells its load.
    pub fn loaded(&self, name: &str, load: Load) {
        self.runner.inbox().tell(Input::Load(name.to_owned(), load));
    }

    /// Stops offering a machine, or offers it again. Returns false if there is no machine of this
    /// name, and none if the manager does not answer. The change is durable when this returns.
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

    /// Ends what somebody holds whose process manager is away, as soon as machines have nothing of
    /// it; none if the manager does not answer.
    pub fn give_up(&self, holder: Holder) -> Option<GivenUp> {
        let ask = |question| self.runner.inbox().tell(Input::GiveUp(question, holder));
        self.questions.given_up.ask(ask)
    }

    /// The certificate of a process manager is revoked: its holdings end as soon as machines hold
    /// nothing of its processes.
    pub fn bar(&self, process_manager: u32) {
        self.runner.inbox().tell(Input::Barred(process_manager));
    }

    /// Its journal, if a damaged one was set aside at the start.
    pub fn set_aside(&self) -> Option<&SetAside> {
        self.aside.as_ref()
    }

    /// Adds its metrics. It asks the core; without an answer, those of machines are missing.
    pub fn figures(&self, figures: &mut Figures) {
        self.counts.show(figures);
        if let Some(survey) = self.survey(None) {
            figures::show_machines(figures, &survey);
            figures::show_owners(figures, survey.owners.as_ref());
        }
    }

    /// Statistics of its loop.
    pub fn stats(&self) -> Stats {
        self.runner.stats()
    }

    /// The pulse of its loop now.
    pub fn pulse(&self) -> Pulse {
        self.runner.pulse()
    }

    /// Makes pending events durable and carries out their effects, writes waiting records, and
    /// ends.
    pub fn stop(self) -> Result<(), RunError> {
        let result = self.runner.stop();
        self.machines.close();
        self.processes.close();
        result
    }
}

/// The connections and threads that carry out effects.
struct Handler {
    machines: Peers<ToResource>,
    processes: Peers<FromGroup>,
    records: Option<RecordsCommitter>,
    questions: Arc<Questions>,
    counts: Arc<Counts>,
    audit: Audit,
}

impl EffectHandler<GroupManager> for Handler {
    fn carry_out(&mut self, effects: Vec<Effect>, _: &mut Vec<Input>) {
        for effect in effects {
            self.counts.effect(&effect);
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
                Effect::Drop(key) => {
                    if let Some(records) = &self.records {
                        records.remove([key]);
                    }
                }
                Effect::Forgotten { name, seen } => audit::tell_forgotten(&self.audit, &name, seen),
                Effect::Foreign(process_manager, machine) => {
                    tracing::warn!(
                        process_manager,
                        machine = format!("{machine:#}"),
                        "a machine of another group is not granted"
                    );
                }
                Effect::Surveyed(question, survey) => {
                    self.questions.surveys.answer(question, survey);
                }
                Effect::History(question, moments) => {
                    self.questions.histories.answer(question, moments);
                }
                Effect::GivenUp(question, given_up) => {
                    self.questions.given_up.answer(question, given_up);
                }
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
