//! Garbage collection in a state directory: removes the blobs, work directories, logs and results of
//! forgotten processes. The run that holds the directory collects them while no manager runs in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use model::{Artifact, Bytes, ProcessId, Value};
use process_daemon::Offline;
use wire::client::{Answer, Request};

use crate::failure::{Failure, chain};
use crate::{machines, screen, sources};

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
        Kept::without(offline, &[])
    }

    /// The same without some of them.
    pub(crate) fn without(offline: &Offline, forgotten: &[ProcessId]) -> Result<Kept, Failure> {
        let mut kept = Kept {
            processes: BTreeSet::new(),
            logged: BTreeSet::new(),
            artifacts: Vec::new(),
        };
        for summary in offline.list() {
            let process = summary.process;
            if forgotten.contains(&process) {
                continue;
            }
            kept.processes.insert(process);
            kept.logged.insert(process);
            let submission = offline.answer(&Request::Submission(process));
            let (Some(status), Answer::Submission(submitted, _)) =
                (offline.status(process), submission)
            else {
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

fn artifacts_of(value: &Value, into: &mut Vec<Artifact>) {
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

/// Removes what does not remain. No manager may run in the directory.
pub(crate) fn collect(directory: &Path, kept: &Kept) -> Result<(), Failure> {
    for machine in machines::directories(directory) {
        let blobs = machine.join("blobs");
        if blobs.is_dir() {
            evict(&blobs, kept)?;
        }
        remove_of_others(&activity_daemon::work_directory(&machine), &kept.processes);
        let logs = activity_executor::log_directory(&machine.join("executor"));
        remove_of_others(&logs, &kept.logged);
    }
    collect_results(directory, kept);
    remove_of_others(&directory.join(sources::DIRECTORY), &kept.processes);
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

/// Removes the entries of a directory whose names begin with that of a process that does not remain.
/// A file that cannot be removed stays: it takes space and does no harm.
fn remove_of_others(directory: &Path, kept: &BTreeSet<ProcessId>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let process = name.to_str().and_then(process_of);
        if process.is_some_and(|process| !kept.contains(&process)) {
            remove(&entry.path());
        }
    }
}

/// The process whose name a file's name begins with.
fn process_of(name: &str) -> Option<ProcessId> {
    let first = name.split_once('-').map_or(name, |(first, _)| first);
    first.parse().ok()
}

/// Removes the results of processes that do not remain. Those of the process for which the
/// directory was made lie in `results` itself.
fn collect_results(directory: &Path, kept: &Kept) {
    let results = directory.join("results");
    remove_of_others(&results, &kept.processes);
    let own = directory.file_name().and_then(|name| name.to_str());
    let owner = own.and_then(|name| name.parse::<ProcessId>().ok());
    if owner.is_none_or(|owner| kept.processes.contains(&owner)) {
        return;
    }
    let Ok(entries) = fs::read_dir(&results) else {
        return;
    };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if name.to_str().and_then(process_of).is_none() {
            remove(&entry.path());
        }
    }
}

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
