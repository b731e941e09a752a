//! The outcomes of a user's embedded runs, for later ones: one file that all of them add to.

mod programs;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use history::group;
use journal::{BODY_BYTES_MAX, Content, SharedFile};
use model::{ActivityId, Hash, Mono, ProcessId, Span};
use process_core::{SharedOutcome, ToShare};

use self::programs::Programs;

/// The time for which outcomes wait to be written with others.
const GATHER: Span = Span::from_millis(100);

/// Outcomes that wait to be written: some 400 KB. Further ones are let go while the file is compacted.
const GATHERED_MAX: usize = 1_024;

/// Bytes of an outcome that is kept: its captured text decides. A run reads all outcomes of its definition.
const OUTCOME_BYTES_MAX: usize = 64 << 10;

/// Added bytes from which the end of a run compacts the file: to read so many takes a start some milliseconds.
const COMPACTED_FROM: u64 = 1 << 20;

/// Outcomes with one key of one activity that a compaction leaves: the files of the newest may be gone.
const SAME_MAX: usize = 3;

/// Outcomes of one definition that a compaction leaves, the newest ones: some 8 MB, or 30 ms of a start.
const OUTCOMES_MAX: usize = 20_000;

/// The name of no definition, under which outcomes lie that any may recall.
const ALL: &str = "";

/// The outcomes of a user's activities, in a file under the user's data directory. Nothing depends on it.
#[derive(Clone, Debug)]
pub struct OutcomeFile {
    file: SharedFile,
    setting: String,
}

impl OutcomeFile {
    /// The file of this path, which need not be there. `setting` is all that commands get of their machine:
    /// an outcome stands in the setting alone in which it was made, unless any definition may recall it.
    pub fn new(path: PathBuf, setting: String) -> OutcomeFile {
        let file = SharedFile::new(path);
        OutcomeFile { file, setting }
    }

    /// Reads the outcomes of a definition whose programs are as they were, those that were kept first first.
    pub fn of_definition(&self, definition: &str) -> io::Result<Vec<SharedOutcome>> {
        let mut outcomes = outcomes(&self.file.read(self.group_of(definition))?);
        let mut programs = Programs::default();
        outcomes.retain(|outcome| programs.are_same(&outcome.programs));
        Ok(outcomes)
    }

    /// Reads the outcomes that activities of any definition may recall, whatever their programs are by now.
    pub fn of_all(&self) -> io::Result<Vec<SharedOutcome>> {
        Ok(outcomes(&self.file.read(group(ALL))?))
    }

    /// Removes outcomes whose files are gone and those that newer ones stand for, where much was added and no
    /// other run uses the file at the moment. `is_there` says whether there is the state directory of a process.
    pub fn compact_if_long(&self, is_there: impl Fn(ProcessId) -> bool) -> io::Result<()> {
        if self.file.added_bytes()? >= COMPACTED_FROM {
            self.file.compact(|all| sections(all, &is_there))?;
        }
        Ok(())
    }

    fn group_of(&self, definition: &str) -> u64 {
        group(&format!("{definition}\0{}", self.setting))
    }

