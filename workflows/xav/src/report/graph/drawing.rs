//! The graph as a picture, and as a table for whoever does not see it.

use std::fmt::Write;

use super::layout::{self, BACK, Layout, Line, TALL, WIDE};
use super::{Fold, Graph, Step, members};
use crate::report::amounts::{counted_as, grouped};
use crate::report::controllers::Counts;
use crate::report::escape::html;
use crate::report::figures::Report;
use crate::report::tables::{colour, share_rects, table};

/// Characters of a name that a step has room for.
const NAME_CHARS: usize = 20;

/// Length of the head of a line, and half its width.
const HEAD: (usize, usize) = (7, 4);

/// The section with the graph; nothing where it would say nothing.
pub(crate) fn graph(report: &Report) -> String {
    let graph = &report.graph;
    if !graph.is_shown() {
        return String::new();
    }
    let mut notes = vec![match graph.fold {
        Fold::Activity => "A step is an activity with all its items.",
        Fold::Name => "A step is all activities whose names differ in a number only.",
        Fold::Controller => "A step is a controller with all activities below it.",
    }];
    let layout = layout::layout(&graph.steps);
    if layout.lines.iter().any(|line| line.by.is_none()) {
        notes.push("Dashed lines lead to the next round.");
    }
    if graph.is_reduced {
        notes.push("Lines that follow from others are left out.");
    }
    notes.push("Press one to see its activities below.");
    let n_steps = counted_as(graph.steps.len() as u64, "step", "steps");
    format!(
        "<section aria-labelledby=\"graph\">\n<h2 id=\"graph\">Graph</h2>\n<p class=\"label\">{}</p>\n\
<div class=\"scroll graph\" tabindex=\"0\" role=\"group\" aria-label=\"Picture of the graph\">\n{}</div>\n\
<details>\n<summary>The {n_steps} as a list</summary>\n{}</details>\n</section>\n",
        notes.join(" "),
        picture(report, graph, &layout),
        list(report, graph),
    )
}

fn picture(report: &Report, graph: &Graph, layout: &Layout) -> String {
    let Layout { wide, tall, .. } = layout;
    let mut svg = format!(
        "<svg width=\"{wide}\" height=\"{tall}\" viewBox=\"0 0 {wide} {tall}\" role=\"img\" \
aria-label=\"Steps and what they wait for; the list below has the same as text\">\n"
    );
    for line in &layout.lines {
        draw_line(&mut svg, layout, line);
    }
    for (number, (one, &corner)) in graph.steps.iter().zip(&layout.corners).enumerate() {
        draw_step(&mut svg, (number, one), corner, &colour(report, one.group));
    }
    svg.push_str("</svg>\n");
    svg
}

/// A line from below one step to above the other, or back beside both.
fn draw_line(svg: &mut String, layout: &Layout, line: &Line) {
    let (from, to) = (layout.corners[line.from], layout.corners[line.to]);
    let (long, half) = HEAD;
    let breadth = 2 * half;
    let Some(passed) = &line.by else {
        let (x, y) = (from.0 + WIDE, from.1 + TALL / 2);
        let (end_x, end_y) = (to.0 + WIDE, to.1 + TALL / 2);
        let far = x.max(end_x) + BACK - 8;
        let tail = end_x + long;
        return write_to(
            svg,
            format_args!(
                "<path class=\"line back\" d=\"M{x} {y}C{far} {y} {far} {end_y} {tail} {end_y}\"/>\
<path class=\"head\" d=\"M{end_x} {end_y}l{long} -{half}v{breadth}z\"/>\n"
            ),
        );
    };
    let mut at = (from.0 + WIDE / 2, from.1 + TALL);
    let mut path = format!("M{} {}", at.0, at.1);
    for &(x, y) in passed {
        curve(&mut path, at, (x, y));
        write_to(&mut path, format_args!("V{}", y + TALL));
        at = (x, y + TALL);
    }
    let (x, y) = (to.0 + WIDE / 2, to.1);
    curve(&mut path, at, (x, y - long));
    write_to(
        svg,
        format_args!(
            "<path class=\"line\" d=\"{path}\"/><path class=\"head\" d=\"M{x} {y}l-{half} -{long}h{breadth}z\"/>\n"
        ),
    );
}

