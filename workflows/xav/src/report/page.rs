//! The page: what needs no script as HTML, the charts and long tables as data for its script.
//!
//! It loads nothing: style, script and data are inside, and its content security policy forbids
//! everything else. All text from outside goes through `escape`.

use model::{Span, Wall};
use wire::client::{Phase, Summary, Totals};

use super::amounts::{counted_as, grouped, percent};
use super::data::data;
use super::escape::{html, json};
use super::fault_text::FaultText;
use super::figures::Report;
use super::graph::graph;
use super::groups::By;
use super::rounds::rounds;
use super::tables::{colour, controllers, items, resources};
use crate::text;

const STYLE: &str = include_str!("report.css");
const SCRIPT: [&str; 5] = [
    include_str!("format.js"),
    include_str!("marks.js"),
    include_str!("timeline.js"),
    include_str!("table.js"),
    include_str!("report.js"),
];

/// Faults that the page shows; the cause is the first one.
const FAULTS_MAX: usize = 20;

/// The text of a page beside its numbers.
pub(crate) struct Subject<'a> {
    /// The process.
    pub(crate) summary: &'a Summary,
    /// Where it is kept.
    pub(crate) directory: &'a str,
    /// The section with the values of the process.
    pub(crate) values: &'a str,
    /// Why nothing runs at the moment, where that needs a reason.
    pub(crate) waiting_for: Option<&'a str>,
    /// When the page is made.
    pub(crate) now: Wall,
    /// Drawn for this page: only what carries it may run, so that no text of a process can.
    pub(crate) nonce: &'a str,
}

/// The whole document.
pub(crate) fn page(subject: &Subject<'_>, report: &Report) -> String {
    let name = html(&subject.summary.name);
    let nonce = html(subject.nonce);
    let data = json(&data(report));
    let script = SCRIPT.concat();
    let body = [
        head(subject, report),
        faults(report),
        timeline(report),
        graph(report),
        items(report),
        critical(report),
        activities(report),
        subject.values.to_owned(),
        rounds(report),
        resources(report),
        controllers(report),
        foot(subject),
    ]
    .concat();
    format!(
        "<!doctype html>\n\
<html lang=\"en\">\n\
<head>\n\
<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
<meta name=\"color-scheme\" content=\"light dark\">\n\
<meta name=\"referrer\" content=\"no-referrer\">\n\
<title>{name} {state}, {id}</title>\n\
<link rel=\"icon\" href=\"data:,\">\n\
<style nonce=\"{nonce}\">\n{STYLE}</style>\n\
</head>\n\
<body>\n{body}\
<script type=\"application/json\" id=\"data\">{data}</script>\n\
<script nonce=\"{nonce}\">\n(() => {{\n\"use strict\";\n{script}}})();\n</script>\n\
</body>\n\
</html>\n",
        state = report.state,
        id = subject.summary.process,
    )
}

fn head(subject: &Subject<'_>, report: &Report) -> String {
    let summary = subject.summary;
    let mut facts = vec![
        ("Process", format!("<code>{}</code>", summary.process)),
        ("Started", moment(summary.submitted)),
    ];
    if let Some(ended) = summary.ended {
        facts.push(("Ended", moment(ended)));
    }
    facts.push(("Time zone", html(&text::time_zone(summary.submitted))));
    if !summary.origin.is_empty() {
        facts.push(("File", code(&summary.origin)));
    }
    facts.push(("Kept in", code(subject.directory)));
    if let Some(base) = summary.base {
        facts.push(("Mends", format!("<code>{base}</code>")));
    }
    if let Some(waiting_for) = subject.waiting_for {
        facts.push(("Waits for", html(waiting_for)));
    }
    let facts: String = facts
        .iter()
        .map(|(label, value)| format!("<div><dt>{label}</dt><dd>{value}</dd></div>\n"))
        .collect();
    let tone = match summary.phase {
        Phase::Completed => "good",
        Phase::Faulting | Phase::Faulted => "bad",
        Phase::Cancelling | Phase::Cancelled => "odd",
        Phase::Running if report.state == Phase::Running.word() => "live",
        Phase::Running => "odd",
    };
    format!(
        "<header>\n<h1>{name} <span class=\"badge {tone}\">{state}</span></h1>\n\
<dl class=\"facts\">\n{facts}</dl>\n{tiles}</header>\n<main>\n",
        name = html(&summary.name),
        state = report.state,
        tiles = tiles(subject, report),
    )
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", html(text))
}

fn moment(at: Wall) -> String {
    format!(
        "<time datetime=\"{}\">{}</time>",
        text::moment_for_programs(at),
        text::moment(at)
    )
}

