//! Platforms that algorithms are compared on, by name: [`named`] reads what users write.

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, PlatformError, Resource, ResourceId};
use thiserror::Error;

use crate::dag::Dag;

mod named;
mod paper;

pub use named::{NamedError, named};
pub use paper::{GROUPS_OF_PAPER_MAX, MessageCost, paper, paper_with};

/// The network between the machines of a reference platform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReferenceNetwork {
    /// Gigabit Ethernet inside groups, a tenth of it and 5 ms between them.
    Lan,
    /// No latency, and bandwidths such that the mean message takes this many times as long as the
    /// mean task.
    Ccr(f64),
}

/// Why there is no such reference platform.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ReferenceError {
    /// A number of machines for which no groups are agreed.
    #[error("there is no reference platform of {0} machines; there are 8, 64 and 512")]
    Hosts(u32),
    /// A ratio that is not a number above 0, or that leads to no bandwidth.
    #[error("the network {0:?} has no bandwidth")]
    Network(ReferenceNetwork, #[source] PlatformError),
}

impl ReferenceNetwork {
    /// `lan`, or `ccr` and a number above 0: `ccr1`, `ccr10`, `ccr0.5`.
    pub fn named(name: &str) -> Option<ReferenceNetwork> {
        if name == "lan" {
            return Some(ReferenceNetwork::Lan);
        }
        let ratio: f64 = name.strip_prefix("ccr")?.parse().ok()?;
        (ratio.is_finite() && ratio > 0.0).then_some(ReferenceNetwork::Ccr(ratio))
    }
}

/// Powers of the machines of each group.
const POWERS: [f64; 16] = [
    1.0, 1.9, 2.8, 4.5, 1.2, 2.2, 3.4, 6.4, 1.1, 1.5, 2.5, 3.9, 1.7, 2.0, 3.1, 5.1,
];

/// The reference platform of a number of machines of one slot: 8 in 4 groups, 64 in 8, 512 in 16.
/// Machines of a group are alike, groups are between 1 and 6.4 times as fast as the reference.
/// `dag` sets the bandwidths where they depend on what is to be done.
pub fn reference(
    hosts: u32,
    network: ReferenceNetwork,
    dag: &Dag,
) -> Result<Platform, ReferenceError> {
    let groups = match hosts {
        8 => 4,
        64 => 8,
        512 => 16,
        _ => return Err(ReferenceError::Hosts(hosts)),
    };
    let machines = (0..hosts).map(|number| {
        let group = number / (hosts / groups);
        Resource {
            id: ResourceId::new(GroupId::new(group.into()), number),
            name: format!("g{group}-m{}", number % (hosts / groups)),
            power: POWERS[group as usize],
            slots: 1,
            memory: Bytes(u64::MAX),
            labels: BTreeMap::new(),
        }
    });
    let (inside, between) = match network {
        ReferenceNetwork::Lan => ((125e6, 1e-4), (12.5e6, 5e-3)),
        ReferenceNetwork::Ccr(ratio) => {
            let bandwidth = bandwidth(dag, ratio, &POWERS[..groups as usize]);
            ((5.0 * bandwidth, 0.0), (0.8 * bandwidth, 0.0))
        }
    };
    let link = |(bandwidth, latency)| NetworkLink { bandwidth, latency };
    let mut links = Network::uniform(link(between));
    links.inside = link(inside);
    Platform::new(machines.collect(), links)
        .map_err(|source| ReferenceError::Network(network, source))
}

/// The bandwidth at which the mean message takes `ratio` times as long as the mean task on the
/// mean machine; 1 where there are no messages or no work, and it does not matter.
fn bandwidth(dag: &Dag, ratio: f64, powers: &[f64]) -> f64 {
    let slowness = powers.iter().map(|power| 1.0 / power).sum::<f64>() / powers.len() as f64;
    match means(dag) {
        Some((data, work)) => data / (ratio * work * slowness),
        None => 1.0,
    }
}

/// The mean data of the messages that carry any, and the mean work of all tasks;
/// none where either is nothing.
fn means(dag: &Dag) -> Option<(f64, f64)> {
    let messages = (0..dag.n_edges() as u32).map(|edge| dag.data(edge));
    let (mut data, mut n_messages) = (0.0, 0.0);
    for message in messages.filter(|&data| data > 0.0) {
        data += message;
        n_messages += 1.0;
    }
    let work: f64 = dag.tasks().map(|task| dag.work(task)).sum();
    let both = data > 0.0 && work > 0.0;
    both.then(|| (data / n_messages, work / dag.n_tasks() as f64))
}

#[cfg(test)]
mod tests;
