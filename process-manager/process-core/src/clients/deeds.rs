//! Changes that clients ask for, as the audit log tells them: who, what, and with which result. They
//! have no texts of users: no inputs, no environment, no message of a problem.

use model::ProcessId;
use wire::client::Answer;

use super::Asking;
use crate::deed::{Action, Deed};
use crate::io::Effect;
use crate::step::Step;
use crate::submission::Caller;

/// Tells a change of a process, whose owner is as it was before.
pub(super) fn tell_deed(
    step: &mut Step<'_>,
    ((client, _), by): (Asking, Caller),
    (action, process): (Action, Option<ProcessId>),
    (owner, refusal): (Option<String>, Option<String>),
) {
    step.cx.effect(Effect::Done(Box::new(Deed {
        client,
        by,
        action,
        process,
        owner,
        refusal,
    })));
}

/// The reason of a refusal. A process that the caller must not see is as unknown as one that is not there.
pub(super) fn reason(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Submitted(_)
        | Answer::Cancelling(_)
        | Answer::Forgotten(_)
        | Answer::HistoryForgotten(_) => None,
        Answer::Unknown(_) => Some("it is not known, or of another owner".to_owned()),
        Answer::Refused(why) => Some(match &why[..] {
            [why] => why.clone(),
            why => format!("{} problems", why.len()),
        }),
        Answer::NoRoom(why) => Some(why.clone()),
        Answer::Status(_) => Some("it has ended, or is about to".to_owned()),
        Answer::Processes(_)
        | Answer::Progress(_)
        | Answer::Submission(..)
        | Answer::Why(_)
        | Answer::Tail(_)
        | Answer::LogPart(_)
        | Answer::Machines(_)
        | Answer::Queued(_)
        | Answer::WhyProcess(_)
        | Answer::History(_)
        | Answer::Published(_)
        | Answer::ProcessesPage(_)
        | Answer::Activities(_)
        | Answer::Values(_)
        | Answer::Foreseen(_) => Some("it cannot be done".to_owned()),
    }
}
