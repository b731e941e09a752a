//! Starting and stopping, and what a program asks of an activity manager that runs in it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use activity_blobs::{AddError, FlushError, Store};
use activity_core::{ActivityManager, Input, Peer, prefetch_default};
use activity_executor::{
    Account, Accounts, ContainmentChoice, Limits, LogError, LogReader, Share, Stream, log_directory,
};
use journal::durable;
use model::{Artifact, AttemptId, Bytes, ResourceId, Span};
use shell::quic::Bulk;
use shell::{Damaged, End, Inbox, Peers, Received, RunError, Runner, SetAside, Stats};
use thiserror::Error;
use wire::attempt::{FromActivity, Log, ToActivity};
use wire::executor::{Captured, Containment};
use wire::resource::{FromResource, ToResource};

use crate::access::Gate;
use crate::checker::Checker;
use crate::directories::{Directories, DirectoriesError, Untouched};
use crate::effects::Handler;
use crate::eviction::Pins;
use crate::executor::{Executor, ExecutorConfig, ExecutorError};
use crate::facts;
use crate::fetch::Fetchers;
use crate::latest::Latest;
use crate::quotas::{ProcessUsers, QuotaLimits, Quotas};
use crate::retention::{self, Retention, RetentionThread};
use crate::sweeper::Sweeper;
use crate::workers::{AtWork, Others, Workers};

/// The one group manager's number among this manager's links to group managers.
const GROUP: u32 = 0;

/// What to start.
pub struct Config {
    /// Where it keeps its journal, its blobs, the directories of attempts and its executor's state.
    /// Made if need be; its path must be text.
    pub directory: PathBuf,
    /// The machine's name, unique in its group.
    pub name: String,
    /// Cores that attempts may hold together; none for a machine that only keeps files.
    pub slots: u32,
    /// The program that becomes the executor when its first argument is
    /// [`activity_executor::ARGUMENT`].
    pub executor: PathBuf,
    /// How long commands go on without this daemon; none is the executor's default.
    pub linger: Option<Span>,
    /// From TERM to KILL; none is the executor's default.
    pub kill_grace: Option<Span>,
    /// How long attempts go on without a word from their process manager; none where both are one
    /// program.
    pub lease: Option<Span>,
    /// Priority of commands, -20 to 19; none leaves it as it is.
    pub nice: Option<i32>,
    /// Bytes of each stream of an attempt that are kept; none is the executor's default.
    pub stream_bytes_max: Option<u64>,
    /// What the machine is to pass for; none where it is what it is found to be.
    pub profile: Option<MachineProfile>,
    /// As whom commands run; none is as whom the manager runs. Only root can become others.
    pub accounts: Accounts,
    /// How commands are held together with all that they start.
    pub containment: ContainmentChoice,
    /// What every command may have at most.
    pub limits: Limits,
    /// The blob store that it shares with others in this program; none for one of its own.
    pub blobs: Option<Store>,
    /// What attempts and users may have of files here; none for what the disk has room for.
    pub quotas: Option<QuotaLimits>,
    /// How long what processes leave is kept; none where that is for others.
    pub retention: Option<Retention>,
    /// How files come from other machines; none where each machine has all files.
    pub transfers: Option<Transfers>,
    /// What is done about a damaged journal. In a grid it says which attempts may have started that
    /// must not run twice, and others have heard of its lives.
    pub damaged: Damaged,
    /// Called once, from the manager's thread, if it ends by an error.
    pub failed: Box<dyn FnOnce(&RunError) + Send>,
}

/// How files come from other machines, and go there.
pub struct Transfers {
    /// What fetches them.
    pub bulk: Bulk,
    /// Where others ask for those of this machine: host and port.
    pub address: String,
    /// Which users may ask for which: what the depot of `bulk` asks.
    pub gate: Gate,
}

/// A machine that is imitated on this one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineProfile {
    /// Reference seconds of work that one core does in a second, as planners are told.
    pub power: f64,
    /// Memory for activities, as planners are told; none where it is that of this machine.
    pub memory: Option<Bytes>,
    /// What it is or has beside what this machine is.
    pub labels: BTreeMap<String, String>,
    /// The part of the time that commands have; none is all of it.
    pub share: Option<Share>,
}

