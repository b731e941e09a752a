//! Outcomes for later runs and those of earlier ones: which are kept, and which may stand for an activity.

use std::collections::{BTreeMap, BTreeSet};

use model::{Activation, ActivityId, AttemptId, Caching, Command, Hash};

use crate::enact::reuse::Decided;
use crate::limits;
use crate::process::Process;
use crate::record::Reused;
use crate::shared_outcome::{SharedOutcome, ToShare};

/// The program that runs lines of text.
const SHELL: &str = "/bin/sh";

impl ToShare {
    /// The outcome of an activity that has completed; none where none may be recalled or it is not kept in full.
    pub(crate) fn of(process: &Process, activity: ActivityId) -> Option<ToShare> {
        let definition = process.definition();
        let declared = definition.activity_as_written(activity)?;
        let outcome =
            SharedOutcome::recorded(process, activity).filter(|_| declared.may_be_recalled())?;
        let mut words = words(&declared.command)?;
        if let Some(Activation::Path(root)) = definition.draft().activation_of(declared) {
            let names = words.iter().filter(|word| !word.contains('/'));
            let installed: Vec<String> = names.map(|name| format!("{root}/bin/{name}")).collect();
            words.extend(installed);
        }
        Some(ToShare {
            definition: definition.name().to_owned(),
            outcome,
            words,
        })
    }
}

/// The words of a command that may name programs, each once; none if there are more than
/// [`limits::PROGRAM_WORDS_MAX`]. Those of its expressions are among them, which does no harm.
fn words(command: &Command) -> Option<Vec<String>> {
    let texts = match command {
        Command::List(texts) => texts.as_slice(),
        Command::Shell(text) => std::slice::from_ref(text),
    };
    let mut words = BTreeSet::from([SHELL.to_owned()]);
    for text in texts {
        for word in text.0.split(|letter| !is_of_program(letter)) {
            if word.contains(|letter: char| letter.is_ascii_alphabetic()) {
                words.insert(word.to_owned());
            }
            if words.len() > limits::PROGRAM_WORDS_MAX {
                return None;
            }
        }
    }
    Some(words.into_iter().collect())
}

/// Returns true for letters of names and paths of programs.
fn is_of_program(letter: char) -> bool {
    letter.is_alphanumeric() || "/._+-".contains(letter)
}

/// Outcomes of earlier runs, by their keys.
#[derive(Debug, Default)]
pub(crate) struct SharedOutcomes {
    /// The newest one last.
    by_key: BTreeMap<Hash, Vec<SharedOutcome>>,
    /// The place of the newest one of an activity, by its number, among those of its key.
    newest: BTreeMap<(Hash, ActivityId), usize>,
    n_outcomes: usize,
}

impl SharedOutcomes {
    /// Takes outcomes in, those that were kept first first. Without room for all, the first ones are left out.
    pub(crate) fn take(&mut self, outcomes: Vec<SharedOutcome>) {
        let n_over = (self.n_outcomes + outcomes.len()).saturating_sub(limits::RECORDED_MAX);
        for outcome in outcomes.into_iter().skip(n_over) {
            self.n_outcomes += 1;
            let same = self.by_key.entry(outcome.key).or_default();
            let number = (outcome.key, outcome.of.activity);
            self.newest.insert(number, same.len());
            same.push(outcome);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The newest outcome that may stand for an activity: of those of one run that of its own number, and none
    /// that is `taken` by another activity, but for one with `cache: true`.
    pub(crate) fn find(
        &self,
        (into, activity): (&Process, ActivityId),
        decided: &Decided,
        taken: &BTreeSet<AttemptId>,
    ) -> Option<Reused> {
        let declared = into.definition().activity_as_written(activity)?;
        let may_be = match declared.cache {
            Caching::Unsaid => declared.may_be_recalled() && decided.is_confined,
            Caching::Always => true,
            Caching::Never => false,
        };
        let key = decided.cache_key.key;
        let found = self.by_key.get(&key).filter(|_| may_be)?;
        let is_free = |outcome: &&SharedOutcome| {
            declared.cache == Caching::Always || !taken.contains(&outcome.of)
        };
        let newest = found.last()?;
        let own = self.newest.get(&(key, activity));
        let own = own.and_then(|&place| found.get(place));
        let own = own.filter(|own| own.of.process == newest.of.process);
        let newest_first = found.iter().rev().take(limits::SAME_KEY_MAX);
        let mut candidates = own.into_iter().chain(newest_first).filter(is_free);
        candidates.find_map(|outcome| outcome.stands(into, activity, decided.cache_key))
    }
}

#[cfg(test)]
mod tests;
