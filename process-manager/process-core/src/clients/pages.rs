//! Processes and activities in pages. What a page has follows from the state alone, so nothing is kept between two of
//! them: a page begins after what the client names as the last that it has.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use minicbor::Encode;
use model::{ActivityId, ResourceId};
use wire::client::{
    ActivitiesPage, ActivitiesWanted, ActivityPhase, Answer, ListedActivity, PAGE_BYTES_MAX,
    ProcessesPage, ProcessesWanted, Summary,
};

use super::Shown;
use super::answers::{activity_status, list_of, show_running};
use crate::dispatch::{Commands, command_of};
use crate::process::Process;
use crate::step::Step;
use crate::submission::Caller;

/// Processes that a caller may see, a page of them. O(processes).
pub(super) fn answer_processes(
    step: &Step<'_>,
    caller: &Caller,
    wanted: &ProcessesWanted,
) -> Answer {
    processes(list_of(step, caller), wanted)
}

/// A page of these processes, which come the newest first. O(processes).
pub fn processes(all: Vec<Summary>, wanted: &ProcessesWanted) -> Answer {
    let place = |one: &Summary| (Reverse(one.submitted), one.process);
    let after = wanted
        .after
        .map(|(submitted, process)| (Reverse(submitted), process));
    let mut chosen = all.into_iter().filter(|one| {
        after.is_none_or(|after| place(one) > after)
            && (wanted.phases.is_empty() || wanted.phases.contains(&one.phase))
    });
    let mut page = ProcessesPage::default();
    let mut room = Room::new(wanted.limit);
    for one in chosen.by_ref() {
        if !room.takes(&one) {
            page.has_more = true;
            break;
        }
        page.processes.push(one);
    }
    Answer::ProcessesPage(Box::new(page))
}

/// Activities of a process that runs here, a page of them.
pub(super) fn answer_activities(
    step: &Step<'_>,
    shown: Shown<'_>,
    wanted: &ActivitiesWanted,
) -> Answer {
    match step.cx.process(wanted.process) {
        Some(process) => page(process, shown.attempts.running(wanted.process), wanted),
        None => Answer::Unknown(wanted.process),
    }
}

/// Activities of a process, a page of them, as far as they are recorded. O(activities).
pub fn activities(process: &Process, wanted: &ActivitiesWanted) -> Answer {
    page(process, None, wanted)
}

fn page(process: &Process, running: Option<&Commands>, wanted: &ActivitiesWanted) -> Answer {
    let definition = process.definition();
    let ordered = definition.in_order();
    let first = match wanted.after {
        Some(after) => match ordered.iter().position(|&one| one == after) {
            Some(at) => at + 1,
            None => {
                let why = format!("{after} is no activity of process {}", process.id());
                return Answer::Refused(vec![why]);
            }
        },
        None => 0,
    };
    let is_running = |id: ActivityId| command_of(running, process, id).is_some();
    let is_wanted = |id: ActivityId| {
        let phase = match is_running(id) {
            true => ActivityPhase::Running,
            false => process.activity(id).phase.into(),
        };
        wanted.phases.is_empty() || wanted.phases.contains(&phase)
    };
    let mut room = Room::new(wanted.limit);
    let (mut activities, mut has_more) = (Vec::new(), false);
    for &id in ordered[first..].iter().filter(|id| is_wanted(**id)) {
        let mut status = activity_status(process, id);
        show_running(&mut status, process, running);
        let listed = ListedActivity {
            name: definition.name_of(id.node()),
            path: definition.path(id.node()),
            status,
        };
        if !room.takes(&listed) {
            has_more = true;
            break;
        }
        activities.push(listed);
    }
    let named: BTreeSet<ResourceId> = activities.iter().flat_map(machines).collect();
    let machines = process.state.machines.iter();
    let machines = machines.filter(|(id, _)| named.contains(id)).cloned();
    Answer::Activities(Box::new(ActivitiesPage {
        summary: process.summary(),
        machines: machines.collect(),
        activities,
        has_more,
    }))
}

fn machines(one: &ListedActivity) -> impl Iterator<Item = ResourceId> {
    let status = &one.status;
    let attempts = status.attempts.iter().chain(&status.reused);
    let attempts = attempts.map(|attempt| attempt.resource);
    let planned = status.planned.map(|planned| planned.resource);
    attempts.chain(planned).chain(status.copy)
}

/// The room of a page. The first entry always has room, so that a client gets on.
struct Room {
    n_left: u32,
    bytes: usize,
    is_empty: bool,
}

impl Room {
    fn new(limit: u32) -> Room {
        Room {
            n_left: limit,
            bytes: 0,
            is_empty: true,
        }
    }

    /// Takes an entry, if there is room for it.
    fn takes(&mut self, entry: &impl Encode<()>) -> bool {
        if self.n_left == 0 {
            return false;
        }
        let encoded = minicbor::to_vec(entry);
        let bytes = encoded.expect("memory takes whatever is encoded").len();
        if !self.is_empty && self.bytes + bytes > PAGE_BYTES_MAX {
            return false;
        }
        self.n_left -= 1;
        self.bytes += bytes;
        self.is_empty = false;
        true
    }
}

#[cfg(test)]
mod tests;
