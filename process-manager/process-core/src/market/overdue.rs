//! A process whose turn it is and that fits nowhere for long: group managers that serve other process managers
//! too are told of it, so that they keep slots for it which others would take as soon as they are free.

use std::cmp::Reverse;

use model::{Mono, ProcessId};
use wire::group::{NEEDS_MAX, Need, ToGroup};

use super::limit::needs;
use super::{GroupLink, Market, Stage};
use crate::io::Effect;
use crate::limits;
use crate::process::Process;
use crate::step::Step;
use crate::timer::Timer;

/// The process whose turn it is, where that is in vain.
#[derive(Debug)]
pub(super) struct Overdue {
    process: ProcessId,
    /// Since when no process has got slots in its turn.
    since: Mono,
}

impl Market {
    /// All that can be planned is planned. A process that is to go on elsewhere waits for nothing.
    pub(super) fn note_overdue(&mut self, step: &mut Step<'_>) {
        if !self.groups.values().any(GroupLink::is_shared) {
            return;
        }
        let Some(process) = self.first_in_vain() else {
            return;
        };
        let is_told = self.overdue.as_ref().map(|before| before.process) == Some(process);
        if self.has_plan(process) && !is_told {
            let since = self
                .overdue
                .take()
                .map_or(step.now.mono, |before| before.since);
            self.overdue = Some(Overdue { process, since });
            self.tell_overdue(step);
        } else if self.overdue.is_none() {
            let since = step.now.mono;
            self.overdue = Some(Overdue { process, since });
            step.timers
                .set(Timer::Overdue, since + limits::OVERDUE_AFTER);
        }
    }

    fn has_plan(&self, id: ProcessId) -> bool {
        self.demands.get(&id).is_some_and(|demand| demand.has_plan)
    }

    /// Says that the process whose turn it is waits, as long as it does.
    pub(crate) fn tell_overdue(&mut self, step: &mut Step<'_>) {
        let Some(Overdue { process, since }) = self.overdue.take() else {
            return;
        };
        // While it is planned or claims slots, another one comes first.
        let is_tried = |id: &ProcessId| {
            let demand = self.demands.get(id);
            demand.is_some_and(|one| !matches!(one.stage, Stage::Settled))
        };
        let process = self.first_in_vain().or(Some(process).filter(is_tried));
        let Some((process, known)) = process.and_then(|id| Some((id, step.cx.process(id)?))) else {
            return;
        };
        let waits = ToGroup::Waits {
            epoch: step.epoch,
            process,
            owner: known.owner.clone(),
            waited: step.now.mono.since(since),
            needs: told(known),
        };
        for (&group, link) in &self.groups {
            if link.is_up && link.is_shared() {
                step.cx.effect(Effect::ToGroup(group, waits.clone()));
            }
        }
        self.overdue = Some(Overdue { process, since });
        step.timers
            .set(Timer::Overdue, step.now.mono + limits::REPEAT);
    }

    /// A process has got slots and a plan.
    pub(super) fn note_planned(&mut self, id: ProcessId) {
        let is_told = self.overdue.as_ref().map(|before| before.process) == Some(id);
        let demand = self.demands.get(&id);
        if is_told || demand.is_some_and(|demand| demand.is_in_turn && !demand.has_plan) {
            self.overdue = None;
        }
    }

    /// The process whose turn it is, where it was tried in vain: one that has a plan, and needs another.
    fn first_in_vain(&self) -> Option<ProcessId> {
        if let Some((_, id)) = self.queue.first_tried() {
            return Some(id);
        }
        let (_, first) = self.queue.first()?;
        let demand = self.demands.get(&first)?;
        (demand.tried == Some(self.n_offers)).then_some(first)
    }
}

/// The needs of a process as they are told, those for many slots first.
fn told(known: &Process) -> Vec<Need> {
    let mut needs = needs(known);
    needs.sort_by_key(|activity| Reverse(activity.cores));
    let needs = needs.into_iter().take(NEEDS_MAX).map(|activity| Need {
        cores: activity.cores,
        memory: activity.memory,
        labels: activity.labels.iter().cloned().collect(),
    });
    needs.collect()
}
