//! Requests of clients that change something: a submission, a cancellation.

use machine::Codec;
use model::limits::PROBLEMS_MAX;
use model::{AttemptId, Bytes, Draft, NodeKind, ProcessId};
use wire::client::{Answer, Request};

use super::answers::{answer_status, answer_submission, list, machines_known};
use super::deeds::{reason, tell_deed};
use super::history::{forget_history, page};
use super::pages::{answer_activities, answer_processes};
use super::published::answer_published;
use super::values::answer_values;
use super::whole::answer_why_process;
use super::why::answer_why;
use super::{Asking, Clients, Consequence, Shown, tell};
use crate::deed::Action;
use crate::held::Held;
use crate::io::Room;
use crate::limits;
use crate::record::{Event, Founded, Phase};
use crate::step::Step;
use crate::stream::Stream;
use crate::submission::{Caller, Submission};

impl Clients {
    /// Answers a request of a client, now or later. Returns its consequence for other parts.
    pub(crate) fn on_request(
        &mut self,
        step: &mut Step<'_>,
        shown: Shown<'_>,
        asking: Asking,
        (caller, request): (Caller, Request),
    ) -> Option<Consequence> {
        if let Some(refusal) = refusal(step, &caller, &request) {
            if let Some(deed) = deed(&request) {
                tell_deed(step, (asking, caller), deed, (None, reason(&refusal)));
            }
            tell(step, asking, refusal);
            return None;
        }
        let machines = shown.grid.machines;
        let answer = match request {
            Request::Submit(submit) => {
                return self.on_submission(step, asking, Submission::check(caller, *submit));
            }
            // Checked submissions have an input of their own, since they need more than clients.
            Request::Foresee(_) => Some(refused("it was not checked")),
            Request::Forget(id) => return self.on_forget(step, (asking, caller), id),
            Request::Cancel(id) => {
                let owner = step.cx.owner(id).flatten().map(str::to_owned);
                let answer = cancel(step, shown, id);
                let (deed, told) = ((Action::Cancel, Some(id)), (owner, reason(&answer)));
                tell_deed(step, (asking, caller), deed, told);
                Some(answer)
            }
            Request::Watch(id) => {
                self.watch(step, shown, asking, id);
                None
            }
            Request::List => Some(list(step, &caller)),
            Request::Status(id) => Some(answer_status(step, shown, id)),
            Request::Submission(id) => Some(answer_submission(step, id)),
            Request::Why { process, activity } => Some(answer_why(step, shown, process, activity)),
            Request::WhyProcess(id) => Some(answer_why_process(step, shown, id)),
            Request::Tail(attempt) => self.tail(step, machines, asking, attempt),
            Request::Log {
                process,
                activity,
                attempt,
                stream,
                offset,
            } => {
                let of = (process, activity, attempt);
                self.read_log(step, machines, asking, of, (stream, offset))
            }
            Request::Published { process, from } => Some(answer_published(step, process, from)),
            Request::Processes(wanted) => Some(answer_processes(step, &caller, &wanted)),
            Request::Activities(wanted) => Some(answer_activities(step, shown, &wanted)),
            Request::Values(wanted) => Some(answer_values(step, &wanted)),
            // Whoever has files to give asks this first.
            Request::Machines if self.is_barred => Some(barred()),
            Request::Machines => Some(machines_known(shown.grid.market)),
            Request::History { definition, after } => {
                Some(page(step, &caller, definition.as_deref(), after))
            }
            Request::ForgetHistory(definition) => {
                forget_history(step, asking, &caller, definition.as_deref());
                let (deed, owner) = ((Action::ForgetHistory, None), caller.owner());
                tell_deed(step, (asking, caller), deed, (owner, None));
                None
            }
        };
        if let Some(answer) = answer {
            tell(step, asking, answer);
        }
        None
    }

