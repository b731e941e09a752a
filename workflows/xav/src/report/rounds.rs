//! Planned against real: of each machine, between the plans that moved activities, and what each of those plans was
//! made for and came to.

use model::Span;
use wire::client::{Rescheduled, Status};

use super::amounts::{counted_as, grouped};
use super::escape::{html, visible};
use super::figures::{Bar, MachineFigures, Plan, Report, Row};
use super::tables::table;
use crate::json::machine_of;
use crate::moves::{Deviation, declined, routes};
use crate::text;

/// Rows of machines and rounds: a grid may have hundreds of machines.
const ROWS_MAX: usize = 200;

/// Everything that the page says of rounds.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// The last plans that moved activities, the oldest first.
    judgements: Vec<Judgement>,
    /// Plans that did before those, of which no more is known.
    n_older: usize,
    /// The last plan that was made for such a machine and not taken, in words, while the process runs.
    declined: Option<String>,
    /// The times of machines in each round, of those that ended something in it.
    parts: Vec<Part>,
}

/// A machine that was judged not to be as planned, and the plan that was made for it.
#[derive(Debug)]
struct Judgement {
    /// Since the submission.
    at: Span,
    machine: String,
    round: Option<u32>,
    expected: Option<String>,
    measured: String,
    why: String,
    moved: Vec<String>,
    /// The end that was expected without that plan, and with it, since the submission.
    end_before: Span,
    end_after: Span,
}

/// A machine in a round: the time between two plans that moved activities.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The number of the round, from 1; none for the whole run.
    pub(crate) round: Option<usize>,
    /// Its bounds, since the submission.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The place in [`Report::machines`].
    pub(crate) machine: usize,
    /// Activities that completed there.
    pub(crate) n: usize,
    /// Those of them that are planned there: the others were planned elsewhere.
    pub(crate) n_planned: usize,
    /// The time that these were planned to take, and took.
    pub(crate) planned: u64,
    pub(crate) real: u64,
}

impl Rounds {
    /// Computes all of it. The plan of what had ended when another one was made stands as it was.
    pub(crate) fn of(
        status: &Status,
        (activities, bars, plan): (&[Row], &[Bar], &Plan),
        machines: &[MachineFigures],
        until: u64,
    ) -> Rounds {
        let name = machine_of(status);
        let origin = status.summary.submitted;
        let judgement = |one: &Rescheduled| {
            let at = one.at.since(origin);
            let deviation = Deviation::from(one);
            Judgement {
                at,
                machine: visible(&name(one.resource)),
                round: one.round,
                expected: deviation.expected(),
                measured: deviation.measured(),
                why: visible(&deviation.words(&name(one.resource))),
                moved: routes(one, &name).iter().map(|one| visible(one)).collect(),
                end_before: at + one.before,
                end_after: at + one.after,
            }
        };
        let n_known = status.rescheduled.len();
        let mut bounds: Vec<u64> = (status.rescheduled.iter())
            .map(|one| one.at.since(origin).0)
            .collect();
        bounds.sort_unstable();
        Rounds {
            judgements: status.rescheduled.iter().map(judgement).collect(),
            n_older: (status.n_rescheduled as usize).saturating_sub(n_known),
            declined: None,
            parts: match plan.is_order_only {
                true => Vec::new(),
                false => parts((activities, bars, plan), &bounds, (machines.len(), until)),
            },
        }
    }

    /// Takes in the last plan that was not taken, which only the manager that runs the process knows.
    pub(crate) fn tell_declined(&mut self, status: &Status, one: &Rescheduled) {
        let at = text::span(one.at.since(status.summary.submitted));
        let why = visible(&declined(one, &machine_of(status)));
        self.declined = Some(format!("At {at}: {why}."));
    }
}

/// The times of each machine in each round that these moments bound, and then in the whole run.
fn parts(
    (activities, bars, plan): (&[Row], &[Bar], &Plan),
    bounds: &[u64],
    (n_machines, until): (usize, u64),
) -> Vec<Part> {
    let n_rounds = bounds.len() + 1;
    let round_of = |at: u64| bounds.partition_point(|&bound| bound < at);
    let part = |round: usize, machine: usize| {
        let before = |round: usize| round.checked_sub(1).and_then(|one| bounds.get(one));
        let (number, from, to) = match round < n_rounds {
            true => (
                Some(round + 1),
                before(round).copied().unwrap_or(0),
                bounds.get(round).copied().unwrap_or(until),
            ),
            false => (None, 0, until),
        };
        Part {
            round: number,
            from,
            to,
            machine,
            n: 0,
            n_planned: 0,
            planned: 0,
            real: 0,
        }
    };
    // The whole run comes last; one round alone is the whole run.
    let n_rows = if n_rounds == 1 { 1 } else { n_rounds + 1 };
    let whole = n_rounds;
    let first = n_rounds + 1 - n_rows;
    let places = (first..=whole).flat_map(|round| (0..n_machines).map(move |one| (round, one)));
    let mut parts: Vec<Part> = places.map(|(round, one)| part(round, one)).collect();
    for bar in bars.iter().filter(|bar| bar.state == "completed") {
        let planned = activities[bar.activity].planned;
        let planned = planned.map(|place| &plan.bars[place]);
        let planned = planned.filter(|planned| planned.machine == bar.machine);
        for round in [round_of(bar.end), whole] {
            let Some(row) = round.checked_sub(first) else {
                continue;
            };
            let part = &mut parts[row * n_machines + bar.machine];
            part.n += 1;
            if let Some(planned) = planned {
                part.n_planned += 1;
                part.planned += planned.end.saturating_sub(planned.start);
                part.real += bar.length();
            }
        }
    }
    parts.retain(|part| part.n > 0);
    parts
}