/// The figures that everybody looks for first.
fn tiles(subject: &Subject<'_>, report: &Report) -> String {
    let totals = &subject.summary.totals;
    let mut tiles = Vec::new();
    let planned = match report.plan.makespan {
        Some(planned) => format!("planned {planned}"),
        None => "no estimate: no work was known".to_owned(),
    };
    match report.took {
        Some(took) => tiles.push(("Took", took.to_string(), planned)),
        None => tiles.push(("So far", Span(report.until).to_string(), planned)),
    }
    let (n_done, rest) = counted(totals);
    tiles.push(("Activities", n_done, rest));
    if totals.reused > 0 || subject.summary.base.is_some() {
        let run = report.activities.iter().filter(|row| row.n_attempts > 0);
        tiles.push((
            "Reused",
            grouped(totals.reused.into()),
            format!(
                "recorded outcomes stand; {} ran here",
                grouped(run.count() as u64)
            ),
        ));
    }
    if !report.bars.is_empty() {
        let ran: u64 = report.bars.iter().map(|bar| bar.length()).sum();
        tiles.push((
            "CPU time",
            report.cpu.to_string(),
            format!("while commands ran for {}", Span(ran)),
        ));
        if let Some(speedup) = report.speedup {
            tiles.push((
                "Speedup",
                format!("{speedup:.1} ×"),
                "as fast as one after another".to_owned(),
            ));
        }
        if let Some(utilisation) = report.utilisation {
            let n_used = report
                .machines
                .iter()
                .filter(|machine| machine.usage.n_attempts > 0);
            tiles.push((
                "Utilisation",
                percent(utilisation),
                format!(
                    "of {} on {}",
                    counted_as(u64::from(report.n_slots), "slot", "slots"),
                    counted_as(n_used.count() as u64, "machine", "machines"),
                ),
            ));
        }
        tiles.push((
            "Longest chain",
            report.longest.to_string(),
            "of dependencies; more slots make it no shorter".to_owned(),
        ));
    }
    if report.n_failed > 0 {
        tiles.push((
            "Tries that failed",
            grouped(report.n_failed as u64),
            format!("of {}", grouped(report.bars.len() as u64)),
        ));
    }
    let tiles: String = tiles
        .iter()
        .map(|(label, value, more)| {
            format!("<div><dt>{label}</dt><dd>{value} <small>{more}</small></dd></div>\n")
        })
        .collect();
    format!("<dl class=\"tiles\">\n{tiles}</dl>\n")
}

/// The number of activities, and their states.
fn counted(totals: &Totals) -> (String, String) {
    let parts = [
        (totals.completed, "completed"),
        (totals.running, "running"),
        (totals.faulted, "faulted"),
        (totals.stopped, "stopped"),
        (totals.not_run(), "not run"),
        (totals.ready, "ready"),
        (totals.waiting, "waiting"),
    ];
    let all = totals.all();
    if totals.completed == all {
        return (grouped(all.into()), "all completed".to_owned());
    }
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", grouped(u64::from(*n))))
        .collect();
    (grouped(all.into()), parts.join(", "))
}

fn faults(report: &Report) -> String {
    if report.faults.is_empty() {
        return String::new();
    }
    let shown: String = report.faults.iter().take(FAULTS_MAX).map(fault).collect();
    let more = report.faults.len().saturating_sub(FAULTS_MAX);
    let more = match more {
        0 => String::new(),
        more => format!(
            "<p>And {}, which xav status shows.</p>\n",
            counted_as(more as u64, "more fault", "more faults")
        ),
    };
    format!(
        "<section aria-labelledby=\"faults\">\n<h2 id=\"faults\">What went wrong</h2>\n{shown}{more}</section>\n"
    )
}

fn fault(fault: &FaultText) -> String {
    let title = match &fault.activity {
        Some(activity) => format!("<b>{}</b>: {}", html(activity), html(&fault.message)),
        None => html(&fault.message),
    };
    let facts: String = fault
        .facts
        .iter()
        .map(|(label, value)| format!("<div><dt>{label}</dt><dd>{}</dd></div>\n", code(value)))
        .collect();
    let stderr = if fault.stderr.trim().is_empty() {
        String::new()
    } else {
        format!(
            "<p class=\"label\">The end of what it wrote to stderr</p>\n\
<pre tabindex=\"0\">{}</pre>\n",
            html(&fault.stderr)
        )
    };
    format!(
        "<article class=\"fault\">\n<h3>{title} <span class=\"kind\">{}</span></h3>\n\
<dl class=\"facts\">\n{facts}</dl>\n{stderr}</article>\n",
        html(&fault.name)
    )
}

