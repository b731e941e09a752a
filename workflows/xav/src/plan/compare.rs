//! All algorithms side by side on one problem.

use model::Span;
use schedule::{SchedulerKind, bound};
use serde_json::{Map, Value as Json, json};

use super::result::{PlanResult, Refused};
use super::show::{ratio, seconds};
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

fn as_text(subject: &Subject, all: &All) -> String {
    let bound = bound(&subject.problem);
    let made = all.iter().filter_map(|(_, made)| made.as_ref().ok());
    let makespans = made.map(|made| made.figures.makespan);
    let shortest = makespans.fold(f64::INFINITY, f64::min);
    let heads = [
        "SCHEDULER",
        "MAKESPAN, s",
        "OF BOUND",
        "SLR",
        "SPEEDUP",
        "EFFICIENCY",
        "PLANNED IN",
    ];
    let mut rows = vec![heads.map(screen::bold).to_vec()];
    for (name, made) in all {
        let Ok(made) = made else {
            rows.push(vec![(*name).to_owned(), "-".to_owned()]);
            continue;
        };
        let figures = &made.figures;
        let is_shortest = figures.makespan <= shortest * (1.0 + TIE);
        let makespan = format!("{:.4}", figures.makespan);
        rows.push(vec![
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
            format!("{:.4}", ratio(figures.makespan, bound)),
            format!("{:.3}", figures.slr),
            format!("{:.2}", figures.speedup),
            format!("{:.3}", figures.efficiency),
            seconds(made.seconds),
        ]);
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
