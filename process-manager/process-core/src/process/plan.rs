//! Another plan of a process: the entries of what has ended or is out stay, and all times count from
//! the first plan.

use std::collections::BTreeMap;

use model::{ActivityId, Entry, Plan, Span, Wall};

use crate::process::Process;
use crate::process::index::has_ended;

impl Process {
    /// The plan that is in force once `made` is, which a scheduler has made for what was left.
    pub(crate) fn plan_with(&self, made: &Plan, now: Wall) -> Plan {
        let passed = self.since_planned(now);
        let is_kept = |activity: ActivityId| {
            let state = self.activity(activity);
            has_ended(state.phase) || state.is_out()
        };
        let before = self.state.plan.entries.iter();
        let kept = before.filter(|entry| is_kept(entry.activity)).copied();
        // An activity may have been sent to its machine of the plan before while this one was made.
        let waiting = made.entries.iter().filter(|one| !is_kept(one.activity));
        let later = waiting.map(|entry| Entry {
            start: entry.start + passed,
            finish: entry.finish + passed,
            ..*entry
        });
        let all = kept.chain(later).map(|entry| (entry.activity, entry));
        let entries: BTreeMap<ActivityId, Entry> = all.collect();
        Plan {
            generation: made.generation,
            entries: entries.into_values().collect(),
            bound: made.bound + passed,
        }
    }

    /// The time since its first plan was put in force.
    fn since_planned(&self, now: Wall) -> Span {
        now.since(self.state.planned_from.unwrap_or(self.submitted))
    }
}

#[cfg(test)]
mod tests;
