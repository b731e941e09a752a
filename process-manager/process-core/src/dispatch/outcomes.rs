//! Reports of machines: attempts that started, ended, were taken back or refused.

use model::{AttemptId, Bytes, ProcessId, ResourceId, Span, Wall};
use wire::attempt::{ATTEMPTS_MAX, End, FromActivity, Outcome, Refusal, Started, ToActivity};

use crate::enact::judge::{Gone, judge};
use crate::io::Effect;
use crate::machines::Told;
use crate::parts::Parts;
use crate::record::{Event, Verdict};
use crate::step::Step;
use crate::stream::Stream;
use crate::timer::Timer;

impl Parts {
    pub(crate) fn on_activity(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        message: FromActivity,
    ) {
        self.machines.hear(step, resource);
        match message {
            FromActivity::Holding {
                epoch,
                ask,
                part,
                n_parts,
                attempts,
                lease,
                has_forgotten,
            } => {
                let told = Told {
                    epoch,
                    ask,
                    part,
                    n_parts,
                    attempts,
                };
                if let Some(held) = self.machines.told(step, resource, told) {
                    for id in self.files.found(step, &self.machines, resource, epoch) {
                        self.touch(id);
                    }
                    self.machines.count_by(step, resource, lease);
                    self.compare(step, resource, &held, has_forgotten);
                    self.files.keep_again(step, resource);
                }
            }
            FromActivity::Accepted(attempts) => self.heard(resource, attempts.into_iter()),
            FromActivity::Started(started) => self.on_started(step, resource, &started),
            FromActivity::Outcomes(outcomes) => self.on_outcomes(step, resource, outcomes),
            FromActivity::Retracted(attempts) => {
                self.machines
                    .is_answered(resource, attempts.iter().copied());
                self.heard(resource, attempts.iter().copied());
                self.lose(step, resource, &attempts, Gone::Unstarted);
            }
            FromActivity::Tail(attempt, tail) => self.on_tail(step, attempt, tail),
            FromActivity::LogPart(part) => self.on_log_part(step, &part),
            FromActivity::Copied(copied) => {
                for id in self.files.on_copied(step, &self.machines, resource, copied) {
                    self.touch(id);
                }
            }
            FromActivity::Checked(checked) => {
                for one in checked {
                    let (id, activity) = (one.copied.process, one.copied.activity);
                    if self.files.on_checked(step, resource, one) {
                        self.look_again(step, id, activity);
                    }
                }
            }
            FromActivity::Access { number, access } => {
                let known = step.cx.process(access.process);
                let is_allowed = known.is_some_and(|known| {
                    known.owner.as_ref() == Some(&access.user)
                        && known.has_artifact(access.artifact)
                });
                let answer = ToActivity::Access { number, is_allowed };
                step.cx.effect(Effect::ToActivity(resource, answer));
            }
            FromActivity::Renew { epoch, number } => {
                let keeps = self.files.kept_at(resource);
                if self
                    .machines
                    .on_renew(step, resource, (epoch, number), keeps)
                {
                    self.reattach(step, resource);
                }
            }
            FromActivity::Refused { attempts, why } => match why {
                // The repeat finds the grant, or room.
                Refusal::NoGrantYet | Refusal::Full => {}
                Refusal::Retracted => {
                    self.heard(resource, attempts.iter().copied());
                    self.lose(step, resource, &attempts, Gone::Unstarted);
                }
                Refusal::OtherEpoch { epoch } => {
                    let known = self.machines.epoch(resource);
                    if known.is_some_and(|known| known < epoch) {
                        self.reattach(step, resource);
                    }
                }
            },
        }
        self.welcome(step, resource);
    }

    /// Compares the attempts that a machine has listed with those that were sent to it. One that it
    /// does not list is lost, since it refuses messages for its earlier epochs; one that no process
    /// waits for is stopped.
    fn compare(
        &mut self,
        step: &mut Step<'_>,
        resource: ResourceId,
        held: &std::collections::BTreeSet<AttemptId>,
        has_forgotten: bool,
    ) {
        let gone_as = match has_forgotten {
            true => Gone::Forgotten,
            false => Gone::NotHeld,
        };
        let ids: Vec<ProcessId> = self.live.keys().copied().collect();
        for &id in &ids {
            let Some(known) = step.cx.process(id) else {
                continue;
            };
            let gone: Vec<AttemptId> = known
                .out()
                .filter(|(at, attempt)| *at == resource && !held.contains(attempt))
                .map(|(_, attempt)| attempt)
                .collect();
            self.lose(step, resource, &gone, gone_as);
            step.marks.mark(id);
        }
        let unwanted: Vec<AttemptId> = held
            .iter()
            .copied()
            .filter(|attempt| {
                !step
                    .cx
                    .process(attempt.process)
                    .is_some_and(|known| known.is_out(*attempt))
            })
            .collect();
        self.machines.drop_unwanted(step, resource, &unwanted);
        for part in unwanted.chunks(ATTEMPTS_MAX) {
            step.cx.effect(Effect::ToActivity(
                resource,
                ToActivity::Stop(part.to_vec()),
            ));
        }
    }

