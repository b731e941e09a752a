//! Values of activities: a command that is told as sent was sent so, to some machine, with these inputs; and a value
//! that is told as captured was recorded. Where a recorded outcome stands, both were those of the attempt that made it.

use std::collections::BTreeMap;

use model::{ActivityId, Artifact, AttemptId, ProcessId, Value};
use process_core::{Event, Stream};
use simulator::Seen;
use wire::attempt::{Dispatch, Stdin, ToActivity};
use wire::client::{ActivityValues, Answer, Rendered};

use super::{Judged, Rule};
use crate::known::Known;

/// The variable of a command that names its process.
const PROCESS_VARIABLE: &str = "XAVANTES_PROCESS";

/// Outcomes that stand for others that stand, at most so many.
const CHAIN_MAX: usize = 100;

/// Everything that was sent and captured, by activity.
#[derive(Debug, Default)]
pub(super) struct Values {
    sent: BTreeMap<(ProcessId, ActivityId), Vec<Sent>>,
    captured: BTreeMap<(ProcessId, ActivityId), Vec<Vec<Value>>>,
}

/// The parts of a dispatch that are told.
#[derive(Debug, PartialEq)]
struct Sent {
    command: Vec<String>,
    stdin: Option<String>,
    inputs: Vec<(String, Artifact)>,
}

impl Rule for Values {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::ToActivity(_, ToActivity::Dispatch { attempts, .. }) => {
                for dispatch in attempts {
                    self.note_sent(dispatch);
                }
                Ok(())
            }
            Seen::ProcessDurable(Stream::Process(_), Event::Ended(ended)) => {
                self.note_captured(ended.outcome.attempt, &ended.writes);
                Ok(())
            }
            Seen::Answers(_, Answer::Values(page)) => {
                let mut told = page.activities.iter();
                told.try_for_each(|told| self.judge(known, told, judged))
            }
            _ => Ok(()),
        }
    }
}

impl Values {
    fn note_sent(&mut self, dispatch: &Dispatch) {
        let of = (dispatch.attempt.process, dispatch.attempt.activity);
        let sent = Sent {
            command: dispatch.command.clone(),
            stdin: match &dispatch.stdin {
                Stdin::Text(text) => Some(text.clone()),
                Stdin::Empty | Stdin::File(_) => None,
            },
            inputs: dispatch.inputs.clone(),
        };
        let all = self.sent.entry(of).or_default();
        if !all.contains(&sent) {
            all.push(sent);
        }
    }

    fn note_captured(&mut self, attempt: AttemptId, writes: &[(u32, Value)]) {
        let of = (attempt.process, attempt.activity);
        let values = writes.iter().map(|(_, value)| value.clone()).collect();
        self.captured.entry(of).or_default().push(values);
    }

    fn judge(
        &self,
        known: &Known,
        told: &ActivityValues,
        judged: &mut Judged,
    ) -> Result<(), String> {
        let process = told
            .environment
            .iter()
            .find(|(name, _)| name == PROCESS_VARIABLE);
        let process = process.and_then(|(_, value)| value.as_ref()?.parse().ok());
        let Some(process) = process.filter(|_| told.rendered == Rendered::AsSent && !told.is_cut)
        else {
            return Ok(());
        };
        let of = (process, told.activity);
        let made = made_by(known, of);
        let is_out = known.processes.get(&process).is_some_and(|process| {
            let mut sent = process.sent.keys();
            sent.any(|attempt| attempt.activity == told.activity)
        });
        match self.sent.get(&made) {
            Some(sent) => {
                judged.count();
                if !sent.iter().any(|sent| sent.is(told)) {
                    return Err(format!(
                        "{process}/{} is told as sent with {told:?}, and was sent as {sent:?}",
                        told.activity
                    ));
                }
            }
            // A process manager that was killed then has recorded that it sends, and has not sent yet.
            None if is_out => {}
            None => {
                return Err(format!(
                    "{process}/{} is told as sent, and never was",
                    told.activity
                ));
            }
        }
        if told.captured.is_empty() {
            return Ok(());
        }
        judged.count();
        let captured: Vec<Value> = told
            .captured
            .iter()
            .map(|(_, value)| value.clone())
            .collect();
        let recorded = self.captured.get(&made);
        if !recorded.is_some_and(|recorded| recorded.contains(&captured)) {
            return Err(format!(
                "{process}/{} is told to have captured {captured:?}, and recorded is {recorded:?}",
                told.activity
            ));
        }
        Ok(())
    }
}

impl Sent {
    fn is(&self, told: &ActivityValues) -> bool {
        let inputs = told.inputs.iter().map(|one| (&one.path, one.artifact));
        self.command == told.command
            && self.stdin == told.stdin
            && told.n_inputs as usize == self.inputs.len()
            && inputs.eq(self.inputs.iter().map(|(path, artifact)| (path, *artifact)))
    }
}

/// The activity that ran: another one where its outcome stands for this one.
fn made_by(known: &Known, (process, activity): (ProcessId, ActivityId)) -> (ProcessId, ActivityId) {
    let mut of = (process, activity);
    for _ in 0..CHAIN_MAX {
        let process = known.processes.get(&of.0);
        let Some(stands) = process.and_then(|process| process.reused.get(&of.1)) else {
            break;
        };
        of = (stands.process, stands.activity);
    }
    of
}
