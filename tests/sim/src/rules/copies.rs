//! What a machine keeps a copy of is not made again: in the simulation nothing else is ever lost, so
//! nothing is. And a copy is kept by another machine than the one that made it.

use process_core::{Event, Stream};
use simulator::Seen;

use super::Rule;
use crate::known::Known;

/// Remembers nothing: all it needs is known.
#[derive(Debug)]
pub(super) struct Copies;

impl Rule for Copies {
    fn see(&mut self, known: &Known, seen: &Seen<'_>) -> Result<(), String> {
        let Seen::ProcessDurable(Stream::Process(id), event) = seen else {
            return Ok(());
        };
        if let Event::Remaking(again) = event {
            return Err(format!(
                "{again:?} of {id} are made again, and nothing is gone"
            ));
        }
        if let Event::Copied {
            activity, resource, ..
        } = event
        {
            let durable = known.processes.get(id);
            let made = durable.and_then(|durable| {
                let ended = durable
                    .ended
                    .iter()
                    .filter(|(attempt, _)| attempt.activity == *activity);
                let last = ended.map(|(attempt, _)| attempt).max()?;
                durable.sent.get(last)
            });
            if made == Some(resource) {
                return Err(format!("{activity} of {id} has its copy where it was made"));
            }
        }
        Ok(())
    }
}
