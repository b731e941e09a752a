//! What outlives an executor that was killed, and its end: by the guardian at once, and where that was
//! killed as well, by the next executor of the same state directory before it says that it is there.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Mono, Span};
use rustix::event::poll;
use rustix::process::Pid;
use rustix::time::Timespec;

use super::cgroup;
use super::descendants::{Children, all_with_parents, kill_tree, kill_tree_if};
use crate::clock;
use crate::sys;

/// In the state directory: the groups in which commands may live, a path a line. It is there for as
/// long as any command may be.
const FILE: &str = "containment";

/// What commands have in their environment where they are held as a tree, so that they are found when
/// nobody is left who started them.
const MARK: &str = "XAVANTES_EXECUTOR";

/// How long processes that were killed may take to end. One that takes longer waits in the kernel, for a
/// disk or a network file system, and does nothing more of its own when that answers.
const PATIENCE: Span = Span::from_secs(10);

/// How often it is looked whether they have ended.
const LOOK: Span = Span::from_millis(2);

/// What commands of the executors of one state directory are found by.
#[derive(Clone, Debug)]
pub(crate) struct Leftovers {
    file: PathBuf,
    name: String,
}

impl Leftovers {
    /// Those of a state directory, of which a file is given that stays the same.
    pub(crate) fn of(state: &Path, lock: &File) -> io::Result<Leftovers> {
        let lock = lock.metadata()?;
        Ok(Leftovers {
            file: state.join(FILE),
            name: format!("xavantes-{:x}-{:x}", lock.dev(), lock.ino()),
        })
    }

    /// A name that executors of no other state directory of this machine have.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What a command is to have in its environment.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}={}", self.name)
    }

    /// Writes down where commands may be from here on.
    pub(crate) fn begin<'a>(&self, groups: impl Iterator<Item = &'a Path>) -> io::Result<()> {
        let mut text = Vec::new();
        for group in groups {
            text.extend(group.as_os_str().as_encoded_bytes());
            text.push(b'\n');
        }
        let mut file = File::create(&self.file)?;
        file.write_all(&text)
    }

    /// Ends what earlier executors left, if they left anything. Whether all of it has ended.
    pub(crate) fn end(&self) -> bool {
        let Ok(text) = fs::read_to_string(&self.file) else {
            return true;
        };
        let groups: Vec<&Path> = text.lines().map(Path::new).collect();
        let has_ended = self.end_groups(&groups) & self.end_marked();
        if has_ended {
            self.forget(&groups);
        }
        has_ended
    }

    /// Removes the groups, which are empty, and what was written down.
    pub(crate) fn forget(&self, groups: &[&Path]) {
        for group in groups {
            // A group that could not be removed is taken again by the next executor.
            let _ = cgroup::remove(group);
        }
        let _ = fs::remove_file(&self.file);
    }

    fn end_groups(&self, groups: &[&Path]) -> bool {
        // The file names nothing but what an executor of this name has made.
        let own = |group: &&&Path| group.ends_with(&self.name);
        until(|| {
            let mut is_empty = true;
            for group in groups.iter().filter(own) {
                cgroup::kill(group);
                is_empty &= !cgroup::is_populated(group);
            }
            is_empty
        })
    }

    fn end_marked(&self) -> bool {
        let mark = self.mark();
        until(|| {
            let mut is_empty = true;
            for (pid, _) in all_with_parents() {
                let is_marked = || has_variable(pid, &mark);
                if is_marked()
                    && let Some(pid) = Pid::from_raw(pid)
                {
                    kill_tree_if(pid, is_marked);
                    is_empty = false;
                }
            }
            is_empty
        })
    }
}

/// Whether a process has this in its environment.
fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|&byte| byte == 0);
    variables.any(|one| one == variable.as_bytes())
}

/// Ends every process in these groups and below this one, and collects those. Whether all have ended.
pub(crate) fn end_all(groups: &[&Path]) -> bool {
    let children = Children::of_this_process();
    until(|| {
        let mut is_empty = true;
        for group in groups {
            cgroup::kill(group);
            is_empty &= !cgroup::is_populated(group);
        }
        let mut pids = Vec::new();
        children.read(&mut pids);
        for pid in pids.into_iter().filter_map(Pid::from_raw) {
            if let Ok(None) = sys::wait(pid) {
                kill_tree(pid);
            }
            // Collected or not: its children may have become ours.
            is_empty = false;
        }
        is_empty
    })
}

/// Does something again and again until it is done. Whether it is, in time.
fn until(mut is_done: impl FnMut() -> bool) -> bool {
    let give_up: Mono = clock::mono() + PATIENCE;
    let pause = Timespec {
        tv_sec: 0,
        tv_nsec: LOOK.0 as i64 * 1_000,
    };
    loop {
        if is_done() {
            return true;
        }
        if clock::mono() >= give_up {
            return false;
        }
        // Polling nothing is a pause.
        let _ = poll(&mut [], Some(&pause));
    }
}
