//! The executor as a program: its arguments, and the preparation of its process.

use std::ffi::{CString, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use model::{Mono, Span};
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid, umask};
use thiserror::Error;

use crate::account::{Accounts, Lendable};
use crate::capture::STREAM_BYTES_MAX;
use crate::clock;
use crate::containment::{Containment, ContainmentChoice, Leftovers, warn};
use crate::executor::{Executor, Parts, RunError};
use crate::guardian::{self, Side};
use crate::kept::{Kept, Records};
use crate::limits::Limits;
use crate::log::{Log, log_directory};
use crate::outcomes;
use crate::pool::Pool;
use crate::store::Store;
use crate::sys;
use crate::throttle::Pace;
use crate::{activation, container};

/// The first argument that makes a program the executor.
pub const ARGUMENT: &str = "__executor";

/// Written to standard output when the socket can be connected to.
pub(crate) const READY: &str = "ready";

/// Default time for which commands go on without a daemon.
const LINGER: Span = Span::from_secs(10);

/// Default time from TERM to KILL.
const KILL_GRACE: Span = Span::from_secs(2);

/// Time for which an executor waits for an earlier one to end; more than two kill graces.
const LOCK_WAIT: Span = Span::from_secs(6);

/// Connections that wait to be accepted: those of one daemon that retries.
const BACKLOG: i32 = 128;

/// Interval of looking for the end of the earlier one.
const LOCK_LOOK: Span = Span::from_millis(20);

/// Becomes the executor: `[__executor] --socket PATH --state DIR [--linger-micros N]
/// [--kill-grace-micros N] [--pace SECONDS=SHARE,...] [--stream-bytes-max N]
/// [--containment best|process-tree] [--processes-max N] [--open-files-max N] [--file-bytes-max N]
/// [--io idle|best-effort-N] [--bind-cores yes] [--account USER:GROUP:OTHERS]
/// [--account-of NAME=USER:GROUP:OTHERS]... [--account-of-slot NAME=USER:GROUP:OTHERS]...
/// [--work DIR]`, without the program's own name. Returns when it has
/// ended: success, or 1 after a line on standard error. To be called first in a program, since every
/// inherited descriptor but the standard streams is closed. The executor starts the program in other
/// ways too, by which it becomes a command in an environment that is made first (`activation.rs`), runs one in a
/// container (`container.rs`), or removes a container (`kept.rs`).
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    sys::close_inherited();
    let is_own = |argument: &OsString| argument == ARGUMENT;
    let mut arguments = arguments.into_iter().skip_while(is_own).peekable();
    if arguments
        .next_if(|first| first == activation::ARGUMENT)
        .is_some()
    {
        return activation::main(arguments);
    }
    if arguments
        .next_if(|first| first == container::ARGUMENT)
        .is_some()
    {
        return container::main(arguments);
    }
    if arguments
        .next_if(|first| first == container::REMOVAL_ARGUMENT)
        .is_some()
    {
        return container::removal_main(arguments);
    }
    match parse(arguments).and_then(|arguments| run(&arguments)) {
        Ok(code) => code,
        Err(error) => {
            let mut text = format!("error: {error}");
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                text += &format!(": {error}");
                cause = error.source();
            }
            text.push('\n');
            // Nobody may listen on either; there is nowhere else to write it.
            let _ = io::stderr().write_all(text.as_bytes());
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::FAILURE
        }
    }
}

struct Arguments {
    socket: PathBuf,
    state: PathBuf,
    linger: Span,
    kill_grace: Span,
    pace: Option<Pace>,
    accounts: Accounts<Lendable>,
    work: Option<PathBuf>,
    stream_bytes_max: u64,
    containment: ContainmentChoice,
    limits: Limits,
}

