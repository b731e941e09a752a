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

use activity_blobs::Store;
use model::{Artifact, ProcessId};
use shell::Client;
use wire::client::{Answer, Phase, Request, Status, Submit, Summary};

use crate::failure::Failure;
use crate::garbage::artifacts_of;
use crate::grid::Grid;
use crate::machines;
use crate::screen;
use crate::sources::Sources;
use crate::state::StateDirectory;
use crate::watch::Host;

/// Activities of the other processes of a directory that are looked at for what they need. Where there are more,
/// all copies stay.
const OTHERS_ACTIVITIES_MAX: u64 = 100_000;

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
    /// The copies of a process that has completed; none where some process of the directory has not ended, or
    /// where nothing would be gained.
    pub(crate) fn of(
        grid: &Grid,
        directory: &'a StateDirectory,
        ended: &Status,
        listed: &[Summary],
    ) -> Option<InputCopies<'a>> {
        let own = ended.summary.process;
        let all_ended = listed.iter().all(|one| one.phase.has_ended());
        let is_alone = !machines::are_described(directory.path());
        if ended.summary.phase != Phase::Completed || !all_ended || !is_alone {
            return None;
        }
        let store = grid.blobs().clone();
        let sources = Sources::read(directory.path(), own)?;
        let copies = sources.repeatable(store.dir());
        if copies.is_empty() || store.shares_blocks() {
            return None;
        }
        let mut found = InputCopies {
            directory,
            store,
            processes: vec![own],
            copies,
            needed: made_in(ended),
        };
        let others = || listed.iter().filter(|one| one.process != own);
        let n_activities = others().map(|one| u64::from(one.totals.all())).sum::<u64>();
        if n_activities > OTHERS_ACTIVITIES_MAX {
            return None;
        }
        if others().next().is_some() {
            let mut client = grid.client().ok()?;
            for other in others() {
                found.spare(&mut client, other)?;
            }
        }
        Some(found)
    }

    /// Keeps what another process of the directory has made, and those of its inputs that it could not take again.
    fn spare(&mut self, client: &mut Client, other: &Summary) -> Option<()> {
        let process = other.process;
        let Answer::Status(status) = client.ask(Request::Status(process)).ok()? else {
            return None;
        };
        let Answer::Submission(submit, _) = client.ask(Request::Submission(process)).ok()? else {
            return None;
        };
        self.needed.extend(made_in(&status));
        let mut given = given_to(&submit);
        for (_, value) in &status.inputs {
            artifacts_of(value, &mut given);
        }
        if other.phase == Phase::Completed
            && let Some(sources) = Sources::read(self.directory.path(), process)
        {
            let repeatable = sources.repeatable(self.store.dir());
            given.retain(|one| !repeatable.iter().any(|known| known.hash == one.hash));
            self.processes.push(process);
        }
        self.needed.extend(given);
        Some(())
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

/// The files that a process was given.
fn given_to(submit: &Submit) -> Vec<Artifact> {
    let mut given = submit.files.clone();
    for (_, value) in &submit.inputs {
        artifacts_of(value, &mut given);
    }
    given
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
