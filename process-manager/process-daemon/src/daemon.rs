//! Starting and stopping, and the interface of a process manager to its program.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Bytes, Definition, Epoch, GroupId, Identity, NetworkLink, ResourceId, Span};
use process_core::{
    Caller, ClientId, Input, ProcessManager, Quota, Retention, Room, SharedOutcome, Submission,
};
use schedule::SchedulerKind;
use shell::audit::Audit;
use shell::metrics::Figures;
use shell::{
    Client, ClientError, ClientInputs, Clients, ClientsError, End, Lane, Peers, Pulse, Received,
    RunError, Runner, Stats,
};
use thiserror::Error;
use wire::attempt::{FromActivity, ToActivity};
use wire::client::{Answer, Submit};
use wire::group::{FromGroup, ToGroup};

use crate::effects::Handler;
use crate::figures::Board;
use crate::history_keeper::{HistoryKeeper, HistoryPlace};
use crate::machine_numbers::{MachineNumbers, OtherMachine};
use crate::outcome_file::{OutcomeFile, OutcomeKeeper};
use crate::planner::Planner;
use crate::shelf::FileShelf;

// A process that the core accepts can be recorded: a longer event would end the manager.
const _: () = assert!(process_core::FOUNDED_BYTES_MAX < journal::MESSAGE_BYTES_MAX as u64);

/// The journal's directory, in the manager's directory.
const JOURNAL: &str = "journal";

/// Settings of a process manager.
pub struct Config {
    /// The directory of its journal; created if missing.
    pub directory: PathBuf,
    /// The algorithm that makes plans.
    pub scheduler: SchedulerKind,
    /// The network between two machines; none if the machines share a store.
    pub link: Option<NetworkLink>,
    /// The length of leases; none if all managers are one program.
    pub lease: Option<Span>,
    /// The machine that is preferred for copies; none if all are alike.
    pub keeper: Option<String>,
    /// The retention of ended processes; none if they are kept until they are forgotten by hand.
    pub keep: Option<Retention>,
    /// What a user may have here at a time.
    pub quota: Quota,
    /// Named limits with their units, which activities of all processes share.
    pub limits: BTreeMap<String, u32>,
    /// Bytes reserved on the disk for outcomes when it is full.
    pub reserve: Bytes,
    /// The socket for clients, in a directory of this user alone; none for no other clients.
    pub socket: Option<PathBuf>,
    /// The last epoch of its links, which a restore raises; 0 if all managers are one program.
    pub links_epoch: Epoch,
    /// The place where works of activities are kept.
    pub history: HistoryPlace,
    /// The file that keeps outcomes of activities for later runs; none keeps none.
    pub outcomes: Option<OutcomeFile>,
    /// Outcomes of earlier runs that activities may recall.
    pub earlier: Vec<SharedOutcome>,
    /// Called once, from the manager's thread, if it ends by an error.
    pub failed: Box<dyn FnOnce(&RunError) + Send>,
}

