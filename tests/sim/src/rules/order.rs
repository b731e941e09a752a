//! Rule 3: no activity starts before everything that it depends on is durably recorded, and with
//! what it should be given.

use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers nothing: all it needs is known.
#[derive(Debug)]
pub(super) struct Order;

impl Rule for Order {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::Stages(attempt, inputs) = seen
            && let Some(expected) = known.expected.get(&attempt.process)
        {
            let wanted = expected.inputs.get(&attempt.activity);
            judged.count_if(wanted.is_some_and(|wanted| !wanted.is_empty()));
            if wanted.is_some_and(|wanted| wanted.as_slice() != *inputs) {
                return Err(format!("{attempt} gets {inputs:?} and not {wanted:?}"));
            }
        }
        let Seen::Started(command) = seen else {
            return Ok(());
        };
        let attempt = command.attempt;
        let Some(process) = known.processes.get(&attempt.process) else {
            return Err(format!("{attempt} starts, and its process is not durable"));
        };
        let is_late = !known.is_repeatable(attempt);
        if let Some(phase) = process.closed.filter(|_| is_late) {
            return Err(format!(
                "{attempt} starts after its process has {}",
                phase.word()
            ));
        }
        let Some(resource) = process.sent.get(&attempt) else {
            return Err(format!(
                "{attempt} starts, and it is not durable that it was sent"
            ));
        };
        if known.machines.get(resource) != Some(&command.machine) {
            return Err(format!(
                "{attempt} starts on machine {}, not {resource}",
                command.machine
            ));
        }
        let Some(expected) = known.expected.get(&attempt.process) else {
            return Ok(());
        };
        let Some(needs) = expected.needs.get(&attempt.activity) else {
            return Err(format!("{attempt} starts, and should have been skipped"));
        };
        judged.count_if(!needs.is_empty());
        if let Some(missing) = needs
            .iter()
            .find(|needed| !process.completed.contains(needed))
        {
            return Err(format!("{attempt} starts, and {missing} has not completed"));
        }
        let program = expected.programs.get(&attempt.activity);
        if program.is_some_and(|program| *program != command.program) {
            return Err(format!(
                "{attempt} starts {:?} and not {program:?}",
                command.program
            ));
        }
        Ok(())
    }
}
