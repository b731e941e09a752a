//! Control groups: the place where this process may make some, and one for each slot.
//!
//! Version 2 kills every process of a group at once (`cgroup.kill`), whatever they do meanwhile,
//! and tells whether any is left. Memory is limited by its memory controller if it can be enabled,
//! else by the controller of version 1 if that is mounted. Groups are made once and reused.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags, access, open};

/// Bytes of files that are read for each command: `cgroup.events` and its like have two or three short lines.
const EVENTS_BYTES: usize = 128;

/// Members of a group that are read at once.
const MEMBERS_MAX: usize = 16_384;

/// The groups of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Its group of version 2.
    pub(crate) unified: Option<PathBuf>,
    /// Its group of the memory controller of version 1.
    pub(crate) memory: Option<PathBuf>,
    /// Its group of the controller of version 1 that counts processes.
    pub(crate) processes: Option<PathBuf>,
}

impl Own {
    /// The groups of this process.
    pub(crate) fn find() -> Own {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Own::parse(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    fn parse(mountinfo: &str, cgroup: &str) -> Own {
        let mut own = Own::default();
        for mount in mountinfo.lines().filter_map(Mount::parse) {
            let has =
                |controller: &str| mount.options.split(',').any(|option| option == controller);
            let (place, controllers) = match mount.kind {
                "cgroup2" => (&mut own.unified, ""),
                "cgroup" if has("memory") => (&mut own.memory, "memory"),
                "cgroup" if has("pids") => (&mut own.processes, "pids"),
                _ => continue,
            };
            if place.is_none() {
                *place = path_in(cgroup, controllers).and_then(|path| mount.directory(path));
            }
        }
        own
    }
}

/// A line of /proc/self/mountinfo.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Mount {
            root: place.next()?,
            point: place.next()?,
            kind: system.next()?,
            options: system.nth(1)?,
        })
    }

    /// The path of a group through this mount, which may show only a part of the hierarchy.
    fn directory(&self, path: &str) -> Option<PathBuf> {
        let below = match self.root {
            "/" => path,
            root => path.strip_prefix(root)?,
        };
        let is_within = below.is_empty() || below.starts_with('/');
        let is_plain = !below.split('/').any(|part| part == "..") && !self.point.contains('\\');
        (is_within && is_plain).then(|| Path::new(self.point).join(below.trim_start_matches('/')))
    }
}

/// The path of the group in a hierarchy, by the name of a controller; "" is version 2.
fn path_in<'a>(cgroup: &'a str, controller: &str) -> Option<&'a str> {
    cgroup.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers
            .split(',')
            .any(|one| one == controller)
            .then_some(path)
    })
}

/// The group of version 2 of one slot.
#[derive(Debug)]
pub(crate) struct SlotGroup {
    path: PathBuf,
    directory: OwnedFd,
    events: File,
    /// True if the memory controller of version 2 is enabled.
    has_memory: bool,
    /// Its limit of processes, if any.
    processes: Option<ProcessLimit>,
    was_killed: Cell<bool>,
}

impl SlotGroup {
    /// Makes the group. It fails if one exists, which may have been killed
    /// ([`SlotGroup::is_spent`]).
    pub(crate) fn make(path: PathBuf) -> io::Result<SlotGroup> {
        fs::create_dir(&path)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(SlotGroup {
            directory: open(&path, flags, Mode::empty())?,
            events: File::open(path.join("cgroup.events"))?,
            has_memory: path.join("memory.max").exists(),
            processes: None,
            was_killed: Cell::new(false),
            path,
        })
    }

    /// The directory for creating a process in it.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Returns true if a process lives in it or below it.
    pub(crate) fn is_populated(&self) -> bool {
        // It can be read as long as the group exists, and a group with processes exists.
        let text = read_kept(&self.events).unwrap_or_default();
        number_after(&text, "populated") > 0
    }

    /// Kills every process in it and below.
    pub(crate) fn kill(&self) {
        self.was_killed.set(true);
        kill(&self.path);
    }