/// Why a process manager did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] shell::StoreError),
    /// Its loop could not start.
    #[error(transparent)]
    Loop(#[from] shell::StartError),
    /// Its socket cannot be used.
    #[error(transparent)]
    Clients(#[from] ClientsError),
    /// The planning thread could not be started.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// A running process manager.
pub struct Handle {
    runner: Runner<ProcessManager>,
    groups: Peers<ToGroup, GroupId>,
    machines: Peers<ToActivity, ResourceId>,
    numbers: Arc<MachineNumbers>,
    clients: Clients<Input>,
    board: Arc<Board>,
}

/// The time for which a process waits for a machine that fits before it faults. After a start of their group
/// manager, machines register one after another, and one that restarts is away for some seconds. Machines of one
/// program are there from the beginning.
fn patience(lease: Option<Span>) -> Span {
    lease.map_or(Span::ZERO, |_| Span::from_secs(10))
}

/// Starts a process manager: opens its journal, lets the core resume, and then accepts clients.
pub fn start(config: Config) -> Result<Handle, StartError> {
    let journal = journal_directory(&config.directory);
    let store = shell::Store::open_reserving(&journal, config.reserve)?;
    let core = ProcessManager::new(process_core::Config {
        scheduler: config.scheduler,
        link: config.link,
        patience: patience(config.lease),
        lease: config.lease,
        keeper: config.keeper,
        keep: config.keep,
        quota: config.quota,
        limits: config.limits,
        shares_outcomes: config.outcomes.is_some(),
        epochs_above: config.links_epoch,
        ..process_core::Config::default()
    });
    let core = core.with_shelf(Arc::new(FileShelf::in_directory(&config.directory)));
    let (inbox, receiver) = shell::inbox();
    let inputs = ClientInputs {
        request: |client, who, number, request| {
            let caller = who.map_or(Caller::Local, |who| Caller::Holder(who.clone()));
            Input::request(ClientId(client), caller, number, request)
        },
        gone: |client| Input::ClientGone(ClientId(client)),
    };
    let mut clients = Clients::new(&inbox, inputs);
    let (history, known) = HistoryKeeper::open(&config.history, &config.directory, &inbox);
    if !known.is_empty() {
        inbox.tell_first(Input::Known(known));
    }
    if !config.earlier.is_empty() {
        inbox.tell_first(Input::Recalled(config.earlier));
    }
    let (groups, machines) = (Peers::new(), Peers::new());
    let numbers: Arc<MachineNumbers> = Arc::default();
    let board: Arc<Board> = Arc::default();
    let handler = Handler {
        groups: groups.clone(),
        machines: machines.clone(),
        answers: clients.answers(),
        planner: Planner::start(&inbox, &board).map_err(StartError::Thread)?,
        numbers: Arc::clone(&numbers),
        history,
        outcomes: OutcomeKeeper::new(config.outcomes),
        board: Arc::clone(&board),
        audit: Audit::default(),
    };
    let runner = Runner::start(
        "process",
        core,
        store,
        (inbox, receiver),
        handler,
        config.failed,
    )?;
    if let Some(socket) = &config.socket {
        clients.listen(socket)?;
    }
    Ok(Handle {
        runner,
        groups,
        machines,
        numbers,
        clients,
        board,
    })
}

/// The journal's directory of a process manager with this directory.
pub(crate) fn journal_directory(directory: &Path) -> PathBuf {
    directory.join(JOURNAL)
}

impl Handle {
    /// Connects a group manager.
    pub fn connect_group(&self, group: GroupId, end: End<ToGroup, FromGroup>) {
        let received = Received {
            message: Input::Group,
            up: Input::GroupUp,
            down: Input::GroupDown,
            lane: shell::in_turn,
        };
        self.groups
            .attach(end, self.runner.inbox(), group, received);
    }

    /// Connects the activity manager of a machine, which has its number from its group.
    pub fn connect_activity(&self, resource: ResourceId, end: End<ToActivity, FromActivity>) {
        let received = Received {
            message: Input::Activity,
            up: Input::ActivityUp,
            down: Input::ActivityDown,
            lane: |bytes| match wire::lease::is_urgent(bytes) {
                true => Lane::Urgent,
                false => Lane::Peers,
            },
        };
        self.machines
            .attach(end, self.runner.inbox(), resource, received);
    }

    /// Returns true if a machine with this name in its certificate, which is of the authority of
    /// `group`, may connect under a number.
    pub fn admits(&self, group: GroupId, resource: ResourceId, name: &str) -> bool {
        match self.numbers.claim(group, resource, name) {
            Ok(earlier) => {
                if let Some(earlier) = earlier {
                    self.machines.cut(earlier);
                }
                true
            }
            Err(OtherMachine) => false,
        }
    }

    /// [`Handle::connect_activity`] for a machine with a certified name, after [`Handle::admits`]:
    /// it is trusted once its group assigns the number to that name.
    pub fn connect_named_activity(
        &self,
        resource: ResourceId,
        name: &str,
        end: End<ToActivity, FromActivity>,
    ) {
        let named = Input::ActivityNamed(resource, name.to_owned());
        self.runner.inbox().tell(named);
        self.connect_activity(resource, end);
    }

    /// A client inside the program.
    pub fn client(&self) -> io::Result<Client> {
        self.clients.join()
    }

    /// Submits a process of this program, which has checked its definition, for a client from
    /// [`Handle::client`]: see [`Submission::local`].
    pub fn submit(
        &self,
        client: &mut Client,
        definition: Definition,
        submit: Submit,
    ) -> Result<Answer, ClientError> {
        // Here, and not in the manager's loop: nobody else has to wait for the check.
        let submission = Box::new(Submission::local(definition, submit));
        self.clients.ask(client, |client, number| {
            Input::Submission(ClientId(client), number, submission)
        })
    }

    /// Connects a client on another machine with this identity and address: its requests are written to the
    /// stream, and its answers are read from it.
    pub fn connect_as(&self, who: &Identity, address: IpAddr) -> io::Result<UnixStream> {
        self.clients.connect_as(who, address)
    }

    /// Sets the limits on new processes that follow from the free disk space.
    pub fn set_room(&self, room: Room) {
        self.runner.inbox().tell(Input::Room(room));
    }

    /// Tells it that its group has revoked its certificate, or lets it in again.
    pub fn set_barred(&self, is_barred: bool) {
        self.runner.inbox().tell(Input::Barred(is_barred));
    }

    /// Adds its metrics as the core told them last, and asks it for the next ones.
    pub fn figures(&self, figures: &mut Figures) {
        self.board.show(figures);
        self.runner.inbox().tell(Input::Measure);
    }

    /// Statistics of its loop.
    pub fn stats(&self) -> Stats {
        self.runner.stats()
    }

    /// The pulse of its loop now.
    pub fn pulse(&self) -> Pulse {
        self.runner.pulse()
    }

    /// Makes pending events durable and carries out their effects, and ends. Clients are
    /// disconnected once their answers are written.
    pub fn stop(self) -> Result<(), RunError> {
        let Handle {
            runner,
            groups,
            machines,
            numbers: _,
            clients,
            board: _,
        } = self;
        let result = runner.stop();
        groups.close();
        machines.close();
        drop(clients);
        result
    }
}

#[cfg(test)]
mod tests;
