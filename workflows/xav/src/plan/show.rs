//! A plan as text.

use model::Span;
use schedule::draw::{Chart, Look};

use super::Mode;
use super::result::PlanResult;
use super::subject::Subject;
use crate::{screen, text};

/// Activities that a plan lists unless all are wanted: a screen.
const ACTIVITIES_MAX: usize = 40;
/// The same of controllers, and of activities on the critical path.
const CONTROLLERS_MAX: usize = 20;
const PATH_MAX: usize = 12;
/// Characters of a name on it.
const PATH_CHARS_MAX: usize = 32;
/// Algorithms of which it is told what they gave, where several were asked.
const MEMBERS_MAX: usize = 4;
/// Characters before what is said of a figure.
const HEAD_CHARS: usize = 12;

/// Characters of a line of the table that the names of activities leave to the rest.
const OTHER_CHARS: usize = 48;

/// Lines of machines in a terminal's chart.
const ROWS_MAX: usize = 40;

/// The title of a chart, and the line below it.
pub(crate) fn heading(subject: &Subject, made: &PlanResult) -> (String, String) {
    let figures = &made.figures;
    let title = format!("{} planned by {}", subject.title, by(made));
    let said = format!(
        "{}; {}, makespan {}, bound {}, speedup {:.2}, {} mode",
        subject.machines,
        n_activities(subject),
        seconds(figures.makespan),
        seconds(figures.bound),
        figures.speedup,
        subject.mode.word(),
    );
    (title, said)
}

/// The whole plan: the activities, the chart, the figures.
pub(crate) fn plan(subject: &Subject, made: &PlanResult, chart: &Chart, all: bool) -> String {
    let mut text = format!(
        "{}: {}\n{}\n\n",
        screen::bold(&subject.title),
        n_activities(subject),
        subject.machines
    );
    text.push_str(&activities(subject, made, all));
    if subject.mode == Mode::Controllers {
        text.push('\n');
        text.push_str(&controllers(subject, made, all));
    }
    let look = Look {
        width: screen::width(),
        rows_max: ROWS_MAX,
    };
    let chart_text = chart.terminal(look);
    if !chart_text.is_empty() {
        text.push('\n');
        text.push_str(&chart_text);
    }
    text.push('\n');
    text.push_str(&figures(subject, made, chart.critical_path()));
    text
}

fn activities(subject: &Subject, made: &PlanResult, all: bool) -> String {
    let heads = ["ACTIVITY", "MACHINE", "SLOT", "START", "FINISH", "TAKES"];
    let mut rows = vec![heads.map(screen::bold).to_vec()];
    let tasks = made.in_order(subject);
    let shown = if all {
        tasks.len()
    } else {
        tasks.len().min(ACTIVITIES_MAX)
    };
    // The other columns have room for names of machines and times as they mostly are.
    let name_chars_max = screen::width().saturating_sub(OTHER_CHARS);
    for &task in &tasks[..shown] {
        let entry = &made.schedule.entries[task as usize];
        let cores = subject.problem.dag().cores(task);
        let slot = match cores {
            0 | 1 => entry.slot.to_string(),
            _ => format!("{} (of {cores})", entry.slot),
        };
        rows.push(vec![
            shortened(subject.name(task), name_chars_max),
            subject.problem.hosts()[entry.host as usize].name.clone(),
            slot,
            seconds(entry.start),
            seconds(entry.finish),
            seconds(entry.finish - entry.start),
        ]);
    }
    let mut table = text::table(&rows);
    if shown < tasks.len() {
        let more = tasks.len() - shown;
        table.push_str(&format!("and {more} more, which --all shows\n"));
    }
    table
}

fn controllers(subject: &Subject, made: &PlanResult, all: bool) -> String {
    let Some(controllers) = &subject.tree else {
        return String::new();
    };
    let heads = ["CONTROLLER", "MACHINE"];
    let mut rows = vec![heads.map(screen::bold).to_vec()];
    let n_all = controllers.names.len();
    let shown = if all {
        n_all
    } else {
        n_all.min(CONTROLLERS_MAX)
    };
    for (name, &host) in controllers.names.iter().zip(made.controllers()).take(shown) {
        let machine = subject.problem.hosts()[host as usize].name.clone();
        rows.push(vec![name.clone(), machine]);
    }
    let mut table = text::table(&rows);
    if shown < n_all {
        table.push_str(&format!("and {} more, which --all shows\n", n_all - shown));
    }
    table
}

