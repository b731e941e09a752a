//! Containers of images, which podman runs.
//!
//! podman runs without control groups of its own, so all of a container stays in those of the command, or below this
//! program, and ends with it. The container has the streams of the command itself (the log driver `passthrough`), so
//! nobody copies its output, and none of that is lost. podman has an environment of its own: the variables of the
//! command are for the container.
//!
//! A container whose processes were killed stays in podman's records until it is removed ([`Removal`]). Until then,
//! podman of an account without rights of root may refuse all work: it wants to join the namespace of a container
//! that it takes to run, and nobody lives there. [`Podman::heal`] has it look at its containers again.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use model::{Mono, Span};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use rustix::process::{
    Gid, Pid, Resource, Uid, WaitOptions, WaitStatus, geteuid, getrlimit, wait, waitpid,
};
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
use rustix::time::Timespec;
use wire::executor::ContainerKind;

use super::{NO_CONTAINER, Refused, WORK, Wanted, runner, stay};
use crate::account::{Numbers, account_of_number};
use crate::clock;
use crate::containment::Children;

/// The argument behind [`crate::program::ARGUMENT`] by which a program removes a container.
pub(crate) const REMOVAL_ARGUMENT: &str = "__remove-container";

/// The first process in a container passes signals on and collects orphans where podman has this program. Without it
/// the command is the first process itself, which the system spares from signals that it does not handle.
const INIT: &str = "/usr/libexec/podman/catatonit";

/// Starts of podman where it refuses all work: another command of the account may be killed in between.
const STARTS_MAX: usize = 3;

/// Tries to remove a container: of one whose processes are gone, podman finds that out by the first.
const REMOVALS_MAX: usize = 4;

/// Time for podman's monitor of a container to end after podman. It then ends with the command.
const MONITOR_MAX: Span = Span::from_secs(5);

/// Interval of looking for the end of the monitor.
const LOOK: Span = Span::from_millis(2);

/// The variables that podman and its libraries read for themselves, by their beginnings. Those of a command are in the
/// command line of podman instead, which others can see, and all others in podman's environment, which they cannot.
const READ_BY_PODMAN: [&str; 18] = [
    "BUILDAH",
    "CONTAINER",
    "DBUS_",
    "DOCKER",
    "GO",
    "HOME",
    "LD_",
    "LISTEN_",
    "LOGNAME",
    "NOTIFY_",
    "PATH",
    "PODMAN",
    "REGISTRY_",
    "STORAGE_",
    "TMPDIR",
    "USER",
    "XDG_",
    "_",
];

/// Has podman run the command, and returns how that ended.
pub(super) fn run(wanted: &Wanted) -> Result<WaitStatus, Refused> {
    let podman = Podman {
        program: runner(ContainerKind::Podman, &wanted.search_path)?,
        search_path: wanted.search_path.clone(),
        env: wanted.env.clone(),
    };
    let arguments = arguments(wanted, &Account::own())?;
    stay()?;
    let mut n_starts = 1;
    loop {
        let ended = podman.run(&arguments)?;
        if n_starts >= STARTS_MAX || ended.has_begun() || !podman.heal() {
            return Ok(ended.status);
        }
        n_starts += 1;
    }
}

/// The account that podman runs as, as far as it matters to podman.
struct Account {
    is_root: bool,
    /// True if it has further user ids for the users of an image.
    has_further_ids: bool,
}

impl Account {
    fn own() -> Account {
        let user = geteuid().as_raw();
        let name = account_of_number(user).ok().flatten();
        let has = |path: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            has_range(&text, user, name.as_deref())
        };
        Account {
            is_root: user == 0,
            has_further_ids: has("/etc/subuid") && has("/etc/subgid"),
        }
    }
}

/// Returns true if a file of subordinate ids has some for a user.
fn has_range(text: &str, user: u32, name: Option<&str>) -> bool {
    let user = user.to_string();
    let mut owners = text.lines().filter_map(|line| line.split(':').next());
    owners.any(|owner| owner == user || Some(owner) == name)
}

