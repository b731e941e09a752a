//! Process managers that wait: slots are kept for the process whose turn it is at one of them, so that others
//! do not take each slot as soon as it is free.
//!
//! ```text
//!   process manager                                 group manager
//!   its first process fits nowhere for 1 s  Waits   kept: for each need, what is free of the machine that
//!   ... and each second, until it has slots ----->        lacks least of it
//!                                           Offer   what is free; less what is kept for those who come
//!                                           <-----        before the receiver
//! ```
//!
//! Who has got nothing in its turn for longest comes first. Where owners have shares, who has used least for its
//! share does: its claims take what is kept for an owner who has used more. But a process that holds a part of
//! what it needs comes before all others, since these may wait for that part. Nothing of this is durable: it is
//! told again each second.

use std::collections::BTreeMap;

use machine::Context;
use model::{ProcessId, Span};
use wire::group::{NEEDS_MAX, Need, owner_name};
use wire::resource::Facts;

use crate::link::Presence;
use crate::manager::{GroupManager, state};
use crate::record::MachineNumber;
use crate::state::State;
use crate::waiters::{Keeping, Waiter};

/// Time for which a process waits until slots are kept for it on one machine more, since what others do on the
/// first ones may take long.
const ONE_MORE_AFTER: Span = Span::from_secs(30);
/// The longest wait that counts.
const WAITED_MAX: Span = Span::from_secs(24 * 3_600);

/// The place of a process manager in the order of those that wait: the least one is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// True unless its process holds slots.
    is_empty: bool,
    /// What the owner of its process has used for its share.
    used: u64,
    since: i64,
    manager: u32,
}

/// Who wants slots that may be kept for others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rival {
    /// The process manager.
    pub(crate) manager: u32,
    /// What the owner of its process has used for its share.
    pub(crate) used: u64,
}

impl GroupManager {
    /// The process whose turn it is at a process manager waits.
    pub(crate) fn on_waits(
        &mut self,
        from: u32,
        (process, owner): (ProcessId, Option<&str>),
        waited: Span,
        mut needs: Vec<Need>,
    ) {
        if self.process_managers.presence(from) != Presence::Attached {
            return;
        }
        needs.truncate(NEEDS_MAX);
        let now = self.charging.now.mono;
        let waited = waited.min(WAITED_MAX);
        let owner = owner_name(owner).to_owned();
        let waiter = Waiter::new((process, owner), needs, (now, waited));
        self.has_changed |= self.waiters.insert(from, waiter);
    }

    /// Slots that are kept for others than this one, by machine.
    pub(crate) fn kept_from(&self, state: &State, rival: Rival) -> BTreeMap<MachineNumber, u32> {
        let mut kept = BTreeMap::new();
        for (place, waiter) in self.in_order(state) {
            if place.manager == rival.manager || place.is_empty && rival.used < place.used {
                break;
            }
            self.keep(state, waiter, &mut kept);
        }
        kept
    }

    /// The rival that is any process of a process manager, as far as the owners of those tell that hold slots.
    pub(crate) fn any_of(&self, state: &State, manager: u32) -> Rival {
        let owners = state.owners().map(|(name, _)| name);
        let owners = owners.filter(|name| state.held_by_owner_at(name, manager) > 0);
        let used = owners.map(|name| self.used_for_share(state, name)).min();
        Rival {
            manager,
            used: used.unwrap_or(u64::MAX),
        }
    }

    /// Notes who could claim by now what it waits for.
    pub(crate) fn note_fitting(&mut self, cx: &Context<'_, Self>) {
        let (state, now) = (state(cx), self.charging.now.mono);
        let mut kept = BTreeMap::new();
        let fitting: Vec<(u32, bool)> = self
            .in_order(state)
            .into_iter()
            .map(|(place, waiter)| (place.manager, self.keep(state, waiter, &mut kept)))
            .collect();
        for (manager, fits) in fitting {
            if let Some(waiter) = self.waiters.0.get_mut(&manager) {
                waiter.note(fits, now);
            }
        }
    }

    /// Those for whom slots are kept, the next one first.
    fn in_order(&self, state: &State) -> Vec<(Place, &Waiter)> {
        let waiters = self.waiters.0.iter();
        let waiters = waiters.filter(|(_, one)| !matches!(one.keeping, Keeping::PassedOver(_)));
        // The word of a process that waits may have crossed its grant.
        let waiters = waiters.filter(|(_, one)| !self.has_all(state, one));
        let place = |(&manager, waiter): (&u32, &'_ Waiter)| {
            let holding = state.holding(waiter.process);
            let mut grants = holding.into_iter().flat_map(|holding| &holding.grants);
            Place {
                is_empty: grants.all(|grant| grant.slots == 0),
                used: self.used_for_share(state, &waiter.owner),
                since: waiter.since,
                manager,
            }
        };
        let mut waiters: Vec<(Place, &Waiter)> = waiters.map(|one| (place(one), one.1)).collect();
        waiters.sort_unstable_by_key(|&(place, _)| place);
        waiters
    }

