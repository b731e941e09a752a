//! Requests of clients that change something: a submission, a cancellation.

use machine::{Codec, Context};
use model::limits::VALUES_BYTES_MAX;
use model::{AttemptId, Bytes, Now, ProcessId, SubmitKey, Type, Value, Wall};
use wire::client::{Answer, Request, Submit};

use crate::flow;
use crate::held::{Held, held};
use crate::io::{Caller, ClientId, Effect, Room, Stream};
use crate::manager::{ProcessManager, limits, process};
use crate::record::{Accepted, Event, Founded, Phase, SEMANTICS};

/// Bytes of the path of a definition's file, as long as paths may be: each list of processes has it.
const ORIGIN_BYTES_MAX: usize = 4_096;

impl ProcessManager {
    pub(crate) fn on_request(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        (client, number): (ClientId, u64),
        caller: &Caller,
        request: Request,
    ) {
        let is_hidden = |id: ProcessId| owner(cx, id).is_some_and(|owner| !caller.sees(owner));
        let answer = match request {
            Request::Submit(submit) => {
                self.submit(cx, now, Submission::check(caller.clone(), *submit))
            }
            // What belongs to others is not there, so that nobody can tell the one from the other.
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
                if let Some(held) = held(cx, id) =>
            {
                held.refusal()
            }
            Request::Cancel(id) => self.cancel(cx, now, id),
            Request::Watch(id) => return self.watch(cx, now, client, number, id),
            Request::List => self.list(cx, caller),
            Request::Status(id) => self.status(cx, id),
            Request::Submission(id) => self.submission(cx, id),
            Request::Forget(id) => self.forget(cx, id),
            Request::Why { process, activity } => self.why(cx, process, activity),
            Request::Tail(attempt) => match self.tail(cx, now, client, number, attempt) {
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
                match self.read_log(cx, now, (client, number), of, (stream, offset)) {
                    Some(answer) => answer,
                    None => return,
                }
            }
            Request::Machines => self.machines_known(),
        };
        cx.effect(Effect::Answer {
            client,
            number,
            answer,
        });
    }

    pub(crate) fn submit(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        submission: Submission,
    ) -> Answer {
        let Submission {
            caller,
            key,
            base,
            checked,
        } = submission;
        let id = key.process();
        if let Some(known) = owner(cx, id) {
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
            let seen = process(cx, base).filter(|known| caller.sees(known.owner.as_deref()));
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
        if self.live.len() >= limits::PROCESSES_MAX {
            let many = limits::PROCESSES_MAX;
            return Answer::Refused(vec![format!("{many} processes are running here already")]);
        }
        match checked {
            Ok(founded) => {
                let at = now.wall;
                let founded = Event::Founded(Box::new(Founded { at, ..*founded }));
                if let Err(why) = self.has_room(&founded) {
                    return Answer::Refused(vec![why]);
                }
                cx.record(Stream::Process(id), founded);
                self.begin(cx, now, id, true);
                Answer::Submitted(id)
            }
            Err(reasons) => Answer::Refused(reasons),
        }
    }

    /// Whether the first event of a process can be recorded, which is the largest one.
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

    fn cancel(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) -> Answer {
        let Some(known) = process(cx, id) else {
            return match held(cx, id) {
                Some(held) if held.closed().is_some() => self.status(cx, id),
                Some(held) => held.refusal(),
                None => Answer::Unknown(id),
            };
        };
        match known.phase() {
            Phase::Running => {
                cx.record(Stream::Process(id), Event::CancelAsked);
                self.settle(cx, now, id);
                Answer::Cancelling(id)
            }
            Phase::Cancelling => Answer::Cancelling(id),
            Phase::Faulting | Phase::Completed | Phase::Faulted | Phase::Cancelled => {
                self.status(cx, id)
            }
        }
    }
}

/// Whose a process is that is known, understood or not.
fn owner<'a>(cx: &'a Context<'_, ProcessManager>, id: ProcessId) -> Option<Option<&'a str>> {
    let known = process(cx, id).map(|known| known.owner.as_deref());
    known.or_else(|| held(cx, id).map(Held::owner))
}

/// A submission with what came of its check, which takes the longer the larger it is and needs nothing
/// but itself.
#[derive(Clone, Debug)]
pub struct Submission {
    caller: Caller,
    key: SubmitKey,
    base: Option<ProcessId>,
    /// The founding event but for its time, or everything that is wrong.
    checked: Result<Box<Founded>, Vec<String>>,
}

impl Submission {
    /// Checks a submission. A client is not trusted: what it has checked is checked again.
    pub fn check(caller: Caller, submit: Submit) -> Submission {
        let (key, base) = (submit.key, submit.base);
        Submission {
            key,
            base,
            checked: check(submit, &caller).map(Box::new),
            caller,
        }
    }
}

fn check(submit: Submit, caller: &Caller) -> Result<Founded, Vec<String>> {
    let Submit {
        key,
        draft,
        inputs: given_inputs,
        files,
        origin,
        base,
        keep_going,
        keep,
        store,
    } = submit;
    let definition = match draft.check() {
        Ok(definition) => definition,
        Err(problems) => return Err(problems.iter().map(ToString::to_string).collect()),
    };
    let mut reasons: Vec<String> = expression::check(&definition)
        .iter()
        .map(ToString::to_string)
        .collect();
    let declared = &definition.draft().inputs;
    let mut inputs = Vec::new();
    for input in declared {
        let given = given_inputs.iter().find(|(name, _)| *name == input.name);
        let value = match (given, &input.default) {
            (Some((_, value)), _) => value.clone(),
            (None, Some(default)) => default.clone(),
            (None, None) => {
                reasons.push(format!(
                    "input `{}` is missing: give it with --input {}=...",
                    input.name, input.name
                ));
                Value::Null
            }
        };
        if value != Value::Null
            && let Err(reason) = input.check(&value)
        {
            reasons.push(format!("input `{}`: {reason}", input.name));
        }
        inputs.push(as_declared(&input.kind, value));
    }
    let n_bytes: usize = inputs.iter().map(Value::size).sum();
    if n_bytes > VALUES_BYTES_MAX {
        reasons.push(format!(
            "the inputs take {n_bytes} bytes together; at most {VALUES_BYTES_MAX}: give larger data as files"
        ));
    }
    if origin.len() > ORIGIN_BYTES_MAX {
        reasons.push(format!(
            "the name of the definition's file has {} bytes; at most {ORIGIN_BYTES_MAX}",
            origin.len()
        ));
    }
    for (name, _) in &given_inputs {
        if !declared.iter().any(|input| input.name == *name) {
            reasons.push(format!("the process has no input `{name}`"));
        }
    }
    let n_files = definition.draft().files.len();
    if files.len() != n_files {
        reasons.push(format!("{} files given, {n_files} declared", files.len()));
    }
    if !reasons.is_empty() {
        return Err(reasons);
    }
    let flow = flow::begin(&definition);
    Ok(Founded {
        key,
        draft: Accepted::Checked(definition),
        inputs,
        files,
        origin,
        at: Wall(0),
        base,
        keep_going,
        keep,
        owner: caller.owner(),
        store,
        semantics: SEMANTICS,
        flow,
    })
}

/// A whole number given for a float is that float.
fn as_declared(kind: &Type, value: Value) -> Value {
    match (kind, value) {
        (Type::Float, Value::Int(number)) => Value::Float(number as f64),
        (_, value) => value,
    }
}
