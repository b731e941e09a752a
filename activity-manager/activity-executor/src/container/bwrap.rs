//! Containers of directories, which bubblewrap runs.
//!
//! bubblewrap and its first process in the container end by themselves when they get TERM, or never do. So this
//! program collects what bubblewrap leaves, and ends as the command did.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use wire::executor::ContainerKind;

use super::{NO_CONTAINER, Refused, WORK, Wanted, stay};

/// The directories of an image that the container has of its own.
const OWN: [&str; 5] = ["proc", "dev", "tmp", "run", "job"];

/// Has bubblewrap run the command, and returns how that ended.
pub(super) fn run(wanted: &Wanted) -> Result<WaitStatus, Refused> {
    let refused = Refused::could_not;
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
    let arguments = arguments(wanted, root);
    let arguments = arguments.map_err(|error| refused("read the container's directory", error))?;
    let file = arguments_file(&arguments).map_err(|error| refused("hold arguments", error))?;
    stay()?;
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

/// What bubblewrap is to mount and to share.
pub(super) fn arguments(wanted: &Wanted, root: &Path) -> io::Result<Vec<OsString>> {
    let mut all: Vec<OsString> = Vec::new();
    let mut add = |words: &[&OsStr]| all.extend(words.iter().map(|word| OsString::from(*word)));
    let own = |word: &'static str| OsStr::new(word);
    for space in ["user", "pid", "ipc", "uts"] {
        add(&[OsStr::new(&format!("--unshare-{space}"))]);
    }
    add(&[own("--unshare-cgroup-try")]);
    if !wanted.has_network {
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
    if wanted.has_network
        && root
            .join(resolver)
            .symlink_metadata()
            .is_ok_and(|it| it.is_file())
    {
        let resolver = own("/etc/resolv.conf");
        add(&[own("--ro-bind-try"), resolver, resolver]);
    }
    add(&[own("--bind"), wanted.directory.as_os_str(), own(WORK)]);
    for (source, place) in wanted.inputs() {
        add(&[own("--ro-bind"), source.as_os_str(), place.as_os_str()]);
    }
    add(&[own("--remount-ro"), own("/"), own("--chdir"), own(WORK)]);
    Ok(all)
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

#[cfg(test)]
mod tests;
