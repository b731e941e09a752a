//! Reads a vector file (the format is in tests/vectors/README.md) and holds schedulers against the
//! static entries that it expects.

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::{
    Controlled, Cpop, Dag, Figures, Heft, MeanRule, Pch, PchRun, Placing, Problem, Schedule,
    Scheduler, Task, Tree, check, check_through_controllers, less, through_controllers,
};
use serde_json::Value;

/// The result of one file.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Entries that were computed and compared.
    pub(crate) checked: Vec<String>,
    /// Entries of algorithms or modes that this crate does not have.
    pub(crate) unknown: Vec<String>,
    /// The differences, one line each.
    pub(crate) differences: Vec<String>,
}

/// Compares every static entry of a file. Times within 1e-6 of the larger one or of 1, all else
/// exactly. The error tells what of the file cannot be read.
pub(crate) fn check_file(text: &str) -> Result<Outcome, String> {
    let file: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let case =
        Case::read(&file).ok_or("not a vector file: a field is missing or of another type")?;
    let problem = case.problem()?;
    let expected = &file["expected"];
    let entries = expected["static"]
        .as_object()
        .ok_or("expected.static is missing")?;
    let mut outcome = Outcome::default();
    let numbers = [
        ("critical_path_time", schedule::critical_path_time(&problem)),
        ("sequential_time", schedule::sequential_time(&problem)),
    ];
    for (name, got) in numbers {
        compare_time(&mut outcome.differences, name, got, &expected[name]);
    }
    for (name, entry) in entries {
        match case.compare(&problem, name, entry)? {
            Some(mut found) => {
                for line in &mut found {
                    line.insert_str(0, &format!("{name}: "));
                }
                outcome.differences.append(&mut found);
                outcome.checked.push(name.clone());
            }
            None => outcome.unknown.push(name.clone()),
        }
    }
    Ok(outcome)
}

/// The vectors' HEFT and CPOP divide by the mean bandwidth.
fn run(algorithm: &str, problem: &Problem) -> Option<Result<(Schedule, Option<PchRun>), String>> {
    let scheduler: &dyn Scheduler = match algorithm {
        "heft" => &Heft::new(MeanRule::Bandwidths),
        "cpop" => &Cpop::new(MeanRule::Bandwidths),
        "pch" => {
            let run = Pch::new().run(problem).map_err(|error| error.to_string());
            return Some(run.map(|run| (run.schedule.clone(), Some(run))));
        }
        _ => return None,
    };
    let schedule = scheduler.schedule(problem);
    Some(
        schedule
            .map(|schedule| (schedule, None))
            .map_err(|error| error.to_string()),
    )
}

struct Case {
    names: Vec<String>,
    tasks: Vec<Task>,
    costs: Option<Vec<Vec<f64>>>,
    edges: Vec<(u32, u32, f64)>,
    resources: Vec<String>,
    platform: Vec<Resource>,
    network: Network,
    controllers: Option<Controllers>,
}

struct Controllers {
    names: Vec<String>,
    parents: Vec<Option<u32>>,
    of_task: Vec<u32>,
}

