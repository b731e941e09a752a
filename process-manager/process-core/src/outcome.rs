//! What machines report: attempts that started, ended, were taken back or not taken.

use expression::{Meter, Programs};
use machine::Context;
use model::{
    ActivityId, AttemptId, Bytes, Capture, Fault, FaultName, Now, Parse, ProcessId, ResourceId,
    Retry, RetryOn, Span, Value, Wall,
};
use wire::attempt::{
    ATTEMPTS_MAX, End, Failure, FromActivity, Outcome, Refusal, Started, ToActivity,
};

use crate::dispatch::command;
use crate::evaluate::{Evaluator, admit, has_room};
use crate::io::{Effect, Stream};
use crate::manager::{ProcessManager, Timer, backoff, limits, process};
use crate::process::Process;
use crate::record::{Ended, Event, Flow, Phase, Verdict};
use crate::remake::{judge_remake, lacking};

impl ProcessManager {
    pub(crate) fn on_activity(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        message: FromActivity,
    ) {
        self.hear(now, resource);
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
                let Some(link) = self.machines.get_mut(&resource) else {
                    return;
                };
                if !link.is_up || link.epoch.is_some() || link.ask != ask || part >= n_parts {
                    return;
                }
                link.parts.insert(part);
                link.held.extend(attempts);
                if link.parts.len() as u32 == n_parts {
                    link.epoch = Some(epoch);
                    let held = std::mem::take(&mut link.held);
                    if self.stores.is_emptied(resource, epoch) {
                        self.lose_files(cx, now, resource);
                    }
                    self.stores.find(resource);
                    self.disarm(Timer::AttachMachine(resource));
                    self.count_by(cx, now, resource, lease);
                    self.compare(cx, now, resource, &held, has_forgotten);
                    self.keep_again(cx, now, resource);
                }
            }
            FromActivity::Accepted(attempts) => self.heard(resource, attempts.into_iter()),
            FromActivity::Started(started) => self.on_started(cx, now, resource, &started),
            FromActivity::Outcomes(outcomes) => self.on_outcomes(cx, now, resource, outcomes),
            FromActivity::Retracted(attempts) => {
                self.is_answered(resource, attempts.iter().copied());
                self.heard(resource, attempts.iter().copied());
                self.lose(cx, now, resource, &attempts, Gone::Unstarted);
            }
            FromActivity::Tail(attempt, tail) => self.on_tail(cx, attempt, tail),
            FromActivity::LogPart(part) => self.on_log_part(cx, &part),
            FromActivity::Copied(copied) => self.on_copied(cx, now, resource, copied),
            FromActivity::Checked(checked) => self.on_checked(cx, now, resource, checked),
            FromActivity::Access { number, access } => {
                let known = process(cx, access.process);
                let is_allowed = known.is_some_and(|known| {
                    known.owner.as_ref() == Some(&access.user)
                        && known.has_artifact(access.artifact)
                });
                let answer = ToActivity::Access { number, is_allowed };
                cx.effect(Effect::ToActivity(resource, answer));
            }
            FromActivity::Renew { epoch, number } => {
                self.on_renew(cx, now, resource, epoch, number)
            }
            FromActivity::Refused { attempts, why } => match why {
                // The repeat finds the grant, or room.
                Refusal::NoGrantYet | Refusal::Full => {}
                Refusal::Retracted => {
                    self.heard(resource, attempts.iter().copied());
                    self.lose(cx, now, resource, &attempts, Gone::Unstarted);
                }
                Refusal::OtherEpoch { epoch } => {
                    let known = self.machines.get(&resource).and_then(|link| link.epoch);
                    if known.is_some_and(|known| known < epoch) {
                        self.reattach(cx, now, resource);
                    }
                }
            },
        }
        self.trust(cx, now, resource);
    }

    /// After a machine has told what it holds: whatever else was sent there is lost, since it
    /// refuses what was meant for an earlier life; whatever it holds for nobody is stopped.
    fn compare(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
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
            let Some(known) = process(cx, id) else {
                continue;
            };
            let gone: Vec<AttemptId> = known
                .out()
                .filter(|(at, attempt)| *at == resource && !held.contains(attempt))
                .map(|(_, attempt)| attempt)
                .collect();
            self.lose(cx, now, resource, &gone, gone_as);
            self.settle(cx, now, id);
        }
        let unwanted: Vec<AttemptId> = held
            .iter()
            .copied()
            .filter(|attempt| {
                !process(cx, attempt.process).is_some_and(|known| known.is_out(*attempt))
            })
            .collect();
        self.drop_unwanted(now, resource, &unwanted);
        for part in unwanted.chunks(ATTEMPTS_MAX) {
            cx.effect(Effect::ToActivity(
                resource,
                ToActivity::Stop(part.to_vec()),
            ));
        }
    }

    fn on_started(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        started: &[Started],
    ) {
        self.heard(resource, started.iter().map(|one| one.attempt));
        let mut touched = Vec::new();
        for one in started {
            let id = one.attempt.process;
            // Whoever makes files again has completed, and stays so for those who watch.
            let is_out = process(cx, id)
                .is_some_and(|known| known.is_out(one.attempt) && !known.is_remake(one.attempt));
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
            self.notify_watchers(cx, now, id);
        }
    }

    fn on_outcomes(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        outcomes: Vec<Outcome>,
    ) {
        self.heard(resource, outcomes.iter().map(|outcome| outcome.attempt));
        self.is_answered(resource, outcomes.iter().map(|outcome| outcome.attempt));
        let attempts: Vec<AttemptId> = outcomes.iter().map(|outcome| outcome.attempt).collect();
        let outcomes = self.truly_lacking(cx, now, outcomes);
        self.record_outcomes(cx, now, outcomes, None);
        // It leaves when the outcomes are durable; one that was recorded before is answered too.
        for part in attempts.chunks(ATTEMPTS_MAX) {
            cx.effect(Effect::ToActivity(
                resource,
                ToActivity::Acknowledge(part.to_vec()),
            ));
        }
    }

    /// Attempts that will not run where they were sent.
    pub(crate) fn lose(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        attempts: &[AttemptId],
        gone: Gone,
    ) {
        let lost = attempts
            .iter()
            .filter(|attempt| {
                process(cx, attempt.process).is_some_and(|known| {
                    known.is_out(**attempt) && known.out_of(attempt.activity).0 == resource
                })
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
        self.record_outcomes(cx, now, lost, Some(gone));
    }

    /// Records what machines have reported, or what is known of attempts that are gone.
    fn record_outcomes(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        outcomes: Vec<Outcome>,
        gone: Option<Gone>,
    ) {
        let mut touched: Vec<ProcessId> = Vec::new();
        for outcome in outcomes {
            let attempt = outcome.attempt;
            let id = attempt.process;
            let Some(known) = process(cx, id) else {
                continue;
            };
            if !known.is_out(attempt) {
                continue;
            }
            let ended = judge(known, now, outcome, gone);
            if let Some(live) = self.live.get_mut(&id) {
                live.running.remove(&attempt.activity);
            }
            if let Verdict::Retry { at, .. } = &ended.verdict {
                let wait = at.since(now.wall);
                self.arm(Timer::Backoff(id, attempt.activity), now.mono + wait);
            }
            let is_completed = ended.verdict == Verdict::Completed;
            cx.record(Stream::Process(id), Event::Ended(Box::new(ended)));
            if is_completed {
                self.remember(cx, id, attempt.activity);
            }
            if !touched.contains(&id) {
                touched.push(id);
            }
        }
        for id in touched {
            self.settle(cx, now, id);
        }
    }
}

/// How it is known that an attempt will not run where it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// The machine says so: it has not started and will not.
    Unstarted,
    /// The machine does not hold it, and refuses what was meant for its earlier life.
    NotHeld,
    /// The same, and it does not know what it has started: its journal was lost.
    Forgotten,
    /// The machine's lease has ended.
    GivenUp,
    /// Nobody waits for it, since it may run twice.
    Doubled,
}

