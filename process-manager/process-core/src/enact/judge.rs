//! Judging: the consequence of an attempt's end, worked out before it is recorded.

use expression::{Meter, Programs};
use model::{ActivityId, Capture, Fault, FaultName, Now, Parse, Span, Value, Wall};
use wire::attempt::{End, Failure, Outcome};

use crate::enact::evaluate::{Evaluator, admit, has_room, scope};
use crate::enact::message::command;
use crate::enact::recompute::{judge_recomputation, lacking};
use crate::limits;
use crate::process::Process;
use crate::record::{Ended, Flow, Phase, Verdict};

/// The evidence that an attempt will not run where it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// The machine says so: it has not started and will not.
    Unstarted,
    /// The machine does not hold it, and refuses messages for its earlier epochs.
    NotHeld,
    /// The same, and it does not know what it has started: its journal was lost.
    Forgotten,
    /// The machine's lease has ended.
    GivenUp,
    /// The attempt may run twice, so no process waits for it any longer.
    Doubled,
}

impl Gone {
    /// Returns true if the attempt counts as one that ran: it may have brought down its machine.
    pub(crate) fn counts(self) -> bool {
        match self {
            Gone::NotHeld | Gone::Forgotten | Gone::GivenUp => true,
            Gone::Unstarted | Gone::Doubled => false,
        }
    }
}

/// The consequence of an outcome for its activity.
pub(crate) fn judge(process: &Process, now: Now, outcome: Outcome, gone: Option<Gone>) -> Ended {
    if process.is_recomputation(outcome.attempt) {
        return judge_recomputation(process, outcome);
    }
    let captured = match outcome.end {
        End::Completed => capture(process, &outcome),
        End::Failed(_) | End::Stopped | End::Lost | End::Lacking(_) => Ok(Vec::new()),
    };
    let is_racing = process.is_racing(outcome.attempt);
    let for_nobody = if process.has_lost(outcome.attempt) {
        Some(Verdict::Dropped(None))
    } else if process.is_abandoned(outcome.attempt.activity) {
        Some(match is_racing {
            true => Verdict::Dropped(None),
            false => Verdict::Stopped,
        })
    } else {
        None
    };
    if let Some(verdict) = for_nobody {
        return Ended {
            outcome: outcome.into(),
            verdict,
            writes: Vec::new(),
            flow: Flow::default(),
        };
    }
    let is_ending = process.phase() != Phase::Running;
    let is_stopped = is_ending && !process.finishes();
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
        (End::Failed(_), _) if is_stopped => (Verdict::Stopped, Vec::new()),
        (End::Stopped | End::Lost | End::Lacking(_), _) if is_ending => {
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
    let verdict = match is_racing {
        true => beside_another(verdict),
        false => verdict,
    };
    let (verdict, flow) = follow(process, outcome.attempt.activity, verdict);
    Ended {
        outcome: outcome.into(),
        verdict,
        writes,
        flow,
    }
}

/// The moves of controllers at the end of an activity. If the process goes on after a fault, the
/// fault breaks only the nodes that depend on it.
fn follow(process: &Process, activity: ActivityId, verdict: Verdict) -> (Verdict, Flow) {
    let node = activity.node();
    match verdict {
        Verdict::Completed => (verdict, process.transition().finish(node)),
        Verdict::Faulted(fault) if process.goes_on() => {
            let flow = process.transition().break_nodes([node]);
            (Verdict::Broke(fault), flow)
        }
        Verdict::Retry { .. }
        | Verdict::Again
        | Verdict::Moved
        | Verdict::Faulted(_)
        | Verdict::Broke(_)
        | Verdict::Stopped
        | Verdict::Lacking(_)
        | Verdict::Dropped(_) => (verdict, Flow::default()),
    }
}

/// The consequence of an attempt's end while another one at the activity runs: that one goes on, unless this end is
/// a result. A fault is one that the command would have elsewhere too, and that no retry covers.
fn beside_another(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faulted(fault) if !is_of_its_place(&fault.name) => Verdict::Faulted(fault),
        Verdict::Faulted(fault) | Verdict::Retry { fault, .. } => Verdict::Dropped(Some(fault)),
        Verdict::Completed | Verdict::Broke(_) => verdict,
        Verdict::Again
        | Verdict::Moved
        | Verdict::Stopped
        | Verdict::Lacking(_)
        | Verdict::Dropped(_) => Verdict::Dropped(None),
    }
}

/// Returns true if a fault says more of the machine, or of how fast it was, than of the command.
fn is_of_its_place(name: &FaultName) -> bool {
    match name {
        FaultName::Timeout
        | FaultName::Lost
        | FaultName::NotStarted
        | FaultName::Staging
        | FaultName::DiskFull => true,
        FaultName::ExitCode
        | FaultName::OutcomeUnknown
        | FaultName::NoResource
        | FaultName::MissingOutput
        | FaultName::Expression
        | FaultName::TooManyIterations
        | FaultName::TooLarge
        | FaultName::Cancelled
        | FaultName::OutOfMemory
        | FaultName::TooFewItems
        | FaultName::Thrown(_) => false,
    }
}

fn fail(process: &Process, now: Now, outcome: &Outcome, failure: &Failure) -> Verdict {
    let activity_id = outcome.attempt.activity;
    let fault = Box::new(fault(process, outcome, failure.clone()));
    let Some(activity) = process.definition().activity_as_written(activity_id) else {
        return Verdict::Faulted(fault);
    };
    let state = process.activity(activity_id);
    let n_tried = u32::from(state.n_failed) + 1;
    let is_running = process.phase() == Phase::Running;
    let may_retry = is_running && n_tried < activity.retry.attempts && !activity.at_most_once;
    if may_retry && activity.retry.repeats(&fault.name, outcome.exit_code) {
        let at = now.wall + backoff(activity.retry.backoff, state.n_failed);
        return Verdict::Retry { at, fault };
    }
    Verdict::Faulted(fault)
}

/// Returns true if an attempt may have run and its activity must run at most once.
fn is_unknown(process: &Process, outcome: &Outcome) -> bool {
    let declared = process
        .definition()
        .activity_as_written(outcome.attempt.activity);
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
    let items = process.items(activity.node());
    let scope = scope(process, &items);
    let command = process
        .definition()
        .activity_as_written(activity)
        .map(|activity| {
            let mut programs = Programs::default();
            let mut evaluator = Evaluator {
                programs: &mut programs,
                meter: Meter::up_to(FAULT_STEPS_MAX),
            };
            let mut words = command(&scope, activity, &mut evaluator).unwrap_or_default();
            // For a shell command, only the line itself was written by the user.
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
        resource: process.machine_of(outcome.attempt),
        exit_code: outcome.exit_code,
        directory: (!failure.directory.is_empty()).then_some(failure.directory),
        command: command.unwrap_or_default(),
        stderr_tail: failure.stderr_tail,
    }
}

/// The variables that an attempt's streams are written to.
fn capture(process: &Process, outcome: &Outcome) -> Result<Vec<(u32, Value)>, String> {
    let Some(activity) = process
        .definition()
        .activity_as_written(outcome.attempt.activity)
    else {
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
    has_room(process, &writes, outcome.attempt.activity.node())?;
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

/// The wait before the next try: doubled with each failure, up to a day.
pub(crate) fn backoff(first: Span, n_failed: u16) -> Span {
    let factor = 1u64 << u32::from(n_failed).min(40);
    Span(first.0.saturating_mul(factor)).min(limits::BACKOFF_MAX)
}
