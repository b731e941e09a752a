//! Garbage collection in a state directory: removes the blobs, work directories, logs and results of
//! forgotten processes. The run that holds the directory collects them while no manager runs in it.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use model::{Artifact, Bytes, ProcessId, Value};
use process_daemon::Offline;
use wire::client::{Answer, Request};

use crate::ask::unfit;
use crate::failure::{Failure, chain};
use crate::{machines, screen, sources, summary_file};

/// The file's name that says that there is garbage.
const MARK: &str = "garbage";

/// The owner of all pins of a collection: there is no other.
const OWNER: u64 = 0;

/// Says durably that there is something to collect, before it becomes garbage.
pub(crate) fn mark(directory: &Path) -> io::Result<()> {
    File::create(directory.join(MARK))?;
    File::open(directory)?.sync_all()
}

/// Collects what an interrupted `xav forget` has left, or one that could not because a run had the
/// directory. A failure is told and hinders nothing: the mark stays.
pub(crate) fn collect_if_marked(directory: &Path) {
    if !directory.join(MARK).exists() {
        return;
    }
    let collected = Offline::open(&directory.join("pm"))
        .map_err(|error| Failure::because(&error))
        .and_then(|offline| Kept::of(&offline))
        .and_then(|kept| collect(directory, &kept));
    if let Err(failure) = collected {
        screen::warn(&format!(
            "could not remove what was forgotten: {}",
            failure.message
        ));
    }
}

/// The data that processes still need.
pub(crate) struct Kept {
    processes: BTreeSet<ProcessId>,
    /// Processes whose logs are read: those that remain, and those whose outcomes stand in them.
    logged: BTreeSet<ProcessId>,
    artifacts: Vec<Artifact>,
}

impl Kept {
    /// Everything that the processes of a manager refer to.
    pub(crate) fn of(offline: &Offline) -> Result<Kept, Failure> {
        Kept::without(|request| Ok(offline.answer(&request)), &[])
    }

    /// The same without some of them, by the answers of whoever has the processes.
    pub(crate) fn without(
        mut ask: impl FnMut(Request) -> Result<Answer, Failure>,
        forgotten: &[ProcessId],
    ) -> Result<Kept, Failure> {
        let mut kept = Kept {
            processes: BTreeSet::new(),
            logged: BTreeSet::new(),
            artifacts: Vec::new(),
        };
        let answer = ask(Request::List)?;
        let Answer::Processes(processes) = answer else {
            return Err(unfit(&answer));
        };
        for summary in processes {
            let process = summary.process;
            if forgotten.contains(&process) {
                continue;
            }
            kept.processes.insert(process);
            kept.logged.insert(process);
            let answers = (
                ask(Request::Status(process))?,
                ask(Request::Submission(process))?,
            );
            let (Answer::Status(status), Answer::Submission(submitted, _)) = answers else {
                return Err(Failure::new(format!("could not tell what {process} needs")));
            };
            kept.artifacts.extend(submitted.files);
            let values = submitted
                .inputs
                .iter()
                .chain(&status.inputs)
                .chain(&status.variables)
                .chain(&status.outputs);
            for (_, value) in values {
                artifacts_of(value, &mut kept.artifacts);
            }
            for activity in &status.activities {
                let outputs = activity.outputs.iter().map(|(_, artifact)| *artifact);
                kept.artifacts.extend(outputs);
                let stands = activity.reused.iter().map(|reused| reused.attempt.process);
                kept.logged.extend(stands);
            }
        }
        Ok(kept)
    }

    /// True if no process needs anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }
}

