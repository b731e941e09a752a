//! Owners of processes are charged for the slots that these hold, and process managers are told what
//! each owner has used and may use.
//!
//! The time between two changes of holdings is recorded with the second one ([`Event::Charged`]), so
//! what an owner has used is a fold of events. Within an epoch it is measured by the clock that never
//! goes back. The time between two epochs is taken from the calendar.

use std::collections::BTreeSet;

use machine::Context;
use model::{Mono, Now, Span};
use wire::group::{OwnerUsage, Owners, owner_name};
use wire::resource::ProcessGrant;

use crate::io::Stream;
use crate::manager::{GroupManager, state};
use crate::record::{Event, MachineNumber};
use crate::state::State;
use crate::usage::OWNERS_MAX;

/// Period of charging while holdings do not change: what a calendar that is set between two epochs can
/// distort stays in proportion.
const CHARGE_PERIOD: Span = Span::from_secs(60);
/// The longest absence of the group manager that is charged for slots held meanwhile. A longer one is
/// more likely a calendar that was set.
const ABSENCE_MAX: Span = Span::from_secs(3_600);
/// Owners in an offer, with some 40 bytes each: those whose usage is kept, and as many others.
const OWNERS_TOLD_MAX: usize = 2 * OWNERS_MAX;

impl GroupManager {
    /// An epoch begins: charges for the time since the last one.
    pub(crate) fn begin_charging(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        (self.charging.now, self.charging.since) = (now, now.mono);
        if !self.config.policy.is_fair() {
            return;
        }
        let state = state(cx);
        let longest = match state.owners().next() {
            Some(_) => ABSENCE_MAX,
            None => Span(u64::MAX),
        };
        let charged = state.usage().charged();
        let elapsed = charged.map_or(Span::ZERO, |charged| now.wall.since(charged));
        self.record_charged(cx, elapsed.min(longest));
    }

    /// A step begins.
    pub(crate) fn note_time(&mut self, now: Now) {
        self.charging.now = now;
    }

    /// The time of this step.
    pub(crate) fn now(&self) -> Now {
        self.charging.now
    }

    /// Charges owners for the time since they were charged last, before their holdings change.
    pub(crate) fn charge(&mut self, cx: &mut Context<'_, Self>) {
        let elapsed = self.charging.uncharged();
        if self.config.policy.is_fair() && elapsed > Span::ZERO {
            self.record_charged(cx, elapsed);
        }
    }

    fn record_charged(&mut self, cx: &mut Context<'_, Self>, elapsed: Span) {
        self.charging.since = self.charging.now.mono;
        let charged = Event::Charged {
            elapsed,
            half_life: self.config.policy.half_life,
            at: self.charging.now.wall,
        };
        cx.record(Stream::Manager, charged);
    }

    /// A step ends: charges where that was not done for long.
    pub(crate) fn charge_in_time(&mut self, cx: &mut Context<'_, Self>) {
        self.charging.is_any_held = state(cx).owners().next().is_some();
        if self
            .charge_due()
            .is_some_and(|due| due <= self.charging.now.mono)
        {
            self.charge(cx);
        }
    }

    /// When [`GroupManager::charge_in_time`] is due.
    pub(crate) fn charge_due(&self) -> Option<Mono> {
        let is_charging = self.config.policy.is_fair() && self.charging.is_any_held;
        is_charging.then(|| self.charging.since + CHARGE_PERIOD)
    }

    /// Slots that an owner may hold beside those that it has; none where there is no limit.
    pub(crate) fn left_for(&self, state: &State, owner: &str) -> Option<u32> {
        let slots_max = self.config.policy.slots_max(owner)?;
        let idle = self.idle(state);
        let idle = idle.iter().filter(|(of, ..)| of == owner);
        let idle: u64 = idle.map(|(_, _, slots)| slots).sum();
        let held = state.held_by_owner(owner).saturating_sub(idle);
        Some(slots_max.saturating_sub(u32::try_from(held).unwrap_or(u32::MAX)))
    }