/// The section.
pub(crate) fn rounds(report: &Report) -> String {
    let rounds = &report.rounds;
    let is_told = !rounds.judgements.is_empty() || rounds.declined.is_some();
    if !is_told && (rounds.parts.is_empty() || report.machines.len() < 2) {
        return String::new();
    }
    let declined = rounds
        .declined
        .as_deref()
        .map(|told| format!("<p>{}</p>\n", html(told)));
    format!(
        "<section aria-labelledby=\"rounds\">\n<h2 id=\"rounds\">Rounds</h2>\n{}{}{}</section>\n",
        judgements(rounds),
        declined.unwrap_or_default(),
        planned_and_real(report)
    )
}

/// The plans that moved activities.
fn judgements(rounds: &Rounds) -> String {
    if rounds.judgements.is_empty() {
        return match rounds.declined {
            Some(_) => String::new(),
            None => "<p>No machine was so much slower or faster than planned that activities moved.</p>\n"
                .to_owned(),
        };
    }
    let rows: Vec<Vec<String>> = rounds
        .judgements
        .iter()
        .map(|one| {
            let round = one.round.map(|round| format!(", round {round}"));
            vec![
                text::span(one.at),
                format!("{}{}", html(&one.machine), round.unwrap_or_default()),
                html(one.expected.as_deref().unwrap_or("not recorded")),
                html(&one.measured),
                html(&one.why),
                match one.moved.is_empty() {
                    true => "nothing: another order".to_owned(),
                    false => html(&one.moved.join(", ")),
                },
                text::span(one.end_before),
                text::span(one.end_after),
                change(one.end_before, one.end_after),
            ]
        })
        .collect();
    let heads = [
        "At",
        "Machine",
        "Expected",
        "Measured",
        "Reason",
        "Activities moved",
        "End without",
        "End with it",
        "Effect",
    ];
    let older = match rounds.n_older {
        0 => String::new(),
        n => format!(
            "<p class=\"label\">And {} before those, of which no more is known.</p>\n",
            counted_as(n as u64, "more plan", "more plans")
        ),
    };
    format!(
        "{}{older}",
        table(
            "Machines that were not as planned, and what moved for that",
            &heads,
            &rows
        )
    )
}

fn change(before: Span, after: Span) -> String {
    match before < after {
        false => format!("{} earlier", text::span(before.saturating_sub(after))),
        true => format!("{} later", text::span(after.saturating_sub(before))),
    }
}

/// The planned and the real times of machines.
fn planned_and_real(report: &Report) -> String {
    let parts = &report.rounds.parts;
    if parts.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = parts
        .iter()
        .take(ROWS_MAX)
        .map(|part| {
            let round = match part.round {
                Some(round) => format!(
                    "{round}: {} to {}",
                    text::span(Span(part.from)),
                    text::span(Span(part.to))
                ),
                None => "whole run".to_owned(),
            };
            let (planned, real, beside) = match part.n_planned {
                0 => (String::new(), String::new(), String::new()),
                _ => (
                    text::span(Span(part.planned)),
                    text::span(Span(part.real)),
                    format!("{:.2} ×", part.real as f64 / part.planned.max(1) as f64),
                ),
            };
            vec![
                round,
                html(&report.machines[part.machine].name),
                grouped(part.n as u64),
                grouped((part.n - part.n_planned) as u64),
                planned,
                real,
                beside,
            ]
        })
        .collect();
    let heads = [
        "Round",
        "Machine",
        "Completed",
        "Planned elsewhere",
        "Planned to take",
        "Took",
        "Real beside planned",
    ];
    let more = match parts.len().saturating_sub(ROWS_MAX) {
        0 => String::new(),
        n => format!(
            "<p class=\"label\">And {}.</p>\n",
            counted_as(n as u64, "more row", "more rows")
        ),
    };
    let table = table("Planned against real", &heads, &rows);
    format!(
        "{table}{more}<p class=\"label\">A round lasts from one plan that moved activities to the next. Times are those \
of commands, added up, of activities that ran where the plan had them.</p>\n"
    )
}

#[cfg(test)]
mod tests;
