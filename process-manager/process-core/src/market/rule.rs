//! The rule by which a process is planned again while it runs: the one that it names, or else the one of a group where
//! it holds slots.
//!
//! Groups tell their rules with offers. A group that is away keeps the one that it told last, so that its return
//! changes nothing. They are volatile: after a restart, processes that name none follow [`Policy::default`] until
//! their groups have made an offer.

use std::collections::BTreeMap;

use model::{GroupId, Policy, Tuning};

use crate::process::Process;

/// The rules of the groups that have one, and the parameters of those that have some.
#[derive(Debug, Default)]
pub(super) struct Rules {
    policies: BTreeMap<GroupId, Policy>,
    tunings: BTreeMap<GroupId, Tuning>,
}

impl Rules {
    /// A group has told its rule and its parameters, or that it has none. Those out of bounds are none.
    pub(super) fn tell(&mut self, group: GroupId, rule: Option<Policy>, tuning: Option<Tuning>) {
        match rule.filter(|rule| rule.is_within_bounds()) {
            Some(rule) => self.policies.insert(group, rule),
            None => self.policies.remove(&group),
        };
        let is_sound = |tuning: &Tuning| tuning.named().all(|(_, part)| part.is_within_bounds());
        match tuning.filter(is_sound) {
            Some(tuning) => self.tunings.insert(group, tuning),
            None => self.tunings.remove(&group),
        };
    }

    /// The rule of a process. Where several groups of its machines have one, it is that of the group with the lowest
    /// number: the machines of a process are judged beside each other, by one rule.
    pub(super) fn of(&self, known: &Process) -> Policy {
        if let Some(own) = known.definition().draft().policy {
            return own;
        }
        // Few groups have a rule, and this is asked for each outcome.
        let told = self
            .policies
            .iter()
            .find(|(group, _)| holds(known, **group));
        told.map_or_else(Policy::default, |(_, &rule)| rule)
    }

    /// The parameters of the rule of a process: its own, and those of a group where it names none. Where several groups
    /// of its machines have some, likewise.
    pub(super) fn tuning_of(&self, known: &Process) -> Tuning {
        let own = known.definition().draft().tuning.unwrap_or_default();
        let told = self.tunings.iter().find(|(group, _)| holds(known, **group));
        told.map_or(own, |(_, &tuning)| own.or(tuning))
    }
}

/// Returns true if a process holds slots of a group.
fn holds(known: &Process, group: GroupId) -> bool {
    let holding = known.state.holdings.get(&group);
    holding.is_some_and(|holding| holding.grants.iter().any(|grant| grant.slots > 0))
}
