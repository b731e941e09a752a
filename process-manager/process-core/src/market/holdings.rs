//! What group managers hold for processes: one question for all of them, after each connection and
//! for each epoch of a group manager. Earlier epochs may have claimed what they have not recorded,
//! and a group manager ends holdings of a process manager that is away for long.

use std::collections::BTreeMap;

use model::{Epoch, GroupId, Mono, ProcessId, ResourceId};
use wire::group::{Grant, Held, ToGroup, Want};

use super::inquiry::{Answered, Inquiry};
use super::{GroupLink, Market};
use crate::io::Effect;
use crate::limits;
use crate::record::{Event, Holding, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl GroupLink {
    /// True if nobody knows yet what its manager has granted to processes of earlier epochs: these
    /// are not planned for a moment.
    pub(super) fn is_unconfirmed(&self, now: Mono) -> bool {
        self.is_up && self.confirmed.is_none() && now < self.patient_until
    }
}

impl Market {
    /// Tells a group manager of the same program which slots the processes hold there, since its
    /// journal may have been lost: at the beginning of a connection, so that claims add to these
    /// slots. Machines of another program may have other numbers by then.
    pub(super) fn tell_holdings(&mut self, step: &mut Step<'_>, group: GroupId) {
        if step.config.lease.is_some() {
            return;
        }
        let held = |&id: &ProcessId| {
            let holding = step.cx.process(id)?.state.holdings.get(&group);
            let Holding { number, grants } = holding.cloned().unwrap_or_default();
            Some(Held {
                process: id,
                number,
                grants: grants.iter().map(Into::into).collect(),
            })
        };
        let held = self.demands.keys().filter_map(held).collect();
        step.cx.effect(Effect::ToGroup(group, ToGroup::Holds(held)));
    }

    /// This epoch of a group manager offers something, and has ended so many grants of processes:
    /// asks what it holds for them, where it has not told that yet.
    pub(super) fn inquire(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        (epoch, n_revoked): (Epoch, u64),
    ) {
        let Some(link) = self.groups.get_mut(&group) else {
            return;
        };
        let asked = link.inquiry.as_ref().map(|inquiry| inquiry.epoch);
        let is_known = |(of, known): (Epoch, u64)| of == epoch && known >= n_revoked;
        if link.confirmed.is_some_and(is_known) || asked == Some(epoch) {
            return;
        }
        self.ask(step, group, epoch);
    }

    fn ask(&mut self, step: &mut Step<'_>, group: GroupId, epoch: Epoch) {
        let Some(link) = self.groups.get_mut(&group) else {
            return;
        };
        self.n_inquiries += 1;
        let claims = self.demands.keys().filter_map(|&id| {
            let known = step.cx.process(id)?;
            Some((id, known.claim_number(group)))
        });
        link.inquiry = Some(Inquiry {
            number: self.n_inquiries,
            epoch,
            claims: claims.collect(),
        });
        self.repeat_inquiry(step, group);
    }

    /// Sends the open question to a group manager, until it is answered.
    pub(crate) fn repeat_inquiry(&mut self, step: &mut Step<'_>, group: GroupId) {
        let link = self.groups.get(&group).filter(|link| link.is_up);
        let Some(inquiry) = link.and_then(|link| link.inquiry.as_ref()) else {
            return;
        };
        let confirm = ToGroup::Confirm {
            epoch: step.epoch,
            group: inquiry.epoch,
            number: inquiry.number,
            processes: inquiry.claims.keys().copied().collect(),
        };
        step.cx.effect(Effect::ToGroup(group, confirm));
        step.timers
            .set(Timer::Inquiry(group), step.now.mono + limits::REPEAT);
        // Whoever waited for the answer has waited long enough.
        step.marks.want_plans();
    }

    /// A group manager tells what it holds for the processes that were asked for. Returns those that
    /// have a plan, which may need slots that are not held any more.
    pub(crate) fn on_holdings(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        answered: Answered,
        held: Vec<Held>,
    ) -> Vec<ProcessId> {
        let Some(link) = self.groups.get_mut(&group) else {
            return Vec::new();
        };
        let is_open =
            |inquiry: &Inquiry| answered.epoch == step.epoch && inquiry.number == answered.number;
        let Some(inquiry) = link.inquiry.take_if(|inquiry| is_open(inquiry)) else {
            return Vec::new();
        };
        link.confirmed = Some((inquiry.epoch, answered.n_revoked));
        step.timers.cancel(Timer::Inquiry(group));
        let held = held.into_iter().map(|one| (one.process, one));
        let mut held: BTreeMap<ProcessId, Held> = held.collect();
        let (mut planned, mut is_unclear) = (Vec::new(), false);
        for (id, claimed) in inquiry.claims {
            let Some(known) = step.cx.process(id) else {
                continue;
            };
            if known.phase() != Phase::Running || !self.demands.contains_key(&id) {
                continue;
            }
            if known.state.plan.generation.0 > 0 {
                planned.push(id);
            }
            let held = held.remove(&id);
            let (number, grants) = held.map_or((0, Vec::new()), |held| (held.number, held.grants));
            let recorded = known.claim_number(group);
            if recorded == claimed || recorded <= number {
                self.on_held(step, group, (id, number), grants);
            } else {
                // A claim was answered meanwhile. A refusal does not tell what is held.
                is_unclear = true;
            }
        }
        if is_unclear {
            self.ask(step, group, inquiry.epoch);
        }
        self.try_all(step);
        planned
    }

    /// Records what a group manager holds for a process, where that is not recorded.
    fn on_held(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        (id, number): (ProcessId, u32),
        grants: Vec<Grant>,
    ) {
        let open = self.claims.get(id, group).map(|claim| claim.number);
        if open == Some(number) && !grants.is_empty() {
            // The answer to this claim was lost, or is on its way.
            return self.on_granted(step, group, (id, number), (grants, false));
        }
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let before = known.state.holdings.get(&group);
        let before = before.cloned().unwrap_or_default();
        let left = match number < before.number {
            true => kept_of(&grants, &before),
            false => grants.clone(),
        };
        let is_returned = left != grants;
        let holding = Holding {
            number: number.max(before.number),
            grants: left.iter().map(Into::into).collect(),
        };
        if holding != before {
            let granted = Event::Granted { group, holding };
            step.cx.record(Stream::Process(id), granted);
            if let Some(known) = step.cx.process(id) {
                self.count_slots(known);
            }
        }
        if is_returned {
            self.return_again(step, group, id);
        }
        // An earlier epoch has used this number already: nothing is granted for it again.
        if let Some(open) = open.filter(|&open| open <= number)
            && self.answered(step, group, id, open).is_some()
        {
            self.on_answers(step, id);
        }
    }
}

/// The part of what a group manager holds under an earlier number that is recorded here: the rest was given
/// back since.
fn kept_of(grants: &[Grant], before: &Holding) -> Vec<Grant> {
    let mut kept: BTreeMap<ResourceId, u32> = BTreeMap::new();
    for grant in &before.grants {
        let slots = kept.entry(grant.resource).or_default();
        *slots = slots.saturating_add(grant.slots);
    }
    let kept = kept
        .into_iter()
        .map(|(resource, slots)| Want { resource, slots });
    let kept: Vec<Want> = kept.collect();
    wire::group::keep(grants, &kept)
}
