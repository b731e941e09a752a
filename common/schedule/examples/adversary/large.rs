//! Large problems of shapes that schedulers find hard, whose sizes change.

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::random::Random;
use schedule::{Dag, Problem, Task};

use crate::graphs::lognormal;

/// Activities, from and to.
const TASKS: (f64, f64) = (100.0, 100_000.0);
/// Messages of one problem, so that it is drawn in a part of a second.
const EDGES_MAX: usize = 400_000;
/// Machines, from and to.
const HOSTS: (f64, f64) = (2.0, 2_000.0);

#[derive(Clone, Copy, Debug)]
enum Shape {
    Gather,
    Scatter,
    Bipartite,
    Chains,
    Layered,
    ForkJoin,
    Random,
    Bag,
}

const SHAPES: [Shape; 8] = [
    Shape::Gather,
    Shape::Scatter,
    Shape::Bipartite,
    Shape::Chains,
    Shape::Layered,
    Shape::ForkJoin,
    Shape::Random,
    Shape::Bag,
];

/// A shape and the sizes that it is drawn with.
#[derive(Clone, Debug)]
pub(crate) struct Large {
    shape: Shape,
    n_tasks: usize,
    /// Chains, tasks of a layer, or tasks between two that all wait for.
    width: usize,
    /// The part of the works that is zero.
    zeros: f64,
    /// Seconds of a mean message between groups / those of a mean task.
    ccr: f64,
    n_hosts: usize,
    /// Machines of a group.
    n_in_group: usize,
    slots: u32,
    /// The power of the fastest machine / that of the slowest.
    powers: f64,
    seed: u64,
}

impl Large {
    pub(crate) fn random(random: &mut Random) -> Large {
        let mut large = Large {
            shape: SHAPES[random.below(SHAPES.len())],
            n_tasks: 0,
            width: 1,
            zeros: 0.0,
            ccr: 0.0,
            n_hosts: 1,
            n_in_group: 1,
            slots: 1,
            powers: 1.0,
            seed: random.below(1 << 20) as u64,
        };
        for number in 0..NUMBERS {
            large.draw(number, random);
        }
        large
    }

    pub(crate) fn change(&mut self, random: &mut Random) {
        let number = random.below(NUMBERS + 1);
        self.draw(number, random);
    }

    /// One of its numbers anew.
    fn draw(&mut self, number: usize, random: &mut Random) {
        match number {
            0 => self.n_tasks = between(TASKS, random) as usize,
            1 => self.width = between((1.0, self.n_tasks as f64), random) as usize,
            2 => self.zeros = [0.0, 0.0, 0.1, 0.5][random.below(4)],
            3 => self.ccr = [0.0, between((1e-3, 1e3), random), 1e9][random.below(3)],
            4 => self.n_hosts = between(HOSTS, random) as usize,
            5 => self.n_in_group = between((1.0, 256.0), random) as usize,
            6 => self.slots = 1 + random.below(4) as u32,
            7 => self.powers = [1.0, between((1.0, 1e3), random)][random.below(2)],
            _ => self.seed = random.below(1 << 20) as u64,
        }
        // Not more groups than are met with.
        self.n_in_group = self.n_in_group.max(self.n_hosts / 64).max(1);
    }

    pub(crate) fn problem(&self) -> Problem {
        let mut random = Random::new(self.seed);
        let tasks: Vec<Task> = (0..self.n_tasks)
            .map(|_| Task {
                work: match random.unit() < self.zeros {
                    true => 0.0,
                    false => 10.0 * lognormal(&mut random),
                },
                cores: 1,
            })
            .collect();
        let mut pairs = self.pairs(&mut random);
        pairs.truncate(EDGES_MAX);
        let edges: Vec<_> = pairs
            .into_iter()
            .map(|(from, to)| (from, to, 10.0 * self.ccr * lognormal(&mut random)))
            .collect();
        let dag = Dag::new(&tasks, &edges).expect("edges go up");
        Problem::new(dag, &self.platform()).expect("a sound problem")
    }

    /// Edges that go up.
    fn pairs(&self, random: &mut Random) -> Vec<(u32, u32)> {
        let (n, width) = (self.n_tasks, self.width.clamp(1, self.n_tasks));
        let pair = |from: usize, to: usize| (from as u32, to as u32);
        match self.shape {
            Shape::Gather => (0..n - 1).map(|from| pair(from, n - 1)).collect(),
            Shape::Scatter => (1..n).map(|to| pair(0, to)).collect(),
            Shape::Bipartite => {
                let side = (n / 2).min(EDGES_MAX.isqrt());
                let pairs = (0..side).flat_map(|from| (side..2 * side).map(move |to| (from, to)));
                pairs.map(|(from, to)| pair(from, to)).collect()
            }
            Shape::Chains => (width..n).map(|to| pair(to - width, to)).collect(),
            Shape::Layered => {
                let befores = (width..n).flat_map(|to| {
                    let first = (to / width - 1) * width;
                    let count = 1 + random.below(4);
                    let froms: Vec<_> = (0..count).map(|_| first + random.below(width)).collect();
                    froms.into_iter().map(move |from| (from, to))
                });
                befores.map(|(from, to)| pair(from, to)).collect()
            }
            Shape::ForkJoin => (1..n)
                .flat_map(|to| {
                    match to % (width + 1) {
                        0 => to - width..to,
                        place => to - place..to - place + 1,
                    }
                    .map(move |from| (from, to))
                })
                .map(|(from, to)| pair(from, to))
                .collect(),
            Shape::Random => (1..n)
                .flat_map(|to| (0..2).map(move |_| to))
                .map(|to| pair(random.below(to), to))
                .collect(),
            Shape::Bag => Vec::new(),
        }
    }

    fn platform(&self) -> Platform {
        let power = |number: usize| {
            let place = number as f64 / self.n_hosts.max(2) as f64;
            self.powers.powf(place)
        };
        let resources = (0..self.n_hosts).map(|number| Resource {
            id: ResourceId::new(
                GroupId::new((number / self.n_in_group) as u64),
                number as u32,
            ),
            name: format!("m{number}"),
            power: power(number),
            slots: self.slots,
            memory: Bytes::ZERO,
            labels: BTreeMap::new(),
        });
        let link = |bandwidth| NetworkLink {
            bandwidth,
            latency: 0.0,
        };
        let mut network = Network::uniform(link(1.0));
        network.inside = link(10.0);
        Platform::new(resources.collect(), network).expect("a sound platform")
    }
}

/// Numbers that are drawn, beside the seed.
const NUMBERS: usize = 8;

/// Any order of magnitude is as likely as another.
fn between((least, most): (f64, f64), random: &mut Random) -> f64 {
    least * (most / least).powf(random.unit())
}
