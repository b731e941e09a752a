//! A plan for programs. Times are seconds from the plan's beginning.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::result::PlanResult;
use super::subject::Subject;

/// The cost of a plan; what the platform does not tell is null.
pub(crate) fn cost(subject: &Subject, made: &PlanResult) -> Json {
    let cost = &made.cost;
    json!({
        "machines": cost.machines,
        "slots": cost.slots,
        "slot_hours": cost.slot_hours,
        "money": subject.has_prices.then_some(cost.money),
        "energy_kwh": subject.has_watts.then_some(cost.energy),
    })
}

/// Everything that a plan says, its keys in the order of the alphabet as in all output. Activities may be many,
/// so that their names are not copied.
#[derive(Serialize)]
pub(crate) struct Plan<'a> {
    activities: Vec<Activity<'a>>,
    bound: f64,
    by: &'a str,
    controllers: Vec<Json>,
    cost: Json,
    critical_path: Vec<&'a str>,
    deadline: Option<Json>,
    efficiency: f64,
    estimates: Vec<Json>,
    /// The makespan with as many bodies as in earlier runs, where the plan has fewer.
    expected_makespan: Option<f64>,
    machines: Vec<Json>,
    makespan: f64,
    mode: &'a str,
    name: &'a str,
    scheduler: &'a str,
    seconds: f64,
    slr: f64,
    speedup: f64,
}

#[derive(Serialize)]
struct Activity<'a> {
    cores: u32,
    finish: f64,
    machine: &'a str,
    name: &'a str,
    slot: u32,
    start: f64,
}

/// A plan for programs.
pub(crate) fn plan<'a>(subject: &'a Subject, made: &'a PlanResult, critical: &[u32]) -> Plan<'a> {
    let problem = &subject.problem;
    let hosts = problem.hosts();
    let machines = hosts.iter().zip(&subject.changes_power);
    let machines = machines.map(|(host, changes_power)| {
        json!({
            "name": host.name,
            "group": subject.group(host.group),
            "slots": host.slots,
            "power": host.power,
            "changes_power": changes_power,
        })
    });
    let activities = made.in_order(subject).into_iter().map(|task| {
        let entry = &made.schedule.entries[task as usize];
        Activity {
            name: subject.name(task),
            machine: &hosts[entry.host as usize].name,
            slot: entry.slot,
            cores: problem.dag().cores(task),
            start: entry.start,
            finish: entry.finish,
        }
    });
    let critical = critical.iter().map(|&task| subject.name(task));
    let controllers = subject
        .tree
        .iter()
        .flat_map(|controllers| controllers.names.iter().zip(made.controllers()))
        .map(|(name, &host)| json!({ "name": name, "machine": hosts[host as usize].name }));
    let estimates = made
        .estimates
        .iter()
        .map(|one| json!({ "scheduler": one.scheduler, "makespan": one.makespan }));
    let figures = &made.figures;
    Plan {
        name: &subject.title,
        mode: subject.mode.word(),
        scheduler: made.asked,
        by: made.by,
        estimates: estimates.collect(),
        expected_makespan: subject
            .expected
            .map(|factor| made.figures.makespan * factor),
        seconds: made.seconds,
        makespan: figures.makespan,
        bound: figures.bound,
        slr: figures.slr,
        speedup: figures.speedup,
        efficiency: figures.efficiency,
        cost: cost(subject, made),
        deadline: made.reached.map(|reached| {
            json!({
                "makespan_max": reached.makespan_max,
                "least": reached.least.word(),
                "machines_min": reached.machines_min,
                "plans": reached.n_plans,
            })
        }),
        critical_path: critical.filter(|name| !name.is_empty()).collect(),
        machines: machines.collect(),
        activities: activities.collect(),
        controllers: controllers.collect(),
    }
}
