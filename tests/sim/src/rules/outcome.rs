//! Rule 2: an activity's outcome is recorded at most once, a recorded outcome is never replaced,
//! and what has completed never starts again.

use std::collections::BTreeSet;

use model::AttemptId;
use process_core::record::{End, Verdict};
use process_core::{Event, Stream};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers which attempts have started.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    started: BTreeSet<AttemptId>,
}

impl Rule for Outcome {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::Started(command) = seen {
            let attempt = command.attempt;
            judged.count();
            if !self.started.insert(attempt) {
                return Err(format!("{attempt} starts a second time"));
            }
            if known.is_repeatable(attempt) {
                return Ok(());
            }
            let Some(process) = known.processes.get(&attempt.process) else {
                return Ok(());
            };
            let is_again = process.again.contains(&attempt);
            if !is_again && process.completed.contains(&attempt.activity) {
                return Err(format!(
                    "{attempt} starts, and its activity has completed before"
                ));
            }
            if let Some(end) = process.ended.get(&attempt) {
                return Err(format!(
                    "{attempt} starts after its end was recorded as {end:?}"
                ));
            }
        }
        let Seen::ProcessDurable(Stream::Process(id), Event::Ended(ended)) = seen else {
            return Ok(());
        };
        judged.count();
        let outcome = &ended.outcome;
        let attempt = outcome.attempt;
        let Some(process) = known.processes.get(id) else {
            return Err(format!("{attempt} ends before {id} was founded"));
        };
        if attempt.process != *id || !process.sent.contains_key(&attempt) {
            return Err(format!(
                "an end of {attempt} is recorded, which was never sent"
            ));
        }
        if let Some(end) = process.ended.get(&attempt) {
            return Err(format!(
                "{attempt} ended with {end:?}, and with {:?} again",
                outcome.end
            ));
        }
        let is_again = process.again.contains(&attempt);
        let is_dropped = matches!(ended.verdict, Verdict::Dropped(_));
        if !is_again && !is_dropped && process.completed.contains(&attempt.activity) {
            return Err(format!(
                "{attempt} ends, and its activity has completed before"
            ));
        }
        if !is_again && !process.is_out(attempt) {
            return Err(format!("{attempt} ends, which was taken back before"));
        }
        if process.closed.is_some() {
            return Err(format!("{attempt} ends after its process has ended"));
        }
        if outcome.end == End::Completed && !self.started.contains(&attempt) {
            return Err(format!("{attempt} completed and never started"));
        }
        Ok(())
    }
}
