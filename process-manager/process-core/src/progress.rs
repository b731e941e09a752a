//! Progress of a process after each recorded fact: evaluates decisions, plans and claims machines,
//! sends ready activities, stops attempts, closes the process at its end.

use model::{Fault, FaultName, ProcessId, ResourceId, Span};

use crate::budget::Slice;
use crate::enact::decide::decide;
use crate::enact::evaluate::{Spot, fault_event};
use crate::limits;
use crate::observe;
use crate::parts::Parts;
use crate::process::folding::KEPT;
use crate::record::{Event, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl Parts {
    /// The progress pass at the end of a step: once for each process that something has happened to,
    /// and then for the next one to plan. Where these are many, the rest goes on in the next step.
    pub(crate) fn progress_all(&mut self, step: &mut Step<'_>) {
        let mut n_left = limits::PROGRESS_A_STEP;
        loop {
            while let Some(id) = step.marks.processes.pop_first() {
                self.progress(step, id);
                n_left = n_left.saturating_sub(1);
                if n_left == 0 && !step.marks.processes.is_empty() {
                    step.timers.set_once(Timer::Turns, step.now.mono + Span(1));
                    return;
                }
            }
            if !std::mem::take(&mut step.marks.wants_plans) {
                return;
            }
            self.market.plan_next(step, &self.machines, &self.attempts);
            self.files.send_probes(step, self.market.take_probes());
        }
    }

    /// Does all that a process can do now, as far as its slice allows; the rest waits for its turn.
    pub(crate) fn progress(&mut self, step: &mut Step<'_>, id: ProcessId) {
        let mut slice = self.slice(step, id);
        self.clients.touch(id);
        self.attempts.note_places(step, id);
        while self.progress_once(step, id, &mut slice) {}
        self.end_slice(step, id, &slice);
        self.files.ask_for_copies(step, &self.machines, id);
        let (clients, shown) = self.clients_and_shown();
        clients.notify_watchers(step, shown, id);
    }

    /// Decides, sends or closes. Returns true if that caused a fault, so that there is more to do.
    fn progress_once(&mut self, step: &mut Step<'_>, id: ProcessId, slice: &mut Slice) -> bool {
        let is_advanced = self.advance(step, id, slice);
        // Before anything else is sent, so that the room is there for it.
        self.files.ask_discards(step, &self.machines, id);
        let Some(known) = step.cx.process(id) else {
            return false;
        };
        if known.phase() == Phase::Running && known.has_leftovers() {
            step.timers.set_once(Timer::Stop(id), step.now.mono);
        }
        match known.phase() {
            // Nothing is planned or sent before all is decided.
            Phase::Running if !is_advanced => {}
            Phase::Running => {
                let is_idle = |place: &Option<ResourceId>| {
                    place.is_none_or(|place| {
                        !self.machines.is_trusted(place)
                            || known.granted(place) == 0
                            || known.has_too_wide(place)
                    })
                };
                let is_idle = step.config.lease.is_some() && known.index.ready.keys().any(is_idle);
                let lacks = known.is_unplanned() || self.market.lacks_place(known, &self.machines);
                if is_idle || lacks {
                    self.market.plan_again(step, &self.machines, id);
                }
                self.market.note_surplus(step, id);
                self.move_on(step, id);
                if self.market.wants_plan(id) {
                    step.marks.want_plans();
                }
                self.market.open_rounds(step, id);
                self.files.pass_on(step, &self.machines, id);
                let (attempts, grid) = self.attempts_and_grid();
                let has_faulted = attempts.send_ready(step, grid, id, slice);
                self.start_replicas(step, id, slice);
                self.market.note_crowded(step, id);
                return has_faulted;
            }
            Phase::Faulting | Phase::Cancelling => {
                if known.out().next().is_none() {
                    let phase = match known.phase() {
                        Phase::Cancelling => Phase::Cancelled,
                        Phase::Running
                        | Phase::Faulting
                        | Phase::Completed
                        | Phase::Faulted
                        | Phase::Cancelled => Phase::Faulted,
                    };
                    let (at, outputs) = (step.now.wall, Vec::new());
                    let closed = Event::Closed { phase, at, outputs };
                    step.cx.record(Stream::Process(id), closed);
                    self.close(step, id);
                } else {
                    step.timers.set_once(Timer::Stop(id), step.now.mono);
                    if known.finishes() {
                        self.market.note_finishing(step, id);
                    }
                }
            }
            Phase::Completed | Phase::Faulted | Phase::Cancelled => self.close(step, id),
        }
        false
    }

    /// Evaluates the pending decisions, and makes a cache lookup for each activity that becomes
    /// ready. Returns true if nothing is left to evaluate or look up and planning may begin.
    fn advance(&mut self, step: &mut Step<'_>, id: ProcessId, slice: &mut Slice) -> bool {
        let n_kept = step.config.kept_activities.unwrap_or(KEPT);
        while !slice.is_used_up() {
            let decided = step
                .cx
                .process(id)
                .and_then(|process| decide(process, (step.now, n_kept), step.programs));
            let is_early = matches!(decided, Some((Event::Closed { .. }, _)))
                && step
                    .cx
                    .process(id)
                    .is_some_and(|known| known.has_leftovers() || self.files.awaits_outputs(known));
            if let Some((event, n_steps)) = decided.filter(|_| !is_early) {
                slice.take(n_steps);
                self.record_decided(step, id, event);
                continue;
            }
            if !self.reuse_next(step, id, slice) {
                if self.ask_checks(step, id) {
                    // What follows an outcome that stands now may have one too.
                    continue;
                }
                return !self.awaits_recall(step, id);
            }
        }
        false
    }

    /// Records what was decided. Items or iterations that would take the owner of the process beyond its quota are a
    /// fault instead.
    fn record_decided(&mut self, step: &mut Step<'_>, id: ProcessId, event: Event) {
        let stream = Stream::Process(id);
        let Event::Expanded(expanded) = &event else {
            let is_completed = matches!(
                event,
                Event::Closed {
                    phase: Phase::Completed,
                    ..
                }
            );
            step.cx.record(stream, event);
            if is_completed {
                observe::count_bodies(step, id);
            }
            return;
        };
        let Some(known) = step.cx.process(id) else {
            return;
        };
        let expansion = expanded.expansion();
        let (each, n_items) = (expansion.each, expansion.n_items as usize);
        let n_more = known.definition().n_added(each, n_items);
        if let Err(message) = self.clients.check_growth(step.config.quota, known, n_more) {
            let fault = Fault::new(FaultName::TooLarge, message);
            let fault = fault_event(known, Some(Spot::Node(each)), Box::new(fault));
            return step.cx.record(stream, fault);
        }
        step.cx.record(stream, event);
        if let Some(known) = step.cx.process(id) {
            self.clients.grown(known);
        }
    }

    fn close(&mut self, step: &mut Step<'_>, id: ProcessId) {
        step.timers.cancel(Timer::Stop(id));
        step.timers.cancel(Timer::Recall(id));
        self.market.settle(step, id);
        self.release(step, id);
    }

    /// Gives back the slots of a process that has ended.
    pub(crate) fn release(&mut self, step: &mut Step<'_>, id: ProcessId) {
        if self.market.release(step, id) {
            self.released(id);
        }
    }

    /// Nothing is held for a process any more.
    pub(crate) fn released(&mut self, id: ProcessId) {
        self.attempts.end(id);
        self.cache.end(id);
        self.files.end(id);
        self.clients.end(id);
    }
}
