//! The program that a command in a container is started through: it has bubblewrap or podman run the command.
//!
//! It runs as the command does: with its account, directory, limits and time, held together with all that it starts,
//! so whoever stops the command stops the container too. The command sees the image as its root, read-only, its
//! directory as [`WORK`] with its inputs read-only in it, and an empty `/tmp`.
//!
//! bubblewrap and its first process in the container end by themselves when they get TERM, or never do. So this
//! program stays, does not end by TERM itself, collects what bubblewrap leaves, and ends as the command did.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::{
    CWD, FileType, MemfdFlags, Mode, OFlags, ResolveFlags, fstat, memfd_create, openat2,
};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};
use rustix::process::{getpid, kill_process, set_child_subreaper, setrlimit, wait};
use wire::executor::{Contained, ContainerKind};

use crate::activation::find;
use crate::{program, sys};

/// The argument behind [`program::ARGUMENT`] by which a program becomes this.
pub(crate) const ARGUMENT: &str = "__contain";

/// The directory of the command, in the container.
const WORK: &str = "/job";

/// Inputs that are mounted read-only, one by one: bubblewrap reads the list of all mounts for each, so that a
/// thousand take a second. Further ones are the command's own copies, as outside of containers.
const READ_ONLY_MAX: usize = 256;

/// The directories of an image that the container has of its own.
const OWN: [&str; 5] = ["proc", "dev", "tmp", "run", "job"];

/// Exit status where the container cannot be had. Those of a command that is not found are the shell's.
const NO_CONTAINER: u8 = 125;
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

/// The command line that runs a command in a container, by the program that can be this one.
pub(crate) fn command_line(program: &str, container: &Contained, directory: &str) -> Vec<String> {
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
    ];
    let own = own.into_iter().map(str::to_owned);
    let n_read_only = read_only.len().to_string();
    own.chain([n_read_only])
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
    read_only: Vec<OsString>,
    name: OsString,
    arguments: Vec<OsString>,
}

/// Why nothing runs: an exit status and a message.
struct Refused(u8, String);

/// Runs the command, and ends as it did.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let ran = match parse(arguments) {
        Some((ContainerKind::Bwrap, wanted)) => through_bwrap(&wanted),
        Some((ContainerKind::Podman, wanted)) => Err(become_podman(&wanted)),
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
    let n_read_only: usize = arguments.next()?.to_str()?.parse().ok()?;
    let read_only: Vec<OsString> = arguments.by_ref().take(n_read_only).collect();
    let wanted = Wanted {
        has_network,
        image,
        search_path,
        directory,
        read_only,
        name: arguments.next()?,
        arguments: arguments.collect(),
    };
    Some((kind, wanted))
}

