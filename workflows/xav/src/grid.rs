//! The embedded grid: a group manager, a process manager and an activity manager (one for each
//! machine that this one passes for) in this program, joined by links that carry the same messages as
//! a network would. Nothing listens but a socket of this user.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use activity_blobs::{Placement, Store};
use activity_daemon::{Commands, ContainmentChoice, Limits, Origins};
use journal::durable::{self, Unflushed};
use model::{Artifact, Bytes, Definition, Epoch, GroupId};
use schedule::SchedulerKind;
use shell::{Client, Damaged, RunError, SetAside};
use wire::client::{Answer, Submit};

use crate::earlier::Earlier;
use crate::failure::{Failure, chain};
use crate::history;
use crate::home;
use crate::inputs::not_taken;
use crate::machines::{self, LocalMachine};
use crate::measure::Usage;
use crate::screen;
use crate::sources;
use crate::standstill::Standstills;
use crate::state::{Held, StateDirectory};
use crate::text;
use crate::watch::Host;

/// The one group and the one process manager of the embedded grid.
const GROUP: GroupId = GroupId::LOCAL;
const PROCESS_MANAGER: u32 = 0;

/// The time in which the managers find each other: one round of messages.
const JOIN_PATIENCE: Duration = Duration::from_secs(20);

/// The managers at work in a state directory.
pub(crate) struct Grid {
    group: group_daemon::Handle,
    process: process_daemon::Handle,
    /// At least one; all have one blob store.
    activities: Vec<activity_daemon::Handle>,
    breakdown: Breakdown,
    standstills: Standstills,
    n_slots: u32,
    /// The lock on the directory; released when the managers have ended.
    held: Held,
}

/// Why a manager ended by itself, if one did.
#[derive(Clone, Default)]
struct Breakdown(Arc<Mutex<Option<String>>>);