impl Gone {
    /// Whether it counts that it ran: it may be what ends its machine.
    fn counts(self) -> bool {
        match self {
            Gone::NotHeld | Gone::Forgotten | Gone::GivenUp => true,
            Gone::Unstarted | Gone::Doubled => false,
        }
    }
}

/// What follows from an outcome.
fn judge(process: &Process, now: Now, outcome: Outcome, gone: Option<Gone>) -> Ended {
    if process.is_remake(outcome.attempt) {
        return judge_remake(process, outcome);
    }
    let captured = match outcome.end {
        End::Completed => capture(process, &outcome),
        End::Failed(_) | End::Stopped | End::Lost | End::Lacking(_) => Ok(Vec::new()),
    };
    let is_ending = process.phase() != Phase::Running;
    let (verdict, writes) = match (&outcome.end, captured) {
        (End::Completed, Ok(writes)) => (Verdict::Completed, writes),
        (End::Completed, Err(message)) => {
            let failure = Failure {
                name: FaultName::Expression,
                message,
                directory: String::new(),
                stderr_tail: String::new(),
            };
            (fail(process, now, &outcome, &failure), Vec::new())
        }
        (End::Failed(_) | End::Stopped | End::Lost | End::Lacking(_), _) if is_ending => {
            (Verdict::Stopped, Vec::new())
        }
        (End::Failed(failure), _) => (fail(process, now, &outcome, failure), Vec::new()),
        (End::Stopped | End::Lost, _) if is_unknown(process, &outcome) => {
            (unknown(process, &outcome), Vec::new())
        }
        (End::Stopped, _) if gone == Some(Gone::Unstarted) => (Verdict::Moved, Vec::new()),
        (End::Stopped, _) => (Verdict::Again, Vec::new()),
        (End::Lost, _) => (lost(process, now, &outcome), Vec::new()),
        (End::Lacking(inputs), _) => (lacking(process, &outcome, inputs), Vec::new()),
    };
    let (verdict, flow) = follow(process, outcome.attempt.activity, verdict);
    Ended {
        outcome: outcome.into(),
        verdict,
        writes,
        flow,
    }
}