    /// Returns true if a process holds all that it waits for.
    fn has_all(&self, state: &State, waiter: &Waiter) -> bool {
        let Some(holding) = state.holding(waiter.process) else {
            return false;
        };
        let mut held: BTreeMap<MachineNumber, u32> = BTreeMap::new();
        for grant in &holding.grants {
            *held.entry(grant.resource).or_default() += grant.slots;
        }
        let has = |need: &Need| {
            held.iter().any(|(number, slots)| {
                let machine = self.machines.get(*number);
                need.cores <= *slots && machine.is_some_and(|one| suffices(&one.facts, need))
            })
        };
        !held.is_empty() && waiter.needs.iter().all(has)
    }

    /// Keeps slots for a process beside those that are kept already, where its owner may hold as many as it needs.
    /// Returns true if it fits on them.
    fn keep(
        &self,
        state: &State,
        waiter: &Waiter,
        kept: &mut BTreeMap<MachineNumber, u32>,
    ) -> bool {
        // Without a machine for one of its needs it uses none.
        let is_there = |need: &Need| {
            let mut machines = self.machines.iter();
            machines.any(|(number, machine)| {
                suffices(&machine.facts, need) && self.is_offered(state, number)
            })
        };
        if !waiter.needs.iter().all(is_there) {
            return false;
        }
        let holding = state.holding(waiter.process);
        let grants = || holding.iter().flat_map(|holding| &holding.grants);
        let held = |number: MachineNumber| -> u32 {
            let there = grants().filter(|grant| grant.resource == number);
            there.map(|grant| grant.slots).sum()
        };
        let waited = self.charging.now.mono.0.cast_signed() - waiter.since;
        let n_machines = 1 + waited / ONE_MORE_AFTER.0.cast_signed();
        let left = self.left_for(state, &waiter.owner).unwrap_or(u32::MAX);
        let mut own: BTreeMap<MachineNumber, u32> = BTreeMap::new();
        // By the best machine for each need, the slots that it would claim there.
        let mut claims: BTreeMap<MachineNumber, u32> = BTreeMap::new();
        let mut fits = true;
        for need in &waiter.needs {
            let covers = |(number, slots): (&MachineNumber, &u32)| {
                let machine = self.machines.get(*number);
                let has_all = need.cores <= held(*number) + slots;
                has_all && machine.is_some_and(|machine| suffices(&machine.facts, need))
            };
            if own.iter().any(covers) {
                continue;
            }
            let fitting = self.machines.iter().filter(|(number, machine)| {
                suffices(&machine.facts, need) && self.is_offered(state, *number)
            });
            let fitting = fitting.map(|(number, _)| {
                let of_others = kept.get(&number).copied().unwrap_or_default();
                let free = self.free(state, number).saturating_sub(of_others);
                let wanted = need.cores.saturating_sub(held(number));
                (wanted.saturating_sub(free), number, wanted.min(free))
            });
            let is_allowed = |&(lacking, number, slots): &(u32, MachineNumber, u32)| {
                let others = claims.iter().filter(|(other, _)| **other != number);
                let others: u32 = others.map(|(_, slots)| slots).sum();
                let here = claims.get(&number).copied().unwrap_or_default();
                others + here.max(lacking + slots) <= left
            };
            let mut fitting: Vec<(u32, MachineNumber, u32)> = fitting.filter(is_allowed).collect();
            fitting.sort_unstable();
            let Some(&(lacking, best, slots)) = fitting.first() else {
                return false;
            };
            let claimed = claims.entry(best).or_default();
            *claimed = (lacking + slots).max(*claimed);
            let has_all = lacking == 0;
            fits &= has_all;
            let n_kept = if has_all { 1 } else { n_machines };
            for &(_, number, slots) in fitting.iter().take(usize::try_from(n_kept).unwrap_or(1)) {
                let own = own.entry(number).or_default();
                *own = slots.max(*own);
            }
        }
        for (number, slots) in own {
            *kept.entry(number).or_default() += slots;
        }
        fits
    }
}

/// Returns true if a machine that nobody uses has what is needed.
fn suffices(facts: &Facts, need: &Need) -> bool {
    let mut labels = need.labels.iter();
    facts.slots >= need.cores
        && need.memory.is_none_or(|memory| memory <= facts.memory)
        && labels.all(|(name, value)| facts.labels.get(name) == Some(value))
}
