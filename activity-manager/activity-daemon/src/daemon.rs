//! Starting and stopping, and the interface of an activity manager to its program.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use activity_blobs::{AddError, FlushError, Locked, Placement, Store};
use activity_core::{ActivityManager, Input, Peer, prefetch_default};
use activity_executor::{
    Account, Accounts, ContainmentChoice, Limits, LogError, LogReader, Pace, Stream, log_directory,
};
use journal::durable;
use model::{Artifact, AttemptId, Bytes, Mono, ResourceId, Span};
use shell::beat::Beat;
use shell::metrics::Figures;
use shell::quic::Bulk;
use shell::{Damaged, End, Inbox, Peers, Pulse, Received, RunError, Runner, SetAside, Stats};
use thiserror::Error;
use wire::admin::Load;
use wire::attempt::{FromActivity, Log, ToActivity};
use wire::executor::{Captured, Containment};
use wire::resource::{FromResource, ToResource};

use crate::access::Gate;
use crate::checker::{Checker, Elsewhere};
use crate::directories::{Directories, DirectoriesError, Untouched, environments_directory};
use crate::effects::Handler;
use crate::eviction::Pins;
use crate::executor::{Executor, ExecutorConfig, ExecutorError};
use crate::facts;
use crate::fetch::Fetchers;
use crate::figures::{Counts, Seen};
use crate::intermediates::Intermediates;
use crate::latest::Latest;
use crate::origins::Origins;
use crate::quotas::{ProcessUsers, QuotaLimits, Quotas};
use crate::retention::{self, Retention, RetentionThread};
use crate::sweeper::Sweeper;
use crate::workers::{AtWork, Others, Workers};

/// Bytes of the disk, which commands fill, that the journal of a daemon keeps for itself.
pub(crate) const RESERVE: Bytes = Bytes(16 << 20);

/// The number of the single group manager among this manager's links.
const GROUP: u32 = 0;

/// Settings of an activity manager.
pub struct Config {
    /// The directory of its journal, blobs, attempts and executor. Created if missing; its path
    /// must be UTF-8.
    pub directory: PathBuf,
    /// The machine's name, unique in its group.
    pub name: String,
    /// Cores that attempts may use together; none for a machine that only stores files.
    pub slots: u32,
    /// The program that becomes the executor when its first argument is
    /// [`activity_executor::ARGUMENT`].
    pub executor: PathBuf,
    /// Time for which commands go on without this daemon; none for the executor's default.
    pub linger: Option<Span>,
    /// Time from TERM to KILL; none for the executor's default.
    pub kill_grace: Option<Span>,
    /// The length of leases; none if process and activity manager are one program.
    pub lease: Option<Span>,
    /// Priority of commands, -20 to 19; none for the executor's own.
    pub nice: Option<i32>,
    /// Stored bytes of each stream of an attempt; none for the executor's default.
    pub stream_bytes_max: Option<u64>,
    /// The machine's profile; none for the real machine.
    pub profile: Option<MachineProfile>,
    /// The accounts of commands. Only root can use other accounts than its own.
    pub accounts: Accounts,
    /// The containment of commands.
    pub containment: ContainmentChoice,
    /// The limits of every command.
    pub limits: Limits,
    /// A blob store shared with others in this program; none for its own.
    pub blobs: Option<Store>,
    /// The stores of other state directories, from which files of recalled outcomes are taken; none where
    /// there are no such outcomes.
    pub elsewhere: Option<Elsewhere>,
    /// Where users have files of which the store kept no copy; none if it keeps all.
    pub origins: Option<Origins>,
    /// The directory of the environments that are made of files, which others may share; none for its
    /// own.
    pub environments: Option<PathBuf>,
    /// The way in which inputs are placed. Links only where all commands have other accounts than the
    /// manager.
    pub inputs: Placement,
    /// The quotas of attempts and users for files; none to be limited by the disk alone.
    pub quotas: Option<QuotaLimits>,
    /// The retention of logs and directories; none if another manager handles it.
    pub retention: Option<Retention>,
    /// Transfers with other machines; none if each machine has all files.
    pub transfers: Option<Transfers>,
    /// The treatment of a damaged journal. In a grid the journal has the attempts that may have
    /// started and must not run twice, and the epochs that others know.
    pub damaged: Damaged,
    /// Called once, from the manager's thread, if it ends by an error.
    pub failed: Box<dyn FnOnce(&RunError) + Send>,
}

/// Transfers of files with other machines.
pub struct Transfers {
    /// The transfer service.
    pub bulk: Bulk,
    /// The address that serves this machine's files: host and port.
    pub address: String,
    /// The permissions of users, which the depot of `bulk` checks.
    pub gate: Gate,
}

/// The properties of a machine that this one imitates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineProfile {
    /// Reference seconds of work that one core does in a second, for planners.
    pub power: f64,
    /// Memory for activities, for planners; none for this machine's.
    pub memory: Option<Bytes>,
    /// Further labels.
    pub labels: BTreeMap<String, String>,
    /// The shares of CPU time that commands get; none for always all of it.
    pub pace: Option<Pace>,
    /// The time from which the steps of the pace count, as [`shell::clock::mono`] has it. Machines that
    /// are imitated together have the same.
    pub pace_since: Mono,
}

