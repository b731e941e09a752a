//! A machine is forgotten only where nobody holds slots of it. What
//! processes have there besides, the other rules judge: they end as they should in spite of it.

use group_core::Event;
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// Machines that are forgotten.
#[derive(Debug, Default)]
pub(super) struct Forgotten;

impl Rule for Forgotten {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        let Seen::GroupDurable(group, Event::Forgotten { resource }) = seen else {
            return Ok(());
        };
        judged.count();
        let resource = resource.of(*group);
        if let Some((process, slots)) = known.held.at(resource).next() {
            return Err(format!(
                "{resource} is forgotten, and {process} holds {slots} of it"
            ));
        }
        Ok(())
    }
}