    /// What is held of machines that are not offered, by owner and process manager: it counts for no
    /// limit, so that a process can leave a machine that it has lost.
    fn idle(&self, state: &State) -> Vec<(String, Option<u32>, u64)> {
        let holders = state.holders().map(|(machine, _)| machine);
        let idle = holders.filter(|&machine| !self.is_offered(state, machine));
        let grants = idle.flat_map(|machine| state.grants(machine));
        let of = |grant: ProcessGrant| {
            let holding = state.holding(grant.process)?;
            let owner = owner_name(holding.owner.as_deref()).to_owned();
            Some((owner, holding.manager, u64::from(grant.slots)))
        };
        grants.filter_map(of).collect()
    }

    /// Returns true if process managers are offered a machine.
    pub(crate) fn is_offered(&self, state: &State, machine: MachineNumber) -> bool {
        let known = self.machines.get(machine);
        let known = known.filter(|known| known.is_there() && known.facts.slots > 0);
        known.is_some_and(|known| !state.is_drained(&known.facts.name))
    }

    /// Returns true if the owner holds as many slots as it may.
    pub(crate) fn is_at_limit(&self, state: &State, owner: &str) -> bool {
        self.left_for(state, owner) == Some(0)
    }

    /// What an owner has used for its share: the one with least is next. All are alike where owners have no
    /// shares.
    pub(crate) fn used_for_share(&self, state: &State, name: &str) -> u64 {
        let policy = &self.config.policy;
        if !policy.is_fair() {
            return 0;
        }
        let held = state.held_by_owner(name);
        let since = (self.charging.uncharged(), policy.half_life);
        let usage = state.usage().after(name, held, since);
        wire::group::used_for_share(usage, held, policy.share(name))
    }

    /// The owners as process managers are told of them, without what each of these holds for them; none
    /// where the group has no rule for them.
    pub(crate) fn owners(&self, state: &State) -> Option<Owners> {
        let policy = &self.config.policy;
        if !policy.is_any() {
            return None;
        }
        let elapsed = match policy.is_fair() {
            true => self.charging.uncharged(),
            false => Span::ZERO,
        };
        let idle = self.idle(state);
        let owners = self.told_owners(state).into_iter().map(|name| {
            let held = state.held_by_owner(name);
            let idle = idle.iter().filter(|(of, ..)| of == name);
            let idle: u64 = idle.map(|(_, _, slots)| slots).sum();
            OwnerUsage {
                name: name.to_owned(),
                share: policy.share(name),
                usage: state.usage().after(name, held, (elapsed, policy.half_life)),
                held: u32::try_from(held.saturating_sub(idle)).unwrap_or(u32::MAX),
                yours: 0,
                slots_max: policy.slots_max(name),
            }
        });
        Some(Owners {
            is_fair: policy.is_fair(),
            slots_max: policy.slots_max,
            owners: owners.collect(),
        })
    }

    /// The same for one process manager.
    pub(crate) fn owners_to(
        &self,
        state: &State,
        owners: Option<Owners>,
        to: u32,
    ) -> Option<Owners> {
        let mut owners = owners?;
        let idle = self.idle(state);
        for one in &mut owners.owners {
            let idle = idle.iter();
            let idle = idle.filter(|(of, at, _)| *of == one.name && *at == Some(to));
            let idle: u64 = idle.map(|(_, _, slots)| slots).sum();
            let yours = state.held_by_owner_at(&one.name, to).saturating_sub(idle);
            one.yours = u32::try_from(yours).unwrap_or(u32::MAX);
        }
        Some(owners)
    }

    /// The names of the owners that process managers are told of, in their order: where there are too many, those
    /// whose processes hold slots or wait, then those who have used the group, then those with limits of their own.
    fn told_owners<'a>(&'a self, state: &'a State) -> BTreeSet<&'a str> {
        let limited = &self.config.policy.slots_max_of;
        let holding = state.owners().map(|(name, _)| name);
        let waiting = self.waiters.0.values().map(|one| one.owner.as_str());
        let waiting = waiting.filter(|name| limited.contains_key(*name));
        let used = state.usage().used().map(|(name, _)| name);
        let limited = limited.keys().map(String::as_str);
        let mut told = BTreeSet::new();
        for name in holding.chain(waiting).chain(used).chain(limited) {
            // Those beyond are counted where slots are granted.
            if told.len() >= OWNERS_TOLD_MAX {
                break;
            }
            told.insert(name);
        }
        told
    }
}
