//! Starting and stopping, and what a program asks of a process manager that runs in it.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::{Bytes, GroupId, Identity, NetworkLink, ResourceId, Span};
use process_core::{Caller, ClientId, Input, ProcessManager, Retention, Room};
use schedule::SchedulerKind;
use shell::{
    Client, ClientInputs, Clients, ClientsError, End, Peers, Received, RunError, Runner, Stats,
};
use thiserror::Error;
use wire::attempt::{FromActivity, ToActivity};
use wire::group::{FromGroup, ToGroup};

use crate::effects::Handler;
use crate::machine_numbers::{MachineNumbers, OtherMachine};
use crate::planner::Planner;

/// Where the journal is, in the manager's directory.
const JOURNAL: &str = "journal";

/// What to start.
pub struct Config {
    /// Where it keeps its journal; made if need be.
    pub directory: PathBuf,
    /// The algorithm that makes plans.
    pub scheduler: SchedulerKind,
    /// What files cross between two machines; none where the machines share a store.
    pub link: Option<NetworkLink>,
    /// How long attempts go on at machines that are not answered; none where all is one program.
    pub lease: Option<Span>,
    /// The name of the machine that is asked first to keep copies; none where each is as good.
    pub keeper: Option<String>,
    /// What is kept of processes that have ended; none where nothing is forgotten unasked.
    pub keep: Option<Retention>,
    /// What is kept of the disk for outcomes when that is full.
    pub reserve: Bytes,
    /// The socket for clients, in a directory of this user alone; none where nobody else may ask.
    pub socket: Option<PathBuf>,
    /// Called once, from the manager's thread, if it ends by an error.
    pub failed: Box<dyn FnOnce(&RunError) + Send>,
}

/// Why a process manager did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] shell::StoreError),
    /// Its loop did not start.
    #[error(transparent)]
    Loop(#[from] shell::StartError),
    /// Its socket cannot be used.
    #[error(transparent)]
    Clients(#[from] ClientsError),
    /// There is no thread for plans.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// A process manager that runs.
pub struct Handle {
    runner: Runner<ProcessManager>,
    groups: Peers<ToGroup>,
    machines: Peers<ToActivity>,
    numbers: Arc<MachineNumbers>,
    clients: Clients<Input>,
}

/// Starts a process manager: opens its journal, lets the core resume, and then lets clients in.
pub fn start(config: Config) -> Result<Handle, StartError> {
    let journal = journal_directory(&config.directory);
    let store = shell::Store::open_reserving(&journal, config.reserve)?;
    let core = ProcessManager::new(process_core::Config {
        scheduler: config.scheduler,
        link: config.link,
        lease: config.lease,
        keeper: config.keeper,
        keep: config.keep,
        ..process_core::Config::default()
    });
    let (inbox, receiver) = shell::inbox();
    let inputs = ClientInputs {
        request: |client, who, number, request| {
            let caller = who.map_or(Caller::Local, |who| Caller::Holder(who.clone()));
            Input::request(ClientId(client), caller, number, request)
        },
        gone: |client| Input::ClientGone(ClientId(client)),
    };
    let mut clients = Clients::new(&inbox, inputs);
    let (groups, machines) = (Peers::new(), Peers::new());
    let numbers: Arc<MachineNumbers> = Arc::default();
    let handler = Handler {
        groups: groups.clone(),
        machines: machines.clone(),
        answers: clients.answers(),
        planner: Planner::start(&inbox).map_err(StartError::Thread)?,
        numbers: Arc::clone(&numbers),
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
    })
}

/// Where a process manager with this directory keeps its journal.
pub(crate) fn journal_directory(directory: &Path) -> PathBuf {
    directory.join(JOURNAL)
}

impl Handle {
    /// Joins it to a group manager.
    pub fn connect_group(&self, group: GroupId, end: End<ToGroup, FromGroup>) {
        let received = Received {
            message: |group, message| Input::Group(GroupId(group), message),
            up: |group| Input::GroupUp(GroupId(group)),
            down: |group| Input::GroupDown(GroupId(group)),
        };
        self.groups
            .attach(end, self.runner.inbox(), group.0, received);
    }

    /// Joins it to the activity manager of a machine, which has its number from its group.
    pub fn connect_activity(&self, resource: ResourceId, end: End<ToActivity, FromActivity>) {
        let received = Received {
            message: |resource, message| Input::Activity(ResourceId(resource), message),
            up: |resource| Input::ActivityUp(ResourceId(resource)),
            down: |resource| Input::ActivityDown(ResourceId(resource)),
        };
        self.machines
            .attach(end, self.runner.inbox(), resource.0, received);
    }

    /// Whether a machine, whose name its certificate says, may connect under a number.
    pub fn admits(&self, resource: ResourceId, name: &str) -> bool {
        match self.numbers.claim(resource, name) {
            Ok(earlier) => {
                if let Some(earlier) = earlier {
                    self.machines.cut(earlier.0);
                }
                true
            }
            Err(OtherMachine) => false,
        }
    }

    /// The same for one whose name its certificate says, and that [`Handle::admits`]: it is believed
    /// once its group gives that name the number.
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

    /// Lets a client on another machine in, whose certificate is of this identity: what is written
    /// to the stream are its requests, and its answers come out of it.
    pub fn connect_as(&self, who: &Identity) -> io::Result<UnixStream> {
        self.clients.connect_as(who)
    }

    /// Says what processes its disk has room for.
    pub fn set_room(&self, room: Room) {
        self.runner.inbox().tell(Input::Room(room));
    }

    /// What its loop has done.
    pub fn stats(&self) -> Stats {
        self.runner.stats()
    }

    /// Makes durable and carries out what was decided, and ends. Clients are cut off once they have
    /// been told what was to be told.
    pub fn stop(self) -> Result<(), RunError> {
        let Handle {
            runner,
            groups,
            machines,
            numbers: _,
            clients,
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
