//! Schedules as pictures: machines from top to bottom, time from left to right.
//!
//! A [`Chart`] is made once and drawn for a terminal or as SVG. The caller gives the names and
//! colours of tasks; all else comes from the schedule.

mod critical;
mod svg;
mod terminal;

use std::collections::BTreeMap;

use model::Span;

use crate::problem::Problem;
use crate::schedule::Schedule;

pub use critical::critical_path;
pub use terminal::{Look, STYLES};

/// Colours that are told from each other; one more, grey, is for everything else.
pub const COLOURS_MAX: usize = 9;

/// The subject of a picture.
pub struct Drawn<'a> {
    /// The problem that was solved.
    pub problem: &'a Problem,
    /// Its schedule.
    pub schedule: &'a Schedule,
    /// The name of a task.
    pub name: &'a dyn Fn(u32) -> &'a str,
    /// The name of a group of machines, by its number in [`crate::Links`].
    pub group: &'a dyn Fn(u32) -> String,
    /// The colour of a task: a place in `legend`, or anything beyond it for grey.
    pub colour: &'a dyn Fn(u32) -> usize,
    /// The meaning of each colour, [`COLOURS_MAX`] at most.
    pub legend: &'a [String],
    /// Seconds that the data of an edge takes from one task to another: tail, head, edge.
    pub transfer: &'a dyn Fn(u32, u32, u32) -> f64,
}

/// A schedule ready to be drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Slots on which something runs, machine after machine.
    rows: Vec<Row>,
    /// In the order of their rows, then of their starts.
    bars: Vec<Bar>,
    transfers: Vec<Transfer>,
    legend: Vec<String>,
    /// Names of the groups that the rows are of, by number.
    groups: BTreeMap<u32, String>,
    seconds: f64,
    n_slots_idle: usize,
    critical: Vec<u32>,
}

/// One slot of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// The machine's place in the platform.
    host: u32,
    machine: String,
    slot: u32,
    /// True if the machine has more slots than this.
    has_others: bool,
    group: u32,
}

/// A task on one of the slots that it holds.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    row: usize,
    task: u32,
    start: f64,
    finish: f64,
    name: String,
    colour: usize,
    is_critical: bool,
    /// True if this is the first of the slots that its task holds.
    is_first: bool,
}

/// Data that goes from machine to machine.
#[derive(Clone, Debug, PartialEq)]
struct Transfer {
    from: usize,
    to: usize,
    start: f64,
    finish: f64,
    is_critical: bool,
}

impl Chart {
    /// Lays out a schedule. O(n log n + e).
    pub fn new(drawn: &Drawn<'_>) -> Chart {
        let Drawn {
            problem, schedule, ..
        } = *drawn;
        let critical = critical_path(problem, schedule, drawn.transfer);
        let mut is_critical = vec![false; schedule.entries.len()];
        for &task in &critical {
            is_critical[task as usize] = true;
        }
        let mut rows = Vec::new();
        let mut bars = Vec::new();
        // The first row of each task; none of gates and of what had started.
        let mut row_of = vec![None; schedule.entries.len()];
        let mut n_slots_idle = 0;
        let mut groups = BTreeMap::new();
        for (host, slots) in (0u32..).zip(&schedule.order) {
            let machine = &problem.hosts()[host as usize];
            for (slot, tasks) in (0u32..).zip(slots) {
                if tasks.is_empty() {
                    n_slots_idle += 1;
                    continue;
                }
                let row = rows.len();
                groups
                    .entry(machine.group)
                    .or_insert_with(|| plain(&(drawn.group)(machine.group)));
                rows.push(Row {
                    host,
                    machine: plain(&machine.name),
                    slot,
                    has_others: machine.slots > 1,
                    group: machine.group,
                });
                for &task in tasks {
                    let entry = &schedule.entries[task as usize];
                    let is_first = row_of[task as usize].is_none();
                    row_of[task as usize].get_or_insert(row);
                    bars.push(Bar {
                        row,
                        task,
                        start: entry.start,
                        finish: entry.finish,
                        name: plain((drawn.name)(task)),
                        colour: (drawn.colour)(task)
                            .min(drawn.legend.len())
                            .min(COLOURS_MAX),
                        is_critical: is_critical[task as usize],
                        is_first,
                    });
                }
            }
        }
        let mut chart = Chart {
            rows,
            bars,
            transfers: Vec::new(),
            legend: drawn
                .legend
                .iter()
                .take(COLOURS_MAX)
                .map(|name| plain(name))
                .collect(),
            groups,
            seconds: schedule.makespan(),
            n_slots_idle,
            critical,
        };
        chart.transfers = chart.moved(drawn, &row_of, &is_critical);
        chart
    }

    /// The tasks that decide when the schedule ends, from the first to the last.
    pub fn critical_path(&self) -> &[u32] {
        &self.critical
    }

    fn moved(
        &self,
        drawn: &Drawn<'_>,
        row_of: &[Option<usize>],
        is_critical: &[bool],
    ) -> Vec<Transfer> {
        let Drawn {
            problem, schedule, ..
        } = *drawn;
        let mut moved = Vec::new();
        for task in problem.dag().tasks() {
            for (pred, edge) in problem.dag().predecessors(task) {
                let (Some(from), Some(to)) = (row_of[pred as usize], row_of[task as usize]) else {
                    continue;
                };
                let seconds = (drawn.transfer)(pred, task, edge);
                if seconds <= 0.0 || self.rows[from].host == self.rows[to].host {
                    continue;
                }
                let start = schedule.entries[pred as usize].finish;
                moved.push(Transfer {
                    from,
                    to,
                    start,
                    finish: start + seconds,
                    is_critical: is_critical[pred as usize] && is_critical[task as usize],
                });
            }
        }
        moved
    }
}

/// A time for people.
fn time(seconds: f64) -> String {
    if seconds <= 0.0 {
        return "0".to_owned();
    }
    Span::from_seconds_up(seconds).to_string()
}

/// A name without control characters.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

#[cfg(test)]
mod tests;
