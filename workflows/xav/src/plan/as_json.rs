//! A plan for programs. Times are seconds from the plan's beginning.

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

/// Everything that a plan says.
pub(crate) fn plan(subject: &Subject, made: &PlanResult, critical: &[u32]) -> Json {
    let problem = &subject.problem;
    let hosts = problem.hosts();
    let machines: Vec<Json> = hosts
        .iter()
        .map(|host| {
            json!({
                "name": host.name,
                "group": subject.group(host.group),
                "slots": host.slots,
                "power": host.power,
            })
        })
        .collect();
    let activities: Vec<Json> = made
        .in_order(subject)
        .into_iter()
        .map(|task| {
            let entry = &made.schedule.entries[task as usize];
            json!({
                "name": subject.name(task),
                "machine": hosts[entry.host as usize].name,
                "slot": entry.slot,
                "cores": problem.dag().cores(task),
                "start": entry.start,
                "finish": entry.finish,
            })
        })
        .collect();
    let critical: Vec<&str> = critical
        .iter()
        .map(|&task| subject.name(task))
        .filter(|name| !name.is_empty())
        .collect();
    let controllers: Vec<Json> = subject
        .tree
        .iter()
        .flat_map(|controllers| controllers.names.iter().zip(made.controllers()))
        .map(|(name, &host)| json!({ "name": name, "machine": hosts[host as usize].name }))
        .collect();
    let estimates: Vec<Json> = made
        .estimates
        .iter()
        .map(|one| json!({ "scheduler": one.scheduler, "makespan": one.makespan }))
        .collect();
    let figures = &made.figures;
    json!({
        "name": subject.title,
        "mode": subject.mode.word(),
        "scheduler": made.asked,
        "by": made.by,
        "estimates": estimates,
        "seconds": made.seconds,
        "makespan": figures.makespan,
        "bound": figures.bound,
        "slr": figures.slr,
        "speedup": figures.speedup,
        "efficiency": figures.efficiency,
        "cost": cost(subject, made),
        "deadline": made.reached.map(|reached| json!({
            "makespan_max": reached.makespan_max,
            "least": reached.least.word(),
            "machines_min": reached.machines_min,
            "plans": reached.n_plans,
        })),
        "critical_path": critical,
        "machines": machines,
        "activities": activities,
        "controllers": controllers,
    })
}