fn curve(path: &mut String, from: (usize, usize), to: (usize, usize)) {
    let middle = usize::midpoint(from.1, to.1);
    write_to(
        path,
        format_args!("C{} {middle} {} {middle} {} {}", from.0, to.0, to.0, to.1),
    );
}

fn draw_step(
    svg: &mut String,
    (number, step): (usize, &Step),
    (x, y): (usize, usize),
    colour: &str,
) {
    let state = state(&step.counts);
    let again = match step.before >> number & 1 {
        1 => ", one after another",
        _ => "",
    };
    let (name, label) = (html(&step.label), html(&shortened(&step.label)));
    write_to(
        svg,
        format_args!(
            "<g class=\"step\" data-step=\"{number}\"><title>{name}: {state}{again}</title>\
<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{WIDE}\" height=\"{TALL}\" rx=\"6\"/>\
<rect class=\"mark {colour}\" x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" rx=\"2\"/>\
<text x=\"{}\" y=\"{}\">{label}</text><text class=\"small\" x=\"{}\" y=\"{}\">{state}</text>\
<svg class=\"share\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"4\" viewBox=\"0 0 100 8\" \
preserveAspectRatio=\"none\">{}</svg></g>\n",
            x + 10,
            y + 9,
            x + 26,
            y + 18,
            x + 10,
            y + 34,
            x + 10,
            y + TALL - 9,
            WIDE - 20,
            share_rects(step.counts),
        ),
    );
}

/// Where the activities of a step are, in the words that fit.
fn state(counts: &Counts) -> String {
    let all = grouped(counts.all as u64);
    let part = |n: usize, word: &str| format!("{} of {all} {word}", grouped(n as u64));
    match counts {
        Counts { faulted: 1.., .. } => part(counts.faulted, "faulted"),
        Counts { running: 1.., .. } => part(counts.running, "running"),
        _ if counts.completed == counts.all => format!("{all} completed"),
        _ if counts.skipped == counts.all => format!("{all} not run"),
        _ => part(counts.completed, "completed"),
    }
}

/// A name that fits its step: what differs stands at the end more often than at the beginning.
fn shortened(name: &str) -> String {
    let n_chars = name.chars().count();
    if n_chars <= NAME_CHARS {
        return name.to_owned();
    }
    let n_end = NAME_CHARS / 3;
    let begin: String = name.chars().take(NAME_CHARS - 1 - n_end).collect();
    let end: String = name.chars().skip(n_chars - n_end).collect();
    format!("{begin}…{end}")
}

/// The steps with what they wait for.
fn list(report: &Report, graph: &Graph) -> String {
    let rows: Vec<Vec<String>> = (graph.steps.iter().enumerate())
        .map(|(number, step)| {
            let before = members(step.before).map(|one| match one == number {
                true => "itself".to_owned(),
                false => html(&graph.steps[one].label),
            });
            let before: Vec<String> = before.collect();
            vec![
                format!(
                    "<span class=\"swatch {}\"></span>\
<button type=\"button\" data-step=\"{number}\">{}</button>",
                    colour(report, step.group),
                    html(&step.label)
                ),
                grouped(step.counts.all as u64),
                state(&step.counts),
                match before.is_empty() {
                    true => "nothing".to_owned(),
                    false => before.join(", "),
                },
            ]
        })
        .collect();
    table(
        "Steps and what they wait for",
        &["Step", "Activities", "State", "Waits for"],
        &rows,
    )
}

fn write_to(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what)
        .expect("a text takes what is written to it");
}

#[cfg(test)]
mod tests;
