//! CPU time, peak memory and writes of `xav run` and its executor, read from /proc while they run.
//!
//! It misses their use after the last sample: at most `INTERVAL` of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Between two samples; a sample takes some 50 µs, and one in which the executor is looked for some ms.
const INTERVAL: Duration = Duration::from_millis(20);
/// Clock ticks in a second, in which Linux counts CPU time in /proc on all its machines.
const TICKS: f64 = 100.0;
/// Bytes of a sector, in which Linux counts on all disks.
const SECTOR_BYTES: f64 = 512.0;

/// The use of the two programs: seconds of CPU time without their commands, bytes of peak memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) cpu_managers: Option<f64>,
    pub(crate) cpu_executor: Option<f64>,
    pub(crate) memory_managers: Option<f64>,
    pub(crate) memory_executor: Option<f64>,
}

/// Samples until `end` says that the program has ended, or its sender is gone.
pub(crate) fn observe(pid: u32, state: &Path, end: &Receiver<()>) -> Usage {
    let mut usage = Usage::default();
    let managers = PathBuf::from(format!("/proc/{pid}"));
    let mut executor = None;
    loop {
        executor = executor.or_else(|| find_executor(Some(pid), state));
        usage.cpu_managers = cpu_seconds(&managers).or(usage.cpu_managers);
        usage.memory_managers = peak_bytes(&managers).or(usage.memory_managers);
        if let Some(executor) = &executor {
            usage.cpu_executor = cpu_seconds(executor).or(usage.cpu_executor);
            usage.memory_executor = peak_bytes(executor).or(usage.memory_executor);
        }
        match end.recv_timeout(INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return usage,
        }
    }
}

/// The executor that keeps its state in a directory.
pub(crate) fn executor_in(state: &Path) -> Option<PathBuf> {
    find_executor(None, state)
}

/// The program re-executed as an executor, by its arguments: a grandchild of xav, or one with its state directory.
fn find_executor(pid: Option<u32>, state: &Path) -> Option<PathBuf> {
    let state = state.to_string_lossy();
    let entries = fs::read_dir("/proc").ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|process| {
            let command = fs::read(process.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            // The guardian, its parent, has the same arguments.
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            // The name alone may belong to somebody else's run.
            name.trim_end() != "guardian"
                && command.split('\0').any(|word| word == "__executor")
                && (command.contains(&*state)
                    || pid.is_some_and(|pid| {
                        let parent_of = |process: &Path| stat(process).map(|stat| stat[1].clone());
                        let guardian = parent_of(process);
                        let guardian = guardian.map(|pid| Path::new("/proc").join(pid));
                        guardian.and_then(|one| parent_of(&one)) == Some(pid.to_string())
                    }))
        })
}

/// Fields of /proc/PID/stat after the name: state, parent...
fn stat(process: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    let after = text.rsplit_once(") ")?.1;
    Some(after.split_whitespace().map(str::to_owned).collect())
}

/// Seconds of CPU time that a process has used, without what its children used.
pub(crate) fn cpu_seconds(process: &Path) -> Option<f64> {
    let stat = stat(process)?;
    let ticks = |index: usize| stat.get(index)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

/// The same with more digits, of the threads that it has.
pub(crate) fn cpu_exactly(process: &Path) -> Option<f64> {
    let threads = fs::read_dir(process.join("task")).ok()?;
    let used = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    Some(used.sum::<f64>() / 1e9)
}

fn peak_bytes(process: &Path) -> Option<f64> {
    status_bytes(process, "VmHWM:")
}

/// Bytes that a process has in memory.
pub(crate) fn resident_bytes(process: &Path) -> Option<f64> {
    status_bytes(process, "VmRSS:")
}

/// Bytes that the machine has written to the disk of a directory since its start, with all that was still
/// to be written. What a process has written according to /proc is no measure: there a write of some bytes
/// to a file whose pages are kept as one large one counts as the whole.
pub(crate) fn disk_bytes(dir: &Path) -> Option<f64> {
    rustix::fs::sync();
    let device = rustix::fs::stat(dir).ok()?.st_dev;
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let text = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    let sectors: f64 = text.split_whitespace().nth(6)?.parse().ok()?;
    Some(sectors * SECTOR_BYTES)
}

fn status_bytes(process: &Path, name: &str) -> Option<f64> {
    let text = fs::read_to_string(process.join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? * 1024.0)
}

#[test]
fn a_running_program_is_seen() {
    let (sender, end) = std::sync::mpsc::sync_channel(1);
    drop(sender);
    let usage = observe(std::process::id(), Path::new("nowhere"), &end);
    assert!(
        usage.memory_managers.is_some_and(|bytes| bytes > 1e5),
        "{usage:?}"
    );
    assert!(usage.cpu_managers.is_some());
    assert!(usage.cpu_executor.is_none());
}
