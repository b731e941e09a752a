//! Small problems, every number of which may change.

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::random::Random;
use schedule::{Dag, Problem, Task};

const TASKS_MAX: usize = 14;

/// Works, messages and powers one by one.
#[derive(Clone, Debug)]
pub(crate) struct Small {
    works: Vec<f64>,
    edges: BTreeMap<(u32, u32), f64>,
    powers: Vec<f64>,
}

impl Small {
    pub(crate) fn random(random: &mut Random) -> Small {
        let n = 3 + random.below(TASKS_MAX - 3);
        let mut instance = Small {
            works: (0..n).map(|_| 10.0 * random.unit()).collect(),
            edges: BTreeMap::new(),
            powers: (0..2 + random.below(5))
                .map(|_| 0.2 + 3.0 * random.unit())
                .collect(),
        };
        for _ in 0..2 * n {
            instance.add_edge(random);
        }
        instance
    }

    fn add_edge(&mut self, random: &mut Random) {
        let n = self.works.len();
        let (a, b) = (random.below(n) as u32, random.below(n) as u32);
        if a != b {
            let data = 30.0 * random.unit();
            self.edges.insert((a.min(b), a.max(b)), data);
        }
    }

    pub(crate) fn change(&mut self, random: &mut Random) {
        match random.below(4) {
            0 => {
                let task = random.below(self.works.len());
                self.works[task] = 20.0 * random.unit() * random.unit();
            }
            1 => self.add_edge(random),
            2 => {
                let keys: Vec<_> = self.edges.keys().copied().collect();
                if !keys.is_empty() {
                    self.edges.remove(&keys[random.below(keys.len())]);
                }
            }
            _ => {
                let host = random.below(self.powers.len());
                self.powers[host] = 0.1 + 5.0 * random.unit() * random.unit();
            }
        }
    }

    pub(crate) fn problem(&self) -> Problem {
        let tasks: Vec<Task> = (self.works.iter())
            .map(|&work| Task { work, cores: 1 })
            .collect();
        let edges: Vec<_> = (self.edges.iter())
            .map(|(&(from, to), &data)| (from, to, data))
            .collect();
        let machines = self.powers.iter().zip(0u32..).map(|(&power, id)| Resource {
            id: ResourceId::new(GroupId::new((id / 2).into()), id),
            name: format!("m{id}"),
            power,
            slots: 1,
            memory: Bytes::ZERO,
            labels: BTreeMap::new(),
        });
        let link = |bandwidth| NetworkLink {
            bandwidth,
            latency: 0.0,
        };
        let mut network = Network::uniform(link(1.0));
        network.inside = link(5.0);
        let platform = Platform::new(machines.collect(), network).expect("powers above 0");
        let dag = Dag::new(&tasks, &edges).expect("edges go up");
        Problem::new(dag, &platform).expect("small numbers")
    }
}