impl Case {
    fn read(file: &Value) -> Option<Case> {
        let workflow = &file["workflow"];
        let list = workflow["tasks"].as_array()?;
        let name = |value: &Value| value["id"].as_str().map(str::to_owned);
        let names: Vec<String> = list.iter().map(name).collect::<Option<_>>()?;
        let number: BTreeMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let task = |value: &Value| {
            Some(Task {
                work: value["instructions"].as_f64()?,
                cores: 1,
            })
        };
        let tasks = list.iter().map(task).collect::<Option<_>>()?;
        let row = |value: &Value| {
            value["costs"]
                .as_array()?
                .iter()
                .map(Value::as_f64)
                .collect()
        };
        let costs = list.iter().map(row).collect();
        let edge = |value: &Value| {
            let from = *number.get(value["from"].as_str()?)?;
            Some((
                from,
                *number.get(value["to"].as_str()?)?,
                value["data"].as_f64()?,
            ))
        };
        let edges = workflow["edges"]
            .as_array()?
            .iter()
            .map(edge)
            .collect::<Option<_>>()?;
        let machines = file["platform"]["resources"].as_array()?;
        let resources: Vec<String> = machines.iter().map(name).collect::<Option<_>>()?;
        let mut groups = BTreeMap::new();
        for machine in machines {
            let next = groups.len() as u64;
            groups
                .entry(machine["group"].as_str()?.to_owned())
                .or_insert(GroupId::new(next));
        }
        let machine = |(place, value): (usize, &Value)| {
            Some(Resource {
                id: ResourceId::new(groups[value["group"].as_str()?], place as u32),
                name: resources[place].clone(),
                power: value["power"].as_f64()?,
                slots: 1,
                memory: Bytes::ZERO,
                labels: BTreeMap::new(),
            })
        };
        let platform = machines
            .iter()
            .enumerate()
            .map(machine)
            .collect::<Option<_>>()?;
        let network = network(&file["platform"]["bandwidth"], &groups)?;
        let controllers = match workflow["controllers"].as_array() {
            Some(list) => Some(controllers(list, &number)?),
            None => None,
        };
        drop(number);
        Some(Case {
            names,
            tasks,
            costs,
            edges,
            resources,
            platform,
            network,
            controllers,
        })
    }

    fn problem(&self) -> Result<Problem, String> {
        let platform = Platform::new(self.platform.clone(), self.network.clone());
        let platform = platform.map_err(|error| error.to_string())?;
        let dag = Dag::new(&self.tasks, &self.edges).map_err(|error| error.to_string())?;
        let problem = Problem::new(dag, &platform).map_err(|error| error.to_string())?;
        match &self.costs {
            Some(costs) => problem.with_costs(costs).map_err(|error| error.to_string()),
            None => Ok(problem),
        }
    }

    /// The differences; none for an entry of an unknown algorithm or mode.
    fn compare(
        &self,
        problem: &Problem,
        entry: &str,
        expected: &Value,
    ) -> Result<Option<Vec<String>>, String> {
        let Some((algorithm, mode)) = entry.split_once('/') else {
            return Ok(None);
        };
        let Some(result) = run(algorithm, problem) else {
            return Ok(None);
        };
        let (mut schedule, pch) = result?;
        check(problem, &schedule).map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        match (mode, &self.controllers) {
            ("direct", _) => {}
            ("controllers", Some(controllers)) => {
                let controlled = controllers.place(problem, &schedule)?;
                for (name, &host) in controllers.names.iter().zip(&controlled.controllers) {
                    let resource = &self.resources[host as usize];
                    if expected["controllers"][name].as_str() != Some(resource.as_str()) {
                        let want = &expected["controllers"][name];
                        found.push(format!("{name} is on {resource}, expected on {want}"));
                    }
                }
                schedule = controlled.schedule;
            }
            _ => return Ok(None),
        }
        if let Some(run) = pch {
            self.compare_clusters(problem, &run, expected, &mut found);
        }
        self.compare_schedule(problem, &schedule, expected, &mut found);
        Ok(Some(found))
    }

    fn compare_clusters(
        &self,
        problem: &Problem,
        run: &PchRun,
        expected: &Value,
        found: &mut Vec<String>,
    ) {
        let name = |task: u32| self.names[problem.dag().given(task) as usize].as_str();
        for (task, &priority) in (0u32..).zip(&run.priorities) {
            let want = &expected["priorities"][name(task)];
            compare_time(
                found,
                &format!("priority of {}", name(task)),
                priority,
                want,
            );
        }
        let got = run.clusters.iter().map(|cluster| {
            let tasks: Vec<&str> = cluster.tasks.iter().map(|&task| name(task)).collect();
            serde_json::json!({ "tasks": tasks, "resource": self.resources[cluster.host as usize] })
        });
        let got = Value::Array(got.collect());
        if got != expected["clusters"] {
            let want = &expected["clusters"];
            found.push(format!("clusters are {got}, expected {want}"));
        }
    }

