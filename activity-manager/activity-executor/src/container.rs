//! The program that a command in a container is started through: it has bubblewrap (`container/bwrap.rs`) or podman
//! (`container/podman.rs`) run the command.
//!
//! It runs as the command does: with its account, directory, limits and time, held together with all that it starts,
//! so whoever stops the command stops the container too. The command sees the image as its root, read-only, its
//! directory as [`WORK`] with its inputs read-only in it, and an empty `/tmp`.
//!
//! This program does not end by the signals that end the command. It stays until the command has ended, and ends as
//! that did.

mod bwrap;
mod podman;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal, WaitStatus};
use rustix::process::{getpid, kill_process, set_child_subreaper, setrlimit};
use wire::executor::{Contained, ContainerKind};

use crate::activation::find;
use crate::{program, sys};

pub(crate) use self::podman::{REMOVAL_ARGUMENT, Removal, removal_main};

/// The argument behind [`program::ARGUMENT`] by which a program becomes this.
pub(crate) const ARGUMENT: &str = "__contain";

/// The directory of the command, in the container.
const WORK: &str = "/job";

/// Inputs that are mounted read-only, one by one: bubblewrap reads the list of all mounts for each, so that a
/// thousand take a second. Further ones are the command's own copies, as outside of containers.
const READ_ONLY_MAX: usize = 256;

/// Exit status where the container cannot be had. Those of a command that is not found are the shell's.
pub(crate) const NO_CONTAINER: u8 = 125;
const NOT_FOUND: u8 = 127;

/// Exit status of a process that ended by a signal, less the number of the signal.
const BY_SIGNAL: i32 = 128;

/// Signals that end a process which does not handle them.
const ENDING: [Signal; 18] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::ILL,
    Signal::TRAP,
    Signal::ABORT,
    Signal::BUS,
    Signal::FPE,
    Signal::KILL,
    Signal::USR1,
    Signal::SEGV,
    Signal::USR2,
    Signal::PIPE,
    Signal::ALARM,
    Signal::TERM,
    Signal::XCPU,
    Signal::XFSZ,
    Signal::SYS,
];

/// The command line that runs a command in a container, by the program that can be this one. `name` is that of the
/// container, which no other one of this machine has.
pub(crate) fn command_line(
    program: &str,
    container: &Contained,
    directory: &str,
    name: &str,
) -> Vec<String> {
    let read_only = container.read_only.iter().take(READ_ONLY_MAX);
    let network = match container.has_network {
        true => "network",
        false => "none",
    };
    let own = [
        program,
        program::ARGUMENT,
        ARGUMENT,
        word(container.kind),
        network,
        &container.image,
        &container.search_path,
        directory,
        name,
    ];
    let variables = container.env.iter();
    let variables = variables.map(|(name, value)| format!("{name}={value}"));
    let counts = [container.env.len(), read_only.len()];
    let own = own.into_iter().map(str::to_owned);
    own.chain(counts.map(|n| n.to_string()))
        .chain(variables)
        .chain(read_only.cloned())
        .chain(container.command.iter().cloned())
        .collect()
}

fn word(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::Bwrap => "bwrap",
        ContainerKind::Podman => "podman",
    }
}

/// What to run, and where.
struct Wanted {
    has_network: bool,
    image: OsString,
    search_path: OsString,
    directory: PathBuf,
    container_name: OsString,
    /// The environment of the program that runs containers, each variable as `NAME=VALUE`.
    env: Vec<OsString>,
    read_only: Vec<OsString>,
    name: OsString,
    arguments: Vec<OsString>,
}

/// Why nothing runs: an exit status and a message.
struct Refused(u8, String);

impl Refused {
    fn could_not(what: &str, error: io::Error) -> Refused {
        Refused(NO_CONTAINER, format!("could not {what}: {error}"))
    }
}