fn timeline(report: &Report) -> String {
    if report.bars.is_empty() && report.plan.bars.is_empty() {
        return "<section>\n<h2>Timeline</h2>\n<p>Nothing is planned yet and nothing has run.</p>\n\
</section>\n"
            .to_owned();
    }
    let legend: String = report
        .groups
        .labels
        .iter()
        .enumerate()
        .map(|(index, label)| {
            format!(
                "<li><button type=\"button\" data-group=\"{index}\" aria-pressed=\"false\">\
<span class=\"swatch {}\"></span>{} <small>{}</small></button></li>\n",
                colour(report, index),
                html(label),
                grouped(report.shares[index].n_activities as u64)
            )
        })
        .collect();
    let by = match report.groups.by {
        By::Controller => "Colours are controllers",
        By::Name => "Colours are activities whose names differ in a number only",
    };
    let plan = if report.plan.bars.is_empty() {
        String::new()
    } else {
        figure(
            "plan",
            "Planned",
            &plan_note(report),
            "Where and when the plan wanted each activity",
        )
    };
    let run = if report.bars.is_empty() {
        String::new()
    } else {
        [
            figure(
                "run",
                "As it ran",
                "The strip on top is the critical path; outlined bars lie on it.",
                "Where and when each attempt really ran",
            ),
            match report.folded.items.is_empty() {
                true => String::new(),
                false => figure(
                    "items",
                    "Items",
                    "A lane for each activity that runs for many items: the slots that they hold.",
                    "How many slots the items of each activity held over time",
                ),
            },
            figure(
                "busy",
                "Slots in use",
                "",
                "How many slots were in use over time",
            ),
        ]
        .concat()
    };
    format!(
        "<section aria-labelledby=\"timeline\">\n<h2 id=\"timeline\">Timeline</h2>\n\
<noscript><p>The charts and the long tables are drawn by a script, which is switched off here.</p></noscript>\n\
<p class=\"label\">{by}; press one to see it alone.</p>\n\
<ul class=\"legend\" aria-label=\"Colours\">\n{legend}</ul>\n\
<div class=\"tools\" role=\"toolbar\" aria-label=\"Timeline\">\n\
<button type=\"button\" data-zoom=\"in\">Zoom in</button>\n\
<button type=\"button\" data-zoom=\"out\">Zoom out</button>\n\
<button type=\"button\" data-zoom=\"all\">All of it</button>\n\
<button type=\"button\" data-critical aria-pressed=\"false\">Critical path only</button>\n\
<span class=\"label\" id=\"range\" aria-live=\"polite\"></span>\n</div>\n\
{plan}{run}\
<p class=\"label hint\" id=\"keys\">Drag to move, Ctrl and wheel or two fingers to zoom, press a bar for its details. \
Keys: arrows move, + and - zoom, 0 shows all, , and . go from bar to bar.</p>\n\
<div id=\"details\" role=\"group\" aria-live=\"polite\" aria-label=\"Details of an activity\" hidden></div>\n\
<div id=\"tip\" aria-hidden=\"true\" hidden></div>\n\
</section>\n"
    )
}

fn figure(id: &str, title: &str, note: &str, label: &str) -> String {
    format!(
        "<figure>\n<figcaption><b>{title}</b> <span class=\"label\">{}</span></figcaption>\n\
<canvas id=\"{id}\" tabindex=\"0\" role=\"application\" aria-roledescription=\"chart\" \
aria-label=\"{label}; the table below has the same as text\" \
aria-describedby=\"keys\"></canvas>\n</figure>\n",
        html(note)
    )
}

fn plan_note(report: &Report) -> String {
    let plan = &report.plan;
    let mut notes = Vec::new();
    if plan.is_order_only {
        notes.push(
            "No work was known, so only place and order mean something: \
it is drawn as long as the run."
                .to_owned(),
        );
    }
    if plan.generation > 1 {
        notes.push(format!(
            "This is plan {}. What had ended or was running when it was made stands as it was planned before.",
            plan.generation
        ));
    }
    notes.join(" ")
}

fn critical(report: &Report) -> String {
    if report.chain.is_empty() {
        return String::new();
    }
    let (ran, waited) = report.critical();
    format!(
        "<section aria-labelledby=\"critical\">\n<h2 id=\"critical\">Critical path</h2>\n\
<p>What ended last, and before it each time what it had to wait for last: {}, \
in which commands ran for {ran}, with {waited} between them.</p>\n\
<div id=\"chain\"></div>\n</section>\n",
        counted_as(report.chain.len() as u64, "attempt", "attempts")
    )
}

fn activities(report: &Report) -> String {
    format!(
        "<section aria-labelledby=\"activities\">\n<h2 id=\"activities\">Activities</h2>\n\
<form class=\"tools\" id=\"filters\">\n\
<label>Find <input type=\"search\" name=\"words\" autocomplete=\"off\" spellcheck=\"false\"></label>\n\
<label>State <select name=\"state\"><option value=\"\">all</option></select></label>\n\
{of_items}{of_step}<span class=\"label\" id=\"found\" aria-live=\"polite\">{all}</span>\n</form>\n\
<div id=\"table\"></div>\n</section>\n",
        all = counted_as(report.activities.len() as u64, "activity", "activities"),
        of_items = match report.folded.items.is_empty() {
            true => "",
            false => {
                "<label>Items of <select name=\"items\"><option value=\"\">all</option></select></label>\n"
            }
        },
        of_step = match report.graph.is_shown() {
            true => {
                "<label>Step <select name=\"step\"><option value=\"\">all</option></select></label>\n"
            }
            false => "",
        },
    )
}

fn foot(subject: &Subject<'_>) -> String {
    format!(
        "</main>\n<footer><p>Made by xav {} on {}. Times in charts count from the submission.</p></footer>\n",
        env!("CARGO_PKG_VERSION"),
        moment(subject.now)
    )
}

#[cfg(test)]
mod tests;