/// The command line of podman behind its name.
fn arguments(wanted: &Wanted, account: &Account) -> Result<Vec<OsString>, Refused> {
    let mut all: Vec<OsString> = [
        "run",
        "--rm",
        "--quiet",
        "--read-only",
        "--cgroups=disabled",
        "--log-driver=passthrough",
        // The directory keeps the label that it has, which SELinux would keep the container from.
        "--security-opt=label=disable",
        "--http-proxy=false",
        // As much of the memory as the command may have.
        "--shm-size=0",
    ]
    .map(OsString::from)
    .to_vec();
    all.push(assigned("--name", &wanted.container_name));
    if Path::new(INIT).exists() {
        all.push("--init".into());
    }
    // podman's own limits are above those of the machine, which only the administrator may pass.
    for (name, resource, limit_max) in [
        ("nofile", Resource::Nofile, None),
        // podman lowers its own limit to the number of processes that there can be.
        ("nproc", Resource::Nproc, processes_max()),
    ] {
        let limit = getrlimit(resource);
        let text = |limit: Option<u64>| {
            let limit = limit.into_iter().chain(limit_max).min();
            limit.map_or("-1".to_owned(), |limit| limit.to_string())
        };
        let (soft, hard) = (text(limit.current), text(limit.maximum));
        all.push(format!("--ulimit={name}={soft}:{hard}").into());
    }
    // Files of the directory stay those of whoever runs the command, whichever user an image names.
    all.push(match (account.is_root, account.has_further_ids) {
        (false, true) => "--userns=keep-id".into(),
        (true, _) | (false, false) => "--user=0:0".into(),
    });
    // As outside of containers, and for those of directories. A network between the two would need programs of its
    // own, and would outlive a killed container.
    all.push(match wanted.has_network {
        true => "--network=host".into(),
        false => "--network=none".into(),
    });
    let unmountable = |path: &Path| {
        let message = format!(
            "podman cannot mount {}: its path has : and , or \"",
            path.display()
        );
        Refused(NO_CONTAINER, message)
    };
    let directory = mount(&wanted.directory, Path::new(WORK), "");
    all.push(directory.ok_or_else(|| unmountable(&wanted.directory))?);
    // An input that cannot be mounted is the command's own copy, as outside of containers.
    let inputs = wanted.inputs().into_iter();
    all.extend(inputs.filter_map(|(source, place)| mount(&source, &place, "ro")));
    all.push(format!("--workdir={WORK}").into());
    for (name, value) in env::vars_os() {
        let mut text = assigned("--env", &name);
        if is_read_by_podman(&name) {
            text.push("=");
            text.push(value);
        }
        all.push(text);
    }
    let program = Path::new(&wanted.name);
    let program = match program.is_absolute() {
        true => None,
        false => wanted.in_work(program),
    };
    let program = program.map_or_else(|| wanted.name.clone(), PathBuf::into_os_string);
    all.extend([
        "--entrypoint=".into(),
        "--".into(),
        wanted.image.clone(),
        program,
    ]);
    all.extend(wanted.arguments.iter().cloned());
    Ok(all)
}

fn assigned(option: &str, value: &OsStr) -> OsString {
    let mut text = OsString::from(option);
    text.push("=");
    text.push(value);
    text
}

/// The argument that mounts a path; none if podman's syntax has no way to write it.
fn mount(source: &Path, place: &Path, how: &str) -> Option<OsString> {
    let has = |byte: u8| {
        let bytes = source.as_os_str().as_bytes().iter();
        bytes
            .chain(place.as_os_str().as_bytes())
            .any(|&one| one == byte)
    };
    let (before, between, comma) = match (has(b':'), has(b',') || has(b'"')) {
        (false, _) => ("--volume=", ":", ":"),
        (true, false) => ("--mount=type=bind,src=", ",dst=", ","),
        (true, true) => return None,
    };
    let mut text = OsString::from(before);
    text.push(source);
    text.push(between);
    text.push(place);
    if !how.is_empty() {
        text.push(comma);
        text.push(how);
    }
    Some(text)
}

fn is_read_by_podman(name: &OsStr) -> bool {
    let name = name.as_bytes();
    READ_BY_PODMAN
        .iter()
        .any(|start| name.starts_with(start.as_bytes()))
}

/// The number of processes that there can be.
fn processes_max() -> Option<u64> {
    let text = fs::read_to_string("/proc/sys/kernel/pid_max").ok()?;
    text.trim().parse().ok()
}

/// podman, and its environment.
struct Podman {
    program: PathBuf,
    search_path: OsString,
    env: Vec<OsString>,
}

/// The end of a run of podman.
struct RunEnded {
    status: WaitStatus,
    /// True if podman left processes to this one, as it does with the monitor of a container.
    left_any: bool,
}

impl RunEnded {
    /// Returns true if the container was begun, so that the command must not be started once more.
    fn has_begun(&self) -> bool {
        self.left_any || self.status.exit_status() != Some(i32::from(NO_CONTAINER))
    }
}