pub(crate) fn artifacts_of(value: &Value, into: &mut Vec<Artifact>) {
    match value {
        Value::Artifact(artifact, _) => into.push(*artifact),
        Value::List(items) => items.iter().for_each(|item| artifacts_of(item, into)),
        Value::Map(items) => {
            for item in items.values() {
                artifacts_of(item, into);
            }
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {}
    }
}

/// The bytes on the disk that a collection would remove. It changes nothing, and a run may have the
/// directory.
pub(crate) fn size(directory: &Path, kept: &Kept) -> Bytes {
    let machines = machines::directories(directory);
    let blobs = machines.iter().filter_map(|machine| {
        let reader = activity_blobs::Reader::open(&machine.join("blobs")).ok()?;
        Some(reader.size_without(&kept.artifacts))
    });
    let paths = left(directory, kept);
    let paths = paths.iter();
    let others = paths.map(|path| summary_file::disk_use_of(path));
    blobs
        .chain(others)
        .fold(Bytes::ZERO, |sum, size| sum + size)
}

/// Removes what does not remain. No manager may run in the directory.
pub(crate) fn collect(directory: &Path, kept: &Kept) -> Result<(), Failure> {
    for machine in machines::directories(directory) {
        let blobs = machine.join("blobs");
        if blobs.is_dir() {
            evict(&blobs, kept)?;
        }
    }
    for path in left(directory, kept) {
        remove(&path);
    }
    match fs::remove_file(directory.join(MARK)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Failure::new(format!("could not remove {MARK}: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn evict(blobs: &Path, kept: &Kept) -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| Failure::new(chain(error));
    let store = activity_blobs::Store::open(blobs).map_err(|error| failed(&error))?;
    // Without a flush, unflushed blobs would stay for ever.
    store.flush().map_err(|error| failed(&error))?;
    store
        .replace_pins(OWNER, &kept.artifacts)
        .map_err(|error| failed(&error))?;
    loop {
        let evicted = store.evict(Bytes::ZERO).map_err(|error| failed(&error))?;
        if evicted.n_blobs == 0 {
            return Ok(());
        }
    }
}

/// The work directories, logs, results and sources of processes that do not remain.
fn left(directory: &Path, kept: &Kept) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for machine in machines::directories(directory) {
        let work = activity_daemon::work_directory(&machine);
        left.extend(of_others(&work, &kept.processes));
        let logs = activity_executor::log_directory(&machine.join("executor"));
        left.extend(of_others(&logs, &kept.logged));
    }
    left.extend(results_left(directory, kept));
    let sources = directory.join(sources::DIRECTORY);
    left.extend(of_others(&sources, &kept.processes));
    left
}

/// The entries of a directory whose names begin with that of a process that does not remain.
fn of_others(directory: &Path, kept: &BTreeSet<ProcessId>) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let is_other = |entry: &DirEntry| {
        let name = entry.file_name();
        let process = name.to_str().and_then(process_of);
        process.is_some_and(|process| !kept.contains(&process))
    };
    let entries = entries.filter_map(Result::ok).filter(is_other);
    entries.map(|entry| entry.path()).collect()
}

/// The process whose name a file's name begins with.
fn process_of(name: &str) -> Option<ProcessId> {
    let first = name.split_once('-').map_or(name, |(first, _)| first);
    first.parse().ok()
}

/// The results of processes that do not remain. Those of the process for which the directory was made
/// lie in `results` itself.
fn results_left(directory: &Path, kept: &Kept) -> Vec<PathBuf> {
    let results = directory.join("results");
    let mut left = of_others(&results, &kept.processes);
    let own = directory.file_name().and_then(|name| name.to_str());
    let owner = own.and_then(|name| name.parse::<ProcessId>().ok());
    if owner.is_none_or(|owner| kept.processes.contains(&owner)) {
        return left;
    }
    let entries = fs::read_dir(&results).into_iter().flatten();
    let is_owners = |entry: &DirEntry| {
        let name = entry.file_name();
        name.to_str().and_then(process_of).is_none()
    };
    let entries = entries.filter_map(Result::ok).filter(is_owners);
    left.extend(entries.map(|entry| entry.path()));
    left
}

/// Removes a file or a directory. What cannot be removed stays: it takes space and does no harm.
fn remove(path: &Path) {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    if let Err(error) = removed
        && error.kind() != ErrorKind::NotFound
    {
        screen::warn(&format!("could not remove {}: {error}", path.display()));
    }
}

#[cfg(test)]
mod tests;
