//! The processes that are planned before a waiting one, as the order is at the moment, and when machines
//! are expected to be free for it.

mod calendar;

use model::{ProcessId, Span, Wall};
use wire::client::Turn;
use wire::group::owner_name;

use super::Market;
use crate::enact::busy::Running;
use crate::machines::Machines;
use crate::process::Process;
use crate::step::Step;

use calendar::Calendar;

/// Processes before another one up to which it is told when machines are expected to be free for it. Each is
/// looked for on all machines, and what many others take nobody foresees.
const AHEAD_MAX: usize = 64;
/// Activities of all processes that are looked at for that, together: some tens of milliseconds, in which nobody
/// else is answered.
const LOOKED_AT_MAX: usize = 300_000;

impl Market {
    /// Before whom a process waits for its first plan, and from when on it is expected to get machines;
    /// none where it does not wait.
    pub(crate) fn turn(
        &self,
        step: &Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        id: ProcessId,
    ) -> Option<Turn> {
        let demand = self.demands.get(&id).filter(|_| self.wants_plan(id))?;
        if demand.has_plan {
            return None;
        }
        let ahead = self.queue.ahead(demand.turn_of(id))?;
        let (last, last_owner) = match ahead.nearest {
            None => (None, None),
            Some((nearest, owner)) if owner == demand.class.owner => (Some(nearest), None),
            Some((_, owner)) => (None, Some(owner_name(owner.as_deref()).to_owned())),
        };
        let free_at = match ahead.n <= AHEAD_MAX {
            true => self.expected_at(step, (machines, running), id),
            false => None,
        };
        Some(Turn {
            n_before: u32::try_from(ahead.n).unwrap_or(u32::MAX),
            last,
            last_owner,
            free_at,
        })
    }

    /// When there is a machine for each activity of a process that waits, once those before it have taken
    /// theirs; none where that is not known.
    fn expected_at(
        &self,
        step: &Step<'_>,
        (machines, running): (&Machines, &dyn Running),
        id: ProcessId,
    ) -> Option<Wall> {
        let (demand, known) = (self.demands.get(&id)?, step.cx.process(id)?);
        // What is planned at the moment, and what has lost its machine, takes slots before it.
        if !self.planning.is_empty() || self.queue.first_tried().is_some() {
            return None;
        }
        let before = self.queue.before(demand.turn_of(id));
        let before = before.into_iter().map(|before| step.cx.process(before));
        let before: Vec<&Process> = before.collect::<Option<_>>()?;
        let users = self.slots.users();
        let holders = users.filter_map(|(user, _)| step.cx.process(user));
        let all = holders.chain(before.iter().copied()).chain([known]);
        let n_looked_at = all.map(|process| process.definition().activities().len());
        if n_looked_at.sum::<usize>() > LOOKED_AT_MAX {
            return None;
        }
        let mut calendar = Calendar::new(self, step, (machines, running), id);
        let mut at = Span::ZERO;
        for before in before {
            at = at.max(calendar.fits_after(before)?);
            calendar.take(step, before, at);
        }
        let at = at.max(calendar.fits_after(known)?);
        // It was tried on these very slots, and something else is in its way.
        let is_in_vain = at == Span::ZERO && demand.tried == Some(self.n_offers);
        (!is_in_vain).then(|| step.now.wall + at)
    }
}
