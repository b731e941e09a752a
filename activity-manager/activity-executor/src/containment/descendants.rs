//! The descendants of a process, from /proc, and killing them.
//!
//! A process that forks during a reading may be missed. So a tree is stopped from its root down
//! until a reading finds no new process, and only then killed: a stopped process does not fork.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// Processes of one tree in a reading; the rest of a larger tree is found when these have been
/// killed.
const PROCESSES_MAX: usize = 16_384;

/// Readings of a tree until the known part is killed though it still grows: more than the
/// generations that a fork bomb makes in the time of one reading.
const READINGS_MAX: usize = 64;

/// Bytes of a list of children that the kernel returns at once: some 600 of them.
const LIST_BYTES: usize = 4_096;

/// Bytes of the longest number in it, with its separator.
const NUMBER_BYTES: usize = 12;

/// The children of the calling thread.
const LIST: &str = "/proc/thread-self/children";

/// The direct children of this process, for repeated readings.
#[derive(Debug)]
pub(crate) struct Children {
    /// The kernel's list; none if it has none, and all processes are searched instead.
    list: Option<File>,
    own: i32,
}

impl Children {
    /// The children of the calling thread, the only one of its process that starts any.
    pub(crate) fn of_this_process() -> Children {
        Children {
            list: File::open(LIST).ok(),
            own: rustix::process::getpid().as_raw_pid(),
        }
    }

    /// Appends their process ids, including ended ones that are not collected.
    pub(crate) fn read(&self, pids: &mut Vec<i32>) {
        match &self.list {
            Some(list) => {
                let mut bytes = [0; LIST_BYTES];
                let n = list.read_at(&mut bytes, 0).unwrap_or(0);
                let text = std::str::from_utf8(&bytes[..n]).unwrap_or_default();
                if n < LIST_BYTES - NUMBER_BYTES {
                    return add_listed(text, pids);
                }
                // A read from within the list could begin inside a number if a child has ended
                // meanwhile; only one from its beginning is consistent.
                let whole = fs::read_to_string(LIST).unwrap_or_default();
                add_listed(&whole, pids);
            }
            None => pids.extend(
                all_with_parents()
                    .filter(|&(_, parent)| parent == self.own)
                    .map(|(pid, _)| pid),
            ),
        }
    }
}

/// A process and its parent at the time of the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Descendant {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
}

impl Descendant {
    /// Sends a signal if it is still a child of the same process.
    pub(crate) fn signal(self, signal: Signal) {
        signal_if(self.pid, signal, || {
            parent_of(self.pid) == Some(self.parent)
        });
    }
}

/// The processes below one of this machine: what it has started and what those have. One that forks
/// meanwhile may be missed.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = Vec::new();
    if let Ok(root) = i32::try_from(root) {
        add_descendants(root, &mut found);
    }
    let pids = found.iter().map(|one| one.pid.unsigned_abs());
    pids.collect()
}

/// Appends all processes below `root`, without it, parents first.
pub(crate) fn add_descendants(root: i32, all: &mut Vec<Descendant>) {
    let begin = all.len();
    if add_children(root, all).is_err() {
        return add_descendants_by_parents(root, all);
    }
    let mut next = begin;
    while let Some(&Descendant { pid, .. }) = all.get(next) {
        next += 1;
        if all.len() - begin < PROCESSES_MAX {
            // A process that has ended has left its children to another parent, which is searched
            // as well.
            let _ = add_children(pid, all);
        }
    }
}

/// Stops the whole tree, root first, then kills it. `root` is a child of this process that is not
/// collected, so its number is its own.
pub(crate) fn kill_tree(root: Pid) {
    kill_tree_if(root, || true);
}

/// The same for a tree whose root anybody may collect: it is killed if `is_it` confirms that it is
/// still the same process.
pub(crate) fn kill_tree_if(root: Pid, is_it: impl Fn() -> bool) {
    let root = root.as_raw_pid();
    if !signal_if(root, Signal::STOP, &is_it) {
        return;
    }
    let mut stopped = BTreeSet::new();
    let mut found = Vec::new();
    for _ in 0..READINGS_MAX {
        found.clear();
        add_descendants(root, &mut found);
        let mut is_new = false;
        for &one in &found {
            if stopped.insert(one) {
                one.signal(Signal::STOP);
                is_new = true;
            }
        }
        if !is_new {
            break;
        }
    }
    // Children first: an orphan goes to a process that collects strays, and is found there. Parents
    // are stopped, so none of them collects a child and frees its number meanwhile.
    for one in found.iter().rev() {
        one.signal(Signal::KILL);
    }
    signal_if(root, Signal::KILL, is_it);
}

