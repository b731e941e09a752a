//! Attempts: what is ready goes to the machine that the plan names, as far as its window allows;
//! what was not heard of goes again.

use std::cell::Cell;

use history::Store;
use model::{ActivityId, AttemptId, Epoch, Fault, ProcessId, ResourceId, Span};
use wire::attempt::{ATTEMPTS_MAX, Dispatch, Holds, INPUTS_MAX, ToActivity};

use super::named_limits::LimitRoom;
use super::{Attempts, Grid};
use crate::budget::{ATTEMPT_STEPS, OTHERS_STEPS, Slice};
use crate::enact::evaluate::{Evaluator, Spot, fault_event};
use crate::enact::message::resolve;
use crate::enact::works::expected;
use crate::files::Files;
use crate::io::Effect;
use crate::limits;
use crate::process::Process;
use crate::record::{CacheKey, Event};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

/// Attempts that are ready to be sent to a machine.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) sent: Vec<(ActivityId, u32, ResourceId)>,
    pub(super) messages: Vec<Dispatch>,
    pub(super) cache_keys: Vec<CacheKey>,
    faults: Vec<(ActivityId, Box<Fault>)>,
    /// True if some attempts wait until a group has named the machines that have their files.
    is_early: bool,
}

/// A machine that attempts are sent to.
#[derive(Clone, Copy)]
pub(super) struct Destination {
    pub(super) resource: ResourceId,
    pub(super) epoch: Epoch,
    /// False if the attempts that are out there keep its slots at work for some milliseconds.
    pub(super) is_awaited: bool,
}

impl Attempts {
    /// Sends ready activities to their machines. Returns true if that caused a fault.
    pub(crate) fn send_ready(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        id: ProcessId,
        slice: &mut Slice,
    ) -> bool {
        self.send_recomputations(step, grid, id);
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        if known.state.plan.generation.0 == 0 || known.index.ready.is_empty() {
            return false;
        }
        let looked = self.open.get(&id).and_then(|open| open.looks_again);
        if looked.is_some_and(|at| step.now.mono < at) {
            return false;
        }
        let n_held_back = Cell::new(0);
        let room = LimitRoom::new(self, step, known);
        let mut chosen: Vec<(Destination, Vec<ActivityId>)> = Vec::new();
        for (&place, queue) in &known.index.ready {
            // An activity without a place in the plan runs on the first machine with slots. With
            // leases it is planned again instead, since an activity of a lost machine has no place
            // either.
            let first = known.grants().find(|held| held.slots > 0);
            let first = first.map(|held| held.resource);
            let resource = place.or(first.filter(|_| step.config.lease.is_none()));
            let Some(resource) = resource else { continue };
            let slots = known.granted(resource);
            if !grid.machines.is_trusted(resource) {
                continue;
            }
            let Some(epoch) = grid.machines.epoch(resource) else {
                continue;
            };
            // Those without a place may go to a machine of the plan.
            let to_same = chosen.iter().filter(|(to, _)| to.resource == resource);
            let n_chosen: usize = to_same.map(|(_, chosen)| chosen.len()).sum();
            let n_out = known.n_out_at(resource) + n_chosen;
            let window = (slots * limits::WINDOW_PER_SLOT + limits::WINDOW_BASE) as usize;
            // Eight attempts in one message cost little more than one.
            if slots == 0 || n_out > window - window / 8 {
                continue;
            }
            let to = Destination {
                resource,
                epoch,
                is_awaited: n_out < window / 2,
            };
            let may_go = |activity| {
                let files = grid.files;
                if files.holds_back(id, activity) || files.awaits_controller(known, activity) {
                    n_held_back.update(|n| n + 1);
                    return false;
                }
                known.fits_grants(activity, resource)
                    && !known.awaits_recomputation(activity)
                    && !grid.market.holds_back(known, activity)
            };
            // Those of later rounds are many, and behind the others but for their priorities.
            let mut n_later = 0;
            let is_near = |activity: &ActivityId| {
                n_later += usize::from(grid.market.is_of_later_round(known, *activity));
                n_later <= limits::LATER_PASSED_MAX
            };
            let next = queue
                .in_turn(may_go, |activity| room.admits(activity))
                .take_while(is_near)
                .filter(|&activity| !grid.market.is_of_later_round(known, activity))
                .take(window - n_out)
                .enumerate();
            let mut is_full = false;
            let next = next.filter(|&(n, activity)| {
                is_full |= waits_for_slot((known, step.history), activity, n_out + n, slots);
                // An activity that was sent before is not held back: it has had its turn.
                !is_full || known.activity(activity).number > 0
            });
            let next = next.map(|(_, activity)| activity);
            let next: Vec<ActivityId> = next.inspect(|&activity| room.take(activity)).collect();
            if !next.is_empty() {
                chosen.push((to, next));
            }
        }
        if room.awaits_others() {
            self.awaiting_limits.insert(id);
        }
        self.note_held_back(step, id, n_held_back.get());
        let mut has_faulted = false;
        for (to, activities) in chosen {
            has_faulted |= self.send(step, grid, (id, to), activities, slice);
        }
        has_faulted
    }

