//! Attempts beside others at the same activities: sent at once, since they take slots that are idle.

use model::{ActivityId, AttemptId, ProcessId, ResourceId};

use super::out::{is_repeatable, stop};
use super::send::{Destination, prepare};
use super::{Attempts, Grid};
use crate::budget::Slice;
use crate::limits;
use crate::record::{Event, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl Attempts {
    /// Sends a second attempt at an activity that is out. Nothing is sent where its files cannot be named, and none
    /// but a repeatable activity runs twice.
    pub(crate) fn race(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        (id, resource): (ProcessId, ResourceId),
        activity: ActivityId,
        slice: &mut Slice,
    ) {
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let state = known.activity(activity);
        let first = AttemptId {
            process: id,
            activity,
            number: state.number,
        };
        let Some(epoch) = grid.machines.epoch(resource) else {
            return;
        };
        if !state.is_out() || !is_repeatable(known, first) {
            return;
        }
        let prepared = prepare(step, grid, (id, resource), vec![activity], slice);
        if prepared.sent.is_empty() {
            return;
        }
        self.note_sent(step, id, resource, &prepared.messages);
        let sent = Event::Racing(prepared.sent, prepared.cache_keys);
        step.cx.record(Stream::Process(id), sent);
        let to = Destination {
            resource,
            epoch,
            is_awaited: true,
        };
        self.send_in_parts(step, grid.files, to, prepared.messages);
        let timer = Timer::Unacknowledged(id, resource);
        step.timers.set_once(timer, step.now.mono + limits::REPEAT);
        step.marks.mark(id);
    }

    /// Stops the rivals of a process, since others could use their slots.
    pub(crate) fn stop_rivals(&self, step: &mut Step<'_>, id: ProcessId) {
        let known = step.cx.process(id);
        let Some(known) = known.filter(|known| known.phase() == Phase::Running) else {
            return;
        };
        let rivals = known.out().filter(|(_, attempt)| known.is_rival(*attempt));
        let rivals: Vec<(ResourceId, AttemptId)> = rivals.collect();
        for (resource, attempt) in rivals {
            stop(step, resource, &[attempt]);
        }
    }
}
