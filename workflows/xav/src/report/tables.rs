//! The tables that need no script: what was used of machines and by activities, and the controllers.

use model::{Bytes, Span};

use super::amounts::{counted_as, grouped, percent};
use super::controllers::Counts;
use super::escape::html;
use super::figures::Report;
use super::groups::By;
use crate::text;

/// The table of use.
pub(crate) fn resources(report: &Report) -> String {
    if report.bars.is_empty() {
        return String::new();
    }
    let machines: Vec<Vec<String>> = report
        .machines
        .iter()
        .map(|machine| {
            let used = &machine.usage;
            vec![
                html(&machine.name),
                machine.n_slots.to_string(),
                grouped(used.n_attempts as u64),
                text::span(used.busy),
                text::span(used.held),
                percent(used.utilisation),
                text::span(used.cpu),
                text::bytes(used.peak_memory),
            ]
        })
        .collect();
    let heads = [
        "Machine",
        "Slots",
        "Attempts",
        "Busy",
        "Slot time",
        "Used",
        "CPU",
        "Peak memory",
    ];
    let machines = table("Machines", &heads, &machines);
    let all: u64 = report.shares.iter().map(|share| share.busy.0).sum();
    let groups: Vec<Vec<String>> = report
        .shares
        .iter()
        .zip(&report.groups.labels)
        .enumerate()
        .map(|(index, (share, label))| {
            vec![
                format!(
                    "<span class=\"swatch {}\"></span>{}",
                    colour(report, index),
                    html(label)
                ),
                grouped(share.n_activities as u64),
                text::span(share.busy),
                percent(share.busy.0 as f64 / all.max(1) as f64),
                text::span(share.cpu),
                text::span(share.critical),
            ]
        })
        .collect();
    let (caption, first) = match report.groups.by {
        By::Controller => ("By controller", "Controller"),
        By::Name => ("By name", "Activities named"),
    };
    let heads = [
        first,
        "Activities",
        "Ran for",
        "Of all",
        "CPU",
        "On the critical path",
    ];
    let groups = table(caption, &heads, &groups);
    format!(
        "<section aria-labelledby=\"resources\">\n<h2 id=\"resources\">Resources used</h2>\n\
{machines}{groups}</section>\n"
    )
}

/// The activities that run for many items, a row for all items together.
pub(crate) fn items(report: &Report) -> String {
    if report.folded.items.is_empty() {
        return String::new();
    }
    let number = |n: usize| grouped(n as u64);
    let rows: Vec<Vec<String>> = (report.folded.items.iter().enumerate())
        .map(|(place, one)| {
            let measured = |span: Span| match one.n_ended {
                0 => String::new(),
                _ => text::span(span),
            };
            let counts = one.counts;
            let n_open = counts.all - counts.completed - counts.faulted - counts.skipped;
            let failed = match counts.faulted {
                0 => "0".to_owned(),
                n => format!("<span class=\"word-faulted\">{}</span>", number(n)),
            };
            vec![
                format!(
                    "<span class=\"swatch {}\"></span>\
<button type=\"button\" data-items=\"{place}\">{}</button>",
                    colour(report, one.group),
                    html(&one.name)
                ),
                number(counts.all),
                number(counts.completed),
                failed,
                number(counts.running),
                number(n_open - counts.running),
                number(counts.skipped),
                measured(one.shortest),
                one.mean().map(text::span).unwrap_or_default(),
                measured(one.longest),
                measured(one.cpu),
                measured_memory(one.peak_memory),
            ]
        })
        .collect();
    let heads = [
        "Activity",
        "Items",
        "Completed",
        "Faulted",
        "Running",
        "Waiting",
        "Not run",
        "Shortest",
        "Mean",
        "Longest",
        "CPU",
        "Peak memory",
    ];
    format!(
        "<section aria-labelledby=\"items-of\">\n<h2 id=\"items-of\">Items</h2>\n{}</section>\n",
        table(
            "Activities that run for many items; press one to see its items below",
            &heads,
            &rows
        )
    )
}

