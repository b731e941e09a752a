//! Rule 4: no two attempts of one activity run at the same time, repeatable ones aside.

use std::collections::BTreeMap;

use model::{ActivityId, AttemptId, ProcessId};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// The attempts that run.
#[derive(Debug, Default)]
pub(super) struct Overlap {
    running: BTreeMap<(ProcessId, ActivityId), AttemptId>,
}

impl Rule for Overlap {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::Started(command) | Seen::Ended(command) = seen
            && known.is_repeatable(command.attempt)
        {
            return Ok(());
        }
        if let Seen::Started(command) = seen {
            let attempt = command.attempt;
            // A first attempt has none before it that could run.
            judged.count_if(attempt.number > 1);
            let before = self
                .running
                .insert((attempt.process, attempt.activity), attempt);
            if let Some(before) = before {
                return Err(format!("{attempt} starts while {before} runs"));
            }
        }
        if let Seen::Ended(command) = seen {
            let attempt = command.attempt;
            self.running.remove(&(attempt.process, attempt.activity));
        }
        Ok(())
    }
}
