//! Graphs and platforms of any size, on which speed is measured.

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::random::Random;
use schedule::{Dag, Task};

/// Powers by group of the reference platforms.
const POWERS: [f64; 16] = [
    1.0, 1.9, 2.8, 4.5, 1.2, 2.2, 3.4, 6.4, 1.1, 1.5, 2.5, 3.9, 1.7, 2.0, 3.1, 5.1,
];

/// About sqrt(n) levels, each task with 1 to 5 predecessors in the two levels before; works and
/// data are lognormal. A part of the works is zero.
pub(crate) fn layered(n: usize, zeros: f64) -> Dag {
    let mut random = Random::new(n as u64);
    let width = (n as f64).sqrt() as usize;
    let tasks: Vec<Task> = (0..n)
        .map(|_| {
            let zero = random.unit() < zeros;
            Task {
                work: if zero {
                    0.0
                } else {
                    10.0 * lognormal(&mut random)
                },
                cores: 1,
            }
        })
        .collect();
    let mut edges = Vec::new();
    for task in width..n {
        let level = task / width;
        let first = level.saturating_sub(2) * width;
        let count = 1 + random.below(5);
        for _ in 0..count {
            let from = first + random.below(level * width - first);
            edges.push((from as u32, task as u32, 1e6 * lognormal(&mut random)));
        }
    }
    Dag::new(&tasks, &edges).expect("edges go up")
}

/// Montage-like: wide levels between single tasks.
pub(crate) fn fork_join(n: usize) -> Dag {
    let mut random = Random::new(n as u64 + 1);
    let tasks: Vec<Task> = (0..n)
        .map(|_| Task {
            work: 10.0 * lognormal(&mut random),
            cores: 1,
        })
        .collect();
    let width = n / 4;
    let mut edges = Vec::new();
    for task in 1..n {
        let mut edge = |from: usize, to: usize| {
            edges.push((from as u32, to as u32, 1e6 * lognormal(&mut random)));
        };
        if task % width == 0 {
            (task - width + 1..task).for_each(|before| edge(before, task));
        } else {
            edge(task - task % width, task);
        }
    }
    Dag::new(&tasks, &edges).expect("edges go up")
}

/// Groups of equal machines, as fast and as far apart as the reference platforms' on a LAN.
pub(crate) fn platform(groups: u32, hosts: u32, slots: u32) -> Platform {
    let power = |number: u32| POWERS[(number / hosts) as usize];
    platform_with(groups * hosts, hosts, slots, power)
}

/// Machines in groups of so many, each of its own power.
pub(crate) fn platform_with(
    n_hosts: u32,
    hosts: u32,
    slots: u32,
    power: impl Fn(u32) -> f64,
) -> Platform {
    let resources = (0..n_hosts).map(|number| Resource {
        id: ResourceId::new(GroupId::new((number / hosts).into()), number),
        name: format!("m{number}"),
        power: power(number),
        slots,
        memory: Bytes::ZERO,
        labels: BTreeMap::new(),
    });
    let mut network = Network::uniform(NetworkLink {
        bandwidth: 12.5e6,
        latency: 5e-3,
    });
    network.inside = NetworkLink {
        bandwidth: 125e6,
        latency: 1e-4,
    };
    Platform::new(resources.collect(), network).expect("a sound platform")
}

/// Median 1, sigma 0.5: the sum of twelve units is near enough to a normal number.
pub(crate) fn lognormal(random: &mut Random) -> f64 {
    let normal: f64 = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    (0.5 * normal).exp()
}