    fn on_started(&mut self, step: &mut Step<'_>, resource: ResourceId, started: &[Started]) {
        self.heard(resource, started.iter().map(|one| one.attempt));
        let mut touched = Vec::new();
        for one in started {
            let id = one.attempt.process;
            // To watchers an activity under recomputation stays completed.
            let is_out = step.cx.process(id).is_some_and(|known| {
                known.is_out(one.attempt) && !known.is_recomputation(one.attempt)
            });
            if let Some(live) = self.live.get_mut(&id)
                && is_out
            {
                live.running.insert(one.attempt.activity, (one.at, one.pid));
                live.revision += 1;
                if touched.last() != Some(&id) {
                    touched.push(id);
                }
            }
        }
        for id in touched {
            self.notify_watchers(step, id);
        }
    }

    fn on_outcomes(&mut self, step: &mut Step<'_>, resource: ResourceId, outcomes: Vec<Outcome>) {
        self.heard(resource, outcomes.iter().map(|outcome| outcome.attempt));
        self.machines
            .is_answered(resource, outcomes.iter().map(|outcome| outcome.attempt));
        let attempts: Vec<AttemptId> = outcomes.iter().map(|outcome| outcome.attempt).collect();
        let outcomes = self.truly_lacking(step, outcomes);
        self.record_outcomes(step, outcomes, None);
        // It leaves when the outcomes are durable; one that was recorded before is answered too.
        for part in attempts.chunks(ATTEMPTS_MAX) {
            step.cx.effect(Effect::ToActivity(
                resource,
                ToActivity::Acknowledge(part.to_vec()),
            ));
        }
    }

    /// Keeps of the reported lacking inputs those that are truly gone.
    fn truly_lacking(&mut self, step: &Step<'_>, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        if self.files.is_shared() {
            return outcomes;
        }
        for outcome in &mut outcomes {
            let attempt = outcome.attempt;
            let live = self.live.get_mut(&attempt.process);
            let told = live.and_then(|live| live.announced.remove(&attempt.activity));
            let told = told.filter(|told| told.0 == attempt.number);
            let told = told.and_then(|told| told.1);
            self.files.keep_lacking(step, &self.machines, outcome, told);
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
                let live = self.live.get(&attempt.process);
                let ran = live.and_then(|live| live.running.get(&attempt.activity));
                let ran = ran.filter(|_| gone.counts());
                let end = match gone {
                    Gone::Unstarted => End::Stopped,
                    // A machine remembers whatever must not run twice and may have been started.
                    Gone::NotHeld if ran.is_none() => End::Stopped,
                    Gone::NotHeld | Gone::Forgotten | Gone::GivenUp | Gone::Doubled => End::Lost,
                };
                Outcome {
                    attempt,
                    end,
                    started: ran.map_or(Wall(0), |&(at, _)| at),
                    wall: Span::ZERO,
                    cpu: Span::ZERO,
                    peak_memory: Bytes::ZERO,
                    exit_code: None,
                    pid: ran.map_or(0, |&(_, pid)| pid),
                    outputs: Vec::new(),
                    stdout: None,
                    stderr: None,
                    log: None,
                }
            })
            .collect();
        self.record_outcomes(step, lost, Some(gone));
    }

    /// Records what machines have reported, or what is known of attempts that are gone.
    fn record_outcomes(&mut self, step: &mut Step<'_>, outcomes: Vec<Outcome>, gone: Option<Gone>) {
        let mut touched: Vec<ProcessId> = Vec::new();
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
            if let Some(live) = self.live.get_mut(&id) {
                live.running.remove(&attempt.activity);
            }
            if let Verdict::Retry { at, .. } = &ended.verdict {
                let wait = at.since(step.now.wall);
                step.timers
                    .set(Timer::Backoff(id, attempt.activity), step.now.mono + wait);
            }
            let is_completed = ended.verdict == Verdict::Completed;
            step.cx
                .record(Stream::Process(id), Event::Ended(Box::new(ended)));
            if is_completed {
                self.remember(step, id, attempt.activity);
            }
            if !touched.contains(&id) {
                touched.push(id);
            }
        }
        for id in touched {
            step.marks.mark(id);
        }
    }
}