    fn compare_schedule(
        &self,
        problem: &Problem,
        schedule: &Schedule,
        expected: &Value,
        found: &mut Vec<String>,
    ) {
        let name = |task: u32| &self.names[problem.dag().given(task) as usize];
        let figures = Figures::new(problem, schedule);
        compare_time(found, "makespan", figures.makespan, &expected["makespan"]);
        compare_time(found, "slr", figures.slr, &expected["slr"]);
        compare_time(found, "speedup", figures.speedup, &expected["speedup"]);
        for entry in &schedule.entries {
            let (task, want) = (name(entry.task), &expected["tasks"][name(entry.task)]);
            let resource = &self.resources[entry.host as usize];
            if want["resource"].as_str() != Some(resource.as_str()) {
                found.push(format!(
                    "{task} is on {resource}, expected on {}",
                    want["resource"]
                ));
            }
            compare_time(
                found,
                &format!("start of {task}"),
                entry.start,
                &want["start"],
            );
            compare_time(
                found,
                &format!("finish of {task}"),
                entry.finish,
                &want["finish"],
            );
        }
        for (resource, slots) in self.resources.iter().zip(&schedule.order) {
            let got: Vec<&String> = slots.iter().flatten().map(|&task| name(task)).collect();
            let want = expected["order"][resource]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let want: Vec<&str> = want.iter().filter_map(Value::as_str).collect();
            if got != want {
                found.push(format!("{resource} runs {got:?}, expected {want:?}"));
            }
        }
    }
}

impl Controllers {
    fn place(&self, problem: &Problem, schedule: &Schedule) -> Result<Controlled, String> {
        let tree = Tree::new(problem, &self.parents, &self.of_task);
        let tree = tree.map_err(|error| error.to_string())?;
        let controlled = through_controllers(problem, &tree, schedule, Placing::Paper);
        check_through_controllers(problem, &tree, &controlled)
            .map_err(|error| error.to_string())?;
        Ok(controlled)
    }
}

fn controllers(list: &[Value], tasks: &BTreeMap<&str, u32>) -> Option<Controllers> {
    let names: Vec<&str> = list
        .iter()
        .map(|c| c["id"].as_str())
        .collect::<Option<_>>()?;
    let number: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let mut parents = vec![None; list.len()];
    let mut of_task = vec![u32::MAX; tasks.len()];
    for (above, controller) in (0u32..).zip(list) {
        for child in controller["children"].as_array()? {
            let child = child.as_str()?;
            match (number.get(child), tasks.get(child)) {
                (Some(&below), _) => parents[below as usize] = Some(above),
                (None, Some(&task)) => of_task[task as usize] = above,
                (None, None) => return None,
            }
        }
    }
    Some(Controllers {
        names: names.into_iter().map(str::to_owned).collect(),
        parents,
        of_task,
    })
}

fn network(bandwidth: &Value, groups: &BTreeMap<String, GroupId>) -> Option<Network> {
    let link = |value: &Value| {
        Some(NetworkLink {
            bandwidth: value.as_f64()?,
            latency: 0.0,
        })
    };
    let (inside, between) = (&bandwidth["intra"], &bandwidth["inter"]);
    // Where each group or pair is named, the general rule is never asked; it only has to be sound.
    let general = NetworkLink {
        bandwidth: 1.0,
        latency: 0.0,
    };
    let mut network = Network::uniform(general);
    match inside.as_object() {
        Some(named) => {
            for (group, value) in named {
                if let Some(&group) = groups.get(group) {
                    network.inside_of.insert(group, link(value)?);
                }
            }
        }
        None => network.inside = link(inside)?,
    }
    match between.as_object() {
        Some(named) => {
            for (pair, value) in named {
                let (one, other) = pair.split_once('|')?;
                if let (Some(&one), Some(&other)) = (groups.get(one), groups.get(other)) {
                    network
                        .between_pairs
                        .insert((one.min(other), one.max(other)), link(value)?);
                }
            }
        }
        None => network.between = link(between)?,
    }
    Some(network)
}

fn compare_time(found: &mut Vec<String>, what: &str, got: f64, want: &Value) {
    match want.as_f64() {
        Some(want) if (got - want).abs() <= 1e-6 * want.abs().max(1.0) => {}
        Some(want) => {
            let side = if less(got, want) { "below" } else { "above" };
            found.push(format!("{what} is {got}, {side} the expected {want}"));
        }
        None => found.push(format!("{what} is not in the file")),
    }
}