/// What controllers do by the end of an activity. A fault breaks only what depends on it where the
/// process goes on.
fn follow(process: &Process, activity: ActivityId, verdict: Verdict) -> (Verdict, Flow) {
    let node = activity.node();
    match verdict {
        Verdict::Completed => (verdict, process.turn(|turn| turn.finish(node))),
        Verdict::Faulted(fault) if process.goes_on() => {
            let flow = process.turn(|turn| turn.break_nodes([node]));
            (Verdict::Broke(fault), flow)
        }
        Verdict::Retry { .. }
        | Verdict::Again
        | Verdict::Moved
        | Verdict::Faulted(_)
        | Verdict::Broke(_)
        | Verdict::Stopped
        | Verdict::Lacking(_) => (verdict, Flow::default()),
    }
}

fn fail(process: &Process, now: Now, outcome: &Outcome, failure: &Failure) -> Verdict {
    let activity_id = outcome.attempt.activity;
    let fault = Box::new(fault(process, outcome, failure.clone()));
    let Some(activity) = process.definition().activity(activity_id) else {
        return Verdict::Faulted(fault);
    };
    let state = process.activity(activity_id);
    let n_tried = u32::from(state.n_failed) + 1;
    let may_retry = n_tried < activity.retry.attempts && !activity.at_most_once;
    if may_retry && retries(&activity.retry, outcome, &fault.name) {
        let at = now.wall + backoff(activity.retry.backoff, state.n_failed);
        return Verdict::Retry { at, fault };
    }
    Verdict::Faulted(fault)
}

fn retries(retry: &Retry, outcome: &Outcome, name: &FaultName) -> bool {
    retry.on.is_empty()
        || retry.on.iter().any(|on| match on {
            RetryOn::Exit(code) => outcome.exit_code == Some(*code),
            RetryOn::Timeout => *name == FaultName::Timeout,
            RetryOn::Lost => *name == FaultName::Lost,
        })
}