fn figures(subject: &Subject, made: &PlanResult, critical: &[u32]) -> String {
    let figures = &made.figures;
    let n_slots: u64 = subject
        .problem
        .hosts()
        .iter()
        .map(|host| u64::from(host.slots))
        .sum();
    let mut rows = vec![
        vec![
            "makespan".to_owned(),
            format!(
                "{}, at least {} ({:.3} of the bound)",
                screen::bold(&exactly(figures.makespan)),
                seconds(figures.bound),
                ratio(figures.makespan, figures.bound)
            ),
        ],
        vec![
            "speedup".to_owned(),
            format!(
                "{:.2} on {} (efficiency {:.2}), schedule length ratio {:.3}",
                figures.speedup,
                text::count(n_slots, "slot", "slots"),
                figures.efficiency,
                figures.slr
            ),
        ],
        vec![
            "planned".to_owned(),
            format!("by {} in {}", by(made), seconds(made.seconds)),
        ],
    ];
    if let Some(reached) = &made.reached {
        rows.push(vec![
            "deadline".to_owned(),
            reached.sentence(made.cost.machines),
        ]);
    }
    if made.reached.is_some() || subject.has_prices || subject.has_watts {
        rows.push(vec!["cost".to_owned(), cost(subject, made)]);
    }
    let mut label = "critical";
    for line in path(subject, critical) {
        rows.push(vec![std::mem::take(&mut label).to_owned(), line]);
    }
    if let Some(factor) = subject.expected {
        rows.push(vec![
            "expected".to_owned(),
            format!(
                "{} with as many items and iterations as in earlier runs; the plan has the body of each loop once, \
                 and that of each for-each whose items are not known yet",
                exactly(made.figures.makespan * factor)
            ),
        ]);
    } else if subject.has_bodies {
        rows.push(vec![
            "bodies".to_owned(),
            "an estimate: the body of each loop, and of each for-each whose items are not known yet, is there \
             once, as if for one item or iteration"
                .to_owned(),
        ]);
    }
    if subject.is_guess {
        rows.push(vec![
            "works".to_owned(),
            "not given: every activity counts as a second (work: 2s says how long one takes)"
                .to_owned(),
        ]);
    }
    text::table(&rows)
}

/// `3.5 slot hours on 2 machines (7 slots), price 0.42, 1.3 kWh`
fn cost(subject: &Subject, made: &PlanResult) -> String {
    let cost = &made.cost;
    let mut told = format!(
        "{} slot hours on {} ({})",
        amount(cost.slot_hours),
        text::count(u64::from(cost.machines), "machine", "machines"),
        text::count(cost.slots, "slot", "slots"),
    );
    if subject.has_prices {
        told.push_str(&format!(", price {}", amount(cost.money)));
    }
    if subject.has_watts {
        told.push_str(&format!(", {} kWh", amount(cost.energy)));
    }
    told
}

/// An amount with three digits or more that say something.
pub(crate) fn amount(amount: f64) -> String {
    let n_digits = match amount {
        amount if amount >= 100.0 => 1,
        amount if amount >= 1.0 => 2,
        _ => 4,
    };
    format!("{amount:.n_digits$}")
}

/// The critical path by its names, the middle of a long one left out, in lines that fit.
fn path(subject: &Subject, critical: &[u32]) -> Vec<String> {
    let names: Vec<String> = critical
        .iter()
        .map(|&task| subject.name(task))
        .filter(|name| !name.is_empty())
        .map(|name| shortened(name, PATH_CHARS_MAX))
        .collect();
    let half = PATH_MAX / 2;
    let shown = if names.len() <= PATH_MAX {
        names
    } else {
        let more = format!("({} more)", names.len() - 2 * half);
        let (first, last) = (&names[..half], &names[names.len() - half..]);
        [first, &[more], last].concat()
    };
    let room = screen::width().saturating_sub(HEAD_CHARS);
    let mut lines: Vec<String> = Vec::new();
    for name in shown {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + name.chars().count() <= room => {
                line.push_str(" → ");
                line.push_str(&name);
            }
            Some(line) => {
                line.push_str(" →");
                lines.push(name);
            }
            None => lines.push(name),
        }
    }
    lines
}

/// A name that fits, the middle of a long one left out: the end tells many apart.
fn shortened(name: &str, chars_max: usize) -> String {
    let n_chars = name.chars().count();
    if n_chars <= chars_max {
        return name.to_owned();
    }
    let last = chars_max.saturating_sub(1) / 2;
    let first = chars_max.saturating_sub(1 + last);
    let end: String = name.chars().skip(n_chars - last).collect();
    let begin: String = name.chars().take(first).collect();
    format!("{begin}…{end}")
}

/// `heft-b (of best: heft-b 4.8s, pch 5.2s)`, or the name alone; of many the shortest.
fn by(made: &PlanResult) -> String {
    let mut name = made.by.to_owned();
    let mut members: Vec<(f64, &str)> = made
        .estimates
        .iter()
        .filter_map(|one| Some((one.makespan?, one.scheduler)))
        .collect();
    if members.is_empty() {
        if made.asked != made.by {
            name.push_str(&format!(" (of {})", made.asked));
        }
        return name;
    }
    members.sort_by(|one, other| one.0.total_cmp(&other.0));
    let more = members.len().saturating_sub(MEMBERS_MAX);
    members.truncate(MEMBERS_MAX);
    let mut told: Vec<String> = members
        .iter()
        .map(|(makespan, scheduler)| format!("{scheduler} {}", seconds(*makespan)))
        .collect();
    if more > 0 {
        told.push(format!("{more} more"));
    }
    format!("{name} (of {}: {})", made.asked, told.join(", "))
}

fn n_activities(subject: &Subject) -> String {
    text::count(subject.n_activities() as u64, "activity", "activities")
}

/// A time for people; nothing is `0s`.
pub(crate) fn seconds(seconds: f64) -> String {
    match Span::from_seconds_up(seconds) {
        Span::ZERO => "0s".to_owned(),
        span => span.to_string(),
    }
}

/// The same, with the seconds of what is told in minutes or hours.
fn exactly(time: f64) -> String {
    let shown = seconds(time);
    if time < 60.0 {
        shown
    } else {
        format!("{shown} ({time:.1} s)")
    }
}

/// `one` divided by `bound`; 1 if both are zero.
pub(crate) fn ratio(one: f64, bound: f64) -> f64 {
    if bound > 0.0 { one / bound } else { 1.0 }
}
