//! The numbers as the page's script reads them: columns of plain arrays, so that 10,000 activities
//! are a megabyte. A list of items has one lane and one row for each activity of their body.
//!
//! Times are microseconds since the submission; -1 stands for what is not there.

use serde::Serialize;
use serde_json::{Value, json};

use super::figures::{Bar, Report, reason_code};
use super::groups::By;

/// All that the script draws.
pub(crate) fn data(report: &Report) -> Value {
    json!({
        "axis": report.axis,
        "until": report.until,
        "isLive": report.took.is_none(),
        "groups": report.groups.labels,
        "steps": report.graph.steps.iter().map(|step| &step.label).collect::<Vec<_>>(),
        "groupBy": match report.groups.by {
            By::Controller => "controller",
            By::Name => "name",
        },
        "hasOthers": report.groups.has_others,
        "paths": report.controllers.paths,
        "machines": machines(report),
        "items": items(report),
        "activities": activities(report),
        "bars": bars(report),
        "plan": plan(report),
        "chain": chain(report),
        "written": report.written.texts,
        "told": report.told.texts,
    })
}

fn machines(report: &Report) -> Value {
    report
        .machines
        .iter()
        .map(|machine| {
            let line = &machine.usage.line;
            json!({
                "name": machine.name,
                "planned": machine.n_planned,
                "ran": machine.n_ran,
                "slots": machine.n_slots,
                "times": line.iter().map(|(at, _)| *at).collect::<Vec<u64>>(),
                "held": line.iter().map(|(_, n)| rounded(*n)).collect::<Vec<Value>>(),
            })
        })
        .collect()
}

/// The folded activities: a lane for each that has one.
fn items(report: &Report) -> Value {
    let items = report.folded.items.iter();
    let one = items.map(|one| {
        json!({
            "name": one.name,
            "group": one.group,
            "times": one.line.iter().map(|(at, _)| *at).collect::<Vec<u64>>(),
            "held": one.line.iter().map(|(_, n)| rounded(*n)).collect::<Vec<Value>>(),
        })
    });
    one.collect()
}

fn activities(report: &Report) -> Value {
    let rows = &report.activities;
    let mut states = Vec::new();
    let state: Vec<usize> = rows
        .iter()
        .map(|row| place(&mut states, row.state))
        .collect();
    let reused: Vec<Value> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let reused = row.reused.as_ref()?;
            Some(json!([
                index,
                reused.of,
                reused.wall.0,
                reused.cpu.0,
                reused.peak_memory.0,
                reused.exit_code,
            ]))
        })
        .collect();
    json!({
        "states": states,
        "name": rows.iter().map(|row| row.name.as_str()).collect::<Vec<&str>>(),
        "path": column(rows.iter().map(|row| row.path)),
        "group": column(report.groups.of.iter()),
        "items": column(report.folded.of.iter().map(|place| or_none(*place))),
        "step": column(report.graph.of.iter().map(|place| or_none(*place))),
        "state": column(state.iter()),
        "written": column(report.written.of.iter().map(|place| or_none(*place))),
        "told": column(report.told.of.iter().map(|place| or_none(*place))),
        "plan": column(rows.iter().map(|row| or_none(row.planned))),
        "last": column(rows.iter().map(|row| or_none(row.last))),
        "tries": column(rows.iter().map(|row| row.n_attempts)),
        "reused": reused,
    })
}

fn bars(report: &Report) -> Value {
    let bars = &report.bars;
    let mut states = Vec::new();
    let state: Vec<usize> = bars
        .iter()
        .map(|bar| place(&mut states, &bar.state))
        .collect();
    // Most exit statuses are 0, so the others are enough.
    let exits: Vec<Value> = bars
        .iter()
        .enumerate()
        .filter(|(_, bar)| bar.exit_code != Some(0))
        .map(|(index, bar)| json!([index, bar.exit_code]))
        .collect();
    json!({
        "states": states,
        "activity": column(bars.iter().map(|bar| bar.activity)),
        "number": column(bars.iter().map(|bar| bar.number)),
        "machine": column(bars.iter().map(|bar| bar.machine)),
        "slots": column(bars.iter().map(|bar| slots(&bar.slots))),
        "start": column(bars.iter().map(|bar| bar.start)),
        "wall": column(bars.iter().map(|bar| bar.length())),
        "cpu": column(bars.iter().map(|bar| bar.cpu.0)),
        "memory": column(bars.iter().map(|bar| bar.peak_memory.0)),
        "pid": column(bars.iter().map(|bar| bar.pid)),
        "state": column(state.iter()),
        "isRunning": places(bars, |bar| bar.is_running),
        "hasFailed": places(bars, Bar::has_failed),
        "wasStopped": places(bars, Bar::was_stopped),
        "exits": exits,
    })
}

fn plan(report: &Report) -> Value {
    let bars = &report.plan.bars;
    json!({
        "isOrderOnly": report.plan.is_order_only,
        "activity": column(bars.iter().map(|bar| bar.activity)),
        "machine": column(bars.iter().map(|bar| bar.machine)),
        "slots": column(bars.iter().map(|bar| slots(&bar.slots))),
        "start": column(bars.iter().map(|bar| bar.start)),
        "wall": column(bars.iter().map(|bar| bar.end - bar.start)),
    })
}

fn chain(report: &Report) -> Value {
    let steps = &report.chain;
    let reasons: Vec<(u8, Option<usize>)> =
        steps.iter().map(|step| reason_code(step.reason)).collect();
    json!({
        "bar": steps.iter().map(|step| step.bar).collect::<Vec<usize>>(),
        "wait": steps.iter().map(|step| step.wait).collect::<Vec<u64>>(),
        "reason": reasons.iter().map(|(code, _)| *code).collect::<Vec<u8>>(),
        "of": reasons.iter().map(|(_, bar)| or_none(*bar)).collect::<Vec<i64>>(),
    })
}

/// A column; one in which all is the same is a value and how often it is there, since many are so.
fn column<T: Serialize>(values: impl Iterator<Item = T>) -> Value {
    let values: Vec<Value> = values.map(|value| json!(value)).collect();
    match values.split_first() {
        Some((first, rest)) if !rest.is_empty() && rest.iter().all(|value| value == first) => {
            json!({ "all": first, "n": values.len() })
        }
        Some(_) | None => Value::Array(values),
    }
}

/// One slot as a number, several as a list.
fn slots(slots: &[u32]) -> Value {
    match slots {
        [slot] => json!(slot),
        several => json!(several),
    }
}

fn places<T>(of: &[T], is_meant: impl Fn(&T) -> bool) -> Vec<usize> {
    let meant = of.iter().enumerate().filter(|(_, one)| is_meant(one));
    meant.map(|(index, _)| index).collect()
}

/// The place of a word in a list, which takes it where it is not there.
fn place(words: &mut Vec<String>, word: &str) -> usize {
    let known = words.iter().position(|one| one == word);
    known.unwrap_or_else(|| {
        words.push(word.to_owned());
        words.len() - 1
    })
}

fn or_none(place: Option<usize>) -> i64 {
    place.map_or(-1, |place| place as i64)
}

/// A mean with three digits; whole numbers without a point.
fn rounded(number: f64) -> Value {
    let rounded = (number * 1e3).round() / 1e3;
    if rounded.fract() == 0.0 {
        json!(rounded as i64)
    } else {
        json!(rounded)
    }
}
