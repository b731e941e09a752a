//! Owners are charged for the slots that their processes hold, decayed, and hold no more than they may.
//!
//! What an owner has used is computed here as a sum over slices of time, each counted for less the longer
//! it is ago, from what the group manager has made durable.

use std::collections::BTreeMap;

use group_core::Event;
use model::{Mono, ProcessId, ResourceId, Span};
use simulator::Seen;
use wire::group::{FromGroup, OwnerUsage, Owners, owner_name};

use super::{Judged, Rule};
use crate::held::Held;
use crate::known::Known;

/// Slot seconds by which what is told may differ: grants are charged from before they are durable.
const SLACK: f64 = 1.0;
/// The part of the usage by which it may: computers have clocks of their own.
const SLACK_PART: f64 = 0.03;
/// Time for which a group manager and a machine reach each other before the machine is offered, and its
/// slots count for limits.
const OFFERED_AFTER: Span = Span::from_secs(6);

/// The slot seconds that owners have used.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The holdings of each owner that were constant for a time, the oldest first: their end, its
    /// length in seconds, and the slots.
    slices: BTreeMap<String, Vec<(Mono, f64, u32)>>,
    counted: Mono,
}

fn owner(known: &Known, process: ProcessId) -> &str {
    let owner = known.owners.get(&process);
    owner.map_or(owner_name(None), String::as_str)
}

impl Shares {
    /// Time has passed since holdings were counted last.
    fn count(&mut self, known: &Known) {
        let seconds = known.at.since(self.counted).seconds();
        self.counted = known.at;
        if seconds == 0.0 {
            return;
        }
        let mut by_owner: BTreeMap<&str, u32> = BTreeMap::new();
        for (process, _, slots) in known.held.all() {
            *by_owner.entry(owner(known, process)).or_default() += slots;
        }
        for (owner, slots) in by_owner {
            let slices = self.slices.entry(owner.to_owned()).or_default();
            slices.push((known.at, seconds, slots));
        }
    }

    /// Slot seconds of an owner, each half as much after a half-life.
    fn used(&self, known: &Known, owner: &str) -> f64 {
        let rate = std::f64::consts::LN_2 / known.policy.half_life.seconds();
        let weight = |ago: f64| (-rate * ago).exp();
        let slices = self.slices.get(owner).into_iter().flatten();
        let used = slices.map(|&(end, seconds, slots)| {
            let ago = known.at.since(end).seconds();
            // The integral of the weight over the slice.
            f64::from(slots) * (weight(ago) - weight(ago + seconds)) / rate
        });
        used.sum()
    }

    /// An owner was granted slots: it holds no more than it may on machines that are surely offered.
    fn is_within_limit(
        known: &Known,
        held: &Held,
        owner_of: &str,
        judged: &mut Judged,
    ) -> Result<(), String> {
        let policy = &known.policy;
        let own = policy.slots_max_of.get(owner_of).copied();
        let Some(most) = own
            .or(policy.slots_max)
            .filter(|_| owner_of != owner_name(None))
        else {
            return Ok(());
        };
        judged.count();
        let is_offered = |resource: &ResourceId| {
            let machine = known.machines.get(resource);
            let joined = machine.and_then(|machine| known.joined.get(machine));
            joined.is_some_and(|&since| known.at.since(since) > OFFERED_AFTER)
        };
        let own = held.all().filter(|(process, resource, _)| {
            owner(known, *process) == owner_of && is_offered(resource)
        });
        let held: u32 = own.map(|(_, _, slots)| slots).sum();
        match held > most {
            true => Err(format!("{owner_of} holds {held} slots and may hold {most}")),
            false => Ok(()),
        }
    }

    /// A process manager is told what owners have used.
    fn told(&mut self, known: &Known, told: &Owners, judged: &mut Judged) -> Result<(), String> {
        self.count(known);
        for owner in self.slices.keys() {
            let used = self.used(known, owner);
            let one = told.owners.iter().find(|one| one.name == *owner);
            let usage = one.map_or(0.0, |one: &OwnerUsage| one.usage.seconds());
            judged.count();
            if (usage - used).abs() > SLACK + SLACK_PART * used {
                return Err(format!(
                    "{owner} is told to have used {usage:.2} slot seconds and has used {used:.2}"
                ));
            }
        }
        Ok(())
    }
}

impl Rule for Shares {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::GroupDurable(group, event) => {
                self.count(known);
                match event {
                    Event::Granted { process, .. } => {
                        let held = known.held.after(*group, event);
                        Shares::is_within_limit(known, &held, owner(known, *process), judged)
                    }
                    _ => Ok(()),
                }
            }
            Seen::FromGroup(FromGroup::Offer(offer)) => match &offer.owners {
                Some(owners) if owners.is_fair => self.told(known, owners, judged),
                Some(_) | None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