/// Why the executor did not start or ended early.
#[derive(Debug, Error)]
enum ProgramError {
    #[error("could not read the arguments: {what}")]
    Arguments { what: String },
    #[error("could not use the state directory {}", path.display())]
    State {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not lock the state directory {}: another executor uses it", path.display())]
    InUse { path: PathBuf },
    #[error("could not listen on {}", path.display())]
    Listen {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not prepare the process")]
    Prepare {
        #[source]
        source: io::Error,
    },
    #[error(
        "could not run commands as other accounts: fs.suid_dumpable is 1, by which they could read \
         and write the memory of this program; set it to 0 or 2"
    )]
    OpenMemory,
    #[error(
        "could not limit the processes of commands: no pids controller of control groups is to be had \
         here, and commands have no accounts of their own by which they could be counted"
    )]
    NoProcessLimit,
    #[error(transparent)]
    Run(#[from] RunError),
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ProgramError> {
    let fail = |what: String| ProgramError::Arguments { what };
    let (mut socket, mut state, mut pace, mut work) = (None, None, None, None);
    let mut accounts = Accounts::default();
    let mut stream_bytes_max = STREAM_BYTES_MAX;
    let mut containment = ContainmentChoice::default();
    let mut limits = Limits::default();
    let (mut linger, mut kill_grace) = (LINGER, KILL_GRACE);
    let mut arguments = arguments.into_iter();
    while let Some(name) = arguments.next() {
        let value = arguments
            .next()
            .ok_or_else(|| fail(format!("{} needs a value", name.display())))?;
        let span = || {
            let micros = value.to_str().and_then(|text| text.parse().ok()).map(Span);
            micros.ok_or_else(|| {
                fail(format!(
                    "{} is not a number of microseconds",
                    value.display()
                ))
            })
        };
        match name.to_str() {
            Some("--socket") => socket = Some(PathBuf::from(value)),
            Some("--state") => state = Some(PathBuf::from(value)),
            Some("--work") => work = Some(PathBuf::from(value)),
            Some("--linger-micros") => linger = span()?,
            Some("--kill-grace-micros") => kill_grace = span()?,
            Some("--pace") => {
                pace = value.to_str().and_then(Pace::parse);
                if pace.is_none() {
                    return Err(fail(format!("{} is not a pace", value.display())));
                }
            }
            Some("--stream-bytes-max") => {
                let bytes = value.to_str().and_then(|text| text.parse().ok());
                let no_number = || fail(format!("{} is not a number", value.display()));
                stream_bytes_max = bytes.ok_or_else(no_number)?;
            }
            Some("--containment") => {
                let choice = value.to_str().and_then(ContainmentChoice::parse);
                let fail = || fail(format!("{} is no containment", value.display()));
                containment = choice.ok_or_else(fail)?;
            }
            Some(option @ ("--account" | "--account-of" | "--account-of-slot")) => {
                let text = value.to_str().unwrap_or_default();
                let is_one = match option {
                    "--account" => accounts.parse_others(text),
                    "--account-of" => accounts.parse_of_user(text),
                    _ => accounts.parse_of_slot(text),
                };
                if !is_one {
                    return Err(fail(format!("{} is not an account", value.display())));
                }
            }
            Some(name) if limits.parse(name, value.to_str().unwrap_or_default()) => {}
            _ => return Err(fail(format!("{} is not known", name.display()))),
        }
    }
    Ok(Arguments {
        socket: socket.ok_or_else(|| fail("--socket is missing".to_owned()))?,
        state: state.ok_or_else(|| fail("--state is missing".to_owned()))?,
        linger,
        kill_grace,
        pace,
        stream_bytes_max,
        accounts,
        work,
        containment,
        limits,
    })
}

fn run(arguments: &Arguments) -> Result<ExitCode, ProgramError> {
    let prepare = |source| ProgramError::Prepare { source };
    // A session of its own, so that Ctrl-C of a terminal does not reach it. It fails if this
    // process leads a group already, which serves as well.
    let _ = setsid();
    sys::reset_dispositions();
    let termination = sys::termination().map_err(prepare)?;
    sys::close_memory().map_err(prepare)?;
    let has_accounts = arguments.accounts.iter().next().is_some();
    if has_accounts && opens_memory_of_changed() {
        return Err(ProgramError::OpenMemory);
    }
    let files = raise_limits();

    let state = &arguments.state;
    let in_state = |source| ProgramError::State {
        path: state.clone(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(state)
        .map_err(in_state)?;
    let lock = lock(state)?;
    let leftovers = Leftovers::of(state, &lock).map_err(in_state)?;
    if !leftovers.end() {
        warn("some of what an earlier executor's commands started does not end");
    }
    let mut store = Store::default();
    let restored = match outcomes::load(state, clock::wall()) {
        Ok(outcomes) => outcomes,
        Err(error) => {
            let _ = writeln!(io::stderr(), "warning: {error}");
            Vec::new()
        }
    };
    let restored_names = restored.iter().map(|ended| ended.attempt).collect();
    store.restore(restored);
    let log = Log::open(log_directory(state)).map_err(in_state)?;
    let instance = random().map_err(prepare)?;
    let listener = listen(&arguments.socket).map_err(|source| ProgramError::Listen {
        path: arguments.socket.clone(),
        source,
    })?;
    let limits = &arguments.limits;
    let containment = Containment::find(
        leftovers.name(),
        arguments.containment,
        limits.processes_max,
    );
    let counts_users = !arguments.accounts.of_slots.is_empty();
    if limits.processes_max.is_some() && !containment.limits_processes() && !counts_users {
        let groups: Vec<&Path> = containment.groups().collect();
        leftovers.forget(&groups);
        return Err(ProgramError::NoProcessLimit);
    }
    let of_processes = limits.of_processes(files, counts_users && !containment.limits_processes());
    leftovers.begin(containment.groups()).map_err(in_state)?;
    let mark = CString::new(leftovers.mark()).map_err(|source| in_state(source.into()))?;
    // By its path, so that it is found under its name when it was replaced by another version.
    let program = std::env::current_exe().map_err(prepare)?;
    let program = program.into_os_string().into_string().ok();
    let records = Records::of(state, program.clone());
    let guardian = match guardian::split().map_err(prepare)? {
        Side::Executor(channel) => {
            // Clients are told the process that did this last.
            rustix::net::listen(&listener, BACKLOG).map_err(|error| prepare(error.into()))?;
            channel
        }
        Side::Guardian(guardian) => {
            // A connection must fail when the executor has gone.
            drop((listener, termination, log, store));
            let_starter_go().map_err(prepare)?;
            let code = guardian.run(&containment, &leftovers, lock);
            records.remove_all();
            return code.map_err(prepare);
        }
    };
    // It has a thread of its own, which only the executor may have.
    let pool = match &arguments.accounts.of_slots {
        accounts if accounts.is_empty() => None,
        accounts => {
            let pool = Pool::new(accounts.clone(), arguments.work.clone());
            Some(pool.map_err(prepare)?)
        }
    };
    let executor = Executor::new(Parts {
        listener,
        program,
        socket: arguments.socket.clone(),
        state: state.clone(),
        termination,
        log,
        store,
        restored: restored_names,
        instance,
        limits: limits.clone(),
        of_processes,
        linger: arguments.linger,
        kill_grace: arguments.kill_grace,
        pace: arguments.pace.clone(),
        stream_bytes_max: arguments.stream_bytes_max,
        accounts: arguments.accounts.clone(),
        pool,
        containment,
        mark,
        kept: Kept::open(records),
        guardian,
    })
    .map_err(prepare)?;
    tell_ready().map_err(prepare)?;
    executor.run()?;
    Ok(ExitCode::SUCCESS)
}

/// Holds the state directory until the file is dropped. Waits for an earlier executor that is
/// ending.
fn lock(state: &Path) -> Result<File, ProgramError> {
    let in_state = |source| ProgramError::State {
        path: state.to_owned(),
        source,
    };
    let path = state.join("executor.lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(in_state)?;
    let give_up: Mono = clock::mono() + LOCK_WAIT;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if clock::mono() < give_up => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(ProgramError::InUse {
                    path: state.to_owned(),
                });
            }
            Err(error) => return Err(in_state(error.into())),
        }
        // flock has no deadline of its own; a poll of nothing is a pause.
        let pause = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: LOCK_LOOK.0 as i64 * 1_000,
        };
        let _ = rustix::event::poll(&mut [], Some(&pause));
    }
}

