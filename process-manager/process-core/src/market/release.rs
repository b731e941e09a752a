//! Slots are given back at the end of a process, to every group manager that may have granted some.

use std::collections::BTreeSet;

use model::{GroupId, ProcessId};
use wire::group::ToGroup;

use super::{GroupLink, Market};
use crate::io::Effect;
use crate::limits;
use crate::record::Event;
use crate::step::Step;
use crate::stream::{State, Stream};
use crate::timer::Timer;

impl Market {
    /// After a restart: gives back the slots of held processes, which this version does not
    /// understand. Their attempts are stopped when a machine lists them, since no process waits for
    /// them.
    pub(crate) fn release_held(&mut self, step: &mut Step<'_>) {
        let open = step.cx.states().filter_map(|(_, state)| match state {
            State::Held(held) if !held.is_released() => Some(held.id()),
            State::Held(_)
            | State::Process(_)
            | State::Packed(_)
            | State::Empty
            | State::Manager { .. } => None,
        });
        let open: Vec<ProcessId> = open.collect();
        for id in open {
            self.ask_release(step, id);
        }
    }

    /// Gives all slots back, again and again until the group managers say so. Returns true where the
    /// process holds none.
    pub(crate) fn release(&mut self, step: &mut Step<'_>, id: ProcessId) -> bool {
        if step.cx.held(id).is_some_and(|held| !held.is_released()) {
            self.ask_release(step, id);
            return false;
        }
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        if known.state.is_released || !known.phase().has_ended() {
            return false;
        }
        self.claims.remove_all(id);
        self.returns.forget(id);
        step.timers.cancel(Timer::Return(id));
        let groups = &self.groups;
        let is_shared = |group| groups.get(&group).is_some_and(GroupLink::is_shared);
        let may_claim = self.slots.give_back(id, is_shared);
        self.note_used(id, known.owner.as_deref(), &[]);
        if may_claim {
            self.retry(false);
            step.marks.want_plans();
        }
        let has_claimed = self.demands.get(&id).is_none_or(|demand| {
            let may_have = demand.is_inherited && !known.definition.activities().is_empty();
            may_have || !demand.asked.is_empty()
        });
        if !has_claimed && known.state.holdings.is_empty() {
            self.note_released(step, id);
            return true;
        }
        self.ask_release(step, id);
        false
    }

    /// Asks the group managers that have not said that they hold nothing for a process any more.
    pub(crate) fn ask_release(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let holders = self.may_hold(step, id);
        let said = self.releasing.entry(id).or_default();
        for &group in holders.difference(said) {
            if self.groups.get(&group).is_some_and(|link| link.is_up) {
                step.cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
            }
        }
        step.timers
            .set(Timer::Release(id), step.now.mono + limits::REPEAT);
    }

    /// A group manager is there: tells it again which slots are given back, before its offer.
    pub(super) fn release_again(&self, step: &mut Step<'_>, group: GroupId) {
        for (&id, said) in &self.releasing {
            if !said.contains(&group) && self.may_hold(step, id).contains(&group) {
                step.cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
            }
        }
    }

    /// A group manager holds nothing for a process.
    /// Returns true with the last answer.
    pub(super) fn on_released(
        &mut self,
        step: &mut Step<'_>,
        group: GroupId,
        id: ProcessId,
    ) -> bool {
        // A process that goes on has not asked for it.
        let Some(said) = self.releasing.get_mut(&id) else {
            return false;
        };
        said.insert(group);
        let holders = self.may_hold(step, id);
        let said = self.releasing.get(&id);
        let is_last = !holders.is_empty() && said.is_some_and(|said| holders.is_subset(said));
        if is_last {
            self.note_released(step, id);
        }
        is_last
    }

    fn note_released(&mut self, step: &mut Step<'_>, id: ProcessId) {
        step.cx.record(Stream::Process(id), Event::Released);
        step.pack_soon();
        step.timers.cancel(Timer::Release(id));
        self.releasing.remove(&id);
        self.demands.remove(&id);
        self.misfits.remove(&id);
        // Others may have waited while a plan was made for it.
        step.marks.want_plans();
    }

    /// The groups that may hold slots for a process: where it holds some, where this epoch has
    /// claimed some, and any where an earlier epoch may have.
    fn may_hold(&self, step: &Step<'_>, id: ProcessId) -> BTreeSet<GroupId> {
        let recorded = step.cx.process(id).map(|known| known.state.holdings.keys());
        let mut groups: BTreeSet<GroupId> = recorded.into_iter().flatten().copied().collect();
        let configured = &step.config.groups;
        if !configured.is_empty() {
            // A group that is no longer in the grid holds no slots.
            let is_there =
                |group: &GroupId| configured.contains(group) || self.groups.contains_key(group);
            groups.retain(is_there);
        }
        let demand = self.demands.get(&id);
        groups.extend(demand.into_iter().flat_map(|demand| &demand.asked));
        if demand.is_none_or(|demand| demand.is_inherited) {
            groups.extend(self.groups.keys());
            groups.extend(configured);
        }
        groups
    }
}
