//! Plans are honest: what is laid side by side on a machine has its memory together, and no slot is
//! planned over while something runs on it. None takes the place of a later one.

use std::collections::BTreeMap;

use model::{ActivityId, Bytes, Generation, ProcessId, ResourceId, Span};
use process_core::{Event, Stream};
use simulator::{MadePlan, Seen};

use super::{Judged, Rule};
use crate::known::Known;

/// Each plan is judged by itself, and is later than the one whose place it takes.
#[derive(Debug, Default)]
pub(super) struct Plans {
    /// The numbers of the plans in force.
    in_force: BTreeMap<ProcessId, Generation>,
}

impl Rule for Plans {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        if let Seen::ProcessDurable(Stream::Process(id), Event::Replanned(plan)) = seen {
            judged.count();
            let before = self.in_force.insert(*id, plan.generation);
            if before.is_some_and(|before| before >= plan.generation) {
                let number = plan.generation.0;
                return Err(format!(
                    "{id}: plan {number} takes the place of one as late"
                ));
            }
        }
        let Seen::HasPlanned(made) = seen else {
            return Ok(());
        };
        has_memory(made, judged)?;
        has_slots(known, made, judged)
    }
}

/// At the start of each entry, and whenever others are to hold more, what the plan has on its machine then
/// fits the machine's memory beside what others hold.
fn has_memory(made: &MadePlan<'_>, judged: &mut Judged) -> Result<(), String> {
    let (Some(plan), request) = (made.plan, made.request) else {
        return Ok(());
    };
    let asked = |activity: ActivityId| {
        let demand = request.demands.get(&activity);
        demand.map_or(Bytes::ZERO, |demand| demand.memory)
    };
    for machine in request.platform.resources() {
        let here = plan.entries.iter();
        let here = here.filter(|entry| entry.resource == machine.id);
        let held = |at: Span| {
            let others = request.held.iter();
            let others = others.filter(|held| held.from <= at && at < held.until);
            let others = others.filter(|held| held.resource == machine.id);
            let placed = request.placed.iter().filter(|placed| placed.finish > at);
            let placed = placed.filter(|placed| placed.resource == machine.id);
            let others = others.map(|held| u128::from(held.memory.0));
            let placed = placed.map(|placed| u128::from(asked(placed.activity).0));
            others.chain(placed).sum::<u128>()
        };
        let all = here.clone().map(|one| u128::from(asked(one.activity).0));
        let others = request
            .held
            .iter()
            .map(|held| held.from)
            .chain([Span::ZERO]);
        let most = others.map(held).max().unwrap_or_default();
        let could_exceed = all.sum::<u128>() + most > u128::from(machine.memory.0);
        for one in here.clone() {
            let memory = asked(one.activity);
            if memory == Bytes::ZERO {
                continue;
            }
            judged.count_if(could_exceed);
            let at = one.start;
            let later = request.held.iter().filter(|held| {
                held.resource == machine.id && at < held.from && held.from < one.finish
            });
            for at in std::iter::once(at).chain(later.map(|held| held.from)) {
                let beside = here.clone().filter(|other| {
                    other.activity != one.activity && other.start <= at && at < other.finish
                });
                let beside = beside.map(|other| u128::from(asked(other.activity).0));
                let beside = beside.sum::<u128>() + held(at);
                if beside + u128::from(memory.0) > u128::from(machine.memory.0) {
                    return Err(format!(
                        "{}: {} of {memory} is on {} beside {beside} bytes at {at}, of {}",
                        made.process, one.activity, machine.name, machine.memory
                    ));
                }
            }
        }
    }
    Ok(())
}

/// What a plan starts at once on a machine has slots beside what its process runs there.
fn has_slots(known: &Known, made: &MadePlan<'_>, judged: &mut Judged) -> Result<(), String> {
    let (Some(plan), request) = (made.plan, made.request) else {
        return Ok(());
    };
    let Some(durable) = known.processes.get(&made.process) else {
        return Ok(());
    };
    let mut busy: BTreeMap<ResourceId, u32> = BTreeMap::new();
    for (attempt, (_, cores)) in &known.running {
        // One that is recorded as lost may run on where a machine is silent. And one that may still be asked
        // back, since its start was not reported when the plan was asked for, is in the plan itself.
        let is_out = durable.out.get(&attempt.activity) == Some(attempt)
            && plan.entry(attempt.activity).is_none();
        if let Some(resource) = durable.sent.get(attempt).filter(|_| is_out) {
            *busy.entry(*resource).or_default() += cores;
        }
    }
    let nodes = request.graph.nodes();
    let cores: BTreeMap<ActivityId, u32> = nodes
        .filter_map(|node| Some((node.activity?, node.cores)))
        .collect();
    for machine in request.platform.resources() {
        let busy = busy.get(&machine.id).copied().unwrap_or_default();
        let entries = plan.entries.iter();
        let here = entries.filter(|entry| entry.resource == machine.id);
        let here: Vec<_> = here.collect();
        if busy == 0 || here.is_empty() {
            continue;
        }
        judged.count();
        let at_once = here.iter().filter(|entry| entry.start == Span::ZERO);
        let wanted: u32 = at_once.filter_map(|one| cores.get(&one.activity)).sum();
        if wanted > 0 && busy + wanted > machine.slots {
            return Err(format!(
                "{}: {wanted} slots of {} are planned for now, {busy} of {} are in use",
                made.process, machine.name, machine.slots
            ));
        }
    }
    Ok(())
}