    /// Returns true if the next command needs another group: Linux 6.14 and later kill every
    /// process created in a group that was killed before, because they compare its count of kills
    /// with that of the creator's group.
    pub(crate) fn is_spent(&self) -> bool {
        self.was_killed.get()
    }

    /// Returns true if it is not there any more.
    pub(crate) fn is_removed(&self) -> bool {
        read_kept(&self.events).is_err()
    }

    /// Removes the empty group.
    pub(crate) fn remove(&self) {
        // A group that is not removed here is removed at the executor's end.
        let _ = remove(&self.path);
    }

    /// Returns true if its memory can be limited.
    pub(crate) fn has_memory(&self) -> bool {
        self.has_memory
    }

    /// Appends its processes.
    pub(crate) fn add_members(&self, pids: &mut Vec<i32>) {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        let members = text.lines().filter_map(|line| line.parse::<i32>().ok());
        pids.extend(members.take(MEMBERS_MAX));
    }

    /// Returns true if a process is in it.
    pub(crate) fn has(&self, pid: i32) -> bool {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let at = path_in(&text, "").map(Path::new);
        // If this process sees its groups below another one, the beginnings differ; the name of the
        // executor's group is unique.
        let mut last = self.path.components().rev();
        let names = [last.next(), last.next()];
        at.is_some_and(|at| {
            let mut its = at.components().rev();
            [its.next(), its.next()] == names
        })
    }

    /// Limits its memory and swap, or lifts the limit. Returns false if its controller is not
    /// enabled.
    pub(crate) fn limit_memory(&self, bytes_max: Option<u64>) -> bool {
        if !self.has_memory {
            return false;
        }
        let limit = bytes_max.map_or("max".to_owned(), |bytes| bytes.to_string());
        let swap = if bytes_max.is_some() { "0" } else { "max" };
        // A kernel without swap accounting has no such file.
        let _ = write(&self.path.join("memory.swap.max"), swap);
        write(&self.path.join("memory.max"), &limit).is_ok()
    }

    /// Number of its processes that the kernel killed for lack of memory.
    pub(crate) fn n_memory_kills(&self) -> u64 {
        count_in(&self.path.join("memory.events"), "oom_kill")
    }

    /// Limits its processes and threads, for all commands.
    pub(crate) fn limit_processes(&mut self, processes_max: u32) -> io::Result<()> {
        self.processes = Some(ProcessLimit::set(&self.path, processes_max)?);
        Ok(())
    }

    pub(crate) fn processes(&self) -> Option<&ProcessLimit> {
        self.processes.as_ref()
    }
}

/// The limit on the processes of one slot's group, with the controller of either version. Its files stay open: they are
/// read for each command.
#[derive(Debug)]
pub(crate) struct ProcessLimit {
    /// None where the system does not count what it refuses.
    events: Option<File>,
    current: File,
}

impl ProcessLimit {
    /// Limits an existing group.
    pub(crate) fn set(group: &Path, processes_max: u32) -> io::Result<ProcessLimit> {
        write(&group.join("pids.max"), &processes_max.to_string())?;
        Ok(ProcessLimit {
            events: File::open(group.join("pids.events")).ok(),
            current: File::open(group.join("pids.current"))?,
        })
    }

    /// Number of processes and threads that were refused.
    pub(crate) fn n_refused(&self) -> u64 {
        let text = self
            .events
            .as_ref()
            .and_then(|events| read_kept(events).ok());
        number_after(&text.unwrap_or_default(), "max")
    }

    /// Returns true if processes count towards it, including ended ones that are not collected yet.
    pub(crate) fn is_charged(&self) -> bool {
        read_kept(&self.current).is_ok_and(|current| current.trim_end() != "0")
    }

    /// Returns true if its group is not there any more.
    fn is_removed(&self) -> bool {
        read_kept(&self.current).is_err()
    }
}

/// The group of one slot with the controller of version 1 that counts processes.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    limit: ProcessLimit,
    procs: File,
}