    /// Takes a submission that is checked. Returns the process that it founds.
    pub(crate) fn on_submission(
        &mut self,
        step: &mut Step<'_>,
        asking: Asking,
        submission: Submission,
    ) -> Option<Consequence> {
        let id = submission.key.process();
        let by = submission.caller.clone();
        let action = submission.base.map_or(Action::Submit, Action::SubmitFrom);
        // Their texts may have inputs in them.
        let n_problems = submission.checked.as_ref().err().map(Vec::len);
        let (answer, consequence) = match self.submit(step, submission) {
            Ok(()) => (Answer::Submitted(id), Some(Consequence::Founded(id))),
            Err(answer) => (answer, None),
        };
        // A repeat of what was done is none.
        if consequence.is_some() || !matches!(answer, Answer::Submitted(_)) {
            let why = n_problems.map(|n| format!("its definition or inputs have {n} problems"));
            let told = (by.owner(), why.or_else(|| reason(&answer)));
            tell_deed(step, (asking, by), (action, Some(id)), told);
        }
        tell(step, asking, answer);
        consequence
    }

    fn on_forget(
        &mut self,
        step: &mut Step<'_>,
        (asking, by): (Asking, Caller),
        id: ProcessId,
    ) -> Option<Consequence> {
        let owner = step.cx.owner(id).flatten().map(str::to_owned);
        let (answer, consequence) = match self.forget(step, id) {
            Ok(()) => (Answer::Forgotten(id), Some(Consequence::Forgotten(id))),
            Err(answer) => (answer, None),
        };
        let (deed, told) = ((Action::Forget, Some(id)), (owner, reason(&answer)));
        tell_deed(step, (asking, by), deed, told);
        tell(step, asking, answer);
        consequence
    }

    /// Records the beginning of a process. The error is the answer where it does not begin: it has begun
    /// before, or is refused.
    fn submit(&self, step: &mut Step<'_>, submission: Submission) -> Result<(), Answer> {
        let Submission {
            caller,
            key,
            base,
            checked,
        } = submission;
        let id = key.process();
        if let Some(known) = step.cx.owner(id) {
            // Keys are drawn from so many that only one who tries meets another's.
            let is_own = known == caller.owner().as_deref() || caller == Caller::Local;
            return Err(match is_own {
                true => Answer::Submitted(id),
                false => refused("the key of the submission cannot be used"),
            });
        }
        if self.forgotten.contains(&id) {
            return Err(refused(format!("process {id} was forgotten")));
        }
        // Known ones are answered before that: what was taken is never taken back.
        if self.is_barred {
            return Err(barred());
        }
        if let Room::None(why) = &self.room {
            let told = format!("the process manager takes no process at the moment: {why}");
            return Err(Answer::NoRoom(told));
        }
        if let Some(base) = base {
            check_base(step, &caller, base)?;
        }
        if self.revisions.len() >= limits::PROCESSES_MAX {
            let many = limits::PROCESSES_MAX;
            let told = format!("{many} processes are running here already");
            return Err(Answer::NoRoom(told));
        }
        let founded = checked.map_err(Answer::Refused)?;
        let nodes = founded.draft.draft().nodes.iter();
        let activities = nodes.filter(|node| matches!(node.kind, NodeKind::Activity(_)));
        let activities = activities.count() as u64;
        let quota = step.config.quota;
        self.quotas
            .check(quota, founded.owner.as_deref(), activities)
            .map_err(refused)?;
        check_limits(step, founded.draft.draft()).map_err(Answer::Refused)?;
        let at = step.now.wall;
        let founded = Event::Founded(Box::new(Founded { at, ..*founded }));
        self.has_room(&founded).map_err(Answer::NoRoom)?;
        step.cx.record(Stream::Process(id), founded);
        Ok(())
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
}

/// The answer where the group has revoked the certificate of this manager: a process would wait for ever.
fn barred() -> Answer {
    Answer::NoRoom(
        "the process manager takes no process: its certificate was revoked, so no machine of the group works for \
         it; another process manager of the group takes it, or this one as soon as an administrator has issued it \
         another certificate (`xavantes-gm issue --role pm`)"
            .to_owned(),
    )
}

/// Limits that activities take of and that their process does not have are limits of this manager.
fn check_limits(step: &Step<'_>, draft: &Draft) -> Result<(), Vec<String>> {
    let mut reasons = Vec::new();
    let known = &step.config.limits;
    for node in &draft.nodes {
        let used = node.activity().into_iter();
        for (name, n_units) in used.flat_map(|activity| activity.used_limits()) {
            if draft.named_limit(name).is_some() {
                continue;
            }
            let activity = node.label();
            match known.get(name) {
                Some(most) if n_units <= most => {}
                Some(most) => reasons.push(format!(
                    "{activity} takes {n_units} of `{name}`, of which the process manager has {most}"
                )),
                None if known.is_empty() => reasons.push(format!(
                    "{activity} takes of the limit `{name}`, which neither the definition nor the process \
                     manager has: declare it by `limits: {{ {name}: 1 }}`"
                )),
                None => {
                    let names: Vec<&str> = known.keys().map(String::as_str).collect();
                    let names = names.join(", ");
                    reasons.push(format!(
                        "{activity} takes of the limit `{name}`, which the definition does not have, and the \
                         process manager has {names}"
                    ));
                }
            }
            if reasons.len() == PROBLEMS_MAX {
                return Err(reasons);
            }
        }
    }
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(reasons),
    }
}