impl Podman {
    /// The program without arguments, in its own environment.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os().filter(|(name, _)| is_read_by_podman(name)) {
            command.env_remove(name);
        }
        for variable in &self.env {
            let bytes = variable.as_bytes();
            if let Some(at) = bytes.iter().position(|&byte| byte == b'=') {
                let (name, value) = (&bytes[..at], &bytes[at + 1..]);
                command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
            }
        }
        command.env("PATH", &self.search_path);
        command
    }

    /// Runs it to its end, and collects what it leaves.
    fn run(&self, arguments: &[OsString]) -> Result<RunEnded, Refused> {
        let started = self.command().args(arguments).spawn();
        let started = started.map_err(|error| Refused::could_not("start podman", error))?;
        let podman = Pid::from_raw(started.id() as i32);
        let mut left_any = false;
        let status = loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if Some(pid) == podman => {
                    if status.exited() || status.signaled() {
                        break status;
                    }
                }
                Ok(Some(_)) => left_any = true,
                Ok(None) | Err(Errno::INTR) => {}
                Err(error) => return Err(Refused::could_not("wait for podman", error.into())),
            }
        };
        left_any |= await_monitors();
        Ok(RunEnded { status, left_any })
    }

    /// Makes it work again where it refuses all work, and returns true if it did so.
    fn heal(&self) -> bool {
        let is_done = |arguments: &[&str]| {
            let mut command = self.command();
            let streams = command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let status = streams.args(arguments).status();
            status.is_ok_and(|status| status.success())
        };
        // Another command of the account must not begin between the two steps, of which the second ends every
        // container that runs. None does where podman refuses all work.
        let home = self
            .env
            .iter()
            .find_map(|variable| variable.as_bytes().strip_prefix(b"HOME="));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let home = home.and_then(|home| open(home, flags, Mode::empty()).ok());
        if let Some(home) = &home {
            let _ = flock(home, FlockOperation::LockExclusive);
        }
        if is_done(&["ps", "--quiet"]) {
            return false;
        }
        is_done(&["system", "migrate"])
    }

    /// Removes a container, and all that podman knows of it. Returns true if it is gone, or has never been there.
    fn remove(&self, name: &str) -> bool {
        for _ in 0..REMOVALS_MAX {
            let mut command = self.command();
            command.args([
                "rm",
                "--force",
                "--time=0",
                "--ignore",
                "--volumes",
                "--",
                name,
            ]);
            let streams = command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            if streams.status().is_ok_and(|status| status.success()) {
                return true;
            }
            self.heal();
        }
        false
    }
}

/// Waits until podman's monitors among the children of this process have ended: they look after the container to
/// its end, and have what its processes took. Returns true if there were any.
fn await_monitors() -> bool {
    let children = Children::of_this_process();
    let give_up: Mono = clock::mono() + MONITOR_MAX;
    let mut had_any = false;
    loop {
        let mut pids = Vec::new();
        children.read(&mut pids);
        let is_monitor = |pid: &i32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name.trim_end() == "conmon")
        };
        pids.retain(is_monitor);
        had_any |= !pids.is_empty();
        let collect = |pid: &i32| {
            let pid = Pid::from_raw(*pid);
            pid.is_some_and(|pid| matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)))
        };
        pids.retain(collect);
        if pids.is_empty() || clock::mono() >= give_up {
            return had_any;
        }
        let pause = Timespec {
            tv_sec: 0,
            tv_nsec: LOOK.0 as i64 * 1_000,
        };
        // A poll of nothing is a pause.
        let _ = rustix::event::poll(&mut [], Some(&pause));
    }
}

/// What removes a container, whichever process has started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    /// Its name.
    pub(crate) name: String,
    /// The account that it belongs to; none for that of this program.
    pub(crate) account: Option<Numbers>,
    /// The directories in which podman is looked up.
    pub(crate) search_path: String,
    /// The environment of podman.
    pub(crate) env: Vec<(String, String)>,
}

impl Removal {
    /// Its parts as arguments of [`removal_main`].
    pub(crate) fn arguments(&self) -> Vec<String> {
        let account = self.account.as_ref().map(Numbers::argument);
        let own = [
            self.name.clone(),
            account.unwrap_or_default(),
            self.search_path.clone(),
        ];
        let env = self
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        own.into_iter().chain(env).collect()
    }

    /// Reads what [`Removal::arguments`] wrote.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Removal> {
        let name = arguments.next().filter(|name| !name.is_empty())?;
        let account = match arguments.next()?.as_str() {
            "" => None,
            text => Some(Numbers::parse(text)?),
        };
        let search_path = arguments.next()?;
        let variable = |text: String| {
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        let env = arguments.map(variable).collect::<Option<_>>()?;
        Some(Removal {
            name,
            account,
            search_path,
            env,
        })
    }
}

/// Removes a container as its account. Succeeds if it is gone, or has never been there.
pub(crate) fn removal_main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments = arguments.map(|argument| argument.into_string().ok());
    let Some(removal) = arguments
        .collect::<Option<Vec<_>>>()
        .and_then(|all| Removal::parse(all.into_iter()))
    else {
        return ExitCode::FAILURE;
    };
    if let Some(account) = &removal.account
        && become_account(account).is_err()
    {
        return ExitCode::FAILURE;
    }
    // podman wants to be able to enter its directory.
    let _ = env::set_current_dir("/");
    let search_path = OsString::from(&removal.search_path);
    let Ok(program) = runner(ContainerKind::Podman, &search_path) else {
        return ExitCode::FAILURE;
    };
    let env = removal.env.iter();
    let podman = Podman {
        program,
        search_path,
        env: env
            .map(|(name, value)| format!("{name}={value}").into())
            .collect(),
    };
    match podman.remove(&removal.name) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Makes this thread, the only one of its process, and all that it starts run as an account.
fn become_account(account: &Numbers) -> rustix::io::Result<()> {
    let others: Vec<Gid> = account.others.iter().copied().map(Gid::from_raw).collect();
    set_thread_groups(&others)?;
    set_thread_gid(Gid::from_raw(account.group))?;
    set_thread_uid(Uid::from_raw(account.user))
}

#[cfg(test)]
mod tests;
