//! The rule by which a process is planned again while it runs: the one that it names, or else the one of a group where
//! it holds slots.
//!
//! Groups tell their rules with offers. A group that is away keeps the one that it told last, so that its return
//! changes nothing. They are volatile: after a restart, processes that name none follow [`Policy::default`] until
//! their groups have made an offer.

use std::collections::BTreeMap;

use model::{GroupId, Policy};

use crate::process::Process;

/// The rules of the groups that have one.
#[derive(Debug, Default)]
pub(super) struct Rules(BTreeMap<GroupId, Policy>);

impl Rules {
    /// A group has told its rule, or that it has none. One out of bounds is none.
    pub(super) fn tell(&mut self, group: GroupId, rule: Option<Policy>) {
        match rule.filter(|rule| rule.is_within_bounds()) {
            Some(rule) => self.0.insert(group, rule),
            None => self.0.remove(&group),
        };
    }

    /// The rule of a process. Where several groups of its machines have one, it is that of the group with the lowest
    /// number: the machines of a process are judged beside each other, by one rule.
    pub(super) fn of(&self, known: &Process) -> Policy {
        if let Some(own) = known.definition().draft().policy {
            return own;
        }
        // Few groups have a rule, and this is asked for each outcome.
        let told = self.0.iter().find(|(group, _)| {
            let holding = known.state.holdings.get(group);
            holding.is_some_and(|holding| holding.grants.iter().any(|grant| grant.slots > 0))
        });
        told.map_or_else(Policy::default, |(_, &rule)| rule)
    }
}
