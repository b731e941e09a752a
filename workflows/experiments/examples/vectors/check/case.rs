//! Reads a vector file (the format is in common/schedule/tests/vectors/README.md).

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::{Dag, Problem, Task, Tree};
use serde_json::Value;

pub(crate) struct Case {
    pub(crate) names: Vec<String>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) costs: Option<Vec<Vec<f64>>>,
    pub(crate) edges: Vec<(u32, u32, f64)>,
    pub(crate) resources: Vec<String>,
    pub(crate) platform: Vec<Resource>,
    pub(crate) network: Network,
    pub(crate) controllers: Option<Controllers>,
}

pub(crate) struct Controllers {
    pub(crate) names: Vec<String>,
    pub(crate) parents: Vec<Option<u32>>,
    pub(crate) of_task: Vec<u32>,
}

impl Case {
    pub(crate) fn read(file: &Value) -> Option<Case> {
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

    pub(crate) fn problem(&self) -> Result<Problem, String> {
        let platform = Platform::new(self.platform.clone(), self.network.clone());
        let platform = platform.map_err(|error| error.to_string())?;
        let dag = Dag::new(&self.tasks, &self.edges).map_err(|error| error.to_string())?;
        let problem = Problem::new(dag, &platform).map_err(|error| error.to_string())?;
        match &self.costs {
            Some(costs) => problem.with_costs(costs).map_err(|error| error.to_string()),
            None => Ok(problem),
        }
    }
}

impl Controllers {
    pub(crate) fn tree(&self, problem: &Problem) -> Result<Tree, String> {
        Tree::new(problem, &self.parents, &self.of_task).map_err(|error| error.to_string())
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
