//! Transfer costs between machines, by group.

use std::collections::{BTreeMap, BTreeSet};

use model::{GroupId, Network, NetworkLink, Platform, Resource, ResourceId};

/// Machines of the same links: those of a group, or one machine that has a way of its own.
type Kind = (GroupId, Option<ResourceId>);

/// The groups of a problem, numbered from 0 by ascending id. A machine with a way of its own is a group by
/// itself, after the others of its group.
#[derive(Debug)]
pub(crate) struct Groups<'a> {
    network: &'a Network,
    numbers: BTreeMap<Kind, u32>,
}

impl<'a> Groups<'a> {
    pub(crate) fn of(platform: &'a Platform) -> Groups<'a> {
        let network = platform.network();
        let kinds = platform.resources().iter();
        let kinds: BTreeSet<Kind> = kinds.map(|one| kind(network, one)).collect();
        Groups {
            network,
            numbers: kinds.into_iter().zip(0..).collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The group of a machine of the platform.
    pub(crate) fn number(&self, one: &Resource) -> u32 {
        let number = self.numbers.get(&kind(self.network, one));
        number
            .copied()
            .expect("each machine of the platform has a group")
    }
}

fn kind(network: &Network, one: &Resource) -> Kind {
    let has_way = network.ways.contains_key(&one.id);
    (one.id.group, has_way.then_some(one.id))
}

/// Latency and bandwidth between the groups of a platform, as dense tables: groups are numbered from 0 by ascending
/// id, and a machine with a way of its own is a group by itself. One number more, [`Links::outside`], stands for a
/// machine that is not of the platform but holds data.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    n_groups: u32,
    latency: Vec<f64>,
    bandwidth: Vec<f64>,
}

impl Links {
    pub(crate) fn new(groups: &Groups<'_>) -> Links {
        let network = groups.network;
        let numbers = &groups.numbers;
        let n_groups = numbers.len() as u32;
        let side = n_groups as usize + 1;
        let mut latency = vec![network.between.latency; side * side];
        let mut bandwidth = vec![network.between.bandwidth; side * side];
        let mut set = |row: u32, column: u32, link: NetworkLink| {
            let place = row as usize * side + column as usize;
            (latency[place], bandwidth[place]) = (link.latency, link.bandwidth);
        };
        let through = |link: NetworkLink, machine: Option<ResourceId>| {
            let way = machine.and_then(|machine| network.ways.get(&machine));
            way.map_or(link, |way| link.and(*way))
        };
        for (&(from, sender), &row) in numbers {
            for (&(to, receiver), &column) in numbers {
                let link = through(through(network.link(from, to), sender), receiver);
                set(row, column, link);
            }
            let outward = through(network.between, sender);
            set(row, n_groups, outward);
            set(n_groups, row, outward);
        }
        Links {
            n_groups,
            latency,
            bandwidth,
        }
    }

    /// The number of groups of the platform.
    pub fn n_groups(&self) -> u32 {
        self.n_groups
    }

    /// The number of the group of machines that are not of the platform.
    pub fn outside(&self) -> u32 {
        self.n_groups
    }

    /// Seconds that data takes from a machine of one group to *another* machine of a group; data
    /// 0 costs nothing, not even latency.
    #[inline]
    pub fn seconds(&self, data: f64, from: u32, to: u32) -> f64 {
        if data <= 0.0 {
            return 0.0;
        }
        let place = from as usize * (self.n_groups as usize + 1) + to as usize;
        self.latency[place] + data / self.bandwidth[place]
    }

    /// Seconds before the first byte arrives.
    pub fn latency(&self, from: u32, to: u32) -> f64 {
        self.latency[from as usize * (self.n_groups as usize + 1) + to as usize]
    }

    /// Bytes a second.
    pub fn bandwidth(&self, from: u32, to: u32) -> f64 {
        self.bandwidth[from as usize * (self.n_groups as usize + 1) + to as usize]
    }

    /// The longest that data can take between any two machines.
    pub(crate) fn seconds_max(&self, data: f64) -> f64 {
        let ways = self.latency.iter().zip(&self.bandwidth);
        ways.map(|(latency, bandwidth)| latency + data / bandwidth)
            .fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests;
