//! Requests of clients that change something: a submission, a cancellation.

use machine::Codec;
use model::{AttemptId, Bytes, ProcessId};
use wire::client::{Answer, Request};

use crate::held::Held;
use crate::io::{Effect, Room};
use crate::limits;
use crate::parts::Parts;
use crate::record::{Event, Founded, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::submission::{Caller, ClientId, Submission};

impl Parts {
    pub(crate) fn on_request(
        &mut self,
        step: &mut Step<'_>,
        (client, number): (ClientId, u64),
        caller: &Caller,
        request: Request,
    ) {
        let is_hidden = |id: ProcessId| owner(step, id).is_some_and(|owner| !caller.sees(owner));
        let answer = match request {
            Request::Submit(submit) => {
                self.submit(step, Submission::check(caller.clone(), *submit))
            }
            // A process of another owner gets the same answer as a missing one, so that callers
            // cannot tell them apart.
            Request::Cancel(id)
            | Request::Watch(id)
            | Request::Status(id)
            | Request::Submission(id)
            | Request::Forget(id)
            | Request::Why { process: id, .. }
            | Request::Tail(AttemptId { process: id, .. })
            | Request::Log { process: id, .. }
                if is_hidden(id) =>
            {
                Answer::Unknown(id)
            }
            Request::Why { process: id, .. }
            | Request::Tail(AttemptId { process: id, .. })
            | Request::Log { process: id, .. }
                if let Some(held) = step.cx.held(id) =>
            {
                held.refusal()
            }
            Request::Cancel(id) => self.cancel(step, id),
            Request::Watch(id) => return self.watch(step, client, number, id),
            Request::List => self.list(step, caller),
            Request::Status(id) => self.status(step, id),
            Request::Submission(id) => self.submission(step, id),
            Request::Forget(id) => self.forget(step, id),
            Request::Why { process, activity } => self.why(step, process, activity),
            Request::Tail(attempt) => match self.tail(step, client, number, attempt) {
                Some(answer) => answer,
                None => return,
            },
            Request::Log {
                process,
                activity,
                attempt,
                stream,
                offset,
            } => {
                let of = (process, activity, attempt);
                match self.read_log(step, (client, number), of, (stream, offset)) {
                    Some(answer) => answer,
                    None => return,
                }
            }
            Request::Machines => self.machines_known(),
        };
        step.cx.effect(Effect::Answer {
            client,
            number,
            answer,
        });
    }

    pub(crate) fn submit(&mut self, step: &mut Step<'_>, submission: Submission) -> Answer {
        let Submission {
            caller,
            key,
            base,
            checked,
        } = submission;
        let id = key.process();
        if let Some(known) = owner(step, id) {
            // Keys are drawn from so many that only one who tries meets another's.
            return if known == caller.owner().as_deref() || caller == Caller::Local {
                Answer::Submitted(id)
            } else {
                Answer::Refused(vec!["the key of the submission cannot be used".to_owned()])
            };
        }
        if self.forgotten.contains(&id) {
            return Answer::Refused(vec![format!("process {id} was forgotten")]);
        }
        // Known ones are answered before that: what was taken is never taken back.
        if let Room::None(why) = &self.room {
            let told = format!("the process manager takes no process at the moment: {why}");
            return Answer::Refused(vec![told]);
        }
        if let Some(base) = base {
            let seen = step
                .cx
                .process(base)
                .filter(|known| caller.sees(known.owner.as_deref()));
            let refusal = match seen {
                None => Some(format!("there is no process {base} to take outcomes from")),
                Some(known) if !known.phase().has_ended() => Some(format!(
                    "process {base} has not ended: outcomes can be taken from it afterwards"
                )),
                Some(_) => None,
            };
            if let Some(refusal) = refusal {
                return Answer::Refused(vec![refusal]);
            }
        }
        if self.revisions.len() >= limits::PROCESSES_MAX {
            let many = limits::PROCESSES_MAX;
            return Answer::Refused(vec![format!("{many} processes are running here already")]);
        }
        match checked {
            Ok(founded) => {
                let at = step.now.wall;
                let founded = Event::Founded(Box::new(Founded { at, ..*founded }));
                if let Err(why) = self.has_room(&founded) {
                    return Answer::Refused(vec![why]);
                }
                step.cx.record(Stream::Process(id), founded);
                self.begin(step, id, true);
                Answer::Submitted(id)
            }
            Err(reasons) => Answer::Refused(reasons),
        }
    }

    /// Checks that the disk has room for the founding event of a process, which is its largest one.
    fn has_room(&self, founded: &Event) -> Result<(), String> {
        let Room::UpTo(most) = self.room else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        founded.encode(&mut bytes);
        let taken = Bytes(bytes.len() as u64);
        if taken <= most {
            return Ok(());
        }
        Err(format!(
            "the process takes {taken}, and the disk of the process manager has room for one of {most} at the moment"
        ))
    }

    fn cancel(&mut self, step: &mut Step<'_>, id: ProcessId) -> Answer {
        let Some(known) = step.cx.process(id) else {
            return match step.cx.held(id) {
                Some(held) if held.closed().is_some() => self.status(step, id),
                Some(held) => held.refusal(),
                None => Answer::Unknown(id),
            };
        };
        match known.phase() {
            Phase::Running => {
                step.cx.record(Stream::Process(id), Event::CancelAsked);
                step.marks.mark(id);
                Answer::Cancelling(id)
            }
            Phase::Cancelling => Answer::Cancelling(id),
            Phase::Faulting | Phase::Completed | Phase::Faulted | Phase::Cancelled => {
                self.status(step, id)
            }
        }
    }
}

/// The owner of a known process, understood or held.
fn owner<'a>(step: &'a Step<'_>, id: ProcessId) -> Option<Option<&'a str>> {
    let known = step.cx.process(id).map(|known| known.owner.as_deref());
    known.or_else(|| step.cx.held(id).map(Held::owner))
}