fn measured_memory(bytes: Bytes) -> String {
    match bytes {
        Bytes::ZERO => String::new(),
        bytes => text::bytes(bytes),
    }
}

/// A table whose first column names its rows; the cells are HTML.
pub(super) fn table(caption: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads: String = heads
        .iter()
        .map(|head| format!("<th scope=\"col\">{head}</th>"))
        .collect();
    let rows: String = rows
        .iter()
        .map(|row| {
            let cells: String = row
                .iter()
                .enumerate()
                .map(|(index, cell)| match index {
                    0 => format!("<th scope=\"row\">{cell}</th>"),
                    _ => format!("<td>{cell}</td>"),
                })
                .collect();
            format!("<tr>{cells}</tr>\n")
        })
        .collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\">\n\
<table>\n<caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n\
<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

/// The tree, and how far each controller is.
pub(crate) fn controllers(report: &Report) -> String {
    let tree = &report.controllers;
    let rows: String = tree
        .shown
        .iter()
        .map(|one| {
            let kind = if one.label == one.keyword {
                String::new()
            } else {
                format!(" <small>{}</small>", one.keyword)
            };
            format!(
                "<tr><th scope=\"row\" class=\"d{}\">{}{kind}</th><td>{} of {}</td><td>{}</td></tr>\n",
                one.depth.min(DEPTH_MAX),
                html(&one.label),
                grouped(one.counts.completed as u64),
                grouped(one.counts.all as u64),
                share_bar(one.counts),
            )
        })
        .collect();
    let hidden = match tree.n_hidden {
        0 => String::new(),
        n => format!(
            "<p class=\"label\">And {} further down.</p>\n",
            counted_as(n as u64, "more controller", "more controllers")
        ),
    };
    format!(
        "<section aria-labelledby=\"controllers\">\n<h2 id=\"controllers\">Controllers</h2>\n\
<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"Table of controllers\">\n<table class=\"tree\">\n\
<thead><tr><th scope=\"col\">Controller</th><th scope=\"col\">Completed</th>\
<th scope=\"col\">Progress</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n{hidden}</section>\n"
    )
}

/// Indents that the style knows.
const DEPTH_MAX: usize = 12;

/// Where the activities of a controller are, as a bar: the numbers stand beside it.
fn share_bar(counts: Counts) -> String {
    let mut said: Vec<String> = parts(counts)
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(word, n)| match *word {
            "skipped" => format!("{n} not run"),
            word => format!("{n} {word}"),
        })
        .collect();
    if said.is_empty() {
        said.push("nothing has ended".to_owned());
    }
    format!(
        "<svg class=\"share\" viewBox=\"0 0 100 8\" preserveAspectRatio=\"none\" role=\"img\" \
aria-label=\"{}\">{}</svg>",
        said.join(", "),
        share_rects(counts)
    )
}

/// Activities by state, in the order in which a bar has them.
fn parts(counts: Counts) -> [(&'static str, usize); 4] {
    [
        ("completed", counts.completed),
        ("faulted", counts.faulted),
        ("running", counts.running),
        ("skipped", counts.skipped),
    ]
}

/// The parts of such a bar, 100 wide and 8 high.
pub(super) fn share_rects(counts: Counts) -> String {
    let mut at = 0.0;
    let mut rects = "<rect class=\"none\" width=\"100\" height=\"8\"/>".to_owned();
    for (class, n) in parts(counts) {
        let width = 100.0 * n as f64 / counts.all.max(1) as f64;
        if n > 0 {
            rects.push_str(&format!(
                "<rect class=\"{class}\" x=\"{at:.2}\" width=\"{width:.2}\" height=\"8\"/>"
            ));
        }
        at += width;
    }
    rects
}

/// The class with the colour of a group.
pub(crate) fn colour(report: &Report, group: usize) -> String {
    let is_rest = report.groups.has_others && group + 1 == report.groups.labels.len();
    if is_rest {
        "rest".to_owned()
    } else {
        format!("g{group}")
    }
}
