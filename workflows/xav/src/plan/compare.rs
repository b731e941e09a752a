//! All algorithms side by side on one problem.

use model::Span;
use schedule::{SchedulerKind, bound};
use serde_json::{Map, Value as Json, json};

use super::as_json::cost;
use super::result::{PlanResult, Refused};
use super::show::{amount, ratio, seconds};
use super::subject::Subject;
use crate::failure::{Failure, Outcome};
use crate::{screen, text};

/// Makespans that differ by less than this part of the shortest count as equal.
const TIE: f64 = 1e-9;

/// Plans with every algorithm and shows what each gave. One that refuses for its own sake is told
/// with its reason; what no machine fits is refused.
pub(crate) fn compare(subject: &Subject, budget: Option<Span>, as_json: bool) -> Outcome {
    let mut all = Vec::with_capacity(SchedulerKind::ALL.len());
    for kind in SchedulerKind::ALL {
        let made = match PlanResult::try_new(subject, kind, budget) {
            Ok(made) => Ok(made),
            Err(Refused::NoHost(why)) => return Err(Failure::refused(why)),
            Err(Refused::TooLarge(why)) => Err(why),
            Err(Refused::Invalid(why)) => return Err(Failure::new(why)),
        };
        all.push((kind.scheduler().name(), made));
    }
    if as_json {
        screen::json(&as_object(subject, &all))?;
    } else {
        screen::out(&as_text(subject, &all))?;
    }
    Ok(0)
}

type All = [(&'static str, Result<PlanResult, String>)];

fn as_object(subject: &Subject, all: &All) -> Json {
    let mut schedulers = Map::new();
    for (name, made) in all {
        let entry = match made {
            Ok(made) => json!({
                "makespan": made.figures.makespan,
                "seconds": made.seconds,
                "slr": made.figures.slr,
                "speedup": made.figures.speedup,
                "efficiency": made.figures.efficiency,
                "by": made.by,
                "cost": cost(subject, made),
            }),
            Err(why) => json!({ "makespan": null, "seconds": null, "refused": why }),
        };
        schedulers.insert((*name).to_owned(), entry);
    }
    json!({
        "name": subject.title,
        "mode": subject.mode.word(),
        "bound": bound(&subject.problem),
        "schedulers": schedulers,
    })
}

/// The columns of the table, each with whether it is there and the cell of a plan. Costs are there if the
/// platform tells some.
type Column = (&'static str, bool, fn(&PlanResult, f64) -> String);

fn columns(subject: &Subject) -> Vec<Column> {
    let has_costs = subject.has_prices || subject.has_watts;
    let all: [Column; 8] = [
        ("OF BOUND", true, |made, bound| {
            format!("{:.4}", ratio(made.figures.makespan, bound))
        }),
        ("SLR", true, |made, _| format!("{:.3}", made.figures.slr)),
        ("SPEEDUP", true, |made, _| {
            format!("{:.2}", made.figures.speedup)
        }),
        ("EFFICIENCY", true, |made, _| {
            format!("{:.3}", made.figures.efficiency)
        }),
        ("SLOT HOURS", has_costs, |made, _| {
            amount(made.cost.slot_hours)
        }),
        ("PRICE", subject.has_prices, |made, _| {
            amount(made.cost.money)
        }),
        ("KWH", subject.has_watts, |made, _| amount(made.cost.energy)),
        ("PLANNED IN", true, |made, _| seconds(made.seconds)),
    ];
    all.into_iter()
        .filter(|(_, is_there, _)| *is_there)
        .collect()
}

fn as_text(subject: &Subject, all: &All) -> String {
    let bound = bound(&subject.problem);
    let made = all.iter().filter_map(|(_, made)| made.as_ref().ok());
    let makespans = made.map(|made| made.figures.makespan);
    let shortest = makespans.fold(f64::INFINITY, f64::min);
    let columns = columns(subject);
    let mut heads = vec![screen::bold("SCHEDULER"), screen::bold("MAKESPAN, s")];
    heads.extend(columns.iter().map(|(head, ..)| screen::bold(head)));
    let mut rows = vec![heads];
    for (name, made) in all {
        let Ok(made) = made else {
            rows.push(vec![(*name).to_owned(), "-".to_owned()]);
            continue;
        };
        let is_shortest = made.figures.makespan <= shortest * (1.0 + TIE);
        let makespan = format!("{:.4}", made.figures.makespan);
        let mut row = vec![
            if made.by == *name {
                (*name).to_owned()
            } else {
                format!("{name} ({})", made.by)
            },
            if is_shortest {
                screen::good(&makespan)
            } else {
                makespan
            },
        ];
        row.extend(columns.iter().map(|(_, _, cell)| cell(made, bound)));
        rows.push(row);
    }
    let mut shown = format!(
        "{}: {}, {} mode\n{}, bound {}\n\n{}",
        screen::bold(&subject.title),
        text::count(subject.n_activities() as u64, "activity", "activities"),
        subject.mode.word(),
        subject.machines,
        seconds(bound),
        text::table(&rows)
    );
    for (_, made) in all {
        if let Err(why) = made {
            shown.push_str(&format!("{why}\n"));
        }
    }
    shown
}
