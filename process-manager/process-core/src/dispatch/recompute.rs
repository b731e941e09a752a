//! Recomputation of lost files. If no machine has an output any more, the activity that produced it
//! runs once more, and then the activity that lacked it.
//!
//! ```text
//!   producer  completed ------------------- wanted --> out --> made    (its outcome stays as recorded)
//!   consumer  sent --> lacking: ready, held back ................> sent
//! ```
//! The recorded outcome of the producer stays: exit status, variables and streams are those of its
//! first run. Only its files are replaced, for consumers that have not started. A consumer that was
//! sent before and lacks the old files is just sent again.

use model::{ActivityId, AttemptId, ProcessId, ResourceId};
use wire::attempt::Outcome;
use wire::group::Offered;

use super::named_limits::LimitRoom;
use super::{Attempts, Grid, again, send::Destination};
use crate::enact::evaluate::{Spot, fault_event};
use crate::enact::message::recomputed;
use crate::enact::recompute::judge_recomputation;
use crate::limits;
use crate::process::Process;
use crate::record::Event;
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl Attempts {
    /// Sends pending recomputations to the machine that lacks the files, or to another one that
    /// fits.
    pub(super) fn send_recomputations(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        id: ProcessId,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        if known.index.recomputations.is_empty() {
            return;
        }
        let room = LimitRoom::new(self, step, known);
        let wanted = known.wanted_recomputations();
        let wanted = wanted.filter(|&activity| room.admits(activity));
        let wanted: Vec<ActivityId> = wanted.inspect(|&activity| room.take(activity)).collect();
        if room.awaits_others() {
            self.awaiting_limits.insert(id);
        }
        for activity in wanted {
            if !self.send_recomputation(step, grid, id, activity) {
                return;
            }
        }
    }

    /// Sends one attempt to make files again. Returns false where that has faulted.
    fn send_recomputation(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        id: ProcessId,
        activity: ActivityId,
    ) -> bool {
        let next = step.now.mono + limits::REPEAT;
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        let Some(resource) = place_for_recomputation(grid, known, activity) else {
            step.timers.set_once(Timer::Recall(id), next);
            return true;
        };
        let Some(epoch) = grid.machines.epoch(resource) else {
            return true;
        };
        let number = known.next_number(activity);
        let attempt = AttemptId {
            process: id,
            activity,
            number,
        };
        match recomputed(known, attempt) {
            Ok(mut message) => {
                if !grid.name_sources(step, known, resource, &mut message) {
                    step.timers.set_once(Timer::Recall(id), next);
                    return true;
                }
                let declared = known.definition().activity_as_written(activity);
                grid.bound_memory(declared, resource, &mut message);
                if let (Some(open), Some(run_again)) =
                    (self.open.get_mut(&id), again::recomputed(known, activity))
                {
                    open.run_again.note(run_again);
                }
                let sent = Event::Recomputing(vec![(activity, number, resource)]);
                step.cx.record(Stream::Process(id), sent);
                let messages = vec![message];
                self.note_sent(step, id, resource, &messages);
                let to = Destination {
                    resource,
                    epoch,
                    is_awaited: true,
                };
                self.send_in_parts(step, grid.files, to, messages);
                let timer = Timer::Unacknowledged(id, resource);
                step.timers.set_once(timer, next);
                true
            }
            // Activities that wait for the files cannot run, and others go on: the end of an attempt says so.
            Err(fault) if known.goes_on() => {
                let sent = Event::Recomputing(vec![(activity, number, resource)]);
                let outcome = Outcome::failed(attempt, fault.name, fault.message);
                let ended = judge_recomputation(known, outcome);
                step.cx.record(Stream::Process(id), sent);
                step.cx
                    .record(Stream::Process(id), Event::Ended(Box::new(ended)));
                step.marks.mark(id);
                true
            }
            Err(fault) => {
                let event = fault_event(known, Some(Spot::Node(activity.node())), fault);
                step.cx.record(Stream::Process(id), event);
                step.marks.mark(id);
                false
            }
        }
    }
}

/// A machine of those that the process holds, on which an activity may run.
fn place_for_recomputation(
    grid: Grid<'_>,
    known: &Process,
    activity: ActivityId,
) -> Option<ResourceId> {
    let declared = known.definition().activity_as_written(activity)?;
    let first = known.recomputation(activity)?.resource;
    let fits = |offered: &Offered| {
        let has = |(name, value): &(String, String)| offered.labels.get(name) == Some(value);
        declared.cores <= known.granted(offered.resource)
            && declared
                .memory
                .is_none_or(|memory| memory <= offered.memory)
            && declared.labels.iter().all(has)
            && grid.machines.is_trusted(offered.resource)
            && grid.machines.epoch(offered.resource).is_some()
    };
    let offered = grid.market.offers().flat_map(|offer| &offer.resources);
    let fitting = offered.filter(|one| fits(one));
    let mut fitting: Vec<ResourceId> = fitting.map(|one| one.resource).collect();
    // The machine that lacks the files comes first: then no transfer is needed.
    fitting.sort_by_key(|&resource| (resource != first, resource));
    fitting.first().copied()
}