/// Whether an attempt must not be made again, and may have run.
fn is_unknown(process: &Process, outcome: &Outcome) -> bool {
    let declared = process.definition().activity(outcome.attempt.activity);
    let may_have_run = outcome.end == End::Lost || outcome.started != Wall(0);
    may_have_run && declared.is_some_and(|activity| activity.at_most_once)
}

fn unknown(process: &Process, outcome: &Outcome) -> Verdict {
    let message = if outcome.end == End::Lost {
        "nobody knows what became of it, and it must not run twice"
    } else {
        "it was killed while it ran, and it must not run twice"
    };
    let failure = Failure {
        name: FaultName::OutcomeUnknown,
        message: message.to_owned(),
        directory: String::new(),
        stderr_tail: String::new(),
    };
    Verdict::Faulted(Box::new(fault(process, outcome, failure)))
}

/// An attempt that was lost is made again, whatever the retry policy says: the command did nothing
/// wrong. Only one that is lost again and again while it runs may be the cause itself.
fn lost(process: &Process, now: Now, outcome: &Outcome) -> Verdict {
    let state = process.activity(outcome.attempt.activity);
    if outcome.started == Wall(0) || state.n_lost + 1 < limits::LOSSES_MAX {
        return Verdict::Again;
    }
    let failure = Failure {
        name: FaultName::Lost,
        message: format!(
            "lost with its machine or executor {} times while it ran",
            limits::LOSSES_MAX
        ),
        directory: String::new(),
        stderr_tail: String::new(),
    };
    fail(process, now, outcome, &failure)
}

/// Steps of finding the command line that a fault names; it names none where that takes more. So
/// many attempts may fail at once that their faults must cost little.
const FAULT_STEPS_MAX: u64 = 5_000;

fn fault(process: &Process, outcome: &Outcome, failure: Failure) -> Fault {
    let activity = outcome.attempt.activity;
    let command = process.definition().activity(activity).map(|activity| {
        let mut programs = Programs::default();
        let mut evaluator = Evaluator {
            programs: &mut programs,
            meter: Meter::up_to(FAULT_STEPS_MAX),
        };
        let mut words = command(process, activity, &mut evaluator).unwrap_or_default();
        // Of a line for the shell the user wrote only the line.
        match &activity.command {
            model::Command::Shell(_) => words.split_off(words.len().saturating_sub(1)),
            model::Command::List(_) => words,
        }
    });
    Fault {
        name: failure.name,
        message: failure.message,
        activity: Some(activity),
        attempt: outcome.attempt.number,
        resource: Some(process.activity(activity).resource),
        exit_code: outcome.exit_code,
        directory: (!failure.directory.is_empty()).then_some(failure.directory),
        command: command.unwrap_or_default(),
        stderr_tail: failure.stderr_tail,
    }
}

/// The variables that an attempt's streams are written to.
fn capture(process: &Process, outcome: &Outcome) -> Result<Vec<(u32, Value)>, String> {
    let Some(activity) = process.definition().activity(outcome.attempt.activity) else {
        return Ok(Vec::new());
    };
    let streams = [
        ("stdout", activity.stdout, &outcome.stdout),
        ("stderr", activity.stderr, &outcome.stderr),
    ];
    let mut writes = Vec::new();
    for (stream, capture, bytes) in streams {
        let Some(Capture { variable, parse }) = capture else {
            continue;
        };
        let bytes = bytes.as_deref().unwrap_or_default();
        let value = expression::parse_captured(parse, bytes)
            .map_err(|message| format!("{stream} cannot be read as {}: {message}", word(parse)))?;
        writes.push((variable, admit(process, variable, value)?));
    }
    has_room(process, &writes)?;
    Ok(writes)
}

fn word(parse: Parse) -> &'static str {
    match parse {
        Parse::Text => "text",
        Parse::Int => "int",
        Parse::Float => "float",
        Parse::Json => "json",
        Parse::Lines => "lines",
    }
}
