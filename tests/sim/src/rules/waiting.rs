//! What a process manager waits for is not granted to others that have got something since.

use std::collections::BTreeMap;

use group_core::record::Grant;
use group_core::{Event, Policy};
use model::{GroupId, Mono, ProcessId, ResourceId, Span};
use simulator::Seen;
use wire::group::Need;

use super::{Judged, Rule};
use crate::known::Known;

/// Time for which a process manager has said that it waits, and it and all machines have been there.
const TOLD_FOR: Span = Span::from_secs(5);
/// It says so again within this time.
const TOLD_AGAIN_WITHIN: Span = Span::from_millis(1_500);
/// The time by which one must have waited longer than the other: each has a clock of its own.
const LONGER_BY: Span = Span::from_secs(1);

/// The process managers that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    waiting: BTreeMap<usize, Waits>,
}

/// A process manager waits with a process.
#[derive(Clone, Copy, Debug)]
struct Waits {
    process: ProcessId,
    /// The most slots that it needs of one machine; none where other needs decide too.
    cores: Option<u32>,
    /// Since when no process has got slots there in its turn.
    since: Mono,
    /// When it was told first and last of this process.
    told: (Mono, Mono),
}

impl Waiting {
    fn note(&mut self, known: &Known, process: ProcessId, waited: Span, needs: &[Need]) {
        let (at, manager) = (known.at, known.manager_of(process));
        let since = Mono(at.0.saturating_sub(waited.0));
        let before = self.waiting.get(&manager);
        let before = before.filter(|before| {
            before.process == process && at.since(before.told.1) <= TOLD_AGAIN_WITHIN
        });
        let first = before.map_or(at, |before| before.told.0);
        let told = (first, at);
        self.waiting.insert(
            manager,
            Waits {
                process,
                cores: cores(needs),
                since,
                told,
            },
        );
    }

    fn judge(
        &self,
        known: &Known,
        (group, event): (GroupId, &Event),
        (process, grants): (ProcessId, &[Grant]),
        judged: &mut Judged,
    ) -> Result<(), String> {
        let is_calm = !known.is_lossy && known.step_max == Span::ZERO;
        let has_shares = known.policy != Policy::default();
        let are_there = known.slots.keys().all(|machine| {
            let joined = known.joined.get(machine);
            joined.is_some_and(|&since| known.at.since(since) >= TOLD_FOR)
        });
        if !is_calm || has_shares || !are_there || grants.iter().all(|grant| grant.slots == 0) {
            return Ok(());
        }
        let to = known.manager_of(process);
        let other = self.waiting.get(&to);
        let holds = |process: ProcessId| known.held.all().any(|(holder, ..)| holder == process);
        // What others wait for may be held by a process that waits itself.
        if other.is_some_and(|other| holds(other.process)) || holds(process) {
            return Ok(());
        }
        for (&manager, waits) in &self.waiting {
            let is_later = other.is_none_or(|other| other.since >= waits.since + LONGER_BY);
            if manager == to || !is_later || !is_told(known, manager, waits) {
                continue;
            }
            let Some(cores) = waits.cores else {
                continue;
            };
            let held = known.held.after(group, event);
            let machines = known.machines.iter();
            let fitting = machines.filter(|(one, machine)| {
                let slots = known.slots.get(machine).copied();
                one.group == group && slots.is_some_and(|slots| slots >= cores)
            });
            let free = |(one, machine): (&ResourceId, &usize)| {
                let used: u32 = held.at(*one).map(|(_, slots)| slots).sum();
                known.slots[machine].saturating_sub(used)
            };
            let free: Vec<(ResourceId, u32)> = fitting.map(|fit| (*fit.0, free(fit))).collect();
            // Of several machines that fit, one is kept.
            let is_one = cores == 1 || free.len() == 1;
            let concerns = |grant: &Grant| {
                let at = grant.resource.of(group);
                grant.slots > 0 && free.iter().any(|(one, _)| *one == at)
            };
            if !is_one || !grants.iter().any(concerns) {
                continue;
            }
            judged.count();
            if free.iter().all(|&(_, free)| free < cores) {
                return Err(format!(
                    "{process} is granted slots for which {} of another process manager has waited since {:?}",
                    waits.process, waits.since
                ));
            }
        }
        Ok(())
    }
}

fn cores(needs: &[Need]) -> Option<u32> {
    let mut all = needs.iter();
    let is_simple = all.all(|need| need.memory.is_none() && need.labels.is_empty());
    let cores = needs.iter().map(|need| need.cores).max();
    cores.filter(|_| is_simple)
}

/// Returns true if a process manager has said for long enough that it waits, and could claim.
fn is_told(known: &Known, manager: usize, waits: &Waits) -> bool {
    let (first, last) = waits.told;
    let has = |since: Mono| known.at.since(since) >= TOLD_FOR;
    let is_together = known
        .together
        .get(&manager)
        .is_some_and(|&since| has(since));
    let reaches = |machine: &usize| {
        let times = known.reached.get(&(manager, *machine));
        let last = times.and_then(|times| times.last());
        last.is_some_and(|&(since, end)| end.is_none() && has(since))
    };
    let is_idle = known.held.all().all(|(holder, ..)| holder != waits.process);
    has(first)
        && known.at.since(last) <= TOLD_AGAIN_WITHIN
        && is_together
        && is_idle
        && known.slots.keys().all(reaches)
}

impl Rule for Waiting {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Waits(process, waited, needs) => self.note(known, *process, *waited, needs),
            Seen::GroupDurable(
                group,
                event @ Event::Granted {
                    process, grants, ..
                },
            ) => {
                self.judge(known, (*group, event), (*process, grants), judged)?;
                self.waiting.retain(|_, waits| waits.process != *process);
            }
            _ => {}
        }
        Ok(())
    }
}
