//! The rounds of a machine as they are told to those who ask why an activity was not sent.

use model::ActivityId;
use schedule::rounds::Sizing;
use wire::client::{LaterRound, REASONS_MAX};

use super::Market;
use crate::process::Process;

impl Market {
    /// The round that an activity waits for, where it was held back for a later one of its machine: the round that the
    /// machine is in, and what is left of it.
    pub(crate) fn later_round(&self, known: &Process, activity: ActivityId) -> Option<LaterRound> {
        let portions = self.rounds.portions.get(&known.id())?;
        if !portions.holds_back(known, activity) {
            return None;
        }
        let resource = known.state.plan.entry(activity)?.resource;
        let portion = portions.machines.get(&resource)?;
        let n_rounds = match self.sizing(known)? {
            Sizing::Parts(n) => Some(n),
            Sizing::Whole | Sizing::Adaptive { .. } => None,
        };
        let waits = portion
            .waiting
            .iter()
            .take_while(|&&(_, one)| one != activity);
        let waits = waits.filter(|&&(_, one)| portions.holds_back(known, one));
        Some(LaterRound {
            resource,
            round: portion.round,
            n_rounds,
            left: portion.given.keys().copied().take(REASONS_MAX).collect(),
            n_left: u32::try_from(portion.given.len()).unwrap_or(u32::MAX),
            n_before: u32::try_from(waits.count()).unwrap_or(u32::MAX),
            awaits_plan: portion.awaits_plan,
        })
    }
}