    /// Adds outcomes to a group. Returns false while the file is compacted.
    fn add(&self, group: u64, all: &[SharedOutcome]) -> io::Result<bool> {
        let all = all.iter().map(SharedOutcome::encode);
        let mut bodies = vec![Vec::new()];
        for own in all.filter(|own| own.len() <= OUTCOME_BYTES_MAX) {
            let body = bodies.last_mut().expect("there is one");
            match body.len() + own.len() <= BODY_BYTES_MAX {
                true => body.extend(own),
                false => bodies.push(own),
            }
        }
        for body in bodies.iter().filter(|body| !body.is_empty()) {
            if !self.file.add(group, body)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn outcomes(content: &Content) -> Vec<SharedOutcome> {
    let bodies = content.section.iter().chain(&content.added);
    bodies
        .flat_map(|body| SharedOutcome::decode_all(body))
        .collect()
}

/// The sections of all that stays.
fn sections(
    all: Vec<(u64, Content)>,
    is_there: &impl Fn(ProcessId) -> bool,
) -> Vec<(u64, Vec<u8>)> {
    let mut known: BTreeMap<ProcessId, bool> = BTreeMap::new();
    let mut sections = Vec::new();
    for (group, content) in all {
        let mut n_same: BTreeMap<(Hash, ActivityId), usize> = BTreeMap::new();
        let mut stay = Vec::new();
        for outcome in outcomes(&content).into_iter().rev() {
            let holder = outcome.holder;
            // Each stands for one activity of a run, so those of others with the same key stay too.
            let same = (outcome.key, outcome.of.activity);
            let n_same = n_same.entry(same).or_default();
            let has_files = *known.entry(holder).or_insert_with(|| is_there(holder));
            if has_files && *n_same < SAME_MAX && stay.len() < OUTCOMES_MAX {
                *n_same += 1;
                stay.push(outcome.encode());
            }
        }
        stay.reverse();
        if !stay.is_empty() {
            sections.push((group, stay.concat()));
        }
    }
    sections
}

/// Writes outcomes to the file, some at a time. Those that wait when it is dropped are written then.
pub(crate) struct OutcomeKeeper {
    file: Option<OutcomeFile>,
    waiting: BTreeMap<u64, Vec<SharedOutcome>>,
    n_waiting: usize,
    due: Option<Mono>,
    programs: Programs,
}

impl OutcomeKeeper {
    /// A keeper for this file; none keeps nothing.
    pub(crate) fn new(file: Option<OutcomeFile>) -> OutcomeKeeper {
        OutcomeKeeper {
            file,
            waiting: BTreeMap::new(),
            n_waiting: 0,
            due: None,
            programs: Programs::default(),
        }
    }

    pub(crate) fn keep(&mut self, to_share: ToShare) {
        let Some(file) = &self.file else { return };
        if self.n_waiting >= GATHERED_MAX {
            return;
        }
        let ToShare {
            definition,
            mut outcome,
            words,
        } = to_share;
        let own = file.group_of(&definition);
        if outcome.is_for_all {
            self.wait(group(ALL), outcome.clone());
        }
        // Another program may have taken the place of the one that ran.
        if let Some(programs) = self.programs.named(words, outcome.started) {
            outcome.programs = programs;
            self.wait(own, outcome);
        }
        if self.n_waiting >= GATHERED_MAX {
            self.write(shell::clock::mono());
        } else if self.due.is_none() {
            self.due = Some(shell::clock::mono() + GATHER);
        }
    }

    fn wait(&mut self, group: u64, outcome: SharedOutcome) {
        self.n_waiting += 1;
        self.waiting.entry(group).or_default().push(outcome);
    }

    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        self.due
    }

    pub(crate) fn wake(&mut self, now: Mono) {
        if self.due.is_some_and(|due| due <= now) {
            self.write(now);
        }
    }

    fn write(&mut self, now: Mono) {
        self.due = None;
        let Some(file) = &self.file else { return };
        // What is known of programs is looked at anew: they may be replaced while a run goes on.
        self.programs = Programs::default();
        while let Some((group, outcomes)) = self.waiting.pop_first() {
            match file.add(group, &outcomes) {
                Ok(true) => self.n_waiting -= outcomes.len(),
                // A compaction goes on, which takes a moment.
                Ok(false) => {
                    self.waiting.insert(group, outcomes);
                    self.due = Some(now + GATHER);
                    return;
                }
                Err(error) => {
                    self.n_waiting -= outcomes.len();
                    tracing::warn!(%error, "outcomes of activities are not kept for later runs");
                }
            }
        }
    }
}

impl Drop for OutcomeKeeper {
    fn drop(&mut self) {
        self.write(shell::clock::mono());
    }
}

#[cfg(test)]
mod tests;
