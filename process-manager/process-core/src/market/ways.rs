//! Ways: how fast machines send and receive files, as those of activities have shown it.
//!
//! The level of a machine is the fastest of its links to the last peers that it exchanged files with, since a slow
//! one may be slow because of the peer. A machine is as fast as the forecast of its level ([`Series`]). Where a process
//! is planned, links are as fast as those of the median machine, and a machine that is far slower has a way of its own
//! ([`Network::ways`]). All of it is volatile: a restart begins with the link of the configuration.
//!
//! Latency is that of the configuration. A transfer is told from 1 MiB on, where it hardly matters, and its
//! time has waits for disks and workers in it, which are longer than a round trip within a site.

mod series;

use std::collections::{BTreeMap, VecDeque};

use model::{Mono, Network, NetworkLink, ResourceId};
use wire::attempt::{Fetched, TRANSFER_TOLD_LEAST};

use series::{Series, is_changed};

/// Peers of a machine whose last transfers are remembered: with fewer, one slow peer would make it look slow, and
/// with more, a machine that has become slow is seen later.
const PEERS: usize = 3;

/// Machines that are remembered, in 30 KB each at most. A group has some hundred, and where there are more, all begin
/// anew.
const MACHINES_MAX: usize = 1_024;

/// The part of the median speed below which a machine has a way of its own.
const SLOW: f64 = 0.5;

/// The factor by which a machine has to become slower or faster for another plan: transfers at the same time share
/// links, so that the speed of one says little.
const CHANGED: f64 = 2.5;

/// The speeds of machines, in bytes a second.
#[derive(Debug, Default)]
pub(super) struct Ways {
    machines: BTreeMap<ResourceId, Machine>,
    /// The median of the machines' speeds; none where no transfer is known.
    median: Option<f64>,
}

/// The transfers of one machine.
#[derive(Debug)]
struct Machine {
    last: VecDeque<Last>,
    series: Series,
}

/// The last two transfers between a machine and a peer: of those that share a link, one may be slow.
#[derive(Clone, Copy, Debug)]
struct Last {
    peer: ResourceId,
    speeds: [f64; 2],
}

/// The speeds of machines in bytes a second, as a plan counts on them.
pub(super) type Speeds = BTreeMap<ResourceId, f64>;

impl Ways {
    /// A machine has fetched a file from another one by now.
    pub(super) fn note(&mut self, now: Mono, receiver: ResourceId, fetched: &Fetched) {
        let seconds = fetched.took.seconds();
        let says_nothing = fetched.bytes < TRANSFER_TOLD_LEAST || seconds <= 0.0;
        if says_nothing || fetched.from == receiver {
            return;
        }
        let speed = fetched.bytes.0 as f64 / seconds;
        for (machine, peer) in [(receiver, fetched.from), (fetched.from, receiver)] {
            if self.machines.len() >= MACHINES_MAX && !self.machines.contains_key(&machine) {
                self.machines.clear();
            }
            let new = || Machine {
                last: VecDeque::new(),
                series: Series::new(speed, now),
            };
            let known = self.machines.entry(machine).or_insert_with(new);
            known.crossed(peer, speed);
            known.series.note(fastest(&known.last), now);
        }
        let speeds = self.machines.values();
        let mut speeds: Vec<f64> = speeds.map(|known| known.series.speed()).collect();
        speeds.sort_by(f64::total_cmp);
        self.median = speeds.get(speeds.len() / 2).copied();
    }

    /// Returns true if a transfer to or from a machine is known.
    pub(super) fn knows(&self, machine: ResourceId) -> bool {
        self.machines.contains_key(&machine)
    }

    /// The speed of a machine, at most that of the median, which is also that of a machine without transfers. Without
    /// any transfer it is `unknown`.
    fn speed(&self, machine: ResourceId, unknown: f64) -> f64 {
        let median = self.median.unwrap_or(unknown);
        let known = self.machines.get(&machine);
        known.map_or(median, |known| known.series.speed().min(median))
    }

    /// The speeds of machines, where nothing but `unknown` is known of links without transfers.
    pub(super) fn speeds(
        &self,
        machines: impl Iterator<Item = ResourceId>,
        unknown: NetworkLink,
    ) -> Speeds {
        let speed = |machine| (machine, self.speed(machine, unknown.bandwidth));
        machines.map(speed).collect()
    }

    /// The network of machines of these speeds.
    pub(super) fn network(&self, speeds: &Speeds, unknown: NetworkLink) -> Network {
        let bandwidth = self.median.unwrap_or(unknown.bandwidth);
        let mut network = Network::uniform(NetworkLink {
            bandwidth,
            ..unknown
        });
        let slow = speeds
            .iter()
            .filter(|&(_, &speed)| speed < SLOW * bandwidth);
        let way = |speed: f64| NetworkLink {
            bandwidth: speed,
            latency: 0.0,
        };
        network.ways = slow
            .map(|(&machine, &speed)| (machine, way(speed)))
            .collect();
        network
    }

    /// The machine whose speed has changed most since a plan, with its speed beside the one that was planned with;
    /// none where all are as it counts on.
    pub(super) fn changed(&self, planned: &Speeds) -> Option<(ResourceId, f64)> {
        let change = |(&machine, &before): (&ResourceId, &f64)| {
            let ratio = self.speed(machine, before) / before;
            (machine, ratio)
        };
        let changed = planned.iter().map(change);
        let by = |ratio: f64| ratio.ln().abs();
        let changed = changed.filter(|&(_, ratio)| is_changed(ratio));
        changed.max_by(|one, other| by(one.1).total_cmp(&by(other.1)))
    }

    /// The machines among these that have ways of their own.
    pub(super) fn slow(
        &self,
        machines: impl Iterator<Item = ResourceId>,
    ) -> impl Iterator<Item = ResourceId> {
        let limit = self.median.map_or(0.0, |median| SLOW * median);
        machines.filter(move |&machine| self.speed(machine, f64::INFINITY) < limit)
    }
}

impl Machine {
    /// A file has crossed the link to a peer at a speed.
    fn crossed(&mut self, peer: ResourceId, speed: f64) {
        let known = self.last.iter().position(|one| one.peer == peer);
        let before = known.and_then(|place| self.last.remove(place));
        let before = before.map_or(speed, |one| one.speeds[1]);
        if self.last.len() == PEERS {
            self.last.pop_front();
        }
        let speeds = [before, speed];
        self.last.push_back(Last { peer, speeds });
    }
}

fn fastest(last: &VecDeque<Last>) -> f64 {
    let speeds = last.iter().flat_map(|one| one.speeds);
    speeds.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
