//! Reports of machines: attempts that started, ended, were taken back or refused.

use std::collections::BTreeSet;

use model::{ActivityId, AttemptId, ProcessId, ResourceId, Wall};
use wire::attempt::{ATTEMPTS_MAX, End, Outcome, Started, ToActivity};

use super::out::stop;
use super::{Attempts, Grid, again};
use crate::enact::judge::{Gone, judge};
use crate::io::Effect;
use crate::record::{Event, Verdict};
use crate::step::Step;
use crate::stream::Stream;
use crate::tally::Noted;
use crate::timer::Timer;

impl Attempts {
    /// Compares the attempts that a machine has listed with those that were sent to it. One that it
    /// does not list is lost, since it refuses messages for its earlier epochs. Stops those that no
    /// process waits for, and returns them.
    pub(crate) fn compare(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        held: &BTreeSet<AttemptId>,
        gone_as: Gone,
    ) -> Vec<AttemptId> {
        let ids: Vec<ProcessId> = self.processes_at(resource).collect();
        for id in ids {
            let Some(known) = step.cx.process(id) else {
                continue;
            };
            let gone: Vec<AttemptId> = known
                .out_at(resource)
                .filter(|attempt| !held.contains(attempt))
                .collect();
            self.lose(step, resource, &gone, gone_as);
            step.marks.mark(id);
        }
        let is_wanted = |attempt: &AttemptId| {
            let known = step.cx.process(attempt.process);
            known.is_some_and(|known| known.is_out(*attempt))
        };
        let unwanted = held.iter().copied().filter(|one| !is_wanted(one));
        let unwanted: Vec<AttemptId> = unwanted.collect();
        stop(step, resource, &unwanted);
        unwanted
    }

    /// Attempts have started. Returns their processes, one for each attempt that watchers could see.
    pub(crate) fn on_started(
        &mut self,
        step: &Step<'_>,
        resource: ResourceId,
        started: &[Started],
    ) -> Vec<ProcessId> {
        self.heard(resource, started.iter().map(|one| one.attempt));
        let mut begun = Vec::new();
        for one in started {
            let id = one.attempt.process;
            // To watchers an activity under recomputation stays completed.
            let is_out = step.cx.process(id).is_some_and(|known| {
                known.is_out(one.attempt) && !known.is_recomputation(one.attempt)
            });
            if let Some(open) = self.open.get_mut(&id)
                && is_out
            {
                let key = (one.attempt.activity, one.attempt.number);
                open.running.insert(key, (one.at, one.pid));
                begun.push(id);
            }
        }
        begun
    }

    /// A machine reports how attempts ended. Returns the activities that have completed with that.
    pub(crate) fn on_outcomes(
        &mut self,
        step: &mut Step<'_>,
        grid: Grid<'_>,
        resource: ResourceId,
        outcomes: Vec<Outcome>,
    ) -> Vec<(ProcessId, ActivityId)> {
        let attempts: Vec<AttemptId> = outcomes.iter().map(|outcome| outcome.attempt).collect();
        self.heard(resource, attempts.iter().copied());
        let outcomes = self.truly_lacking(step, grid, outcomes);
        let completed = self.record_outcomes(step, outcomes, None);
        // It leaves when the outcomes are durable; one that was recorded before is answered too. The executor
        // holds an outcome for so long, and no slot.
        for part in attempts.chunks(ATTEMPTS_MAX) {
            let acknowledge = ToActivity::Acknowledge(part.to_vec());
            step.cx
                .effect_later(Effect::ToActivity(resource, acknowledge));
        }
        completed
    }

    /// Keeps of the reported lacking inputs those that are truly gone.
    fn truly_lacking(
        &mut self,
        step: &Step<'_>,
        grid: Grid<'_>,
        mut outcomes: Vec<Outcome>,
    ) -> Vec<Outcome> {
        if grid.files.is_shared() {
            return outcomes;
        }
        for outcome in &mut outcomes {
            let attempt = outcome.attempt;
            let open = self.open.get_mut(&attempt.process);
            let told = open.and_then(|open| open.announced.remove(&attempt.activity));
            let told = told.filter(|told| told.0 == attempt.number);
            let told = told.and_then(|told| told.1);
            grid.files.keep_lacking(step, grid.machines, outcome, told);
        }
        outcomes
    }

    /// Attempts that will not run where they were sent.
    pub(crate) fn lose(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        attempts: &[AttemptId],
        gone: Gone,
    ) {
        let lost = attempts
            .iter()
            .filter(|attempt| {
                step.cx
                    .process(attempt.process)
                    .is_some_and(|known| known.machine_of(**attempt) == Some(resource))
            })
            .map(|&attempt| {
                let open = self.open.get(&attempt.process);
                let key = (attempt.activity, attempt.number);
                let ran = open.and_then(|open| open.running.get(&key));
                let ran = ran.filter(|_| gone.counts());
                let end = match gone {
                    Gone::Unstarted => End::Stopped,
                    // A machine remembers whatever must not run twice and may have been started.
                    Gone::NotHeld if ran.is_none() => End::Stopped,
                    Gone::NotHeld | Gone::Forgotten | Gone::GivenUp | Gone::Doubled => End::Lost,
                };
                let (started, pid) = ran.copied().unwrap_or((Wall(0), 0));
                Outcome {
                    started,
                    pid,
                    ..Outcome::without_run(attempt, end)
                }
            })
            .collect();
        self.record_outcomes(step, lost, Some(gone));
    }

    /// Records what machines have reported, or what is known of attempts that are gone. Returns the
    /// activities that have completed.
    fn record_outcomes(
        &mut self,
        step: &mut Step<'_>,
        outcomes: Vec<Outcome>,
        gone: Option<Gone>,
    ) -> Vec<(ProcessId, ActivityId)> {
        let mut completed = Vec::new();
        for outcome in outcomes {
            let attempt = outcome.attempt;
            let id = attempt.process;
            let Some(known) = step.cx.process(id) else {
                continue;
            };
            if !known.is_out(attempt) {
                continue;
            }
            let ended = judge(known, step.now, outcome, gone);
            if let Some(open) = self.open.get_mut(&id) {
                open.running.remove(&(attempt.activity, attempt.number));
                if let Some(run_again) = again::after_end(known, &ended) {
                    open.run_again.note(run_again);
                }
            }
            if let Verdict::Retry { at, .. } = &ended.verdict {
                let wait = at.since(step.now.wall);
                step.timers
                    .set(Timer::Backoff(id, attempt.activity), step.now.mono + wait);
            }
            let is_completed = ended.verdict == Verdict::Completed;
            if is_completed && known.is_rival(attempt) {
                step.cx.note(Noted::WonBySecond);
            }
            step.cx
                .record(Stream::Process(id), Event::Ended(Box::new(ended)));
            if is_completed {
                completed.push((id, attempt.activity));
            }
            self.give_back_limits(step, id, attempt.activity);
            step.marks.mark(id);
        }
        completed
    }
}
