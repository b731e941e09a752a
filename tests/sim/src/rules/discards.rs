//! A process that discards files discards none that somebody may need: of all who read a file the outcome
//! is recorded, and it is no output. At the end nothing is left that nobody needs.

use std::collections::BTreeSet;

use model::{ActivityId, AttemptId, ProcessId};
use process_core::{Event, Stream};
use simulator::Seen;
use wire::client::Phase;

use super::{Judged, Rule};
use crate::known::Known;

/// Remembers the processes of which a copy of what is left may be unknown.
#[derive(Debug, Default)]
pub(super) struct Discards {
    /// Process managers that began another epoch. What they have asked before is not known.
    restarted: BTreeSet<ProcessId>,
    /// Activities whose copy is recorded.
    copied: BTreeSet<(ProcessId, ActivityId)>,
    /// Activities of which a machine may have made a copy, and the process manager died before it recorded that.
    /// Another machine may be asked then, and the first one evicts its copy when it needs the place.
    uncertain: BTreeSet<(ProcessId, ActivityId)>,
}

impl Rule for Discards {
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String> {
        match seen {
            Seen::Discards(made_by) => {
                judged.count();
                may_go(known, *made_by)
            }
            Seen::Left(id, activity) => {
                judged.count();
                let process = known.processes.get(id);
                let has_completed =
                    process.is_some_and(|process| process.closed == Some(Phase::Completed));
                let maker = (*id, *activity);
                let stays = known.stays.contains(&maker) || known.may_stay.contains(&maker);
                let may_be_unknown = self.restarted.contains(id) || self.uncertain.contains(&maker);
                if !has_completed || stays || may_be_unknown {
                    return Ok(());
                }
                Err(format!(
                    "files of {activity} of {id} are left, and nobody needs them"
                ))
            }
            Seen::ProcessDurable(Stream::Manager, Event::Epoch(_)) => {
                // After their end, nobody asks again for the files of these.
                let over = known
                    .processes
                    .iter()
                    .filter(|(_, one)| one.closed.is_some());
                self.restarted.extend(over.map(|(id, _)| *id));
                let open = known
                    .processes
                    .iter()
                    .filter(|(_, one)| one.closed.is_none());
                let made = open.flat_map(|(id, one)| one.completed.iter().map(|made| (*id, *made)));
                self.uncertain
                    .extend(made.filter(|made| !self.copied.contains(made)));
                Ok(())
            }
            Seen::ProcessDurable(Stream::Process(id), Event::Copied { activity, .. }) => {
                self.copied.insert((*id, *activity));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn may_go(known: &Known, made_by: AttemptId) -> Result<(), String> {
    let AttemptId {
        process: id,
        activity,
        ..
    } = made_by;
    let Some(expected) = known.expected.get(&id) else {
        return Ok(());
    };
    let Some(readers) = known.reads.get(&(id, activity)) else {
        return Err(format!("{id} discards files, and should keep them"));
    };
    if known.stays.contains(&(id, activity)) {
        return Err(format!(
            "{id} discards what {activity} has made, which is to stay"
        ));
    }
    let Some(process) = known.processes.get(&id) else {
        return Err(format!("{id} discards files and is not known"));
    };
    for reader in readers {
        let may_run = expected.needs.contains_key(reader) || expected.faulted.contains(reader);
        // It is stopped as soon as enough others have completed.
        let is_to_run = may_run && !expected.may_be_missed(*reader);
        if is_to_run && !process.completed.contains(reader) {
            return Err(format!(
                "{id} discards what {activity} has made, and {reader} has not read it"
            ));
        }
    }
    Ok(())
}
