//! The run as a trace in the Trace Event format, which Perfetto, Speedscope and `chrome://tracing` read: a process for
//! each machine, a thread for each of its slots, a complete event for each attempt.
//!
//! Source: "Trace Event Format", Google, events of the types `M` (metadata) and `X` (complete). Times are microseconds
//! since the submission.

use serde_json::{Value, json};

use super::figures::{Bar, Report};

/// The trace of a report, an event a line.
pub(crate) fn trace(report: &Report, name: &str, process: &str, submitted: &str) -> String {
    let machines = report.machines.iter().enumerate();
    let named = machines.flat_map(|(machine, figures)| {
        let whole = named("process_name", machine, None, &figures.name);
        // Without a sort index, a reader orders machines by their use.
        let sorted = json!({
            "ph": "M", "name": "process_sort_index", "pid": pid(machine),
            "args": { "sort_index": machine },
        });
        let slots = 0..figures.n_ran;
        let slots = slots
            .map(move |slot| named("thread_name", machine, Some(slot), &format!("slot {slot}")));
        [whole, sorted].into_iter().chain(slots)
    });
    let attempts = report.bars.iter().map(|bar| attempt(report, bar));
    let head = json!({ "process": process, "name": name, "submitted": submitted });
    let mut text =
        format!("{{\"displayTimeUnit\": \"ms\", \"otherData\": {head}, \"traceEvents\": [");
    for (number, event) in named.chain(attempts).enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        text.push_str(&event.to_string());
    }
    text.push_str("\n]}\n");
    text
}

/// The name of a machine or of one of its slots.
fn named(kind: &str, machine: usize, slot: Option<u32>, name: &str) -> Value {
    let mut event = json!({
        "ph": "M", "name": kind, "pid": pid(machine), "args": { "name": name },
    });
    if let Some(slot) = slot {
        event["tid"] = json!(tid(slot));
    }
    event
}

/// An attempt, on the first of the slots that it held.
fn attempt(report: &Report, bar: &Bar) -> Value {
    let row = &report.activities[bar.activity];
    json!({
        "ph": "X",
        "name": row.name,
        "cat": bar.state,
        "pid": pid(bar.machine),
        "tid": tid(bar.slots.first().copied().unwrap_or_default()),
        "ts": bar.start,
        "dur": bar.length(),
        "args": {
            "controller": report.controllers.paths[row.path],
            "attempt": bar.number,
            "state": bar.state,
            "slots": bar.slots,
            "cpu_seconds": bar.cpu.seconds(),
            "peak_memory_bytes": bar.peak_memory.0,
            "exit_code": bar.exit_code,
            "command_pid": bar.pid,
        },
    })
}

/// Readers take 0 for the idle process and the idle thread of a system.
fn pid(machine: usize) -> usize {
    machine + 1
}

fn tid(slot: u32) -> u32 {
    slot + 1
}
