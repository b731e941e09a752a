//! The outcomes of the user's earlier runs on this machine, which activities of a run may recall.
//!
//! Each run without `--state` has a state directory of its own, so several may run at once. Their outcomes are
//! in one file ([`OutcomeFile`]), and their files stay where they were made: a run that recalls an outcome takes
//! them from the state directory of the run that has them. Whoever forgets that run forgets its outcomes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use activity_blobs::Reader;
use activity_daemon::Elsewhere;
use model::{Activity, Artifact, Caching, Definition, Hash, ProcessId};
use process_daemon::{OutcomeFile, SharedOutcome};

use crate::home;
use crate::machines;
use crate::screen;

/// A variable that commands get and that may differ from login to login: a directory for files that do not last.
const PASSING: [&str; 1] = ["TMPDIR"];

/// What a run has of earlier runs, and what it leaves to later ones.
#[derive(Default)]
pub(crate) struct Earlier {
    /// The file that gets its outcomes; none where they are not for others.
    pub(crate) file: Option<OutcomeFile>,
    /// The outcomes that its activities may recall, the newest last.
    pub(crate) outcomes: Vec<SharedOutcome>,
}

impl Earlier {
    /// Everything for a new process of a definition. Without a directory for data there is nothing.
    pub(crate) fn of(definition: &Definition) -> Earlier {
        let file = file();
        let recalls = |wanted: fn(&Activity) -> bool| {
            let mut nodes = definition.draft().nodes.iter();
            nodes.any(|node| node.activity().is_some_and(wanted))
        };
        let mut outcomes = Vec::new();
        if let Some(file) = &file {
            let mut read = Vec::new();
            if recalls(|activity| activity.cache == Caching::Always) {
                read.push(file.of_all());
            }
            if recalls(Activity::may_be_recalled) {
                read.push(file.of_definition(definition.name()));
            }
            for read in read {
                match read {
                    Ok(read) => outcomes.extend(read),
                    Err(error) => screen::warn(&format!(
                        "could not read the outcomes of earlier runs, and recalls none: {error}"
                    )),
                }
            }
        }
        // Whoever forgets a run wants nothing of it any more, also where its outcomes have no files.
        let mut known: BTreeMap<ProcessId, bool> = BTreeMap::new();
        outcomes.retain(|outcome: &SharedOutcome| {
            let holder = outcome.holder;
            *known.entry(holder).or_insert_with(|| is_there(holder))
        });
        Earlier { file, outcomes }
    }

    /// Nothing for the process, whose outcomes are for later runs all the same: `--no-cache`.
    pub(crate) fn to_come() -> Earlier {
        Earlier {
            file: file(),
            outcomes: Vec::new(),
        }
    }

    /// A run in this state directory that recalls nothing. Its outcomes are for later runs, unless it has a
    /// directory that the user named, or passes for other machines.
    pub(crate) fn nothing(directory: &Path) -> Earlier {
        let is_alone = !is_own(directory) || machines::are_described(directory);
        Earlier {
            file: file().filter(|_| !is_alone),
            outcomes: Vec::new(),
        }
    }

    /// The stores that have the files of outcomes.
    pub(crate) fn elsewhere(&self) -> Option<Elsewhere> {
        let holders = Holders::of(&self.outcomes);
        let elsewhere: Elsewhere = Arc::new(move |artifact| holders.stores(artifact));
        (!self.outcomes.is_empty()).then_some(elsewhere)
    }

    /// Returns a test whether the files of an outcome are there.
    pub(crate) fn has_file(&self) -> impl FnMut(Artifact) -> bool + use<> {
        let holders = Holders::of(&self.outcomes);
        let mut readers: BTreeMap<PathBuf, Option<Reader>> = BTreeMap::new();
        move |artifact| {
            holders.stores(artifact).into_iter().any(|store| {
                let reader = readers.entry(store);
                let reader = reader.or_insert_with_key(|store| Reader::open(store).ok());
                reader.as_ref().is_some_and(|reader| reader.has(artifact))
            })
        }
    }
}

/// Removes outcomes that nobody can recall any more, where there are many. A failure hinders nothing.
pub(crate) fn tidy() {
    if let Some(file) = file()
        && let Err(error) = file.compact_if_long(is_there)
    {
        screen::warn(&format!(
            "could not tidy the outcomes of earlier runs: {error}"
        ));
    }
}

fn file() -> Option<OutcomeFile> {
    let path = home::outcomes().ok()?;
    Some(OutcomeFile::new(path, setting()))
}

/// All that decides what commands do on this machine, and that no definition says: the machine, where they find
/// programs, and the variables that they get of it.
fn setting() -> String {
    let machine = shell::environment::hostname();
    let mut parts = vec![machine, std::env::consts::ARCH.to_owned()];
    let variables = shell::environment::base().into_iter();
    let variables = variables.filter(|(name, _)| !PASSING.contains(&name.as_str()));
    parts.extend(variables.map(|(name, value)| format!("{name}={value}")));
    parts.join("\0")
}

/// True if a process has its state directory.
fn is_there(process: ProcessId) -> bool {
    home::run_directory(process).is_ok_and(|path| path.exists())
}

/// True if a state directory is one of those that runs make for themselves.
fn is_own(directory: &Path) -> bool {
    let runs = home::runs().ok().and_then(|runs| runs.canonicalize().ok());
    runs.is_some_and(|runs| directory.parent() == Some(runs.as_path()))
}

/// The processes in whose state directories files are, the newest last.
struct Holders(BTreeMap<Hash, Vec<ProcessId>>);

impl Holders {
    fn of(outcomes: &[SharedOutcome]) -> Holders {
        let mut holders: BTreeMap<Hash, Vec<ProcessId>> = BTreeMap::new();
        for outcome in outcomes {
            for output in &outcome.outputs {
                let of_output = holders.entry(output.hash).or_default();
                of_output.retain(|holder| *holder != outcome.holder);
                of_output.push(outcome.holder);
            }
        }
        Holders(holders)
    }

    /// The stores that may have a file, that of the newest run first.
    fn stores(&self, artifact: Artifact) -> Vec<PathBuf> {
        let holders = self.0.get(&artifact.hash).into_iter().flatten().rev();
        let directories = holders.filter_map(|holder| home::run_directory(*holder).ok());
        directories
            .map(|directory| directory.join(machines::OWN).join("blobs"))
            .collect()
    }
}
