//! Slots for races: where a process has no idle slot on another machine, a free one is claimed that nobody else
//! waits for. Nothing of its plan waits for the answer.
//!
//! ```text
//!   late --claimed--> granted --> raced --> over, or others wait --> surplus --> Return
//!     ^        |          +--- pays no more ----------------------------^
//!     +--------+ refused, or not answered: again after 1 s, 2 s, 4 s ...
//! ```
//! A slot for a race is one that the plan has no entries for, so that it goes back as any other such slot
//! ([`crate::market::returns`]): as soon as no attempt uses it. A claim that is open at a restart is asked for as all
//! others are, and what it was granted goes back likewise.

use std::collections::BTreeMap;

use model::{Generation, ProcessId, ResourceId};
use wire::group::Want;

use super::{Straggler, fits};
use crate::enact::works::knows_work;
use crate::machines::Machines;
use crate::market::Market;
use crate::market::claim::Claim;
use crate::process::Process;
use crate::record::{Event, Replanned};
use crate::step::Step;
use crate::stream::Stream;

impl Market {
    /// Claims slots for a second attempt on the machine where that is expected to end first, if that is sooner than
    /// the first one is expected to end. After each claim the next one for the same attempt waits twice as long, so
    /// that none is repeated without an end where slots are refused or of no use.
    pub(super) fn claim_for_race(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        id: ProcessId,
        straggler: &Straggler,
    ) {
        let attempt = (straggler.activity, straggler.number);
        if !self.may_claim_for(id, attempt, step.now.mono) {
            return;
        }
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let Some(place) = self.soonest_free(step, machines, known, straggler) else {
            return;
        };
        let mut claim = Claim::spare(known.next_claim_number(place.group), known.owner.clone());
        claim.wants.push(Want {
            resource: place,
            slots: known.cores(straggler.activity),
        });
        self.note_claimed_for(id, attempt, step.now.mono);
        self.name_machine(step, id, place);
        self.claim(step, id, BTreeMap::from([(place.group, claim)]));
    }

    fn soonest_free(
        &self,
        step: &Step<'_>,
        machines: &Machines,
        known: &Process,
        straggler: &Straggler,
    ) -> Option<ResourceId> {
        let declared = known.definition().activity_as_written(straggler.activity)?;
        // Slots that other process managers may claim too are left to processes that hold none.
        let open = self.slots.open();
        let open = open.filter(|&place| self.growth.usable_from(place) <= step.now.mono);
        let free = open.map(|place| (place, self.slots.free(place)));
        let mut free: BTreeMap<ResourceId, u32> = free.collect();
        self.limit(machines, known, &mut free);
        let may_be = |&(&place, &free): &(&ResourceId, &u32)| {
            let link = self.groups.get(&place.group);
            let may_claim = link.is_some_and(|link| link.is_up)
                && self.claims.get(known.id(), place.group).is_none();
            let offered = self.answering(machines, place);
            place != straggler.resource
                && free >= declared.cores
                && may_claim
                && self.has_room_for_rivals(known, machines, place)
                && offered.is_some_and(|offered| fits(offered, declared))
        };
        let places = free.iter().filter(may_be).map(|(&place, _)| place);
        self.soonest_of(step, known, straggler, places)
    }

    /// Records the name of a machine that no plan has named, as a plan that changes nothing else: attempts there are
    /// told by it.
    fn name_machine(&mut self, step: &mut Step<'_>, id: ProcessId, place: ResourceId) {
        let Some(known) = step
            .cx
            .process(id)
            .filter(|known| !known.has_slots_of(place))
        else {
            return;
        };
        let Some(offered) = self.offered_at(place) else {
            return;
        };
        let before = &known.state.plan;
        let mut plan = before.clone();
        plan.generation = Generation(before.generation.0 + 1);
        let machines = vec![(place, offered.name.clone())];
        let is_estimate = knows_work(known, step.history);
        let mut named = Replanned::new(before, &plan, machines, is_estimate);
        named.slots = Some(vec![offered.slots]);
        let event = Event::Replanned(Box::new(named));
        step.cx.record(Stream::Process(id), event);
    }
}
