//! The dynamic entries: executions by a policy under varying power, event by event.

use schedule::rounds::{Messages, Policy, Sizing};
use schedule::{Placing, Problem};
use serde_json::{Value, json};

use experiments::ideal::{Event, Execution, Powers, Steps, execute};

use super::case::Case;
use super::compare_time;

/// No execution of a vector file takes that long, in its own unit of time.
const HORIZON: f64 = 1e6;

/// The differences; none for an entry of a policy, mode or kind of performance that is not known.
pub(super) fn compare(
    case: &Case,
    file: &Value,
    problem: &Problem,
    entry: &str,
    expected: &Value,
) -> Result<Option<Vec<String>>, String> {
    let Some((run, mode)) = entry.split_once('/') else {
        return Ok(None);
    };
    let mut runs = file["runs"].as_array().into_iter().flatten();
    let Some(run) = runs.find(|value| value["name"].as_str() == Some(run)) else {
        return Ok(None);
    };
    let messages = match (mode, &case.controllers) {
        ("direct", _) => Messages::Direct,
        ("controllers", Some(controllers)) => {
            Messages::Controllers(controllers.tree(problem)?, Placing::Paper)
        }
        _ => return Ok(None),
    };
    let (Some(policy), Some(powers)) = (policy(run), powers(case, &file["performance"])) else {
        return Ok(None);
    };
    let execution = execute(problem, &policy, &powers, &messages, HORIZON);
    let execution = execution.map_err(|error| format!("{entry}: {error}"))?;
    let mut found = Vec::new();
    case.compare_execution(problem, &execution, expected, &mut found);
    Ok(Some(found))
}

fn policy(run: &Value) -> Option<Policy> {
    let policy = match run["policy"].as_str()? {
        "static" => return Some(Policy::fixed()),
        "rounds" => Policy::rounds(u32::try_from(run["rounds"].as_u64()?).ok()?),
        "adaptive" => Policy {
            sizing: Sizing::Adaptive {
                reward: run["rwrd_factor"].as_f64()?,
            },
            ..Policy::adaptive()
        },
        _ => return None,
    };
    Some(Policy {
        threshold: run["threshold"].as_f64()?,
        ..policy
    })
}

fn powers(case: &Case, performance: &Value) -> Option<Powers> {
    match performance["kind"].as_str()? {
        "table" => {
            let factor =
                |task: &String, resource: &String| performance["factor"][task][resource].as_f64();
            let row = |task| {
                case.resources
                    .iter()
                    .map(move |r| factor(task, r))
                    .collect()
            };
            let rows: Option<Vec<Vec<f64>>> = case.names.iter().map(row).collect();
            Some(Powers::PerTask(rows?))
        }
        "trace" => {
            let step = performance["step"].as_f64()?;
            let machine = |resource: &String| {
                let list = performance["factors"][resource].as_array()?;
                let factors: Option<Vec<f64>> = list.iter().map(Value::as_f64).collect();
                let factors = factors?;
                // The trace repeats for ever, which is as long as the horizon.
                let n_steps = (HORIZON / step) as usize;
                let times = (0..n_steps).map(|number| number as f64 * step);
                Steps::new(times.zip(factors.into_iter().cycle())).ok()
            };
            let machines: Option<Vec<Steps>> = case.resources.iter().map(machine).collect();
            Some(Powers::Steps(machines?))
        }
        _ => None,
    }
}

impl Case {
    fn compare_execution(
        &self,
        problem: &Problem,
        execution: &Execution,
        expected: &Value,
        found: &mut Vec<String>,
    ) {
        let name = |task: u32| &self.names[problem.dag().given(task) as usize];
        let names = |tasks: &[u32]| tasks.iter().map(|&task| name(task)).collect::<Vec<_>>();
        let resource = |host: u32| &self.resources[host as usize];
        let makespans = [
            ("makespan", execution.makespan),
            ("planned_makespan", execution.planned),
        ];
        for (what, got) in makespans {
            compare_time(found, what, got, &expected[what]);
        }
        let reschedules = json!(execution.reschedules());
        if reschedules != expected["reschedules"] {
            let want = &expected["reschedules"];
            found.push(format!("{reschedules} reschedules, expected {want}"));
        }
        let events = execution.events.iter().filter_map(|event| match event {
            Event::Send {
                time,
                host,
                round,
                tasks,
            } => Some((
                *time,
                json!({"event": "send", "resource": resource(*host), "round": round,
                    "tasks": names(tasks)}),
            )),
            Event::Loss {
                time,
                host,
                performance,
            } => Some((
                *time,
                json!({"event": "loss", "resource": resource(*host), "performance": performance}),
            )),
            Event::Reschedule {
                time,
                host,
                clusters,
            } => {
                let clusters = clusters.iter().map(|cluster| {
                    json!({"tasks": names(&cluster.tasks), "resource": resource(cluster.host)})
                });
                let clusters = Value::Array(clusters.collect());
                Some((
                    *time,
                    json!({"event": "reschedule", "resource": resource(*host),
                        "clusters": clusters}),
                ))
            }
            Event::Stop { .. } | Event::Declined { .. } => None,
        });
        let events: Vec<(f64, Value)> = events.collect();
        let wanted = expected["events"].as_array().cloned().unwrap_or_default();
        if events.len() != wanted.len() {
            let (got, want) = (events.len(), wanted.len());
            found.push(format!("{got} events, expected {want}"));
        }
        for (number, ((time, got), want)) in events.into_iter().zip(wanted).enumerate() {
            compare_event(found, &format!("event {number}"), time, got, want);
        }
        for (task, ran) in (0u32..).zip(&execution.ran) {
            let (task, want) = (name(task), &expected["tasks"][name(task)]);
            if want["resource"] != json!(resource(ran.host)) {
                let (got, want) = (resource(ran.host), &want["resource"]);
                found.push(format!("{task} ran on {got}, expected on {want}"));
            }
            for (what, got) in [("start", ran.start), ("finish", ran.finish)] {
                compare_time(found, &format!("{what} of {task}"), got, &want[what]);
            }
        }
    }
}

/// Numbers with a tolerance, all else exactly.
fn compare_event(found: &mut Vec<String>, what: &str, time: f64, got: Value, mut want: Value) {
    compare_time(found, &format!("time of {what}"), time, &want["time"]);
    let mut got = got;
    for (field, value) in [("time", None), ("performance", got["performance"].as_f64())] {
        if let Some(value) = value {
            let name = format!("{field} of {what}");
            compare_time(found, &name, value, &want[field]);
        }
        for side in [&mut got, &mut want] {
            if let Some(fields) = side.as_object_mut() {
                fields.remove(field);
            }
        }
    }
    if got != want {
        found.push(format!("{what} at {time} is {got}, expected {want}"));
    }
}
