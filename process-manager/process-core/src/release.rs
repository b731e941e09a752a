//! Slots are given back at the end of a process, to every group manager that may have granted some.

use std::collections::BTreeSet;

use machine::Context;
use model::{GroupId, Now, ProcessId};
use wire::group::ToGroup;

use crate::held::held;
use crate::io::{Effect, Stream};
use crate::manager::{ProcessManager, Timer, limits, process};
use crate::record::Event;

impl ProcessManager {
    /// Gives all slots back, again and again until the group managers say so.
    pub(crate) fn release(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        if held(cx, id).is_some_and(|held| !held.is_released()) {
            return self.ask_release(cx, now, id);
        }
        let Some(known) = process(cx, id) else { return };
        if known.course.is_released || !known.phase().has_ended() {
            return;
        }
        if let Some(live) = self.live.get_mut(&id) {
            live.claims.clear();
        }
        let has_claimed = self.live.get(&id).is_none_or(|live| {
            let may_have = live.is_inherited && !known.definition.activities().is_empty();
            may_have || !live.asked.is_empty()
        });
        if !has_claimed && known.course.holdings.is_empty() {
            return self.note_released(cx, id);
        }
        self.ask_release(cx, now, id);
    }

    /// Asks the group managers that have not said that they hold nothing for a process any more.
    pub(crate) fn ask_release(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let holders = self.may_hold(cx, id);
        let said = self.releasing.entry(id).or_default();
        for &group in holders.difference(said) {
            if self.groups.get(&group).is_some_and(|link| link.is_up) {
                cx.effect(Effect::ToGroup(group, ToGroup::Release(id)));
            }
        }
        self.arm(Timer::Release(id), now.mono + limits::REPEAT);
    }

    /// A group manager holds nothing for a process.
    pub(crate) fn on_released(
        &mut self,
        cx: &mut Context<'_, Self>,
        group: GroupId,
        id: ProcessId,
    ) {
        // A process that goes on has not asked for it.
        let Some(said) = self.releasing.get_mut(&id) else {
            return;
        };
        said.insert(group);
        let holders = self.may_hold(cx, id);
        let said = self.releasing.get(&id);
        if !holders.is_empty() && said.is_some_and(|said| holders.is_subset(said)) {
            self.note_released(cx, id);
        }
    }

    fn note_released(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) {
        cx.record(Stream::Process(id), Event::Released);
        self.disarm(Timer::Release(id));
        self.releasing.remove(&id);
        self.live.remove(&id);
        self.unkeep(id);
        // Others may have waited while a plan was made for it.
        self.plan_next(cx);
    }

    /// The groups that may hold slots for a process: where it holds some, where this epoch has
    /// claimed some, and any where an earlier epoch may have.
    fn may_hold(&self, cx: &Context<'_, Self>, id: ProcessId) -> BTreeSet<GroupId> {
        let recorded = process(cx, id).map(|known| known.course.holdings.keys());
        let mut groups: BTreeSet<GroupId> = recorded.into_iter().flatten().copied().collect();
        let configured = &self.config.groups;
        if !configured.is_empty() {
            // What a group held that the grid does not have any more is held by nobody.
            let is_there =
                |group: &GroupId| configured.contains(group) || self.groups.contains_key(group);
            groups.retain(is_there);
        }
        let live = self.live.get(&id);
        groups.extend(live.into_iter().flat_map(|live| &live.asked));
        if live.is_none_or(|live| live.is_inherited) {
            groups.extend(self.groups.keys());
            groups.extend(configured);
        }
        groups
    }
}
