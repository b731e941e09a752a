//! Where this user's processes are, and which of them a command is about.

use std::fs;
use std::io;
use std::path::PathBuf;

use model::ProcessId;
use wire::client::Summary;

use crate::arguments::{State, Which};
use crate::ask::Source;
use crate::failure::{Failure, status};
use crate::state::{StateDirectory, StateError};
use crate::text;

/// Processes that are named where a shortened name fits several.
const CANDIDATES_MAX: usize = 10;

/// Where a command looks.
pub(crate) enum Scope {
    /// One state directory, which the user named.
    One(StateDirectory),
    /// All runs under the user's data directory, each in a state directory of its own, the newest
    /// first. What cannot be used is left out.
    All(Vec<(ProcessId, StateDirectory)>),
}

/// A process that was found.
pub(crate) struct Found {
    /// Where it is kept.
    pub(crate) directory: StateDirectory,
    /// Its name.
    pub(crate) process: ProcessId,
}

/// Where a process that is run without `--state` keeps everything.
pub(crate) fn run_directory(process: ProcessId) -> Result<PathBuf, Failure> {
    Ok(runs()?.join(process.to_string()))
}

fn runs() -> Result<PathBuf, Failure> {
    let data = shell::environment::data_directory().ok_or_else(|| {
        Failure::new("there is no place for processes: neither XDG_DATA_HOME nor HOME is set")
            .help("name a directory with --state DIR")
    })?;
    Ok(data.join("xavantes").join("runs"))
}

impl Scope {
    /// What `--state` says.
    pub(crate) fn of(state: &State) -> Result<Scope, Failure> {
        if let Some(dir) = &state.dir {
            return Ok(Scope::One(StateDirectory::open(dir).map_err(refused)?));
        }
        let runs = runs()?;
        let entries = match fs::read_dir(&runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Scope::All(Vec::new()));
            }
            Err(error) => {
                return Err(Failure::new(format!(
                    "could not look into {}: {error}",
                    runs.display()
                )));
            }
        };
        let mut found: Vec<(ProcessId, StateDirectory)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let process = entry.file_name().to_str()?.parse().ok()?;
                Some((process, StateDirectory::open(&entry.path()).ok()?))
            })
            .collect();
        found.sort_by_key(|(process, directory)| (std::cmp::Reverse(directory.made()), *process));
        Ok(Scope::All(found))
    }

    /// The process that is meant: by the beginning of its name, or the newest one.
    pub(crate) fn find(self, id: Option<&str>) -> Result<Found, Failure> {
        match self {
            Scope::All(mut runs) => {
                if id.is_none() {
                    // A run that was killed before its process was recorded has none.
                    let has_process = |directory| {
                        let list = Source::open(directory).and_then(|mut source| source.list());
                        list.is_ok_and(|list| !list.is_empty())
                    };
                    let newest = runs
                        .iter()
                        .position(|(_, directory)| has_process(directory));
                    runs.drain(..newest.unwrap_or(runs.len()));
                }
                let names: Vec<(ProcessId, String)> = runs
                    .iter()
                    .map(|(process, _)| (*process, String::new()))
                    .collect();
                let process = choose(id, &names)?;
                let directory = runs.into_iter().find(|(known, _)| *known == process);
                let (_, directory) = directory.expect("it was chosen among these");
                Ok(Found { directory, process })
            }
            Scope::One(directory) => {
                let list = Source::open(&directory)?.list()?;
                let names: Vec<(ProcessId, String)> = list
                    .iter()
                    .map(|one| (one.process, one.name.clone()))
                    .collect();
                Ok(Found {
                    process: choose(id, &names)?,
                    directory,
                })
            }
        }
    }
}

/// The process that a user names.
pub(crate) fn find(which: &Which) -> Result<Found, Failure> {
    Scope::of(&which.state)?.find(which.id.as_deref())
}

/// A process of a list.
pub(crate) struct Entry {
    /// The process.
    pub(crate) summary: Summary,
    /// Where it is kept.
    pub(crate) directory: StateDirectory,
    /// Whether a run has it at the moment.
    pub(crate) is_live: bool,
}

/// All processes of a scope, the newest first, and what could not be read.
pub(crate) fn list(scope: Scope) -> (Vec<Entry>, Vec<String>) {
    let directories = match scope {
        Scope::One(directory) => vec![directory],
        Scope::All(runs) => runs.into_iter().map(|(_, directory)| directory).collect(),
    };
    let mut all = Vec::new();
    let mut troubles = Vec::new();
    for directory in directories {
        let listed = Source::open(&directory)
            .and_then(|mut source| source.list().map(|list| (list, source.is_live())));
        match listed {
            Ok((list, is_live)) => all.extend(list.into_iter().map(|summary| {
                let directory = directory.clone();
                Entry {
                    summary,
                    directory,
                    is_live,
                }
            })),
            Err(failure) => troubles.push(failure.message),
        }
    }
    all.sort_by_key(|entry| {
        (
            std::cmp::Reverse(entry.summary.submitted),
            entry.summary.process,
        )
    });
    (all, troubles)
}

/// One of these, the newest first: by the beginning of its name, or the newest.
fn choose(id: Option<&str>, known: &[(ProcessId, String)]) -> Result<ProcessId, Failure> {
    let Some(id) = id else {
        let newest = known.first().map(|(process, _)| *process);
        return newest.ok_or_else(|| {
            Failure::refused("there is no process yet").help("start one: xav run FILE")
        });
    };
    let wanted = id.to_ascii_lowercase();
    let fits: Vec<&(ProcessId, String)> = known
        .iter()
        .filter(|(process, _)| process.to_string().starts_with(&wanted))
        .collect();
    match fits.as_slice() {
        [] => {
            let id = text::one_line(id, 40);
            Err(Failure::refused(format!("there is no process {id}"))
                .help("xav list shows all processes"))
        }
        [(process, _)] => Ok(*process),
        several => {
            let mut lines: Vec<String> = several
                .iter()
                .take(CANDIDATES_MAX)
                .map(|(process, name)| format!("{process} {name}").trim_end().to_owned())
                .collect();
            if several.len() > CANDIDATES_MAX {
                lines.push(format!("and {} more", several.len() - CANDIDATES_MAX));
            }
            Err(
                Failure::refused(format!("{} processes begin with {wanted}", several.len()))
                    .help(lines.join("\n  ")),
            )
        }
    }
}

/// A state directory that the user named and that cannot be used.
pub(crate) fn refused(error: StateError) -> Failure {
    let failure = Failure::because(&error);
    match &error {
        StateError::Missing { .. } | StateError::Other { .. } => Failure {
            status: status::REFUSED,
            ..failure
        },
        StateError::Newer { .. } => failure.help("use that version of xav, or another directory"),
        StateError::InUse { .. } => {
            failure.help("wait for its end, or give another directory with --state")
        }
        StateError::Io { .. } => failure,
    }
}

#[cfg(test)]
mod tests;
