//! JSON for scripts. Times are seconds, moments RFC 3339 in UTC, sizes bytes, unknown values null. Fields are
//! only ever added. `docs/status.md` describes them for users.

use language::wfformat::Burn;
use model::{ArtifactKind, Definition, Fault, ResourceId, Span, Value, Wall};
use serde_json::{Map, Value as Json, json};
use wire::client::{
    ActivityStatus, AttemptStatus, ListedActivity, Rescheduled, Status, Summary, Totals, Turn,
};

use crate::location::Location;
use crate::text;

/// A value as JSON; files and directories as what is known of them.
pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        // JSON has no such numbers, and `null` would say that nothing is known.
        Value::Float(value) if !value.is_finite() => json!(value.to_string()),
        Value::Float(value) => json!(value),
        Value::Text(text) => json!(text),
        Value::List(items) => items.iter().map(self::value).collect(),
        Value::Map(items) => {
            let items = items
                .iter()
                .map(|(name, item)| (name.clone(), self::value(item)));
            Json::Object(items.collect())
        }
        Value::Artifact(artifact, name) => {
            let mut file = json!({
                "kind": match artifact.kind {
                    ArtifactKind::File | ArtifactKind::Program => "file",
                    ArtifactKind::Directory => "directory",
                },
                "hash": artifact.hash.to_string(),
                "bytes": artifact.bytes.0,
            });
            if let Some(name) = name {
                file["name"] = json!(name);
            }
            file
        }
    }
}

/// Values by name.
pub(crate) fn values(named: &[(String, Value)]) -> Json {
    let items = named.iter().map(|(name, item)| (name.clone(), value(item)));
    Json::Object(items.collect::<Map<_, _>>())
}

/// Outputs by name; those that were written to files with their `path`.
pub(crate) fn outputs(named: &[(String, Value)], path_of: impl Fn(&str) -> Option<String>) -> Json {
    let items = named.iter().map(|(name, item)| {
        let mut item = value(item);
        if let (Json::Object(fields), Some(path)) = (&mut item, path_of(name)) {
            fields.insert("path".to_owned(), json!(path));
        }
        (name.clone(), item)
    });
    Json::Object(items.collect::<Map<_, _>>())
}

/// A process in short.
pub(crate) fn summary(summary: &Summary, location: &Location) -> Json {
    let mut document = json!({
        "process": summary.process.to_string(),
        "name": summary.name,
        "origin": summary.origin,
        "state": summary.phase.word(),
        "submitted": moment(summary.submitted),
        "ended": summary.ended.map(moment),
        "activities": totals(&summary.totals),
        "base": summary.base.map(|base| base.to_string()),
        "keep_seconds": summary.keep.map(Span::seconds),
        "owner": summary.owner,
        "held": summary.held,
    });
    location.add_to(&mut document);
    document
}

/// The counts of activities by state.
pub(crate) fn totals(totals: &Totals) -> Json {
    json!({
        "all": totals.all(),
        "waiting": totals.waiting,
        "ready": totals.ready,
        "running": totals.running,
        "completed": totals.completed,
        "faulted": totals.faulted,
        "skipped": totals.skipped,
        "stopped": totals.stopped,
        "reused": totals.reused,
    })
}