/// Runs the command, and ends as it did.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let ran = match parse(arguments) {
        Some((ContainerKind::Bwrap, wanted)) => bwrap::run(&wanted),
        Some((ContainerKind::Podman, wanted)) => podman::run(&wanted),
        None => Err(Refused(
            NO_CONTAINER,
            "its arguments are not those of a container".to_owned(),
        )),
    };
    match ran {
        Ok(status) => end_as(status),
        Err(Refused(status, message)) => {
            // Nobody else can be told where standard error is closed.
            let _ = writeln!(io::stderr(), "xavantes: {message}");
            ExitCode::from(status)
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<(ContainerKind, Wanted)> {
    let kind = arguments.next()?;
    let kinds = [ContainerKind::Bwrap, ContainerKind::Podman];
    let kind = kinds.into_iter().find(|known| word(*known) == kind)?;
    let has_network = arguments.next()? == "network";
    let image = arguments.next()?;
    let search_path = arguments.next()?;
    let directory = PathBuf::from(arguments.next()?);
    let container_name = arguments.next()?;
    let n_variables: usize = arguments.next()?.to_str()?.parse().ok()?;
    let n_read_only: usize = arguments.next()?.to_str()?.parse().ok()?;
    let wanted = Wanted {
        has_network,
        image,
        search_path,
        directory,
        container_name,
        env: arguments.by_ref().take(n_variables).collect(),
        read_only: arguments.by_ref().take(n_read_only).collect(),
        name: arguments.next()?,
        arguments: arguments.collect(),
    };
    Some((kind, wanted))
}

impl Wanted {
    /// The program that runs containers.
    fn runner(&self, kind: ContainerKind) -> Result<PathBuf, Refused> {
        runner(kind, &self.search_path)
    }

    /// The inputs with their places in the container, those that hold others first. One that is not there is left
    /// out.
    fn inputs(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut inputs: Vec<&OsString> = self.read_only.iter().collect();
        inputs.sort_unstable();
        let paths = inputs.into_iter().map(|input| {
            let place = Path::new(WORK).join(input);
            (self.directory.join(input), place)
        });
        paths.filter(|(source, _)| source.exists()).collect()
    }

    /// The program of the command, by its path in the container: as outside, it is looked up in its directory, then
    /// in its `PATH`.
    fn program(&self, root: &Path) -> Result<PathBuf, Refused> {
        let in_image = |path: PathBuf| is_program_in(root, &path).then_some(path);
        let in_work = |path: &Path| self.in_work(path);
        let name = Path::new(&self.name);
        let path = env::var_os("PATH").unwrap_or_default();
        let found = if let Ok(below) = name.strip_prefix(WORK) {
            in_work(below)
        } else if name.is_absolute() {
            in_image(name.to_owned())
        } else if self.name.as_bytes().contains(&b'/') {
            in_work(name)
        } else {
            let places = || env::split_paths(&path).filter(|place| place.is_absolute());
            in_work(name).or_else(|| places().find_map(|place| in_image(place.join(name))))
        };
        found.ok_or_else(|| {
            let name = self.name.display();
            let message = format!(
                "command not found in the container: {name} (searched {WORK} and PATH {})",
                path.display()
            );
            Refused(NOT_FOUND, message)
        })
    }

    /// The path in the container of a program in the directory of the command.
    fn in_work(&self, path: &Path) -> Option<PathBuf> {
        let place = Path::new(WORK).join(path);
        is_program_in(&self.directory, path).then_some(place)
    }
}

/// The program that runs containers of a kind.
fn runner(kind: ContainerKind, search_path: &OsString) -> Result<PathBuf, Refused> {
    find(word(kind), search_path).ok_or_else(|| {
        let (path, name) = (search_path.display(), word(kind));
        let message = format!("this machine has no {name} (searched PATH {path})");
        Refused(NO_CONTAINER, message)
    })
}

/// Lets this program outlive the signals that end the command, and collect what that leaves. The mask of started
/// programs is empty again.
fn stay() -> Result<(), Refused> {
    sys::block_signals().map_err(|error| Refused::could_not("block signals", error))?;
    set_child_subreaper(Some(getpid()))
        .map_err(|error| Refused::could_not("collect orphans", error.into()))
}

/// Returns true if a path below a root, with all its links followed inside that root, is an executable file. Where
/// the system cannot look in that way, it may be one.
fn is_program_in(root: &Path, path: &Path) -> bool {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    let Ok(root) = rustix::fs::openat(CWD, root, flags, Mode::empty()) else {
        return false;
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(&root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        Ok(file) => fstat(&file).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                && stat.st_mode & 0o111 != 0
        }),
        Err(error) => error == Errno::NOSYS,
    }
}

/// Ends as a command did: by the same signal, where it ended by one.
fn end_as(status: WaitStatus) -> ExitCode {
    let code = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => BY_SIGNAL + signal,
        (None, None) => i32::from(NO_CONTAINER),
    };
    let mut ending = ENDING.into_iter();
    if let Some(signal) = ending.find(|signal| signal.as_raw() == code - BY_SIGNAL) {
        // The dump of this program would say nothing about the command.
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        // Where this program cannot end by the signal, its exit status tells of it.
        let _ = setrlimit(Resource::Core, none);
        // The runtime handles some of them.
        sys::reset_dispositions();
        let _ = sys::unblock_signals();
        let _ = kill_process(getpid(), signal);
    }
    ExitCode::from(u8::try_from(code).unwrap_or(NO_CONTAINER))
}

#[cfg(test)]
mod tests;
