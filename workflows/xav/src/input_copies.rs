//! The copies of input files in the store of a state directory. A process reads copies, since its user may edit the
//! files while it runs. When it has completed, they are let go where the files are what they were, so that they do
//! not lie on the disk twice.
//!
//! ```text
//!   copied, hashed --its process completes--> where it came from is durable --> let go
//!         ^                                                                      |
//!         \------- a rerun, or a lost output: hashed while it is copied ---------/
//! ```
//! The order makes a kill harmless at each moment: a copy that is gone has a durable source, and one that is still
//! there is let go with the next process of the directory.

use std::collections::{BTreeMap, BTreeSet};

use activity_blobs::Store;
use model::{Artifact, Hash, ProcessId};
use wire::client::{Answer, Phase, Request, Status, Summary};

use crate::failure::Failure;
use crate::garbage::artifacts_of;
use crate::grid::Grid;
use crate::machines;
use crate::screen;
use crate::sources::{Allowance, Sources};
use crate::state::StateDirectory;
use crate::watch::Host;

/// Activities of the processes of a directory that are looked at for what they need, where there are several. Where
/// there are more, all copies stay.
const ACTIVITIES_MAX: u64 = 100_000;

/// Copies that may be let go when no manager runs any more.
pub(crate) struct InputCopies<'a> {
    directory: &'a StateDirectory,
    store: Store,
    /// The processes whose sources stand for copies.
    processes: Vec<ProcessId>,
    copies: Vec<Artifact>,
    /// Files that stay though they are among the copies: somebody has made or needs them.
    needed: Vec<Artifact>,
}

impl<'a> InputCopies<'a> {
    /// The copies of the processes that have completed; none where some process of the directory has not ended, or
    /// where nothing would be gained.
    pub(crate) fn of(
        grid: &Grid,
        directory: &'a StateDirectory,
        ended: &Status,
        listed: &[Summary],
    ) -> Option<InputCopies<'a>> {
        let all_ended = listed.iter().all(|one| one.phase.has_ended());
        let is_alone = !machines::are_described(directory.path());
        if ended.summary.phase != Phase::Completed || !all_ended || !is_alone {
            return None;
        }
        let repeatable = repeatable(grid, directory, listed);
        if repeatable.is_empty() || grid.blobs().shares_blocks() {
            return None;
        }
        let needed = match listed {
            [_] => made_in(ended),
            several => needed(grid, several, &repeatable)?,
        };
        Some(InputCopies {
            directory,
            store: grid.blobs().clone(),
            processes: repeatable.keys().copied().collect(),
            copies: repeatable.into_values().flatten().collect(),
            needed,
        })
    }

    /// Deletes them, once what tells where to find the files again is durable.
    pub(crate) fn let_go(self) {
        let kept = |error: &dyn std::error::Error| {
            let error = crate::failure::chain(error);
            screen::warn(&format!("the copies of inputs stay in the store: {error}"));
        };
        if let Err(error) = Sources::flush(self.directory.path(), &self.processes) {
            return kept(&error);
        }
        if let Err(error) = self.store.let_go(&self.copies, &self.needed) {
            kept(&error);
        }
    }
}

/// The files in the store that completed processes can take again, without those that have none.
fn repeatable(
    grid: &Grid,
    directory: &StateDirectory,
    listed: &[Summary],
) -> BTreeMap<ProcessId, Vec<Artifact>> {
    let mut allowance = Allowance::default();
    let mut all = BTreeMap::new();
    for one in listed.iter().filter(|one| one.phase == Phase::Completed) {
        let sources = Sources::read(directory.path(), one.process);
        let found = sources.map(|sources| sources.repeatable(grid.blobs(), &mut allowance));
        if let Some(found) = found.filter(|found| !found.is_empty()) {
            all.insert(one.process, found);
        }
    }
    all
}

/// Everything that processes have made, and those of their inputs that they could not take again; none where there
/// is too much of it.
fn needed(
    grid: &Grid,
    listed: &[Summary],
    repeatable: &BTreeMap<ProcessId, Vec<Artifact>>,
) -> Option<Vec<Artifact>> {
    let n_activities = listed.iter().map(|one| u64::from(one.totals.all()));
    if n_activities.sum::<u64>() > ACTIVITIES_MAX {
        return None;
    }
    let mut client = grid.client().ok()?;
    let mut needed = Vec::new();
    for &Summary { process, .. } in listed {
        let Answer::Status(status) = client.ask(Request::Status(process)).ok()? else {
            return None;
        };
        let Answer::Submission(submit, _) = client.ask(Request::Submission(process)).ok()? else {
            return None;
        };
        needed.extend(made_in(&status));
        let mut given = submit.files;
        for (_, value) in submit.inputs.iter().chain(&status.inputs) {
            artifacts_of(value, &mut given);
        }
        let repeatable = repeatable.get(&process).into_iter().flatten();
        let repeatable: BTreeSet<Hash> = repeatable.map(|one| one.hash).collect();
        given.retain(|one| !repeatable.contains(&one.hash));
        needed.extend(given);
    }
    Some(needed)
}

/// The files that a process has beside those that it was given.
fn made_in(status: &Status) -> Vec<Artifact> {
    let mut made = Vec::new();
    for (_, value) in status.variables.iter().chain(&status.outputs) {
        artifacts_of(value, &mut made);
    }
    let activities = status.activities.iter();
    made.extend(activities.flat_map(|one| one.outputs.iter().map(|(_, output)| *output)));
    made
}

/// The failure of a rerun whose files are not what they were.
pub(crate) fn lost(lost: Vec<String>) -> Failure {
    let mut lost = lost.into_iter();
    let first = lost.next().unwrap_or_default();
    let others: String = lost.map(|one| format!("{one}\n  ")).collect();
    Failure::refused(first).help(format!(
        "{others}`xav rerun` without --same-files reads files as they are now, and --input NAME=FILE gives another one"
    ))
}
