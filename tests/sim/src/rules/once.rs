//! Rule 5: what must never run twice never starts twice, and only of such an activity the outcome may
//! be unknown.

use std::collections::BTreeSet;

use model::{ActivityId, FaultName, ProcessId};
use process_core::{Event, Stream};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// The attempts that have started.
#[derive(Debug, Default)]
pub(super) struct Once {
    started: BTreeSet<(ProcessId, ActivityId)>,
}

impl Rule for Once {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::Started(command) = seen {
            let attempt = command.attempt;
            let activity = (attempt.process, attempt.activity);
            if known.once.contains(&activity) {
                // A first attempt cannot be the second start.
                judged.count_if(attempt.number > 1);
            }
            if known.once.contains(&activity) && !self.started.insert(activity) {
                return Err(format!("{attempt} starts, and must not run twice"));
            }
        }
        if let Seen::ProcessDurable(Stream::Process(id), Event::Ended(ended)) = seen
            && let Some(fault) = ended.verdict.fault()
            && fault.name == FaultName::OutcomeUnknown
        {
            judged.count();
            let attempt = ended.outcome.attempt;
            if !known.once.contains(&(*id, attempt.activity)) {
                return Err(format!(
                    "the outcome of {attempt} is unknown, and it may be tried again"
                ));
            }
        }
        Ok(())
    }
}
