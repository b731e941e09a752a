//! What follows of itself once a fact is recorded: decisions are evaluated, machines are planned
//! and claimed, what is ready is sent, what must stop is stopped, what is done is closed.

use machine::Context;
use model::{Now, ProcessId, ResourceId};

use crate::evaluate::decide;
use crate::io::Stream;
use crate::manager::{ProcessManager, Stage, Timer, process};
use crate::recall::Looked;
use crate::record::{Event, Phase};
use crate::turns::Slice;

impl ProcessManager {
    /// Does all that can be done for a process at this moment, as far as its slice allows; the rest
    /// is done when it has its turn.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let mut slice = self.slice(now, id);
        self.touch(id);
        while self.progress(cx, now, id, &mut slice) {}
        self.end_slice(now, id, &slice);
        self.ask_for_copies(cx, now, id);
        self.notify_watchers(cx, now, id);
    }

    /// Decides, sends or closes. Whether something has faulted by it, so that there is more to do.
    fn progress(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        slice: &mut Slice,
    ) -> bool {
        let is_advanced = self.advance(cx, now, id, slice);
        let Some(known) = process(cx, id) else {
            return false;
        };
        match known.phase() {
            // Nothing is planned or sent before all is decided.
            Phase::Running if !is_advanced => {}
            Phase::Running => {
                let is_idle =
                    |place: &Option<ResourceId>| place.is_none_or(|place| !self.is_trusted(place));
                if self.config.lease.is_some() && known.index.ready.keys().any(is_idle) {
                    self.plan_again(cx, id);
                }
                if self
                    .live
                    .get(&id)
                    .is_some_and(|live| matches!(live.stage, Stage::Wanting))
                {
                    self.plan_next(cx);
                }
                return self.dispatch(cx, now, id, slice);
            }
            Phase::Faulting | Phase::Cancelling => {
                if known.index.out.is_empty() {
                    let phase = match known.phase() {
                        Phase::Cancelling => Phase::Cancelled,
                        Phase::Running
                        | Phase::Faulting
                        | Phase::Completed
                        | Phase::Faulted
                        | Phase::Cancelled => Phase::Faulted,
                    };
                    let (at, outputs) = (now.wall, Vec::new());
                    let closed = Event::Closed { phase, at, outputs };
                    cx.record(Stream::Process(id), closed);
                    self.close(cx, now, id);
                } else {
                    self.arm_once(Timer::Stop(id), now.mono);
                }
            }
            Phase::Completed | Phase::Faulted | Phase::Cancelled => self.close(cx, now, id),
        }
        false
    }

    /// Evaluates what is to be decided, and lets recorded outcomes stand for what becomes ready by
    /// it. Whether that is all.
    fn advance(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        id: ProcessId,
        slice: &mut Slice,
    ) -> bool {
        let stream = Stream::Process(id);
        while !slice.is_used_up() {
            let decided =
                process(cx, id).and_then(|process| decide(process, now, &mut self.programs));
            let is_early = matches!(decided, Some((Event::Closed { .. }, _)))
                && process(cx, id).is_some_and(|known| self.awaits_outputs(known));
            if let Some((event, n_steps)) = decided.filter(|_| !is_early) {
                slice.take(n_steps);
                cx.record(stream, event);
                continue;
            }
            match self.recall(cx, id, slice) {
                Looked::Found(reused) => {
                    let activity = reused.activity;
                    cx.record(stream, Event::Reused(reused));
                    self.remember(cx, id, activity);
                    self.miss_lost(cx, now, id, activity);
                }
                Looked::Missed => {}
                Looked::Nothing => {
                    self.ask_checks(cx, now, id);
                    return !self.awaits_recall(cx, id);
                }
            }
        }
        false
    }

    fn close(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        self.disarm(Timer::Stop(id));
        self.disarm(Timer::Claim(id));
        self.disarm(Timer::Recall(id));
        self.set_stage(id, Stage::Settled);
        self.release(cx, now, id);
    }
}
