//! The streams of an attempt, so far or to its end: the manager asks its machine, and the client
//! waits a while.

use model::{ActivityId, AttemptId, ProcessId, ResourceId};
use wire::attempt::{LogPart, ReadLog, Stream, Tail, ToActivity};
use wire::client::Answer;

use super::answers::activity_status;
use super::{Asking, Clients, tell};
use crate::io::Effect;
use crate::limits;
use crate::machines::Machines;
use crate::step::Step;
use crate::submission::ClientId;
use crate::timer::Timer;

/// The output of an attempt that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Both streams of this attempt, as far as they are written.
    SoFar(AttemptId),
    /// One stream of this attempt, from this byte on.
    From(AttemptId, Stream, u64),
}

impl Question {
    fn attempt(self) -> AttemptId {
        match self {
            Question::SoFar(attempt) | Question::From(attempt, ..) => attempt,
        }
    }
}

impl Clients {
    /// A client asks for the streams of a running attempt. Returns none if the answer comes later.
    pub(super) fn tail(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        asking: Asking,
        attempt: AttemptId,
    ) -> Option<Answer> {
        let Some(known) = step.cx.process(attempt.process) else {
            return Some(Answer::Unknown(attempt.process));
        };
        let Some(resource) = known.machine_of(attempt) else {
            return Some(refused(format!("{attempt} does not run")));
        };
        let message = ToActivity::Tail(attempt);
        let question = Question::SoFar(attempt);
        self.look(step, machines, (asking, question), (resource, message))
    }

    /// A client asks for a part of what an attempt wrote that has ended, or the one whose outcome
    /// stands for the activity. None where it is answered later.
    pub(super) fn read_log(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        asking: Asking,
        (process_id, activity, attempt): (ProcessId, ActivityId, AttemptId),
        (stream, offset): (Stream, u64),
    ) -> Option<Answer> {
        let Some(known) = step.cx.process(process_id) else {
            return Some(Answer::Unknown(process_id));
        };
        if known.definition().activity_as_written(activity).is_none() {
            return Some(refused(format!("{process_id} has no such activity")));
        }
        let told = activity_status(known, activity);
        let mut attempts = told.reused.iter().chain(&told.attempts);
        let found = attempts
            .find(|one| one.attempt == attempt)
            .and_then(|one| Some((one.resource, one.log?)));
        let Some((resource, log)) = found else {
            return Some(refused(format!("nothing is kept of what {attempt} wrote")));
        };
        let message = ToActivity::ReadLog(Box::new(ReadLog {
            attempt,
            log,
            stream,
            offset,
        }));
        let question = Question::From(attempt, stream, offset);
        self.look(step, machines, (asking, question), (resource, message))
    }

    fn look(
        &mut self,
        step: &mut Step<'_>,
        machines: &Machines,
        ((client, number), question): (Asking, Question),
        (resource, message): (ResourceId, ToActivity),
    ) -> Option<Answer> {
        if self.tails.len() >= limits::TAILS_MAX {
            let many = limits::TAILS_MAX;
            return Some(refused(format!(
                "{many} clients are looking at attempts here already"
            )));
        }
        if machines.epoch(resource).is_none() {
            let attempt = question.attempt();
            return Some(refused(format!(
                "the machine of {attempt} cannot be reached"
            )));
        }
        self.tails.insert((client, number), question);
        step.timers
            .set(Timer::Tail(client, number), step.now.mono + limits::TAIL);
        step.cx.effect(Effect::ToActivity(resource, message));
        None
    }

    /// The machine has answered.
    pub(crate) fn on_tail(
        &mut self,
        step: &mut Step<'_>,
        attempt: AttemptId,
        tail: Option<Box<Tail>>,
    ) {
        self.tell_lookers(step, Question::SoFar(attempt), || match &tail {
            Some(tail) => Answer::Tail(tail.clone()),
            None => refused(format!("{attempt} does not run at this moment")),
        });
    }

    /// The machine has read a part of a log.
    pub(crate) fn on_log_part(&mut self, step: &mut Step<'_>, part: &LogPart) {
        let attempt = part.attempt;
        let question = Question::From(attempt, part.stream, part.offset);
        self.tell_lookers(step, question, || match &part.trouble {
            Some(trouble) => refused(format!("what {attempt} wrote cannot be read: {trouble}")),
            None => Answer::LogPart(Box::new(part.clone())),
        });
    }

    fn tell_lookers(
        &mut self,
        step: &mut Step<'_>,
        question: Question,
        answer: impl Fn() -> Answer,
    ) {
        let asking: Vec<Asking> = self
            .tails
            .iter()
            .filter(|(_, asked)| **asked == question)
            .map(|(&asking, _)| asking)
            .collect();
        for (client, number) in asking {
            self.tails.remove(&(client, number));
            step.timers.cancel(Timer::Tail(client, number));
            tell(step, (client, number), answer());
        }
    }

    /// The machine has not answered in time.
    pub(crate) fn give_up_tail(&mut self, step: &mut Step<'_>, asking: Asking) {
        if let Some(question) = self.tails.remove(&asking) {
            let attempt = question.attempt();
            let answer = refused(format!("the machine of {attempt} has not answered"));
            tell(step, asking, answer);
        }
    }

    /// A client has gone.
    pub(super) fn forget_tails(&mut self, step: &mut Step<'_>, client: ClientId) {
        let asked: Vec<Asking> = self
            .tails
            .range((client, 0)..=(client, u64::MAX))
            .map(|(&asking, _)| asking)
            .collect();
        for (client, number) in asked {
            self.tails.remove(&(client, number));
            step.timers.cancel(Timer::Tail(client, number));
        }
    }
}

fn refused(reason: String) -> Answer {
    Answer::Refused(vec![reason])
}
