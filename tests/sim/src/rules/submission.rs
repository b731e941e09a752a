//! Rule 1: an acknowledged submission is never lost.

use std::collections::BTreeSet;

use model::ProcessId;
use simulator::Seen;
use wire::client::Answer;

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers what clients were told.
#[derive(Debug, Default)]
pub(super) struct Submission {
    submitted: BTreeSet<ProcessId>,
    acknowledged: BTreeSet<ProcessId>,
}

impl Rule for Submission {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Submits(submit) => {
                self.submitted.insert(submit.key.process());
            }
            Seen::Told(_, Answer::Submitted(process)) => {
                judged.count();
                if !self.submitted.contains(process) {
                    return Err(format!("{process} was acknowledged and never submitted"));
                }
                self.acknowledged.insert(*process);
            }
            Seen::Told(_, Answer::Refused(reasons)) => {
                return Err(format!("a good submission was refused: {reasons:?}"));
            }
            Seen::Told(_, Answer::NoRoom(reason)) => {
                return Err(format!("a good submission was refused: {reason}"));
            }
            Seen::Answers(_, Answer::Submitted(process)) => {
                judged.count();
                if !known.processes.contains_key(process) {
                    return Err(format!("{process} is acknowledged and not durable"));
                }
            }
            Seen::Answers(_, Answer::Unknown(process)) if self.acknowledged.contains(process) => {
                return Err(format!(
                    "{process} was acknowledged, and now nobody knows it"
                ));
            }
            Seen::Answers(manager, Answer::Processes(list)) => {
                let is_its_own = |id: &ProcessId| known.manager_of(*id) == *manager;
                if let Some(other) = list.iter().find(|one| !is_its_own(&one.process)) {
                    return Err(format!("{} is another manager's", other.process));
                }
                for process in self.acknowledged.iter().filter(|&id| is_its_own(id)) {
                    judged.count();

                    if !list.iter().any(|summary| summary.process == *process) {
                        return Err(format!("{process} was acknowledged and is not listed"));
                    }
                }
            }
            Seen::AtRest => {
                judged.count_if(!self.submitted.is_empty());
                let mut open = self.submitted.difference(&self.acknowledged);
                if open.any(|&process| !known.is_lost(process)) {
                    return Err("a submission was never acknowledged".to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }
}