/// The blob store of a manager at its start.
enum Blobs {
    /// It is open, here or elsewhere in this program.
    Shared(Store),
    /// It is opened while the executor starts.
    Own(Locked),
}

impl Blobs {
    fn open(self) -> Result<Store, activity_blobs::OpenError> {
        match self {
            Blobs::Shared(store) => Ok(store),
            Blobs::Own(locked) => locked.open(),
        }
    }
}

/// Why an activity manager did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its directory cannot be used.
    #[error("could not {action} {}", path.display())]
    Directory {
        /// The operation that failed.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
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
    /// Its loop could not start.
    #[error(transparent)]
    Loop(#[from] shell::StartError),
    /// A thread could not be started.
    #[error("could not start a thread")]
    Thread(#[source] io::Error),
}

/// A running activity manager.
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
    counts: Counts,
    aside: Option<SetAside>,
}

/// The fate of running commands when the manager stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commands {
    /// They are killed, and the executor ends. Unacknowledged outcomes are stored for the next
    /// start.
    End,
    /// They go on for as long as the executor lingers.
    GoOn,
}

/// The environment of commands: this program's own tools come last in their `PATH`.
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

/// The variables that describe a command's account.
fn variables(account: &Account) -> [(String, String); 3] {
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    [
        own("HOME", &account.home.to_string_lossy()),
        own("USER", &account.name),
        own("LOGNAME", &account.name),
    ]
}