/// A socket for this user alone. One of a killed executor is replaced; the lock shows that none is
/// alive.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) | Err(_) => {}
    }
    let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    umask(before);
    listener
}

/// Disables core files of commands, and permits as many open files here as possible. Returns the
/// limit for commands, if it differs.
fn raise_limits() -> Option<Rlimit> {
    let core = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Core).maximum,
    };
    let _ = setrlimit(Resource::Core, core);
    let files = getrlimit(Resource::Nofile);
    if files.current == files.maximum {
        return None;
    }
    let raised = Rlimit {
        current: files.maximum,
        maximum: files.maximum,
    };
    setrlimit(Resource::Nofile, raised).ok().map(|()| files)
}

/// Returns true if the system lets processes read the memory of those that have become their
/// account: a setting for debugging.
fn opens_memory_of_changed() -> bool {
    let setting = fs::read_to_string("/proc/sys/fs/suid_dumpable").unwrap_or_default();
    setting.trim() == "1"
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Tells the starter, then closes its pipe.
fn tell_ready() -> io::Result<()> {
    let mut out = io::stdout();
    // A starter that has gone is noticed by the linger.
    let _ = out
        .write_all(format!("{READY}\n").as_bytes())
        .and_then(|()| out.flush());
    let_starter_go()
}

fn let_starter_go() -> io::Result<()> {
    let null = OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}
