//! A machine's request for its lease is answered soon, whatever its process manager does: where the
//! answer comes late, healthy machines stop what they run.

use std::collections::BTreeMap;

use model::{Epoch, Mono, Span};
use simulator::Seen;

use super::{Judged, Rule};
use crate::known::Known;

/// The longest wait for an answer. The network's time is not part of it.
const ANSWERED: Span = Span::from_secs(1);

/// A process manager, a machine, its epoch, and the number of its request.
type Asked = (usize, usize, Epoch, u32);

/// The requests that wait, and since when.
#[derive(Debug, Default)]
pub(super) struct Leases {
    waiting: BTreeMap<Asked, Mono>,
    /// The process managers that are stopped.
    stopped: Vec<usize>,
}

impl Leases {
    fn answered(&mut self, at: Mono, asked: Asked, judged: &mut Judged) -> Result<(), String> {
        let Some(since) = self.waiting.remove(&asked) else {
            return Ok(());
        };
        judged.count();
        let (manager, machine, ..) = asked;
        match at.since(since) {
            waited if waited > ANSWERED => Err(format!(
                "manager {manager} answers machine {machine} after {waited}"
            )),
            _ => Ok(()),
        }
    }
}

impl Rule for Leases {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let &Seen::Renews {
            manager,
            machine,
            epoch,
            number,
        } = seen
        {
            let asked = (manager, machine, epoch, number);
            self.waiting.entry(asked).or_insert(known.at);
        }
        // What waited for an earlier life is lost with it.
        if let &Seen::Leases(manager, _) = seen {
            self.waiting.retain(|(of, ..), _| *of != manager);
        }
        if let &Seen::Managers {
            manager, process, ..
        } = seen
        {
            let was_stopped = self.stopped.contains(&manager);
            if process && was_stopped {
                // It reads what has come meanwhile.
                let own = self.waiting.iter_mut();
                let own = own.filter(|((of, ..), _)| *of == manager);
                own.for_each(|(_, since)| *since = known.at);
                self.stopped.retain(|one| *one != manager);
            } else if !process && !was_stopped {
                self.stopped.push(manager);
            }
        }
        if let &Seen::Renewed {
            manager,
            machine,
            epoch,
            number,
        } = seen
        {
            return self.answered(known.at, (manager, machine, epoch, number), judged);
        }
        Ok(())
    }
}
