//! What an attempt has written, so far or to its end: its machine is asked, and the client waits a
//! while.

use machine::Context;
use model::{ActivityId, AttemptId, Now, ProcessId, ResourceId};
use wire::attempt::{LogPart, ReadLog, Stream, Tail, ToActivity};
use wire::client::Answer;

use crate::answer::activity_status;
use crate::io::{ClientId, Effect};
use crate::manager::{ProcessManager, Timer, limits, process};

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// What this attempt has written so far.
    SoFar(AttemptId),
    /// What it wrote to this stream, from this byte on.
    From(AttemptId, Stream, u64),
}

impl Looked {
    fn attempt(self) -> AttemptId {
        match self {
            Looked::SoFar(attempt) | Looked::From(attempt, ..) => attempt,
        }
    }
}

impl ProcessManager {
    /// A client asks what an attempt that runs has written. None where it is answered later.
    pub(crate) fn tail(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        client: ClientId,
        number: u64,
        attempt: AttemptId,
    ) -> Option<Answer> {
        let Some(known) = process(cx, attempt.process) else {
            return Some(Answer::Unknown(attempt.process));
        };
        if !known.is_out(attempt) {
            return Some(refused(format!("{attempt} does not run")));
        }
        let (resource, _) = known.out_of(attempt.activity);
        let question = ToActivity::Tail(attempt);
        let looked = Looked::SoFar(attempt);
        self.look(cx, now, (client, number), looked, (resource, question))
    }

    /// A client asks for a part of what an attempt wrote that has ended, or the one whose outcome
    /// stands for the activity. None where it is answered later.
    pub(crate) fn read_log(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        client: (ClientId, u64),
        (process_id, activity, attempt): (ProcessId, ActivityId, AttemptId),
        (stream, offset): (Stream, u64),
    ) -> Option<Answer> {
        let Some(known) = process(cx, process_id) else {
            return Some(Answer::Unknown(process_id));
        };
        if known.definition().activity(activity).is_none() {
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
        let question = ToActivity::ReadLog(Box::new(ReadLog {
            attempt,
            log,
            stream,
            offset,
        }));
        let looked = Looked::From(attempt, stream, offset);
        self.look(cx, now, client, looked, (resource, question))
    }

    fn look(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        (client, number): (ClientId, u64),
        looked: Looked,
        (resource, question): (ResourceId, ToActivity),
    ) -> Option<Answer> {
        if self.tails.len() >= limits::TAILS_MAX {
            let many = limits::TAILS_MAX;
            return Some(refused(format!(
                "{many} clients are looking at attempts here already"
            )));
        }
        let link = self.machines.get(&resource);
        if link.is_none_or(|link| link.epoch.is_none()) {
            let attempt = looked.attempt();
            return Some(refused(format!(
                "the machine of {attempt} cannot be reached"
            )));
        }
        self.tails.insert((client, number), looked);
        self.arm(Timer::Tail(client, number), now.mono + limits::TAIL);
        cx.effect(Effect::ToActivity(resource, question));
        None
    }

    /// The machine has answered.
    pub(crate) fn on_tail(
        &mut self,
        cx: &mut Context<'_, Self>,
        attempt: AttemptId,
        tail: Option<Box<Tail>>,
    ) {
        self.tell_lookers(cx, Looked::SoFar(attempt), || match &tail {
            Some(tail) => Answer::Tail(tail.clone()),
            None => refused(format!("{attempt} does not run at this moment")),
        });
    }

    /// The machine has read a part of a log.
    pub(crate) fn on_log_part(&mut self, cx: &mut Context<'_, Self>, part: &LogPart) {
        let attempt = part.attempt;
        let looked = Looked::From(attempt, part.stream, part.offset);
        self.tell_lookers(cx, looked, || match &part.trouble {
            Some(trouble) => refused(format!("what {attempt} wrote cannot be read: {trouble}")),
            None => Answer::LogPart(Box::new(part.clone())),
        });
    }

    fn tell_lookers(
        &mut self,
        cx: &mut Context<'_, Self>,
        looked: Looked,
        answer: impl Fn() -> Answer,
    ) {
        let asking: Vec<(ClientId, u64)> = self
            .tails
            .iter()
            .filter(|(_, asked)| **asked == looked)
            .map(|(&asking, _)| asking)
            .collect();
        for (client, number) in asking {
            self.tails.remove(&(client, number));
            self.disarm(Timer::Tail(client, number));
            let answer = answer();
            cx.effect(Effect::Answer {
                client,
                number,
                answer,
            });
        }
    }

    /// The machine has not answered in time.
    pub(crate) fn give_up_tail(
        &mut self,
        cx: &mut Context<'_, Self>,
        client: ClientId,
        number: u64,
    ) {
        if let Some(looked) = self.tails.remove(&(client, number)) {
            let attempt = looked.attempt();
            let answer = refused(format!("the machine of {attempt} has not answered"));
            cx.effect(Effect::Answer {
                client,
                number,
                answer,
            });
        }
    }

    /// A client has gone.
    pub(crate) fn forget_tails(&mut self, client: ClientId) {
        let asked: Vec<(ClientId, u64)> = self
            .tails
            .range((client, 0)..=(client, u64::MAX))
            .map(|(&asking, _)| asking)
            .collect();
        for (client, number) in asked {
            self.tails.remove(&(client, number));
            self.disarm(Timer::Tail(client, number));
        }
    }
}

fn refused(reason: String) -> Answer {
    Answer::Refused(vec![reason])
}
