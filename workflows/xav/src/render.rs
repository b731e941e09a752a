//! The state, progress and outcome of a process as text for people.

mod folded;

pub(crate) use folded::{FOLDED_FROM, counts};

use model::{Definition, Span, Wall};
use wire::client::{ActivityPhase, ActivityStatus, AttemptStatus, Phase, Status, Summary, Totals};

use crate::chosen::PAGE;
use crate::fault::short;
use crate::json::{cpu, machine_of, makespan};
use crate::{moves, screen, text};

/// Activities that a status shows unless all are wanted: a page.
const ACTIVITIES_MAX: usize = PAGE;

/// The word for a process that has not ended and that no run has.
const INTERRUPTED: &str = "interrupted";

/// The outcome of a process in a line, as `xav run` prints it:
/// `primes completed in 1.2s (planned 1.0s), 9 activities, CPU 2.1s, speedup 1.8 on 2 slots of host`.
///
/// Slots are left out where they are not known.
pub(crate) fn ending(status: &Status, n_slots: Option<u32>) -> String {
    let summary = &status.summary;
    let mut parts = Vec::new();
    let word = phase(summary.phase);
    match makespan(summary) {
        // Recorded outcomes stand for all of it.
        Some(Span::ZERO) => parts.push(format!("{} {word} at once", summary.name)),
        Some(took) => {
            let planned = status
                .planned
                .map(|planned| format!(" (planned {planned})"));
            parts.push(format!(
                "{} {word} in {took}{}",
                summary.name,
                planned.unwrap_or_default()
            ));
        }
        None => parts.push(format!("{} {word}", summary.name)),
    }
    match &summary.held {
        Some(held) => parts.push(format!("held: {held}")),
        None => parts.push(totals(&summary.totals)),
    }
    if summary.totals.reused > 0 || summary.base.is_some() {
        parts.push(how_much(summary));
    }
    parts.extend(text::rescheduled(status.n_rescheduled));
    let cpu = cpu(status);
    if cpu > Span::ZERO {
        parts.push(format!("CPU {cpu}"));
    }
    let machines: Vec<&str> = status
        .machines
        .iter()
        .map(|(_, name)| name.as_str())
        .collect();
    // A process that ends before its first plan has no machines.
    let place = match n_slots.filter(|_| !machines.is_empty()) {
        Some(n_slots) => format!(
            "{} of {}",
            text::count(u64::from(n_slots), "slot", "slots"),
            machines.join(", ")
        ),
        None => machines.join(", "),
    };
    match speedup(status) {
        Some(speedup) => parts.push(format!("speedup {speedup:.1} on {place}")),
        None if place.is_empty() => {}
        None => parts.push(place),
    }
    format!("{}\n", parts.join(", "))
}

/// The numbers of activities that ran, and of those that were reused.
fn how_much(summary: &Summary) -> String {
    let totals = &summary.totals;
    let n_ran = (totals.completed + totals.faulted).saturating_sub(totals.reused);
    let stand = match totals.reused {
        1 => "1 recorded outcome stands".to_owned(),
        n => format!("{n} recorded outcomes stand"),
    };
    match n_ran {
        0 => format!("none ran, {stand}"),
        n_ran => format!("{n_ran} ran, {stand}"),
    }
}

/// The time of all completed attempts one after another, divided by the makespan.
pub(crate) fn speedup(status: &Status) -> Option<f64> {
    // Of one activity it would tell nothing but what the managers cost.
    if status.summary.phase != Phase::Completed || status.activities.len() < 2 {
        return None;
    }
    let took = makespan(&status.summary)?.seconds();
    let last = |activity: &ActivityStatus| activity.attempts.last().map(|attempt| attempt.wall);
    let alone: f64 = status
        .activities
        .iter()
        .filter_map(last)
        .map(Span::seconds)
        .sum();
    (took > 0.0 && alone > 0.0).then_some(alone / took)
}