impl Grid {
    /// Starts everything on a state directory. What was interrupted there goes on. What is unflushed
    /// of the directory is durable when this returns. What activities of `definition` took in earlier
    /// runs is remembered, and what these made may be recalled as far as it is given.
    pub(crate) fn start(
        directory: &StateDirectory,
        held: Held,
        mut unflushed: Unflushed,
        slots: Option<u32>,
        scheduler: Option<SchedulerKind>,
        (definition, earlier): (Option<&Definition>, Earlier),
    ) -> Result<Grid, Failure> {
        let path = directory.path();
        if path.to_str().is_none() {
            let shown = path.display();
            return Err(Failure::refused(format!(
                "could not use {shown}: the path is not text"
            )));
        }
        // Without a log everything works; only its reader misses it.
        let _ = shell::log_to(&path.join("xav.log"));
        let machines = machines::of(path, slots)?;
        let n_slots = machines
            .iter()
            .fold(0, |sum: u32, machine| sum.saturating_add(machine.slots));
        let history = history::place(definition, &machines);
        let blobs = shared_blobs(path, &machines)?;
        let environments = shared_environments(path);
        let elsewhere = earlier.elsewhere();
        let origins = origins(path);
        let breakdown = Breakdown::default();
        let executor = std::env::current_exe()
            .map_err(|error| Failure::new(format!("could not find the own program: {error}")))?;
        // Before any of them is written to.
        let of_machines = machines.iter().map(|machine| machine.directory.clone());
        for manager in [path.join("gm"), path.join("pm")]
            .into_iter()
            .chain(of_machines)
        {
            journal::check_format(&manager.join("journal"))
                .map_err(|error| cannot_start(path, &error))?;
        }
        let (group_directory, process_directory) = (path.join("gm"), path.join("pm"));
        // Their names are flushed once for all of them.
        unflushed.add_names_in(path);
        for manager in machines.iter().map(|machine| &machine.directory) {
            durable::make_directory(manager, 0o700, &mut unflushed)
                .map_err(|error| cannot_start(path, &error))?;
        }
        for manager in [&group_directory, &process_directory] {
            durable::make_directory(manager, 0o700, &mut unflushed)
                .map_err(|error| cannot_start(path, &error))?;
        }
        // Each opens a journal of its own, which is some flushes of a disk: at the same time.
        let (group, activities, process, flushed) = std::thread::scope(|scope| {
            // Activity managers first: they wait for their executors, which take longest.
            let activities: Vec<_> = machines
                .iter()
                .map(|machine| {
                    let config = activity_daemon::Config {
                        directory: machine.directory.clone(),
                        name: machine.name.clone(),
                        slots: machine.slots,
                        executor: executor.clone(),
                        linger: None,
                        kill_grace: None,
                        lease: None,
                        nice: None,
                        stream_bytes_max: None,
                        profile: machine.profile.clone(),
                        containment: ContainmentChoice::Best,
                        // Nobody shares the CPUs out between runs of one machine, so none is bound.
                        limits: Limits::default(),
                        accounts: activity_daemon::Accounts::default(),
                        blobs: blobs.clone(),
                        elsewhere: elsewhere.clone(),
                        origins: Some(Arc::clone(&origins)),
                        environments: environments.clone(),
                        inputs: Placement::Copy,
                        quotas: None,
                        retention: None,
                        transfers: None,
                        damaged: Damaged::SetAside,
                        failed: breakdown.teller(),
                    };
                    scope.spawn(|| activity_daemon::start(config))
                })
                .collect();
            let process = scope.spawn(|| {
                process_daemon::start(process_daemon::Config {
                    directory: process_directory,
                    scheduler: scheduler.unwrap_or_default(),
                    link: None,
                    lease: None,
                    keeper: None,
                    keep: None,
                    quota: process_daemon::Quota::default(),
                    limits: std::collections::BTreeMap::new(),
                    reserve: Bytes::ZERO,
                    socket: Some(held.socket.clone()),
                    links_epoch: Epoch(0),
                    history,
                    outcomes: earlier.file,
                    earlier: earlier.outcomes,
                    failed: breakdown.teller(),
                })
            });
            // In this thread, which has nothing else to do meanwhile.
            let group = group_daemon::start(group_daemon::Config {
                keeps_records: false,
                damaged: Damaged::SetAside,
                directory: group_directory,
                group: GROUP,
                lease: None,
                holdings_end_after: group_daemon::HOLDINGS_END_AFTER,
                forget_machines: None,
                links_epoch: Epoch(0),
                policy: group_daemon::Policy::default(),
                reserve: Bytes::ZERO,
                failed: breakdown.teller(),
            });
            let flushed = unflushed.flush();
            let activities: Vec<_> = activities.into_iter().map(|one| one.join()).collect();
            (group, activities, process.join(), flushed)
        });
        flushed.map_err(|error| cannot_start(path, &error))?;
        let group = group.map_err(|error| cannot_start(path, &error))?;
        let process = started(process)?.map_err(|error| cannot_start(path, &error))?;
        let activities: Result<Vec<activity_daemon::Handle>, Failure> = activities
            .into_iter()
            .map(|one| started(one)?.map_err(|error| cannot_start(path, &error)))
            .collect();
        let activities = activities?;
        tell_aside("the group manager", group.set_aside());
        for activity in &activities {
            tell_aside("the activity manager", activity.set_aside());
        }
        let mut numbers = Vec::with_capacity(activities.len());
        for activity in &activities {
            let (of_group, of_activity) = shell::link();
            activity.connect_group(of_activity);
            group.connect_activity(of_group);
            let number = activity.number(JOIN_PATIENCE).ok_or_else(|| {
                let why = breakdown
                    .told()
                    .unwrap_or_else(|| "they do not answer each other".to_owned());
                Failure::new(format!("could not start the managers: {why}"))
            })?;
            numbers.push(number);
        }
        // The first offer has the machines in it, since they are known by then.
        let (of_group, of_process) = shell::link();
        group.connect_process(PROCESS_MANAGER, of_group);
        process.connect_group(GROUP, of_process);
        for (activity, number) in activities.iter().zip(numbers) {
            let (of_process, of_activity) = shell::link();
            activity.connect_process(PROCESS_MANAGER, of_activity);
            process.connect_activity(number, of_process);
        }
        Ok(Grid {
            group,
            process,
            activities,
            breakdown,
            standstills: Standstills::of(&machines),
            n_slots,
            held,
        })
    }

    /// Adds a file or a directory; [`Grid::flush`] makes it durable.
    pub(crate) fn add(&self, path: &Path, is_directory: bool) -> Result<Artifact, Failure> {
        let blobs = self.blobs();
        let added = if is_directory {
            blobs.add_tree(path)
        } else {
            blobs.add_file(path)
        };
        added.map_err(|error| not_taken(&error))
    }

    /// Copies what was let go from where it was. Returns false if something else is there by now.
    pub(crate) fn take_again(&self, path: &Path, artifact: Artifact) -> Result<bool, Failure> {
        let taken = self.blobs().take_again(path, artifact);
        taken.map_err(|error| Failure::because(&error))
    }

    /// True if a file or a directory is in the store.
    pub(crate) fn has(&self, artifact: Artifact) -> bool {
        let missing = self.blobs().missing(artifact);
        missing.is_ok_and(|missing| missing.is_empty())
    }