/// Everything about a process.
pub(crate) fn status(status: &Status, definition: &Definition, location: &Location) -> Json {
    let mut all = summary(&status.summary, location);
    let machine = machine_of(status);
    let activities: Json = status
        .activities
        .iter()
        .map(|one| activity(one, definition, &machine))
        .collect();
    let more = json!({
        "inputs": values(&status.inputs),
        "outputs": values(&status.outputs),
        "variables": values(&status.variables),
        "faults": faults(status, definition),
        "generation": status.generation.0,
        "planned_from": status.planned_from.map(moment),
        "planned_makespan_seconds": status.planned.map(Span::seconds),
        "makespan_seconds": makespan(&status.summary).map(Span::seconds),
        "cpu_seconds": cpu(status).seconds(),
        "waiting_for": status.waiting_for,
        "left_seconds": status.left.map(Span::seconds),
        "left_seconds_p90": status.left_p90.map(Span::seconds),
        "order": status.turn.as_ref().map(turn),
        "copies": status.copies,
        "on_fault": status.on_fault.name(),
        "rescheduled": status.rescheduled.iter().map(|one| rescheduled(one, &machine)).collect::<Json>(),
        "rescheduled_times": status.n_rescheduled,
        "activity_list": activities,
    });
    if let (Json::Object(all), Json::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

/// A plan that moved activities because of a slow machine.
pub(crate) fn rescheduled(one: &Rescheduled, machine: &impl Fn(ResourceId) -> String) -> Json {
    let mut document = reason(one, machine);
    document["round"] = json!(one.round);
    document["moved"] = json!(one.n_moved);
    let routes = one.routes.iter().map(|route| {
        json!({
            "from": machine(route.from),
            "to": machine(route.to),
            "activities": route.n,
        })
    });
    document["routes"] = routes.collect();
    document
}

/// The reason of such a plan, and its effect.
pub(crate) fn reason(one: &Rescheduled, machine: &impl Fn(ResourceId) -> String) -> Json {
    let part = |per_mille: u32| f64::from(per_mille) / 1e3;
    json!({
        "at": moment(one.at),
        "resource": machine(one.resource),
        "cause": if one.is_link { "link" } else { "power" },
        "power_part": (!one.is_link).then_some(part(one.per_mille)),
        "link_part": one.is_link.then_some(part(one.per_mille)),
        "expected_part": one.expected.map(part),
        "seconds_without": one.before.seconds(),
        "seconds": one.after.seconds(),
    })
}

/// The place of a process in the order of those that wait.
pub(crate) fn turn(turn: &Turn) -> Json {
    json!({
        "before": turn.n_before,
        "last": turn.last.map(|last| last.to_string()),
        "last_owner": turn.last_owner,
        "free_at": turn.free_at.map(moment),
    })
}

/// An activity of a page. The command of the definition, which tells the task of a recording, is not known.
pub(crate) fn listed(one: &ListedActivity, machine: &impl Fn(ResourceId) -> String) -> Json {
    let mut document = state_of(&one.status, machine);
    document["activity"] = json!(one.name);
    document["path"] = json!(one.path);
    document
}

fn activity(
    one: &ActivityStatus,
    definition: &Definition,
    machine: &impl Fn(ResourceId) -> String,
) -> Json {
    let node = one.activity.node();
    let recorded = definition
        .activity(one.activity)
        .and_then(|activity| Burn::of_command(&activity.command))
        .map(|burn| burn.name);
    let mut document = state_of(one, machine);
    document["activity"] = json!(definition.node(node).name);
    document["path"] = json!(definition.path(node));
    document["recorded"] = json!(recorded);
    document
}

/// The state of an activity, without its names.
fn state_of(one: &ActivityStatus, machine: &impl Fn(ResourceId) -> String) -> Json {
    let slot = one.planned.map(|planned| planned.slot);
    let attempts: Json = one
        .attempts
        .iter()
        .map(|attempt| self::attempt(attempt, slot, machine))
        .collect();
    let outputs: Map<String, Json> = one
        .outputs
        .iter()
        .map(|(name, artifact)| (name.clone(), value(&Value::from(*artifact))))
        .collect();
    json!({
        "state": one.phase.word(),
        "planned": one.planned.map(|planned| json!({
            "resource": machine(planned.resource),
            "slot": planned.slot,
            "start_seconds": planned.start.seconds(),
            "finish_seconds": planned.finish.seconds(),
        })),
        "attempts": attempts,
        "reused": one.reused.as_ref().map(|attempt| reused(attempt, machine)),
        "outputs": outputs,
        "copy": one.copy.map(machine),
    })
}

/// The attempt whose outcome stands for an activity that was not run.
fn reused(attempt: &AttemptStatus, machine: &impl Fn(ResourceId) -> String) -> Json {
    let mut document = self::attempt(attempt, None, machine);
    document["process"] = json!(attempt.attempt.process.to_string());
    document
}

/// One attempt; `slot` is the planned one.
pub(crate) fn attempt(
    attempt: &AttemptStatus,
    slot: Option<u32>,
    machine: &impl Fn(ResourceId) -> String,
) -> Json {
    let has_ended = attempt.end.is_some();
    json!({
        "number": attempt.attempt.number,
        "state": attempt.end.as_deref().unwrap_or("running"),
        "resource": machine(attempt.resource),
        "slot": slot,
        "slots": attempt.slots,
        "pid": (attempt.pid != 0).then_some(attempt.pid),
        "start": attempt.started.map(moment),
        "end": attempt.started.filter(|_| has_ended).map(|start| moment(start + attempt.wall)),
        "wall_seconds": has_ended.then(|| attempt.wall.seconds()),
        "cpu_seconds": has_ended.then(|| attempt.cpu.seconds()),
        "peak_memory_bytes": has_ended.then_some(attempt.peak_memory.0),
        "exit_code": attempt.exit_code,
        "stdout_bytes": attempt.log.map(|log| log.stdout_bytes),
        "stderr_bytes": attempt.log.map(|log| log.stderr_bytes),
    })
}

/// The faults, the cause first.
pub(crate) fn faults(status: &Status, definition: &Definition) -> Json {
    let machine = machine_of(status);
    status
        .faults
        .iter()
        .map(|one| fault(one, definition, &machine))
        .collect()
}

fn fault(fault: &Fault, definition: &Definition, machine: &impl Fn(ResourceId) -> String) -> Json {
    let node = fault.activity.map(|activity| activity.node());
    json!({
        "fault": fault.name.to_string(),
        "message": fault.message,
        "activity": node.map(|node| definition.node(node).name.clone()),
        "path": node.map(|node| definition.path(node)),
        "attempt": (fault.attempt > 0).then_some(fault.attempt),
        "resource": fault.resource.map(machine),
        "exit_code": fault.exit_code,
        "directory": fault.directory,
        "command": fault.command,
        "stderr": fault.stderr_tail,
    })
}

/// The names of a process's machines.
pub(crate) fn machine_of(status: &Status) -> impl Fn(ResourceId) -> String {
    names_of(&status.machines)
}

/// The names of these machines.
pub(crate) fn names_of(machines: &[(ResourceId, String)]) -> impl Fn(ResourceId) -> String {
    |id| {
        let found = machines.iter().find(|(machine, _)| *machine == id);
        found.map_or_else(|| id.to_string(), |(_, name)| name.clone())
    }
}

/// The makespan of a process; `None` while it runs.
pub(crate) fn makespan(summary: &Summary) -> Option<Span> {
    summary.ended.map(|ended| ended.since(summary.submitted))
}

/// The CPU time of all attempts.
pub(crate) fn cpu(status: &Status) -> Span {
    let attempts = status
        .activities
        .iter()
        .flat_map(|activity| &activity.attempts);
    attempts.fold(Span::ZERO, |sum, attempt| sum + attempt.cpu)
}

fn moment(at: Wall) -> String {
    text::moment_for_programs(at)
}

#[test]
fn every_number_has_a_form() {
    let of = |number| value(&Value::Float(number));
    assert_eq!(of(0.5), json!(0.5));
    let others = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(of);
    assert_eq!(others, [json!("inf"), json!("-inf"), json!("NaN")]);
}