/// `9 activities` where all of them completed, else how many are where.
pub(crate) fn totals(totals: &Totals) -> String {
    totals_with(totals, "running")
}

/// The same with another word for what was sent to a machine.
fn totals_with(totals: &Totals, running: &str) -> String {
    let all = text::count(u64::from(totals.all()), "activity", "activities");
    if totals.completed == totals.all() {
        return all;
    }
    let parts = [
        (totals.running, running),
        (totals.completed, "completed"),
        (totals.faulted, "faulted"),
        (totals.stopped, "stopped"),
        (totals.not_run(), "not run"),
        (totals.ready, "ready"),
        (totals.waiting, "waiting"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    format!("{all}: {}", parts.join(", "))
}

/// The word for a phase, in its colour.
pub(crate) fn phase(phase: Phase) -> String {
    match phase {
        Phase::Running => screen::bold(phase.word()),
        Phase::Completed => screen::good(phase.word()),
        Phase::Faulting | Phase::Faulted => screen::bad(phase.word()),
        Phase::Cancelling | Phase::Cancelled => screen::odd(phase.word()),
    }
}

/// The outcome of a process, as the end of a sentence.
pub(crate) fn past(phase: Phase) -> &'static str {
    match phase {
        Phase::Running | Phase::Faulting | Phase::Cancelling => "has not ended",
        Phase::Completed => "has completed",
        Phase::Faulted => "has faulted",
        Phase::Cancelled => "was cancelled",
    }
}

/// A process as a row of a list.
pub(crate) struct ListRow<'a> {
    /// The process.
    pub(crate) summary: &'a Summary,
    /// True if a run has it at the moment.
    pub(crate) is_live: bool,
    /// The last column: its disk use, or its owner.
    pub(crate) last: String,
}

/// The word for where a process is: one that has not ended and that no run has was interrupted, and one of which
/// nothing runs and nothing has ended waits.
pub(crate) fn state(summary: &Summary, is_live: bool) -> String {
    let totals = &summary.totals;
    let is_idle = totals.ready + totals.waiting == totals.all();
    if summary.phase.has_ended() {
        phase(summary.phase)
    } else if !is_live {
        screen::odd(INTERRUPTED)
    } else if summary.phase == Phase::Running && totals.ready > 0 && is_idle {
        screen::odd("waiting")
    } else {
        phase(summary.phase)
    }
}