    /// Makes durable what was added.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.blobs()
            .flush()
            .map_err(|error| Failure::because(&error))
    }

    /// The blob store.
    pub(crate) fn blobs(&self) -> &Store {
        self.first().blobs()
    }

    /// Submits a process. The definition stands for the draft of `submit`, which is not looked at.
    pub(crate) fn submit(
        &self,
        client: &mut Client,
        definition: &Definition,
        submit: Submit,
    ) -> Result<Answer, Failure> {
        let answer = self.process.submit(client, definition.clone(), submit);
        answer.map_err(|error| Failure::because(&error))
    }

    /// Commands that run at the same time.
    pub(crate) fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// The CPU time and memory of the executors so far.
    pub(crate) fn executor_usage(&self) -> Option<Usage> {
        let pids = self.activities.iter().filter_map(|one| one.executor_pid());
        let usages = pids.filter_map(crate::measure::other);
        usages.reduce(|one, other| Usage {
            cpu_seconds: one.cpu_seconds + other.cpu_seconds,
            peak_memory_bytes: one.peak_memory_bytes + other.peak_memory_bytes,
        })
    }

    /// Ends everything: the commands that run, then the managers. What was recorded stays.
    pub(crate) fn stop(self) -> Option<Failure> {
        self.stop_and_hold().0
    }

    /// The same; the directory stays in use until the second answer is dropped.
    pub(crate) fn stop_and_hold(self) -> (Option<Failure>, Held) {
        let Grid {
            group,
            process,
            activities,
            breakdown,
            held,
            ..
        } = self;
        // The one who decides comes first, so that nothing more is decided.
        let decided = process.stop();
        let (granted, done) = std::thread::scope(|scope| {
            let stops: Vec<_> = activities
                .into_iter()
                .map(|activity| scope.spawn(|| activity.stop(Commands::End)))
                .collect();
            let granted = group.stop();
            let done: Vec<_> = stops.into_iter().map(|stop| stop.join()).collect();
            (granted, done)
        });
        let done = done.into_iter().flatten().find_map(Result::err);
        let failed = decided.err().or(done).or_else(|| granted.err());
        let told = breakdown
            .told()
            .or_else(|| failed.map(|error| chain(&error)));
        (told.map(Failure::new), held)
    }

    fn first(&self) -> &activity_daemon::Handle {
        self.activities
            .first()
            .expect("there is at least one machine")
    }
}

impl Host for Grid {
    fn client(&self) -> Result<Client, Failure> {
        let client = self.process.client();
        client.map_err(|error| Failure::new(format!("could not ask the process manager: {error}")))
    }

    fn breakdown(&self) -> Option<Failure> {
        self.breakdown.told().map(Failure::new)
    }

    fn standstills(&self) -> Option<&Standstills> {
        Some(&self.standstills)
    }
}

impl Breakdown {
    fn teller(&self) -> Box<dyn FnOnce(&RunError) + Send> {
        let slot = Arc::clone(&self.0);
        Box::new(move |error| {
            let mut told = slot.lock().unwrap_or_else(PoisonError::into_inner);
            told.get_or_insert_with(|| chain(error));
        })
    }

    fn told(&self) -> Option<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Where users have the files of the processes of a state directory. It is looked up when the first one is wanted.
fn origins(path: &Path) -> Origins {
    let directory = path.to_owned();
    let known = OnceLock::new();
    Arc::new(move |artifact: Artifact| {
        let known = known.get_or_init(|| sources::origins(&directory));
        known.get(&artifact.hash).cloned().unwrap_or_default()
    })
}

/// The one blob store of several machines; a single one opens its own.
fn shared_blobs(path: &Path, machines: &[LocalMachine]) -> Result<Option<Store>, Failure> {
    if machines.iter().all(|machine| machine.profile.is_none()) {
        return Ok(None);
    }
    let directory = &machines::directories(path)[0];
    let made = durable::create_directory(directory, 0o700);
    made.map_err(|error| cannot_start(path, &error))?;
    let store = Store::open(&directory.join("blobs"));
    store.map(Some).map_err(|error| cannot_start(path, &error))
}

/// The directory of the environments that are made of files, which all runs of this user share that
/// were not told where to be. Those that nobody has used for long are removed meanwhile; nobody waits
/// for that, and the next run goes on with what the end of this one leaves.
fn shared_environments(path: &Path) -> Option<PathBuf> {
    let home = home::of_user().ok()?;
    let real = home.canonicalize().unwrap_or_else(|_| home.clone());
    let is_below = path.starts_with(&home) || path.starts_with(&real);
    let shared = is_below.then(|| home.join("environments"))?;
    let removed = shared.clone();
    let thread = std::thread::Builder::new().name("environments".to_owned());
    let _ = thread.spawn(move || {
        if let Err(error) = activity_executor::remove_unused_environments(&removed) {
            let shown = removed.display();
            screen::warn(&format!(
                "could not remove environments of {shown} that nobody uses: {error}"
            ));
        }
    });
    Some(shared)
}

/// Says that a manager begins with an empty journal. Only that of the process manager holds what
/// nobody else can tell again.
fn tell_aside(whose: &str, aside: Option<&SetAside>) {
    if let Some(SetAside { path, why }) = aside {
        let path = text::quoted(&path.display().to_string());
        screen::warn(&format!(
            "the journal of {whose} is damaged and was put aside as {path}: {why}; what it held is told \
             again by the others, and nothing is lost"
        ));
    }
}

/// The result of a thread that started a manager.
fn started<T>(joined: std::thread::Result<T>) -> Result<T, Failure> {
    joined.map_err(|_| {
        Failure::new("could not start the managers: one of them has an error in its program")
    })
}

fn cannot_start(directory: &Path, error: &dyn std::error::Error) -> Failure {
    let directory = text::quoted(&directory.display().to_string());
    Failure::new(format!(
        "could not start the managers in {directory}: {}",
        chain(error)
    ))
}
