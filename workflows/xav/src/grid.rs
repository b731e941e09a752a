//! The embedded grid: a group manager, a process manager and an activity manager in this program,
//! joined by links that carry the same messages as a network would. Nothing listens but a socket of
//! this user.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use activity_daemon::Commands;
use model::{Artifact, GroupId};
use shell::{Client, RunError};

use crate::failure::{Failure, chain};
use crate::state::{Held, StateDirectory};
use crate::text;

/// The one group and the one process manager of the embedded grid.
const GROUP: GroupId = GroupId(0);
const PROCESS_MANAGER: u32 = 0;

/// How long the managers may take to know each other; it is one round of messages.
const JOIN_PATIENCE: Duration = Duration::from_secs(20);

/// Three managers at work in a state directory.
pub(crate) struct Grid {
    group: group_daemon::Handle,
    process: process_daemon::Handle,
    activity: activity_daemon::Handle,
    trouble: Trouble,
    directory: PathBuf,
    n_slots: u32,
    /// The leave to use the directory; given back when the managers have ended.
    _held: Held,
}

/// Why a manager ended by itself, if one did.
#[derive(Clone, Default)]
struct Trouble(Arc<Mutex<Option<String>>>);

impl Grid {
    /// Starts everything on a state directory. What was interrupted there goes on.
    pub(crate) fn start(
        directory: &StateDirectory,
        held: Held,
        slots: Option<u32>,
    ) -> Result<Grid, Failure> {
        let n_slots = slots.unwrap_or_else(cores);
        let path = directory.path();
        if path.to_str().is_none() {
            let shown = path.display();
            return Err(Failure::refused(format!(
                "could not use {shown}: the path is not text"
            )));
        }
        // Without a log everything works; only its reader misses it.
        let _ = shell::log_to(&path.join("xav.log"));
        let trouble = Trouble::default();
        let executor = std::env::current_exe()
            .map_err(|error| Failure::new(format!("could not find the own program: {error}")))?;
        // Each opens a journal of its own, which is some flushes of a disk: at the same time.
        let (group, activity, process) = std::thread::scope(|scope| {
            let group = scope.spawn(|| {
                group_daemon::start(group_daemon::Config {
                    directory: path.join("gm"),
                    group: GROUP,
                    failed: trouble.teller(),
                })
            });
            let process = scope.spawn(|| {
                process_daemon::start(process_daemon::Config {
                    directory: path.join("pm"),
                    scheduler: schedule::SchedulerKind::default(),
                    socket: Some(held.socket.clone()),
                    failed: trouble.teller(),
                })
            });
            let activity = activity_daemon::start(activity_daemon::Config {
                directory: path.join("am"),
                name: shell::environment::hostname(),
                slots: n_slots,
                executor,
                linger: None,
                kill_grace: None,
                nice: None,
                failed: trouble.teller(),
            });
            (group.join(), activity, process.join())
        });
        let group = started(group)?.map_err(|error| cannot_start(path, &error))?;
        let process = started(process)?.map_err(|error| cannot_start(path, &error))?;
        let activity = activity.map_err(|error| cannot_start(path, &error))?;
        let (of_group, of_activity) = shell::link();
        activity.connect_group(of_activity);
        group.connect_activity(of_group);
        let number = activity.number(JOIN_PATIENCE).ok_or_else(|| {
            let why = trouble
                .told()
                .unwrap_or_else(|| "they do not answer each other".to_owned());
            Failure::new(format!("could not start the managers: {why}"))
        })?;
        // The first offer has the machine in it, since it is known by then.
        let (of_group, of_process) = shell::link();
        group.connect_process(PROCESS_MANAGER, of_group);
        process.connect_group(GROUP, of_process);
        let (of_process, of_activity) = shell::link();
        activity.connect_process(PROCESS_MANAGER, of_activity);
        process.connect_activity(number, of_process);
        Ok(Grid {
            group,
            process,
            activity,
            trouble,
            directory: path.to_owned(),
            n_slots,
            _held: held,
        })
    }

    /// A client of the process manager.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let client = self.process.client();
        client.map_err(|error| Failure::new(format!("could not ask the process manager: {error}")))
    }

    /// Adds the files beside a definition to the blob store, durably.
    pub(crate) fn add_files(&self, paths: &[PathBuf]) -> Result<Vec<Artifact>, Failure> {
        self.activity
            .add_files(paths)
            .map_err(|error| Failure::because(&error))
    }

    /// Adds a file or a directory; [`Grid::flush`] makes it durable.
    pub(crate) fn add(&self, path: &Path, is_directory: bool) -> Result<Artifact, Failure> {
        let blobs = self.activity.blobs();
        let added = if is_directory {
            blobs.add_tree(path)
        } else {
            blobs.add_file(path)
        };
        added.map_err(|error| Failure::because(&error))
    }

    /// Makes durable what was added.
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.activity
            .blobs()
            .flush()
            .map_err(|error| Failure::because(&error))
    }

    /// The blob store.
    pub(crate) fn blobs(&self) -> &activity_blobs::Store {
        self.activity.blobs()
    }

    /// Commands that run at the same time.
    pub(crate) fn n_slots(&self) -> u32 {
        self.n_slots
    }

    /// Why the grid cannot go on; none while it can.
    pub(crate) fn trouble(&self) -> Option<Failure> {
        self.trouble.told().map(Failure::new)
    }

    /// What the executor has used so far.
    pub(crate) fn executor_usage(&self) -> Option<crate::measure::Usage> {
        crate::measure::executor(&executor_state(&self.directory))
    }

    /// Ends everything: the commands that run, then the managers. What was recorded stays.
    pub(crate) fn stop(self) -> Option<Failure> {
        let Grid {
            group,
            process,
            activity,
            trouble,
            ..
        } = self;
        // The one who decides comes first, so that nothing more is decided.
        let decided = process.stop();
        let (granted, done) = std::thread::scope(|scope| {
            let group = scope.spawn(|| group.stop());
            let activity = activity.stop(Commands::End);
            (group.join(), activity)
        });
        let failed = decided.err().or(done.err()).or_else(|| granted.ok()?.err());
        let told = trouble.told().or_else(|| failed.map(|error| chain(&error)));
        told.map(Failure::new)
    }
}

impl Trouble {
    fn teller(&self) -> Box<dyn FnOnce(&RunError) + Send> {
        let place = Arc::clone(&self.0);
        Box::new(move |error| {
            let mut told = place.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Where the executor of a state directory keeps its state.
pub(crate) fn executor_state(directory: &Path) -> PathBuf {
    directory.join("am").join("executor")
}

/// What a thread gave that started a manager.
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

/// Cores that this program may use.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}