/// The answer to a request that is refused whatever it asks for: of a process that the caller must not
/// see, or one that is held.
fn refusal(step: &Step<'_>, caller: &Caller, request: &Request) -> Option<Answer> {
    let (id, needs_more) = match request {
        Request::Submit(_)
        | Request::Foresee(_)
        | Request::List
        | Request::Processes(_)
        | Request::Machines
        | Request::History { .. }
        | Request::ForgetHistory(_) => return None,
        Request::Cancel(id)
        | Request::Watch(id)
        | Request::Status(id)
        | Request::Submission(id)
        | Request::Forget(id) => (*id, false),
        Request::Why { process: id, .. }
        | Request::WhyProcess(id)
        | Request::Published { process: id, .. }
        | Request::Tail(AttemptId { process: id, .. })
        | Request::Log { process: id, .. } => (*id, true),
        Request::Activities(wanted) => (wanted.process, true),
        Request::Values(wanted) => (wanted.process, true),
    };
    // A process of another owner gets the same answer as a missing one, so that callers cannot tell
    // them apart.
    if step.cx.owner(id).is_some_and(|owner| !caller.sees(owner)) {
        return Some(Answer::Unknown(id));
    }
    step.cx.held(id).filter(|_| needs_more).map(Held::refusal)
}

/// The change that a request asks for; none where it only reads.
fn deed(request: &Request) -> Option<(Action, Option<ProcessId>)> {
    match request {
        Request::Cancel(id) => Some((Action::Cancel, Some(*id))),
        Request::Forget(id) => Some((Action::Forget, Some(*id))),
        Request::ForgetHistory(_) => Some((Action::ForgetHistory, None)),
        Request::Submit(_)
        | Request::Foresee(_)
        | Request::List
        | Request::Machines
        | Request::History { .. }
        | Request::Watch(_)
        | Request::Status(_)
        | Request::Submission(_)
        | Request::Why { .. }
        | Request::WhyProcess(_)
        | Request::Tail(_)
        | Request::Published { .. }
        | Request::Processes(_)
        | Request::Activities(_)
        | Request::Values(_)
        | Request::Log { .. } => None,
    }
}

/// Checks that outcomes can be taken from the base of a submission.
fn check_base(step: &Step<'_>, caller: &Caller, base: ProcessId) -> Result<(), Answer> {
    let known = step.cx.process(base);
    match known.filter(|known| caller.sees(known.owner.as_deref())) {
        None => Err(refused(format!(
            "there is no process {base} to take outcomes from"
        ))),
        Some(known) if !known.phase().has_ended() => Err(refused(format!(
            "process {base} has not ended: outcomes can be taken from it afterwards"
        ))),
        Some(_) => Ok(()),
    }
}

fn cancel(step: &mut Step<'_>, shown: Shown<'_>, id: ProcessId) -> Answer {
    let Some(known) = step.cx.process(id) else {
        return match step.cx.held(id) {
            Some(held) if held.closed().is_some() => answer_status(step, shown, id),
            Some(held) => held.refusal(),
            None => Answer::Unknown(id),
        };
    };
    match known.phase() {
        Phase::Faulting if !known.finishes() => answer_status(step, shown, id),
        Phase::Running | Phase::Faulting => {
            step.cx.record(Stream::Process(id), Event::CancelAsked);
            step.marks.mark(id);
            Answer::Cancelling(id)
        }
        Phase::Cancelling => Answer::Cancelling(id),
        Phase::Completed | Phase::Faulted | Phase::Cancelled => answer_status(step, shown, id),
    }
}

fn refused(why: impl Into<String>) -> Answer {
    Answer::Refused(vec![why.into()])
}
