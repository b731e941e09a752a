//! Another plan of a process: the entries of what has ended or is out stay, and all times count from
//! the first plan.

use std::collections::BTreeMap;

use model::{ActivityId, Entry, NodeId, Plan, Span, Wall};

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

    /// The entries of the next iteration of a loop, whose nodes will have the next numbers: those of its
    /// last iteration, from now on, as far as the process still holds the slots.
    pub(crate) fn entries_again(&self, each: NodeId, now: Wall) -> Vec<Entry> {
        let definition = &self.definition;
        let Some(&last) = definition.children(each).last() else {
            return Vec::new();
        };
        let n_body = definition.n_body_nodes(each);
        let n_nodes = definition.n_nodes() as u32;
        let of_last = (last.0..last.0 + n_body).filter_map(|node| {
            let entry = self.state.plan.entry(ActivityId(node))?;
            let cores = definition.activity_as_written(entry.activity)?.cores;
            (cores <= self.granted(entry.resource)).then_some(*entry)
        });
        let of_last: Vec<Entry> = of_last.collect();
        let begun = of_last.iter().map(|entry| entry.start).min();
        let begun = begun.unwrap_or_default();
        let passed = self.since_planned(now);
        let again = of_last.into_iter().map(|entry| {
            let from_begin = |at: Span| Span(at.0.saturating_sub(begun.0)) + passed;
            Entry {
                activity: ActivityId(entry.activity.0 - last.0 + n_nodes),
                start: from_begin(entry.start),
                finish: from_begin(entry.finish),
                ..entry
            }
        });
        again.collect()
    }

    /// The time since its first plan was put in force in thousandths of the planned duration; none where no
    /// duration was planned.
    pub(crate) fn per_mille_of_plan(&self, now: Wall) -> Option<u64> {
        let planned = self.state.planned.filter(|planned| planned.0 > 0)?;
        Some(self.since_planned(now).0.saturating_mul(1_000) / planned.0)
    }

    /// The time since its first plan was put in force.
    pub(crate) fn since_planned(&self, now: Wall) -> Span {
        now.since(self.state.planned_from.unwrap_or(self.submitted))
    }
}

#[cfg(test)]
mod tests;