impl ProcessGroup {
    /// Makes the group, or uses an existing one.
    pub(crate) fn make(path: &Path, processes_max: u32) -> io::Result<ProcessGroup> {
        make(path)?;
        let procs = OpenOptions::new()
            .write(true)
            .open(path.join("cgroup.procs"))?;
        let limit = ProcessLimit::set(path, processes_max)?;
        Ok(ProcessGroup { limit, procs })
    }

    /// The file through which a process enters by writing `0`.
    pub(crate) fn procs(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    pub(crate) fn limit(&self) -> &ProcessLimit {
        &self.limit
    }

    /// Returns true if it is not there any more.
    pub(crate) fn is_removed(&self) -> bool {
        self.limit.is_removed()
    }
}

/// The group of one slot with the memory controller of version 1.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    path: PathBuf,
    /// The file through which a process enters by writing `0`.
    procs: File,
}

impl MemoryGroup {
    /// Makes the group, or uses an existing one.
    pub(crate) fn make(path: PathBuf) -> io::Result<MemoryGroup> {
        make(&path)?;
        let procs = OpenOptions::new()
            .write(true)
            .open(path.join("cgroup.procs"))?;
        Ok(MemoryGroup { path, procs })
    }

    /// Returns true if it is not there any more.
    pub(crate) fn is_removed(&self) -> bool {
        !self.path.exists()
    }

    /// Limits its memory and swap. It fails if more is charged to it already: files in memory that
    /// an earlier command left.
    pub(crate) fn limit(&self, bytes_max: u64) -> io::Result<()> {
        let with_swap = self.path.join("memory.memsw.limit_in_bytes");
        let limit = bytes_max.to_string();
        // The limit with swap may never be below the other, and some kernels do not have it.
        let _ = write(&with_swap, "-1");
        write(&self.path.join("memory.limit_in_bytes"), &limit)?;
        let _ = write(&with_swap, &limit);
        Ok(())
    }

    /// The file through which a process enters by writing `0`.
    pub(crate) fn procs(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    /// Number of its processes that the kernel killed for lack of memory.
    pub(crate) fn n_memory_kills(&self) -> u64 {
        count_in(&self.path.join("memory.oom_control"), "oom_kill")
    }
}

/// Makes a group, or uses an existing one.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Returns true if this process may move processes into a group.
pub(crate) fn may_move_to(path: &Path) -> bool {
    access(path.join("cgroup.procs"), Access::WRITE_OK).is_ok()
}

/// Kills all processes in a group and below it.
pub(crate) fn kill(path: &Path) {
    // A group that is gone has no processes.
    let _ = write(&path.join("cgroup.kill"), "1");
}

/// Returns true if a process lives in a group or below it; false if the group is gone.
pub(crate) fn is_populated(path: &Path) -> bool {
    count_in(&path.join("cgroup.events"), "populated") > 0
}

/// Removes a group with those below it, as far as they are empty.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove(&entry.path())?;
        }
    }
    fs::remove_dir(path)
}

/// Enables a controller for the groups below `path`. It fails if processes live in it.
pub(crate) fn enable(path: &Path, controller: &str) -> io::Result<()> {
    let has = |file: &str| {
        let text = fs::read_to_string(path.join(file)).unwrap_or_default();
        text.split_ascii_whitespace().any(|one| one == controller)
    };
    if has("cgroup.subtree_control") {
        return Ok(());
    }
    if !has("cgroup.controllers") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    write(
        &path.join("cgroup.subtree_control"),
        &format!("+{controller}"),
    )
}

pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The present content of an open file of a group. It fails when the group is gone.
fn read_kept(file: &File) -> io::Result<String> {
    let mut bytes = [0; EVENTS_BYTES];
    let n = file.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..n]).into_owned())
}

/// The number after a word at the beginning of a line; 0 if there is none.
fn count_in(path: &Path, word: &str) -> u64 {
    number_after(&fs::read_to_string(path).unwrap_or_default(), word)
}

/// The same in the content of a file.
fn number_after(text: &str, word: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    let found = lines.find(|(name, _)| *name == word);
    found
        .and_then(|(_, number)| number.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
