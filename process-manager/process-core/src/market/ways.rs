//! Ways: how fast machines send and receive files, as those of activities have shown it.
//!
//! The level of a machine is the fastest of its links to the last peers that it exchanged files with, since a slow
//! one may be slow because of the peer. A machine is as fast as the forecast of its level ([`Series`]). Where a process
//! is planned, links are as fast as those of the median machine, and a machine that is far slower has a way of its own
//! ([`Network::ways`]). All of it is volatile: a restart begins with the link of the configuration.
//!
//! A machine mostly sends as fast as it receives. A direction that is far slower than its links altogether counts as
//! slow by itself ([`Lane`]) where two peers show it that are not slow themselves as far as anybody knows: what one peer
//! tells, slow or lying, says nothing of the other end. Only where there are no others, one is enough.
//!
//! Latency is that of the configuration. A transfer is told from 1 MiB on, where it hardly matters, and its
//! time has waits for disks and workers in it, which are longer than a round trip within a site.

mod lane;
mod series;

use std::collections::BTreeMap;

use model::{Mono, Network, NetworkLink, ResourceId, Way};
use wire::attempt::{Fetched, TRANSFER_TOLD_LEAST};

use lane::{Lane, Peers};
use series::{Series, is_changed};

/// Peers of a machine whose last transfers are remembered: with fewer, one slow peer would make it look slow, and
/// with more, a machine that has become slow is seen later.
const PEERS: usize = 3;

/// Peers that have to show that one direction of a machine is slow.
const WITNESSES: usize = 2;

/// Machines that are remembered, in 60 KB each at most, half of it only where a direction is slow by itself. A group has
/// some hundred, and where there are more, all begin anew.
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
    last: Peers,
    series: Series,
    sends: Lane,
    receives: Lane,
}

/// A direction of a machine's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Sends,
    Receives,
}

/// How fast a machine is in each direction, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    pub(super) sends: f64,
    pub(super) receives: f64,
}

/// The speeds of machines in bytes a second, as a plan counts on them.
pub(super) type Speeds = BTreeMap<ResourceId, Speed>;

impl Ways {
    /// A machine has fetched a file from another one by now.
    pub(super) fn note(&mut self, now: Mono, receiver: ResourceId, fetched: &Fetched) {
        let seconds = fetched.took.seconds();
        let says_nothing = fetched.bytes < TRANSFER_TOLD_LEAST || seconds <= 0.0;
        if says_nothing || fetched.from == receiver {
            return;
        }
        let speed = fetched.bytes.0 as f64 / seconds;
        let ends = [
            (receiver, fetched.from, Direction::Receives),
            (fetched.from, receiver, Direction::Sends),
        ];
        for (machine, peer, direction) in ends {
            if self.machines.len() >= MACHINES_MAX && !self.machines.contains_key(&machine) {
                self.machines.clear();
            }
            let new = || Machine {
                last: Peers::default(),
                series: Series::new(speed, now),
                sends: Lane::default(),
                receives: Lane::default(),
            };
            let known = self.machines.entry(machine).or_insert_with(new);
            known.last.crossed(peer, speed);
            let level = known.last.fastest();
            known.series.note(level, now);
            let lane = match direction {
                Direction::Sends => &mut known.sends,
                Direction::Receives => &mut known.receives,
            };
            lane.crossed(now, peer, fetched.took, speed);
            // The faster direction, as it was last seen: the last transfers altogether may all be of the slow one.
            let faster = known.sends.peers.fastest();
            let faster = faster.max(known.receives.peers.fastest());
            known.sends.compare(now, faster);
            known.receives.compare(now, faster);
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
    pub(super) fn speed(&self, machine: ResourceId, unknown: f64) -> Speed {
        let median = self.median.unwrap_or(unknown);
        let Some(known) = self.machines.get(&machine) else {
            return Speed::both(median);
        };
        let altogether = known.series.speed().min(median);
        let slow = |direction| self.slow_lane(machine, direction).unwrap_or(altogether);
        Speed {
            sends: slow(Direction::Sends).min(altogether),
            receives: slow(Direction::Receives).min(altogether),
        }
    }

    /// The speed of a direction of a machine that is slow by itself; none where it is not, or its peers may be what is
    /// slow.
    fn slow_lane(&self, machine: ResourceId, direction: Direction) -> Option<f64> {
        let lane = self.machines.get(&machine)?.lane(direction);
        let speed = lane.slow()?;
        let peers = lane.peers.each();
        let witnesses = peers.filter(|&(peer, _)| !self.explains(peer, direction, machine, speed));
        let (mut n, mut n_again) = (0, 0);
        for (_, is_first) in witnesses {
            n += 1;
            n_again += usize::from(!is_first);
        }
        let is_shown = n >= WITNESSES || (self.machines.len() == 2 && n_again > 0);
        is_shown.then_some(speed)
    }

    /// Returns true if a peer of a slow direction of a machine is hardly faster with others, so that the machine may be
    /// as fast as any.
    fn explains(
        &self,
        peer: ResourceId,
        direction: Direction,
        machine: ResourceId,
        speed: f64,
    ) -> bool {
        let Some(known) = self.machines.get(&peer) else {
            return false;
        };
        let other_end = match direction {
            Direction::Sends => &known.receives,
            Direction::Receives => &known.sends,
        };
        let is_slow = |shown: f64| shown < CHANGED * speed;
        let others = other_end.peers.fastest_without(machine);
        is_slow(known.series.speed()) || others.is_some_and(is_slow)
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
            .filter(|&(_, speed)| speed.least() < SLOW * bandwidth);
        let link = |speed: f64| NetworkLink {
            bandwidth: speed,
            latency: 0.0,
        };
        let way = |speed: &Speed| Way {
            sends: link(speed.sends),
            receives: link(speed.receives),
        };
        network.ways = slow
            .map(|(&machine, speed)| (machine, way(speed)))
            .collect();
        network
    }

    /// The machine whose speed has changed most since a plan, with its speed beside the one that was planned with;
    /// none where all are as it counts on.
    pub(super) fn changed(&self, planned: &Speeds) -> Option<(ResourceId, f64)> {
        let by = |ratio: f64| ratio.ln().abs();
        let change = |(&machine, before): (&ResourceId, &Speed)| {
            let sends = self.speed(machine, before.sends).sends / before.sends;
            let receives = self.speed(machine, before.receives).receives / before.receives;
            let further = if by(sends) > by(receives) {
                sends
            } else {
                receives
            };
            (machine, further)
        };
        let changed = planned.iter().map(change);
        let changed = changed.filter(|&(_, ratio)| is_changed(ratio));
        changed.max_by(|one, other| by(one.1).total_cmp(&by(other.1)))
    }

    /// The machines among these that have ways of their own.
    pub(super) fn slow(
        &self,
        machines: impl Iterator<Item = ResourceId>,
    ) -> impl Iterator<Item = ResourceId> {
        let limit = self.median.map_or(0.0, |median| SLOW * median);
        machines.filter(move |&machine| self.speed(machine, f64::INFINITY).least() < limit)
    }
}

impl Machine {
    fn lane(&self, direction: Direction) -> &Lane {
        match direction {
            Direction::Sends => &self.sends,
            Direction::Receives => &self.receives,
        }
    }
}

impl Speed {
    fn both(speed: f64) -> Speed {
        Speed {
            sends: speed,
            receives: speed,
        }
    }

    fn least(self) -> f64 {
        self.sends.min(self.receives)
    }
}

#[cfg(test)]
mod tests;