impl Wanted {
    /// The program that runs containers.
    fn runner(&self, kind: ContainerKind) -> Result<PathBuf, Refused> {
        find(word(kind), &self.search_path).ok_or_else(|| {
            let path = self.search_path.display();
            let name = word(kind);
            Refused(
                NO_CONTAINER,
                format!("this machine has no {name} (searched PATH {path})"),
            )
        })
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
        let in_work = |path: &Path| {
            let place = Path::new(WORK).join(path);
            is_program_in(&self.directory, path).then_some(place)
        };
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

    /// What bubblewrap is to mount and to share.
    fn bwrap_arguments(&self, root: &Path) -> io::Result<Vec<OsString>> {
        let mut all: Vec<OsString> = Vec::new();
        let mut add = |words: &[&OsStr]| all.extend(words.iter().map(|word| OsString::from(*word)));
        let own = |word: &'static str| OsStr::new(word);
        for space in ["user", "pid", "ipc", "uts"] {
            add(&[OsStr::new(&format!("--unshare-{space}"))]);
        }
        add(&[own("--unshare-cgroup-try")]);
        if !self.has_network {
            add(&[own("--unshare-net")]);
        }
        // An image in one piece could have no places for what is mounted in it.
        for entry in fs::read_dir(root)? {
            let entry = entry?;
            let name = entry.file_name();
            if OWN.iter().any(|own| name == *own) {
                continue;
            }
            let (source, place) = (entry.path(), Path::new("/").join(&name));
            if entry.file_type()?.is_symlink() {
                let target = fs::read_link(&source)?;
                add(&[own("--symlink"), target.as_os_str(), place.as_os_str()]);
            } else {
                add(&[own("--ro-bind"), source.as_os_str(), place.as_os_str()]);
            }
        }
        add(&[own("--proc"), own("/proc"), own("--dev"), own("/dev")]);
        add(&[own("--perms"), own("1777"), own("--tmpfs"), own("/tmp")]);
        add(&[own("--tmpfs"), own("/run")]);
        let resolver = "etc/resolv.conf";
        if self.has_network
            && root
                .join(resolver)
                .symlink_metadata()
                .is_ok_and(|it| it.is_file())
        {
            let resolver = own("/etc/resolv.conf");
            add(&[own("--ro-bind-try"), resolver, resolver]);
        }
        add(&[own("--bind"), self.directory.as_os_str(), own(WORK)]);
        for (source, place) in self.inputs() {
            add(&[own("--ro-bind"), source.as_os_str(), place.as_os_str()]);
        }
        add(&[own("--remount-ro"), own("/"), own("--chdir"), own(WORK)]);
        Ok(all)
    }

    /// What podman is told before the command.
    fn podman_arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = ["run", "--rm", "--read-only", "--cgroups=disabled"]
            .map(OsString::from)
            .to_vec();
        // Files of the directory stay those of whoever runs the command.
        all.push("--userns=keep-id".into());
        all.push(match self.has_network {
            true => "--network=private".into(),
            false => "--network=none".into(),
        });
        let mut mount = |source: &Path, place: &Path, how: &str| {
            let mut text = OsString::from("--mount=type=bind,src=");
            text.push(source);
            text.push(",dst=");
            text.push(place);
            text.push(how);
            all.push(text);
        };
        mount(&self.directory, Path::new(WORK), "");
        for (source, place) in self.inputs() {
            mount(&source, &place, ",ro");
        }
        all.push(format!("--workdir={WORK}").into());
        for (name, _) in env::vars_os() {
            let mut text = OsString::from("--env=");
            text.push(name);
            all.push(text);
        }
        all.extend(["--entrypoint=".into(), "--".into(), self.image.clone()]);
        all
    }
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

/// Has bubblewrap run the command, and returns how that ended.
fn through_bwrap(wanted: &Wanted) -> Result<WaitStatus, Refused> {
    let refused =
        |what: &str, error: io::Error| Refused(NO_CONTAINER, format!("could not {what}: {error}"));
    let runner = wanted.runner(ContainerKind::Bwrap)?;
    let root = Path::new(&wanted.image);
    if !root.is_dir() {
        let message = format!(
            "its container is not on this machine: no directory {}",
            root.display()
        );
        return Err(Refused(NO_CONTAINER, message));
    }
    let program = wanted.program(root)?;
    let arguments = wanted.bwrap_arguments(root);
    let arguments = arguments.map_err(|error| refused("read the container's directory", error))?;
    let file = arguments_file(&arguments).map_err(|error| refused("hold arguments", error))?;
    // Signals that end the command are for the command. Its mask is empty again when it starts.
    sys::block_signals().map_err(|error| refused("block signals", error))?;
    set_child_subreaper(Some(getpid()))
        .map_err(|error| refused("collect orphans", error.into()))?;
    let child = Command::new(&runner)
        .arg("--args")
        .arg(file.as_raw_fd().to_string())
        .arg("--")
        .arg(program)
        .args(&wanted.arguments)
        .spawn();
    let child = child.map_err(|error| refused("start bwrap", error))?;
    let child = Pid::from_raw(child.id() as i32);
    let mut last = None;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                // Where bubblewrap was ended alone, its first process in the container comes here, which ends as
                // the command does.
                if Some(pid) == child && status.exited() {
                    return Ok(status);
                }
                if status.exited() || status.signaled() {
                    last = Some(status);
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => {
                return last.ok_or_else(|| refused("wait for the command", error.into()));
            }
        }
    }
}

/// Arguments in a file that a started program reads, each with a NUL behind it: a command line has less room.
fn arguments_file(arguments: &[OsString]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("arguments", MemfdFlags::empty())?);
    for argument in arguments {
        file.write_all(argument.as_bytes())?;
        file.write_all(b"\0")?;
    }
    io::Seek::rewind(&mut file)?;
    Ok(file.into())
}

/// Becomes podman. Returns where that fails.
fn become_podman(wanted: &Wanted) -> Refused {
    let runner = match wanted.runner(ContainerKind::Podman) {
        Ok(runner) => runner,
        Err(refused) => return refused,
    };
    let error = Command::new(&runner)
        .args(wanted.podman_arguments())
        .arg(&wanted.name)
        .args(&wanted.arguments)
        .exec();
    let message = format!("could not execute {}: {error}", runner.display());
    Refused(NO_CONTAINER, message)
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