/// Why an activity manager did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its directory cannot be used.
    #[error("could not {action} {}", path.display())]
    Directory {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The directories of attempts cannot be used.
    #[error(transparent)]
    Directories(#[from] DirectoriesError),
    /// Its journal cannot be used.
    #[error(transparent)]
    Journal(#[from] shell::StoreError),
    /// Its blob store cannot be used.
    #[error(transparent)]
    Blobs(#[from] activity_blobs::OpenError),
    /// Its executor cannot be started.
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    /// Its loop did not start.
    #[error(transparent)]
    Loop(#[from] shell::StartError),
    /// There is no thread for it.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// An activity manager that runs.
pub struct Handle {
    runner: Runner<ActivityManager>,
    group: Peers<FromResource>,
    processes: Peers<FromActivity>,
    executor: Executor,
    blobs: Store,
    bulk: Option<Arc<Bulk>>,
    logs: PathBuf,
    number: Arc<Latest<ResourceId>>,
    left: Arc<Latest<()>>,
    executor_silent: Arc<Latest<bool>>,
    aside: Option<SetAside>,
}

/// What becomes of commands that run when the manager stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// They are killed, and the executor ends. What ended and was not acknowledged is kept for the
    /// next start.
    End,
    /// They go on for as long as the executor lingers.
    GoOn,
}

/// What commands find around them: this program's own tools come last in their `PATH`.
fn environment(binary: &Path, accounts: &Accounts) -> Vec<(String, String)> {
    let mut environment = shell::environment::base();
    if accounts.iter().next().is_some() {
        environment.retain(|(name, _)| !["HOME", "USER", "LOGNAME", "TMPDIR"].contains(&&**name));
    }
    environment.extend(accounts.others.iter().flat_map(variables));
    if let Some(tools) = binary.parent().and_then(Path::to_str) {
        for (name, value) in &mut environment {
            if name == "PATH" {
                value.push(':');
                value.push_str(tools);
            }
        }
    }
    environment
}

/// What tells a command its account.
fn variables(account: &Account) -> [(String, String); 3] {
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    [
        own("HOME", &account.home.to_string_lossy()),
        own("USER", &account.name),
        own("LOGNAME", &account.name),
    ]
}

/// Starts an activity manager: opens what it keeps, finds its executor or starts one, and lets the
/// core resume.
pub fn start(config: Config) -> Result<Handle, StartError> {
    let directory = prepare(&config.directory)?;
    let untouched = match config.accounts.iter().next() {
        Some(_) => Untouched::Removed,
        None => Untouched::Again,
    };
    let places = Directories::open(&directory, untouched)?;
    let blobs = match config.blobs {
        Some(shared) => shared,
        None => Store::open(&directory.join("blobs"))?,
    };
    let profile = config.profile.unwrap_or(MachineProfile {
        // Every machine counts as the reference until machines are measured.
        power: 1.0,
        ..MachineProfile::default()
    });
    let state = directory.join("executor");
    let socket = shell::socket_path(&directory, "executor.sock");
    let place = ExecutorConfig {
        binary: config.executor,
        socket: socket.map_err(failed("find a place for the socket in", &directory))?,
        state: state.clone(),
        linger: config.linger,
        kill_grace: config.kill_grace,
        share: profile.share,
        stream_bytes_max: config.stream_bytes_max,
        accounts: config.accounts,
        work: places.root(),
        containment: config.containment,
        limits: config.limits,
    };
    let users = place.accounts.iter().map(|account| account.user).collect();
    let of_users = place.accounts.of_users.iter();
    let of_users = of_users.map(|(user, account)| (user.clone(), variables(account).to_vec()));
    let of_users = of_users.collect();
    let mut labels = facts::labels();
    labels.extend(profile.labels);
    let environment = environment(&place.binary, &place.accounts);
    let (inbox, receiver) = shell::inbox();
    let (group, processes) = (Peers::new(), Peers::new());
    // A program starts while the disk is waited for. Whoever else might start one here was refused by
    // the lock of the blob store.
    let (executor, store) = std::thread::scope(|scope| {
        let executor = scope.spawn(|| Executor::start(place, &inbox));
        let journal = directory.join("journal");
        let store = shell::Store::open_despite(&journal, Bytes::ZERO, config.damaged);
        (executor.join(), store)
    });
    let (store, aside) = store?;
    let core = ActivityManager::new(activity_core::Config {
        name: config.name,
        slots: config.slots,
        memory: profile.memory.unwrap_or_else(facts::memory),
        power: profile.power,
        labels,
        bulk: config
            .transfers
            .as_ref()
            .map(|transfers| transfers.address.clone()),
        environment,
        of_users,
        nice: config.nice,
        prefetch: prefetch_default(config.slots),
        linger: config.linger,
        kill_grace: config.kill_grace,
        lease: config.lease,
        asks_executor: config.lease.is_some(),
        has_forgotten: aside.is_some(),
    });
    let executor = executor.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let number = Arc::new(Latest::default());
    let left = Arc::new(Latest::default());
    let executor_silent = Arc::new(Latest::default());
    let at_work = AtWork::default();
    let gate = config.transfers.as_ref().map(|one| one.gate.clone());
    let gate = gate.unwrap_or_default();
    gate.open(&inbox);
    let bulk = config.transfers.map(|transfers| Arc::new(transfers.bulk));
    let fetchers = match &bulk {
        Some(bulk) => {
            let started = Fetchers::start(&blobs, Arc::clone(bulk), &inbox, at_work.clone());
            Some(started.map_err(StartError::Thread)?)
        }
        None => None,
    };
    let whose = ProcessUsers::default();
    let others = Others {
        fetch: fetchers.as_ref().map(Fetchers::way),
        // Where machines share a store, whoever started them looks after it.
        pins: bulk.is_some().then(|| Pins::new(blobs.clone())),
        quotas: config
            .quotas
            .map(|limits| Quotas::new(blobs.clone(), limits, whose.clone())),
        users,
    };
    let retention = config.retention.map(|retention| {
        let retention = RetentionThread {
            work: places.root(),
            logs: log_directory(&state),
            retention,
            users: whose.clone(),
        };
        retention::start(retention, &inbox)
    });
    let handler = Handler {
        group: group.clone(),
        processes: processes.clone(),
        executor: executor.way(),
        orders: Vec::new(),
        workers: Workers::start(&blobs, &inbox, at_work, &others).map_err(StartError::Thread)?,
        fetchers,
        pins: others.pins,
        users: whose,
        retention: retention.transpose().map_err(StartError::Thread)?,
        checker: Checker::start(&blobs, &inbox, others.fetch.clone())
            .map_err(StartError::Thread)?,
        gate,
        sweeper: Sweeper::start(places.root()).map_err(StartError::Thread)?,
        places,
        logs: log_directory(&state),
        number: Arc::clone(&number),
        left: Arc::clone(&left),
        executor_silent: Arc::clone(&executor_silent),
    };
    let runner = Runner::start(
        "activity",
        core,
        store,
        (inbox, receiver),
        handler,
        config.failed,
    )?;
    executor.begin();
    Ok(Handle {
        runner,
        group,
        processes,
        executor,
        blobs,
        bulk,
        logs: log_directory(&state),
        number,
        left,
        executor_silent,
        aside,
    })
}

impl Handle {
    /// Joins it to its group manager.
    pub fn connect_group(&self, end: End<FromResource, ToResource>) {
        let received = Received {
            message: |_, message| Input::Group(message),
            up: |_| Input::Up(Peer::Group),
            down: |_| Input::Down(Peer::Group),
        };
        self.group.attach(end, self.inbox(), GROUP, received);
    }

    /// Joins it to a process manager, which keeps its number from connection to connection.
    pub fn connect_process(&self, number: u32, end: End<FromActivity, ToActivity>) {
        let received = Received {
            message: Input::Process,
            up: |number| Input::Up(Peer::Process(number)),
            down: |number| Input::Down(Peer::Process(number)),
        };
        self.processes.attach(end, self.inbox(), number, received);
    }

    /// The number that its group manager has given this machine. Waits for it, but no longer than
    /// `patience`.
    pub fn number(&self, patience: Duration) -> Option<ResourceId> {
        self.number.wait(patience)
    }

    /// Has the group give away so many slots from here on, and no more than there are. What runs goes
    /// on.
    pub fn lend(&self, slots: u32) {
        self.inbox().tell(Input::Lend(slots));
    }

    /// Adds files to the blob store, durably, in their order.
    pub fn add_files(&self, paths: &[PathBuf]) -> Result<Vec<Artifact>, AddFilesError> {
        let artifacts: Result<Vec<Artifact>, AddError> =
            paths.iter().map(|path| self.blobs.add_file(path)).collect();
        let artifacts = artifacts?;
        self.blobs.flush()?;
        Ok(artifacts)
    }

    /// The blob store, to read and export from.
    pub fn blobs(&self) -> &Store {
        &self.blobs
    }

    /// What moves files from and to other machines.
    pub fn bulk(&self) -> Option<&Bulk> {
        self.bulk.as_deref()
    }

    /// Opens what an attempt wrote to a stream.
    pub fn open_log(
        &self,
        attempt: AttemptId,
        stream: Stream,
        log: &Log,
    ) -> Result<LogReader, LogError> {
        open_in(&self.logs, attempt, stream, log)
    }

    /// The process id of its executor; none before that has told it.
    pub fn executor_pid(&self) -> Option<u32> {
        self.executor.pid()
    }

    /// Whether its executor does not answer, so that nothing is lent.
    pub fn is_executor_silent(&self) -> bool {
        self.executor_silent.wait(Duration::ZERO) == Some(true)
    }

    /// Its journal, where that was damaged and put aside at the start.
    pub fn set_aside(&self) -> Option<&SetAside> {
        self.aside.as_ref()
    }

    /// How its executor holds what commands start; none before that has told it.
    pub fn containment(&self) -> Option<Containment> {
        self.executor.containment()
    }

    /// What its loop has done.
    pub fn stats(&self) -> Stats {
        self.runner.stats()
    }

    /// Has what has not started taken back, and starts nothing more. Waits until it is, but no longer
    /// than this; whether it is.
    pub fn leave(&self, patience: Duration) -> bool {
        self.inbox().tell(Input::Leave);
        self.left.wait(patience).is_some()
    }

    /// Carries out what was decided, and ends.
    pub fn stop(self, commands: Commands) -> Result<(), RunError> {
        let result = self.runner.stop();
        self.executor.stop(commands);
        self.group.close();
        self.processes.close();
        result
    }

    fn inbox(&self) -> &Inbox<Input> {
        self.runner.inbox()
    }
}

/// Why files could not be added.
#[derive(Debug, Error)]
pub enum AddFilesError {
    /// One of them could not be read or copied.
    #[error(transparent)]
    Add(#[from] AddError),
    /// They could not be made durable.
    #[error(transparent)]
    Flush(#[from] FlushError),
}

/// Opens what an attempt wrote to a stream on a machine whose activity manager keeps its state in
/// `directory`, whether that runs or not.
pub fn open_log(
    directory: &Path,
    attempt: AttemptId,
    stream: Stream,
    log: &Log,
) -> Result<LogReader, LogError> {
    open_in(
        &log_directory(&directory.join("executor")),
        attempt,
        stream,
        log,
    )
}

pub(crate) fn open_in(
    logs: &Path,
    attempt: AttemptId,
    stream: Stream,
    log: &Log,
) -> Result<LogReader, LogError> {
    let (bytes, kept) = match stream {
        Stream::Stdout => (log.stdout_bytes, log.stdout),
        Stream::Stderr => (log.stderr_bytes, log.stderr),
    };
    let captured = Captured {
        bytes,
        inline: Vec::new(),
        kept,
    };
    activity_executor::open_log(logs, attempt, stream, &captured)
}

fn prepare(directory: &Path) -> Result<PathBuf, StartError> {
    durable::create_directory(directory, 0o700).map_err(failed("create", directory))?;
    fs::canonicalize(directory).map_err(failed("find", directory))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StartError {
    let path = path.to_owned();
    move |source| StartError::Directory {
        action,
        path,
        source,
    }
}