    /// Ready activities were passed over, since their outcomes are being checked. Each answer to a check is a
    /// step, and a step that passed over all the others would make the checks of many take the square of their
    /// number.
    fn note_held_back(&mut self, step: &mut Step<'_>, id: ProcessId, n_held_back: u64) {
        let looks_again = (n_held_back > limits::HELD_BACK_FREE).then(|| {
            let at = step.now.mono + Span(n_held_back.saturating_mul(limits::HELD_BACK_EACH.0));
            step.timers.set_by(Timer::Recall(id), at);
            at
        });
        if let Some(open) = self.open.get_mut(&id) {
            open.looks_again = looks_again;
        }
    }

    fn send(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        (id, to): (ProcessId, Destination),
        activities: Vec<ActivityId>,
        slice: &mut Slice,
    ) -> bool {
        let resource = to.resource;
        let prepared = prepare(step, grid, (id, resource), activities, slice);
        let next = step.now.mono + limits::REPEAT;
        if !prepared.sent.is_empty() {
            self.note_sent(step, id, resource, &prepared.messages);
            let sent = Event::Sent(prepared.sent, prepared.cache_keys);
            step.cx.record(Stream::Process(id), sent);
            self.send_in_parts(step, grid.files, to, prepared.messages);
            let timer = Timer::Unacknowledged(id, resource);
            step.timers.set_once(timer, next);
        }
        if prepared.is_early {
            step.timers.set_once(Timer::Recall(id), next);
        }
        let has_faulted = !prepared.faults.is_empty();
        for (activity, fault) in prepared.faults {
            // Each fault meets the controllers where the one before has left them.
            if let Some(known) = step.cx.process(id) {
                let event = fault_event(known, Some(Spot::Node(activity.node())), fault);
                step.cx.record(Stream::Process(id), event);
            }
        }
        has_faulted
    }

    /// Attempts were sent, and are sent again until their machine has acknowledged them.
    pub(super) fn note_sent(
        &mut self,
        step: &Step<'_>,
        id: ProcessId,
        resource: ResourceId,
        messages: &[Dispatch],
    ) {
        let known = step.cx.process(id);
        let may_change =
            known.is_some_and(|known| !known.definition().draft().variables.is_empty());
        if let Some(open) = self.open.get_mut(&id) {
            self.places.add(id, resource);
            let unacknowledged = open.unacknowledged.entry(resource).or_default();
            for message in messages {
                let kept = may_change.then(|| Box::new(message.clone()));
                unacknowledged.insert(message.attempt, kept);
            }
        }
    }

    /// Sends again what was sent and not heard of, as it was recorded. An attempt whose race is lost is not wanted
    /// any more.
    pub(crate) fn repeat_unacknowledged(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        id: ProcessId,
        resource: ResourceId,
    ) {
        let Some(open) = self.open.get_mut(&id) else {
            return;
        };
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let Some(unacknowledged) = open.unacknowledged.get_mut(&resource) else {
            return;
        };
        unacknowledged.retain(|attempt, _| known.is_out(*attempt) && !known.has_lost(*attempt));
        if unacknowledged.is_empty() {
            open.unacknowledged.remove(&resource);
            return;
        }
        let Some(epoch) = grid.machines.epoch(resource) else {
            return;
        };
        let mut messages = Vec::new();
        let mut n_steps = 0;
        for (&attempt, kept) in unacknowledged.iter() {
            n_steps += ATTEMPT_STEPS;
            let message = match kept {
                Some(kept) => Some(Dispatch {
                    // The machines that have its files may be others by now.
                    sources: Vec::new(),
                    ..Dispatch::clone(kept)
                }),
                None => {
                    let mut evaluator = Evaluator::new(step.programs);
                    let message = resolve(known, attempt, &mut evaluator);
                    n_steps += evaluator.meter.steps();
                    let declared = known.definition().activity_as_written(attempt.activity);
                    message.ok().map(|mut message| {
                        grid.bound_memory(declared, resource, &mut message);
                        message
                    })
                }
            };
            if let Some(mut message) = message
                && grid.name_sources(step, known, resource, &mut message)
            {
                messages.push(message);
            }
            // The others follow when the first have been heard of.
            if n_steps > OTHERS_STEPS {
                break;
            }
        }
        let to = Destination {
            resource,
            epoch,
            is_awaited: true,
        };
        self.send_in_parts(step, grid.files, to, messages);
        step.timers.set(
            Timer::Unacknowledged(id, resource),
            step.now.mono + limits::REPEAT,
        );
    }