/// Starts an activity manager: opens its stores, finds or starts its executor, and lets the core
/// resume.
pub fn start(config: Config) -> Result<Handle, StartError> {
    let directory = prepare(&config.directory)?;
    let untouched = match config.accounts.iter().next() {
        Some(_) => Untouched::Removed,
        None => Untouched::Again,
    };
    let places = Directories::open(&directory, untouched)?;
    let blobs = match config.blobs {
        Some(shared) => Blobs::Shared(shared),
        None => Blobs::Own(Store::lock(&directory.join("blobs"))?),
    };
    let profile = config.profile.unwrap_or(MachineProfile {
        // Every machine counts as the reference until it is measured.
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
        pace: profile.pace.clone(),
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
    let environment = environment(&place.binary, &place.accounts);
    let environments = config.environments;
    let environments = environments.unwrap_or_else(|| environments_directory(&directory));
    let Some(environments_path) = environments.to_str().map(str::to_owned) else {
        return Err(DirectoriesError::NotText(environments).into());
    };
    let (inbox, receiver) = shell::inbox();
    let (group, processes) = (Peers::new(), Peers::new());
    let counts = Counts::default();
    let reserve = match config.lease {
        Some(_) => RESERVE,
        None => Bytes::ZERO,
    };
    // The executor starts while the disk is read. The lock of the blob store has excluded another
    // manager.
    let (executor, mut labels, blobs, store) = std::thread::scope(|scope| {
        let executor = scope.spawn(|| Executor::start(place, &inbox, counts.clone()));
        let labels = facts::labels();
        let journal = journal_directory(&directory);
        let store = shell::Store::open_despite(&journal, reserve, config.damaged);
        let blobs = blobs.open();
        (executor.join(), labels, blobs, store)
    });
    labels.extend(profile.labels);
    let (blobs, (store, aside)) = (blobs?, store?);
    let beat = Beat::of(&config.name).offset(shell::clock::now());
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
        environments: environments_path,
        nice: config.nice,
        prefetch: prefetch_default(config.slots),
        linger: config.linger,
        kill_grace: config.kill_grace,
        pace_since: profile.pace.is_some().then_some(profile.pace_since),
        lease: config.lease,
        beat: Some(beat),
        asks_executor: config.lease.is_some(),
        // Those whose files are removed are of no use to anybody.
        outcomes_kept: config.retention.map(|retention| retention.keep),
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
    let intermediates = Intermediates::new(blobs.clone());
    let fetchers = match &bulk {
        Some(bulk) => {
            let started = Fetchers::start(
                &intermediates,
                Arc::clone(bulk),
                &inbox,
                at_work.clone(),
                (config.inputs, counts.clone()),
            );
            Some(started.map_err(StartError::Thread)?)
        }
        None => None,
    };
    let whose = ProcessUsers::default();
    let others = Others {
        fetch: fetchers.as_ref().map(Fetchers::way),
        // Machines that share a store leave its maintenance to the program that started them.
        pins: bulk.is_some().then(|| Pins::new(blobs.clone())),
        quotas: config
            .quotas
            .map(|limits| Quotas::new(blobs.clone(), limits, whose.clone())),
        users,
        placement: config.inputs,
        origins: config.origins,
    };
    let retention = config.retention.map(|retention| {
        let retention = RetentionThread {
            work: places.root(),
            logs: log_directory(&state),
            environments,
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
        workers: Workers::start(&intermediates, &inbox, at_work, &others)
            .map_err(StartError::Thread)?,
        fetchers,
        pins: others.pins,
        intermediates,
        users: whose,
        retention: retention.transpose().map_err(StartError::Thread)?,
        checker: Checker::start(&blobs, &inbox, others.fetch.clone(), config.elsewhere)
            .map_err(StartError::Thread)?,
        gate,
        sweeper: Sweeper::start(places.root()).map_err(StartError::Thread)?,
        places,
        logs: log_directory(&state),
        number: Arc::clone(&number),
        left: Arc::clone(&left),
        executor_silent: Arc::clone(&executor_silent),
        counts: counts.clone(),
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
        counts,
        aside,
    })
}

impl Handle {
    /// Connects the group manager.
    pub fn connect_group(&self, end: End<FromResource, ToResource>) {
        let received = Received {
            message: |_, message| Input::Group(message),
            up: |_| Input::Up(Peer::Group),
            down: |_| Input::Down(Peer::Group),
            lane: shell::in_turn,
        };
        self.group.attach(end, self.inbox(), GROUP, received);
    }

    /// Connects a process manager, which keeps its number over connections.
    pub fn connect_process(&self, number: u32, end: End<FromActivity, ToActivity>) {
        let received = Received {
            message: Input::Process,
            up: |number| Input::Up(Peer::Process(number)),
            down: |number| Input::Down(Peer::Process(number)),
            lane: shell::in_turn,
        };
        self.processes.attach(end, self.inbox(), number, received);
    }

    /// Waits for the number that its group manager assigns to this machine, no longer than
    /// `patience`.
    pub fn number(&self, patience: Duration) -> Option<ResourceId> {
        self.number.wait(patience)
    }

    /// Sets the number of slots that the group may grant, at most the machine's, and where it is none the reason for
    /// people. Running commands go on.
    pub fn lend(&self, slots: u32, closed: Option<String>) {
        self.inbox().tell(Input::Lend(slots, closed));
    }

    /// Reports another power of the machine's cores to the group.
    pub fn set_power(&self, power: f64) {
        self.inbox().tell(Input::Power(power));
    }

    /// Adds files to the blob store durably, in order.
    pub fn add_files(&self, paths: &[PathBuf]) -> Result<Vec<Artifact>, AddFilesError> {
        let artifacts: Result<Vec<Artifact>, AddError> =
            paths.iter().map(|path| self.blobs.add_file(path)).collect();
        let artifacts = artifacts?;
        self.blobs.flush()?;
        Ok(artifacts)
    }

    /// The blob store, for reading and exporting.
    pub fn blobs(&self) -> &Store {
        &self.blobs
    }

    /// The transfer service.
    pub fn bulk(&self) -> Option<&Bulk> {
        self.bulk.as_deref()
    }

    /// Opens the log of an attempt's stream.
    pub fn open_log(
        &self,
        attempt: AttemptId,
        stream: Stream,
        log: &Log,
    ) -> Result<LogReader, LogError> {
        open_in(&self.logs, attempt, stream, log)
    }

    /// The process id of its executor; none before its hello.
    pub fn executor_pid(&self) -> Option<u32> {
        self.executor.pid()
    }

    /// Returns true if its executor does not answer, so that nothing is lent.
    pub fn is_executor_silent(&self) -> bool {
        self.executor_silent.wait(Duration::ZERO) == Some(true)
    }

    /// Its journal, if a damaged one was set aside at the start.
    pub fn set_aside(&self) -> Option<&SetAside> {
        self.aside.as_ref()
    }

    /// The containment of its executor; none before its hello.
    pub fn containment(&self) -> Option<Containment> {
        self.executor.containment()
    }

    /// Adds its metrics, beside the load of its machine.
    pub fn figures(&self, figures: &mut Figures, load: &Load) {
        let seen = Seen {
            load,
            store_bytes: self.blobs.size().0,
            n_blobs: self.blobs.n_blobs(),
            bulk: self.bulk.as_ref().map(|bulk| bulk.counts()),
            n_held: self.executor.n_attempts(),
            is_executor_silent: self.is_executor_silent(),
        };
        self.counts.show(figures, &seen);
    }

    /// The counts for metrics.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Statistics of its loop.
    pub fn stats(&self) -> Stats {
        self.runner.stats()
    }

    /// The pulse of its loop now.
    pub fn pulse(&self) -> Pulse {
        self.runner.pulse()
    }

    /// Starts nothing more, and lets process managers take back attempts that have not started.
    /// Waits for that, no longer than `patience`. Returns true if none is left.
    pub fn leave(&self, patience: Duration) -> bool {
        self.inbox().tell(Input::Leave);
        self.left.wait(patience).is_some()
    }

    /// Carries out the pending effects, and ends.
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

/// Opens the log of an attempt's stream on a machine whose activity manager has its state in
/// `directory`, running or not.
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

/// The directory of the journal of a manager with this directory.
pub(crate) fn journal_directory(directory: &Path) -> PathBuf {
    directory.join("journal")
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
