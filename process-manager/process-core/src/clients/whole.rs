//! Reasons for the state of a process as a whole: the order in which it waits, the shares of its owner,
//! and the activities that it waits for.

use model::{ActivityId, ProcessId};
use wire::client::{self, Answer, WHY_ACTIVITIES_MAX, Why, WhyProcess};

use super::Shown;
use super::why::{Seen, explain};
use crate::process::Process;
use crate::record::ActivityPhase;
use crate::step::Step;

/// The reasons for the state of a process, as a manager that runs knows them.
pub(super) fn answer_why_process(step: &Step<'_>, shown: Shown<'_>, id: ProcessId) -> Answer {
    let Some(known) = step.cx.process(id) else {
        return Answer::Unknown(id);
    };
    let market = shown.grid.market;
    let seen = Seen {
        running: shown.attempts.running(id),
        waiting_for: market.waiting_for(known),
    };
    let base = known.base.and_then(|base| step.cx.process(base));
    let mut why = whole(base, known, &seen);
    if !known.phase().has_ended() {
        why.waiting_for = seen.waiting_for.map(|what| {
            let unavailable = market.all_unavailable().map(|why| format!("; {why}"));
            what + &unavailable.unwrap_or_default()
        });
        why.turn = market.turn(step, (shown.grid.machines, shown.attempts), id);
        why.shares = market.shares(known.owner.as_deref());
        why.declined = market.declined(id).map(Into::into);
    }
    Answer::WhyProcess(Box::new(why))
}

/// The reasons for the state of a process, as far as they are recorded.
pub fn why_process(base: Option<&Process>, process: &Process) -> Answer {
    Answer::WhyProcess(Box::new(whole(base, process, &Seen::default())))
}

fn whole(base: Option<&Process>, process: &Process, seen: &Seen<'_>) -> WhyProcess {
    let mut activities: Vec<(u8, ActivityId)> = Vec::new();
    // Before the first plan, all of them wait for it.
    let is_planned = process.state.plan.generation.0 > 0;
    if is_planned && !process.phase().has_ended() {
        let all = process.definition().activities().iter();
        let urgent = all.filter_map(|&id| Some((urgency(process.activity(id).phase)?, id)));
        activities.extend(urgent);
    }
    activities.sort_unstable();
    let n_more = activities.len().saturating_sub(WHY_ACTIVITIES_MAX);
    activities.truncate(WHY_ACTIVITIES_MAX);
    let explained = activities
        .into_iter()
        .map(|(_, id)| explain(base, process, id, seen.clone()));
    let mut activities: Vec<Why> = explained.collect();
    activities.sort_by_key(|why| why.phase != client::ActivityPhase::Running);
    WhyProcess {
        phase: process.phase().into(),
        waiting_for: None,
        turn: None,
        shares: Vec::new(),
        activities,
        n_more: u32::try_from(n_more).unwrap_or(u32::MAX),
        declined: None,
    }
}

/// The rank of an activity among those that a process waits for; none where it waits for these itself,
/// or has ended.
fn urgency(phase: ActivityPhase) -> Option<u8> {
    match phase {
        ActivityPhase::Sent => Some(0),
        ActivityPhase::Backoff => Some(1),
        ActivityPhase::Ready => Some(2),
        ActivityPhase::Waiting
        | ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => None,
    }
}
