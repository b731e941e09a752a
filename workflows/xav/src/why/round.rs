//! An activity that is held back for a later round of its machine.

use model::ActivityId;
use serde_json::{Value as Json, json};
use wire::client::LaterRound;

use super::{Explanation, listed};
use crate::json;

/// Activities of a round that are named in a sentence.
const NAMED_MAX: usize = 3;

impl Explanation<'_> {
    /// The sentence: the machine, the round that it is in, and what is left of that.
    pub(super) fn round(&self, later: &LaterRound) -> String {
        let machine = json::machine_of(self.status)(later.resource);
        let round = match later.n_rounds {
            Some(n_rounds) => format!("round {} of {n_rounds}", later.round),
            None => format!("round {}", later.round),
        };
        let before = match later.n_before {
            0 => "it is the next one".to_owned(),
            1 => "1 comes before it".to_owned(),
            n => format!("{n} come before it"),
        };
        let awaited = match later.awaits_plan {
            true => format!("another plan, since {round} took too long there"),
            false => format!("{round} with {}", self.some(&later.left, later.n_left)),
        };
        format!("for a later round of {machine}, after {awaited}; {before}")
    }

    /// The names of some activities, and how many others there are of so many.
    fn some(&self, activities: &[ActivityId], n: u32) -> String {
        let named = activities.iter().take(NAMED_MAX);
        let mut named: Vec<String> = named.map(|one| self.name(one.node())).collect();
        let n_more = u64::from(n).saturating_sub(named.len() as u64);
        if n_more > 0 {
            named.push(format!("{n_more} more"));
        }
        match named.is_empty() {
            true => "nothing left".to_owned(),
            false => listed(&named),
        }
    }

    /// The same for programs.
    pub(super) fn round_document(&self, later: &LaterRound) -> Json {
        let left = later.left.iter().map(|one| self.name(one.node()));
        json!({
            "reason": "round",
            "resource": json::machine_of(self.status)(later.resource),
            "round": later.round,
            "rounds": later.n_rounds,
            "left": left.collect::<Vec<String>>(),
            "left_in_all": later.n_left,
            "before": later.n_before,
            "awaits_plan": later.awaits_plan,
        })
    }
}
