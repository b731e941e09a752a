//! A fault stops no command that runs, where its process lets it finish, and starts none.

use std::collections::BTreeSet;

use model::{AttemptId, ProcessId};
use process_core::{Event, Stream, Verdict};
use simulator::Seen;
use wire::attempt::ToActivity;

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers processes that have faulted and let finish what runs.
#[derive(Debug, Default)]
pub(super) struct Finishing(BTreeSet<ProcessId>);

impl Rule for Finishing {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::ProcessDurable(Stream::Process(id), event) => {
                let has_faulted = match event {
                    Event::Faulted(_) => true,
                    Event::Ended(ended) => matches!(ended.verdict, Verdict::Faulted(_)),
                    Event::Sent(..) | Event::Racing(..) | Event::Readied(_)
                        if self.0.contains(id) =>
                    {
                        return Err(format!("{id} has faulted, and goes on: {event:?}"));
                    }
                    _ => false,
                };
                if has_faulted && known.finishes.contains(id) {
                    self.0.insert(*id);
                }
                Ok(())
            }
            Seen::ToActivity(_, ToActivity::Stop(attempts)) => {
                let wronged = |one: &&AttemptId| self.may_finish(known, **one);
                match attempts.iter().find(wronged) {
                    Some(attempt) => Err(format!("{attempt} is stopped by the fault of another")),
                    None => Ok(()),
                }
            }
            Seen::Ended(command) => {
                judged.count_if(self.may_finish(known, command.attempt));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Finishing {
    /// True if this attempt runs and should go on, though its process has faulted.
    fn may_finish(&self, known: &Known, attempt: AttemptId) -> bool {
        let process = known.processes.get(&attempt.process);
        // Nobody can say which of its bodies are not waited for any more.
        let expected = known.expected.get(&attempt.process);
        let has_enough = expected.is_some_and(|expected| expected.enough.is_some());
        self.0.contains(&attempt.process)
            && known.running.contains_key(&attempt)
            && !has_enough
            && process.is_some_and(|process| {
                let is_again = process.again.contains(&attempt);
                // A second attempt beside the first is not needed.
                let is_first = process.out.get(&attempt.activity) == Some(&attempt);
                is_first && !process.is_cancelling && !is_again
            })
    }
}