/// All processes, the newest first; `last` is the head of the last column.
pub(crate) fn list(processes: &[ListRow<'_>], last: &str, now: Wall) -> String {
    let heads = ["ID", "NAME", "STATE", "STARTED", "TOOK", "ACTIVITIES", last];
    let mut rows = vec![heads.map(screen::bold).to_vec()];
    for ListRow {
        summary,
        is_live,
        last,
    } in processes
    {
        let totals = &summary.totals;
        let took = match makespan(summary) {
            Some(took) => took.to_string(),
            None if *is_live => now.since(summary.submitted).to_string(),
            None => "-".to_owned(),
        };
        let ended = match summary.phase {
            Phase::Running | Phase::Completed => totals.completed + totals.faulted + totals.skipped,
            // Whatever was skipped for a fault has not been done.
            Phase::Faulting | Phase::Cancelling | Phase::Faulted | Phase::Cancelled => {
                totals.completed
            }
        };
        rows.push(vec![
            summary.process.to_string(),
            summary.name.clone(),
            match &summary.held {
                None => state(summary, *is_live),
                Some(_) => format!("{}, held", state(summary, *is_live)),
            },
            text::moment(summary.submitted),
            took,
            match &summary.held {
                None => format!("{ended}/{}", totals.all()),
                Some(_) => "-".to_owned(),
            },
            last.clone(),
        ]);
    }
    let mut text = text::table(&rows);
    for ListRow { summary, .. } in processes {
        if let Some(held) = &summary.held {
            text.push_str(&format!("{} is held, {held}\n", summary.process));
        }
    }
    text
}

/// Everything about a process but its faults, which come after it.
pub(crate) fn status(
    status: &Status,
    definition: &Definition,
    place: &str,
    is_live: bool,
    (all, now): (bool, Wall),
) -> String {
    let summary = &status.summary;
    let is_interrupted = !summary.phase.has_ended() && !is_live;
    // An activity that was sent when the last run ended is not running.
    let word = if is_interrupted {
        INTERRUPTED
    } else {
        "running"
    };
    let how_many = totals_with(&summary.totals, word);
    let mut rows = vec![
        vec![
            "process".to_owned(),
            screen::bold(&summary.process.to_string()),
        ],
        vec!["name".to_owned(), summary.name.clone()],
        vec!["state".to_owned(), state(summary, is_live)],
        vec!["file".to_owned(), summary.origin.clone()],
        vec!["kept in".to_owned(), place.to_owned()],
        vec!["started".to_owned(), started(status)],
    ];
    match &summary.held {
        Some(held) => rows.push(vec!["held".to_owned(), held.clone()]),
        None => rows.push(vec!["activities".to_owned(), how_many]),
    }
    if let Some(owner) = &summary.owner {
        rows.push(vec!["owner".to_owned(), owner.clone()]);
    }
    if let Some(base) = summary.base {
        let how_much = how_much(summary);
        rows.push(vec!["rerun of".to_owned(), format!("{base}: {how_much}")]);
    }
    if let Some(keep) = summary.keep {
        rows.push(vec!["kept for".to_owned(), format!("{keep} after its end")]);
    }
    if let Some(waiting_for) = &status.waiting_for {
        rows.push(vec!["waits for".to_owned(), waiting_for.clone()]);
    }
    if let Some(turn) = &status.turn {
        rows.push(vec!["order".to_owned(), turn.words(now)]);
    }
    if let Some(left) = status.left {
        let left = text::left(left, status.left_p90);
        rows.push(vec!["time".to_owned(), format!("about {left}")]);
    }
    let moved = moves::lines(status).into_iter();
    rows.extend(moved.map(|row| vec!["rescheduled".to_owned(), row]));
    if let Some(copies) = &status.copies {
        rows.push(vec!["copies".to_owned(), copies.clone()]);
    }
    for (label, values) in [
        ("input", &status.inputs),
        ("variable", &status.variables),
        ("output", &status.outputs),
    ] {
        for (name, value) in values {
            let value = text::value_in_line(value);
            rows.push(vec![label.to_owned(), format!("{name} = {value}")]);
        }
    }
    let mut text = text::table(&rows);
    if summary.held.is_some() {
        text.push_str(
            "\nNothing of it runs here, and what its activities did is not known to this version.\n",
        );
        return text;
    }
    text.push('\n');
    text.push_str(&activities(status, definition, is_interrupted, all));
    if is_interrupted {
        let id = short(summary.process);
        text.push_str(&format!(
            "\nNothing runs it at the moment. Go on with it: xav resume {id}\n"
        ));
    }
    text
}

fn started(status: &Status) -> String {
    let mut text = text::moment(status.summary.submitted);
    if let Some(took) = makespan(&status.summary) {
        text.push_str(&format!(", took {took}"));
    }
    if let Some(planned) = status.planned {
        text.push_str(&format!(", planned {planned}"));
    }
    text
}

/// A table of activities, without a row where there are none.
pub(crate) fn rows(
    status: &Status,
    definition: &Definition,
    activities: &[&ActivityStatus],
    is_interrupted: bool,
) -> String {
    if activities.is_empty() {
        return String::new();
    }
    let heads = [
        "ACTIVITY", "STATE", "TRIES", "WALL", "CPU", "MEMORY", "EXIT", "WHERE",
    ];
    let mut rows = vec![heads.map(screen::bold).to_vec()];
    let machine = machine_of(status);
    for activity in activities {
        let last = activity.attempts.last().or(activity.reused.as_ref());
        let ended = last.filter(|attempt| attempt.end.is_some());
        rows.push(vec![
            definition.name_of(activity.activity.node()),
            match is_interrupted {
                true => interrupted_state(activity),
                false => state_of(activity),
            },
            match (&activity.reused, last) {
                (None, Some(attempt)) => n_tries(&activity.attempts, attempt).to_string(),
                (Some(_), _) | (None, None) => "-".to_owned(),
            },
            ended.map_or_else(|| "-".to_owned(), |attempt| text::span(attempt.wall)),
            ended.map_or_else(|| "-".to_owned(), |attempt| text::span(attempt.cpu)),
            ended.map_or_else(
                || "-".to_owned(),
                |attempt| text::bytes(attempt.peak_memory),
            ),
            ended
                .and_then(|attempt| attempt.exit_code)
                .map_or_else(|| "-".to_owned(), |code| code.to_string()),
            last.map_or_else(|| "-".to_owned(), |attempt| machine(attempt.resource)),
        ]);
    }
    text::table(&rows)
}

/// The attempts of an activity up to the last one, but for those that moved before they had started.
fn n_tries(attempts: &[AttemptStatus], last: &AttemptStatus) -> u32 {
    let moved = attempts
        .iter()
        .filter(|one| one.end.as_deref() == Some("moved"));
    last.attempt
        .number
        .saturating_sub(moved.count() as u32)
        .max(1)
}

fn activities(status: &Status, definition: &Definition, is_interrupted: bool, all: bool) -> String {
    let folded = folded::fold(&status.activities, definition, all);
    let mut text = rows(status, definition, &folded.shown, is_interrupted);
    if folded.n_hidden > 0 {
        text.push_str(&format!(
            "and {} more, which --all shows\n",
            folded.n_hidden
        ));
    }
    if !folded.lines.is_empty() {
        text.push('\n');
        folded.lines.iter().for_each(|line| text.push_str(line));
        text.push_str("--of ACTIVITY shows its items, page by page\n");
    }
    text
}

/// The activities to show if there are many: first those that run or failed, in the order of the
/// definition.
fn shown<'a>(activities: &[&'a ActivityStatus]) -> Vec<&'a ActivityStatus> {
    if activities.len() <= ACTIVITIES_MAX {
        return activities.to_vec();
    }
    let rank = |activity: &ActivityStatus| match activity.phase {
        ActivityPhase::Faulted => 0,
        ActivityPhase::Running | ActivityPhase::Sent | ActivityPhase::Backoff => 1,
        ActivityPhase::Ready | ActivityPhase::Stopped => 2,
        ActivityPhase::Completed => 3,
        ActivityPhase::Waiting | ActivityPhase::Skipped => 4,
    };
    let mut chosen = activities.to_vec();
    chosen.sort_by_key(|activity| rank(activity));
    chosen.truncate(ACTIVITIES_MAX);
    chosen.sort_by_key(|activity| activity.activity);
    chosen
}

/// The word for where an activity is, of a process that nothing runs.
fn interrupted_state(activity: &ActivityStatus) -> String {
    match activity.phase {
        ActivityPhase::Sent | ActivityPhase::Running => screen::odd(INTERRUPTED),
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Backoff
        | ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => state_of(activity),
    }
}

/// The word for where an activity is, in its colour.
pub(crate) fn state_of(activity: &ActivityStatus) -> String {
    if activity.reused.is_some() {
        return screen::good("stands");
    }
    let word = activity.phase.word();
    match activity.phase {
        ActivityPhase::Completed => screen::good(word),
        ActivityPhase::Faulted => screen::bad(word),
        ActivityPhase::Running | ActivityPhase::Backoff => screen::bold(word),
        ActivityPhase::Stopped => screen::odd(word),
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Skipped => word.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
