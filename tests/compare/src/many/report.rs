//! The measurements of many processes as a table, each beside its bar.

use std::path::Path;
use std::thread;

use super::Options;
use super::growth::{Growth, Of};
use super::measure::Figures;
use super::mixed::{self, Mixed};
use crate::beside::Beside;
use crate::figures::{Figure, Table, file_system};

/// A measure: its name, the values of a build, digits, and the bar.
type Measure = (&'static str, fn(&Figures) -> Vec<f64>, usize, &'static str);

const MEASURES: [Measure; 18] = [
    (
        "eight processes of one sleep on eight machines: s beyond the sleep",
        |all| all.wide.clone(),
        2,
        "≤ 0.5",
    ),
    (
        "ten mixed processes on four slots: time of all, compared with the bound",
        |all| all.mixed.iter().map(Mixed::of_bound).collect(),
        3,
        "≤ 1.05",
    ),
    (
        "the latest of them, compared with first come, first served without backfill",
        |all| all.mixed.iter().map(Mixed::of_latest).collect(),
        3,
        "≤ 1.05",
    ),
    (
        "a sleep of 1 s beside a process that gives a machine back: s",
        |all| all.given_back.clone(),
        2,
        "≤ 2.5",
    ),
    (
        "a process manager is killed for good: s until others have run on its machines",
        |all| all.lost.iter().map(|one| one.killed).collect(),
        1,
        "≤ 75",
    ),
    (
        "its certificate is revoked: s until others have run there",
        |all| all.lost.iter().map(|one| one.revoked).collect(),
        1,
        "≤ 15",
    ),
    (
        "200 watchers of one process: those that failed",
        |all| all.watchers.iter().map(|one| one.failed).collect(),
        0,
        "0",
    ),
    (
        "process manager: CPU ms a second for each watcher",
        |all| all.watchers.iter().map(|one| one.cost * 1e3).collect(),
        3,
        "≤ 0.3",
    ),
    (
        "processes of one command: processes/s",
        |all| all.rate.iter().map(|one| one.rate).collect(),
        0,
        "≥ 200",
    ),
    (
        "submission, 99 of 100: ms",
        |all| all.rate.iter().map(|one| one.submission * 1e3).collect(),
        1,
        "≤ 50",
    ),
    (
        "process manager: CPU ms a process",
        |all| all.rate.iter().map(|one| one.manager * 1e3).collect(),
        2,
        "≤ 1.5",
    ),
    (
        "group manager: CPU ms a process",
        |all| all.rate.iter().map(|one| one.group * 1e3).collect(),
        2,
        "",
    ),
    (
        "process manager while many wait, compared with few",
        |all| all.waiting.iter().map(|one| one.many / one.few).collect(),
        2,
        "≤ 1.2",
    ),
    (
        "while many wait: processes/s",
        |all| all.waiting.iter().map(|one| one.rate).collect(),
        0,
        "≥ 200",
    ),
    (
        "while many wait: slowest list, s",
        |all| all.waiting.iter().map(|one| one.list).collect(),
        2,
        "≤ 0.3",
    ),
    (
        "restart while many wait: s to the first completion",
        |all| all.restart.iter().map(|one| one.first).collect(),
        2,
        "≤ 2",
    ),
    (
        "the same with a machine stopped for 5 s",
        |all| {
            all.restart
                .iter()
                .map(|one| one.first_beside_stopped)
                .collect()
        },
        2,
        "≤ 2",
    ),
    (
        "restart while many wait: slowest list, s",
        |all| all.restart.iter().map(|one| one.list).collect(),
        2,
        "≤ 1",
    ),
];

/// Tables in Markdown.
pub(super) fn text(options: &Options, dir: &Path, now: &Figures, before: &Figures) -> String {
    let mut text = format!(
        "\n{} cores, state on {}, {} processes of one command, {} waiting, median of {} runs (least to \
         greatest in brackets)\n\n",
        thread::available_parallelism().map_or(1, usize::from),
        file_system(dir),
        options.sizes.processes,
        options.sizes.waiting,
        options.place.runs,
    );
    let mut table = Table::new(["measure", "", "bar"]);
    let mut beside = Beside::new();
    for (name, of, digits, bar) in MEASURES {
        let values = of(now);
        if values.is_empty() {
            continue;
        }
        let earlier = of(before);
        if earlier.is_empty() {
            let figure = Figure::of(values.into_iter());
            table.row([name.to_owned(), figure.text(digits), bar.to_owned()]);
        } else {
            beside.row(name, [earlier, values], digits, bar);
        }
    }
    text.push_str(&match options.programs.beside {
        Some(_) => beside.text(),
        None => table.text(),
    });
    for (figures, name) in [(before, "before"), (now, "now")] {
        if !figures.mixed.is_empty() {
            let name = format!("ends after, s, {name}");
            text.push_str(&format!("\n{}", mixed::table(&figures.mixed, &name).text()));
        }
        if !figures.growth.is_empty() {
            text.push_str(&format!("\n{}", growth(figures, name).text()));
        }
    }
    text
}

fn growth(figures: &Figures, build: &str) -> Table<5> {
    let head = "CPU s of the process manager, by";
    let mut table = Table::new([head, build, "at sizes", "exponent", "bar"]);
    for of in Of::ALL {
        let runs: Vec<&Growth> = figures.growth.iter().filter(|one| one.of == of).collect();
        let exponents = Figure::of(runs.iter().map(|one| one.exponent()));
        let Some(last) = runs.last() else { continue };
        let words = |each: fn(&(usize, f64)) -> String| {
            let words: Vec<String> = last.costs.iter().map(each).collect();
            words.join(", ")
        };
        table.row([
            of.name().to_owned(),
            words(|&(_, cost)| format!("{cost:.2}")),
            words(|&(size, _)| size.to_string()),
            exponents.text(2),
            "≤ 1.05".to_owned(),
        ]);
    }
    table
}