    /// Sends attempts of one process to a machine.
    pub(super) fn send_in_parts(
        &mut self,
        step: &mut Step<'_>,
        files: &Files,
        to: Destination,
        messages: Vec<Dispatch>,
    ) {
        let process = messages.first().map(|message| message.attempt.process);
        let holds = process.and_then(|id| holds(step.cx.process(id)?, to.resource));
        for attempts in parts(messages) {
            self.note_announced(files, &attempts);
            let message = ToActivity::Dispatch {
                meant_for: to.epoch,
                holders: files.addresses(&attempts),
                attempts,
                holds,
            };
            let dispatch = Effect::ToActivity(to.resource, message);
            match to.is_awaited {
                true => step.cx.effect(dispatch),
                false => step.cx.effect_later(dispatch),
            }
        }
    }

    /// Notes the moment at which each attempt was sent with the addresses of its files.
    fn note_announced(&mut self, files: &Files, messages: &[Dispatch]) {
        // In a shared store, a file that is lacking is gone.
        if files.is_shared() {
            return;
        }
        let moment = files.moment();
        for attempt in messages.iter().map(|message| message.attempt) {
            if let Some(open) = self.open.get_mut(&attempt.process) {
                let told = open.announced.entry(attempt.activity);
                // A report of lacking inputs may answer the first of several messages.
                let told = told.or_insert((attempt.number, moment));
                if told.0 != attempt.number {
                    *told = (attempt.number, moment);
                }
            }
        }
    }
}

/// Messages of bounded size.
pub(super) fn parts(messages: Vec<Dispatch>) -> Vec<Vec<Dispatch>> {
    let mut parts: Vec<Vec<Dispatch>> = Vec::new();
    let mut n_inputs = 0;
    for message in messages {
        n_inputs += message.inputs.len();
        match parts.last_mut() {
            Some(part) if part.len() < ATTEMPTS_MAX && n_inputs <= INPUTS_MAX => part.push(message),
            Some(_) | None => {
                n_inputs = message.inputs.len();
                parts.push(vec![message]);
            }
        }
    }
    parts
}

/// Returns true if an activity that was never sent would wait for long on its machine beside so many others, taken to
/// be of its length.
fn waits_for_slot(
    (known, history): (&Process, &Store),
    activity: ActivityId,
    n_before: usize,
    slots: u32,
) -> bool {
    let work = expected(known, history, activity).map_or(0, |work| work.0);
    let is_new = known.activity(activity).number == 0;
    let declared = known.definition().activity_as_written(activity);
    let cores = declared.map_or(1, |declared| declared.cores as usize);
    let slots = slots as usize;
    let ahead = match work {
        0 => return false,
        short if short < limits::LONG.0 => slots * (limits::QUEUED.0 / short) as usize,
        long if long < limits::LONGER.0 => cores,
        _ => 0,
    };
    is_new && (n_before + 1) * cores > slots + ahead
}

/// The slots that a process holds on a machine. Its first claim there has given nothing back.
fn holds(known: &Process, resource: ResourceId) -> Option<Holds> {
    let number = known.claim_number(resource.group);
    (number > 1).then(|| Holds {
        process: known.id(),
        number,
        slots: known.granted(resource),
    })
}

/// The messages of attempts, as far as the slice of the process allows.
pub(super) fn prepare(
    step: &mut Step<'_>,
    grid: Grid<'_>,
    (id, resource): (ProcessId, ResourceId),
    activities: Vec<ActivityId>,
    slice: &mut Slice,
) -> Prepared {
    let mut prepared = Prepared::default();
    let Some(known) = step.cx.process(id) else {
        return prepared;
    };
    for activity in activities {
        if slice.is_used_up() {
            break;
        }
        let number = known.next_number(activity);
        let attempt = AttemptId {
            process: id,
            activity,
            number,
        };
        let mut evaluator = Evaluator::new(step.programs);
        let message = resolve(known, attempt, &mut evaluator);
        slice.take(ATTEMPT_STEPS + evaluator.meter.steps());
        match message {
            Ok(mut message) => {
                if !grid.name_sources(step, known, resource, &mut message) {
                    prepared.is_early = true;
                    continue;
                }
                prepared.sent.push((activity, number, resource));
                let declared = known.definition().activity_as_written(activity);
                grid.bound_memory(declared, resource, &mut message);
                if let Some(declared) = declared {
                    let cache_key = CacheKey::of(declared, &message);
                    prepared.cache_keys.push(cache_key);
                }
                prepared.messages.push(message);
            }
            Err(fault) => {
                prepared.faults.push((activity, fault));
                if !known.goes_on() {
                    break;
                }
            }
        }
    }
    prepared
}