/// Sends a signal to the process with a number, if it is the expected one. Returns true if it was
/// sent.
///
/// The descriptor stays with one process, and a signal through it fails when that has been
/// collected. So `is_it` has examined the same process, and no other one ever gets the signal.
pub(crate) fn signal_if(pid: i32, signal: Signal, is_it: impl FnOnce() -> bool) -> bool {
    let Some(pid) = Pid::from_raw(pid).filter(|pid| *pid != Pid::INIT) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => is_it() && pidfd_send_signal(process, signal).is_ok(),
        // It has ended.
        Err(Errno::SRCH) => false,
        // No descriptor is left: the process is killed by its number, right after the check.
        Err(_) => is_it() && kill_process(pid, signal).is_ok(),
    }
}

/// The parent of a process; none if the process has ended.
pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    parent_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process and its parent.
pub(crate) fn all_with_parents() -> impl Iterator<Item = (i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
}

/// The fourth field. The second is a name in parentheses, which may contain anything.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, after) = stat.rsplit_once(')')?;
    after.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn add_children(parent: i32, all: &mut Vec<Descendant>) -> io::Result<()> {
    let mut pids = Vec::new();
    for thread in fs::read_dir(format!("/proc/{parent}/task"))?.flatten() {
        add_listed(
            &fs::read_to_string(thread.path().join("children"))?,
            &mut pids,
        );
    }
    all.extend(pids.into_iter().map(|pid| Descendant { pid, parent }));
    Ok(())
}

fn add_listed(list: &str, pids: &mut Vec<i32>) {
    pids.extend(
        list.split_ascii_whitespace()
            .filter_map(|pid| pid.parse::<i32>().ok()),
    );
}

/// [`add_descendants`] for kernels that list no children.
fn add_descendants_by_parents(root: i32, found: &mut Vec<Descendant>) {
    let all: Vec<(i32, i32)> = all_with_parents().collect();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for &(pid, _) in all.iter().filter(|(_, its)| *its == parent) {
            found.push(Descendant { pid, parent });
            parents.push(pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_whatever_the_name() {
        assert_eq!(parent_in("12 (sh) S 7 12 12"), Some(7));
        assert_eq!(parent_in("12 (a ) R 1 (b) S 8 12"), Some(8));
        assert_eq!(parent_in("12 (a"), None);
    }

    #[test]
    fn both_ways_find_the_same_descendants() {
        let mut child = std::process::Command::new("sh")
            .args([
                "-c",
                "sleep 100 & (sleep 100 & sleep 100 & wait) & echo; wait",
            ])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let (mut listed, mut scanned) = (Vec::new(), Vec::new());
        // The shell has written its line when it has started all but the last of them.
        let mut word = [0; 1];
        let mut out = child.stdout.take().unwrap();
        io::Read::read_exact(&mut out, &mut word).unwrap();
        while listed.len() < 4 || listed != scanned {
            listed.clear();
            scanned.clear();
            add_descendants(pid, &mut listed);
            add_descendants_by_parents(pid, &mut scanned);
            listed.sort_unstable();
            scanned.sort_unstable();
        }
        kill_tree(Pid::from_child(&child));
        child.wait().unwrap();
    }

    #[test]
    fn nobody_is_signalled_who_is_not_the_one_that_is_meant() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let own = rustix::process::getpid().as_raw_pid();
        // As if the number had been found under another parent, and reused since.
        Descendant { pid, parent: 1 }.signal(Signal::KILL);
        kill_tree_if(Pid::from_child(&child), || false);
        assert!(!signal_if(pid, Signal::KILL, || false));
        assert_eq!(child.try_wait().unwrap(), None);
        assert_eq!(parent_of(pid), Some(own));
        Descendant { pid, parent: own }.signal(Signal::KILL);
        child.wait().unwrap();
        // Once collected, it is no process.
        assert!(!signal_if(pid, Signal::KILL, || true));
    }
}
