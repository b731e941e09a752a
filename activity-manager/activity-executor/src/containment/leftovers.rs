//! Processes that outlive a killed executor. The guardian ends them at once; if it was killed too,
//! the next executor of the same state directory does, before it announces itself.

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

/// The file in the state directory with the groups that may have commands, one path a line. It
/// exists for as long as any command may exist.
const FILE: &str = "containment";

/// The environment variable of commands that are contained as a tree, by which they are found when
/// nobody is left who started them.
const MARK: &str = "XAVANTES_EXECUTOR";

/// Time for which killed processes may take to end. One that takes longer waits in the kernel, for
/// a disk or a network file system, and executes nothing of its own afterwards.
const PATIENCE: Span = Span::from_secs(10);

/// Interval of looking for their end.
const LOOK: Span = Span::from_millis(2);

/// Identifies the commands of the executors of one state directory.
#[derive(Clone, Debug)]
pub(crate) struct Leftovers {
    file: PathBuf,
    name: String,
}

impl Leftovers {
    /// The leftovers of a state directory; `lock` is a file that stays the same.
    pub(crate) fn of(state: &Path, lock: &File) -> io::Result<Leftovers> {
        let lock = lock.metadata()?;
        Ok(Leftovers {
            file: state.join(FILE),
            name: format!("xavantes-{:x}-{:x}", lock.dev(), lock.ino()),
        })
    }

    /// A name that no other state directory's executor on this machine has.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The value of the variable in the environment of commands.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}={}", self.name)
    }

    /// Records the groups that may have commands from here on.
    pub(crate) fn begin<'a>(&self, groups: impl Iterator<Item = &'a Path>) -> io::Result<()> {
        let mut text = Vec::new();
        for group in groups {
            text.extend(group.as_os_str().as_encoded_bytes());
            text.push(b'\n');
        }
        let mut file = File::create(&self.file)?;
        file.write_all(&text)
    }

    /// Ends leftovers of earlier executors, if there are any. Returns true if all of them have
    /// ended.
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

    /// Removes the empty groups, and the record.
    pub(crate) fn forget(&self, groups: &[&Path]) {
        for group in groups {
            // A group that could not be removed is reused by the next executor.
            let _ = cgroup::remove(group);
        }
        let _ = fs::remove_file(&self.file);
    }

    fn end_groups(&self, groups: &[&Path]) -> bool {
        // The file only names groups that an executor of this name has made.
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

/// Returns true if a process has this in its environment.
fn has_variable(pid: i32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|&byte| byte == 0);
    variables.any(|one| one == variable.as_bytes())
}

/// Ends every process in these groups and below this one, and collects the children. Returns true
/// if all have ended.
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

/// Repeats an action until it is done. Returns false if it is not done in time.
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
        // A poll of nothing is a pause.
        let _ = poll(&mut [], Some(&pause));
    }
}
