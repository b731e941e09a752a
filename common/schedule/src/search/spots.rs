//! All places for one node that was taken out, and what each would make of the schedule.

use super::reach::Way;
use super::{NONE, Search};
use crate::random::Random;

/// A place for a node that was taken out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) host: u32,
    /// None for a gate.
    pub(super) slot: u32,
    /// The index in the slot's list.
    pub(super) index: usize,
    /// The longest way through the node there.
    pub(super) length: f64,
    /// The length and what chance adds to it.
    pub(super) energy: f64,
}

impl Search<'_> {
    /// The place with the shortest way through the node, but for what chance adds; not the one where
    /// it was. The node is out of its slot, and the ways without it are counted.
    pub(super) fn find_spot(&mut self, node: u32, temperature: f64) -> Option<Spot> {
        let problem = self.problem;
        let (net, solution) = (&self.net, &self.solution);
        self.arrivals.clear();
        self.tails.clear();
        // The tasks before and after it in the order, whatever the machine.
        let (mut after, mut before) = (None, solution.order.len() as u32);
        for edge in net.incoming(node) {
            let (from, data) = (net.from[edge], net.data[edge]);
            let sent = solution.host[from as usize];
            let (seconds, host) =
                self.routes
                    .before(problem, &solution.controllers, edge, data, sent);
            let at = self.without.finish[from as usize] + seconds;
            self.arrivals.add(problem, at, host, data, Way::Here);
            after = after.max(Some(solution.place[from as usize]));
        }
        for &(to, edge) in net.outgoing(node) {
            let (edge, wanted) = (edge as usize, solution.host[to as usize]);
            let data = net.data[edge];
            let (seconds, host) =
                self.routes
                    .after(problem, &solution.controllers, edge, data, wanted);
            let at = self.without.tail[to as usize] + solution.duration[to as usize] + seconds;
            self.tails.add(problem, at, host, data, Way::Away);
            before = before.min(solution.place[to as usize]);
        }
        let (old_host, old_slot) = (
            solution.host[node as usize],
            solution.links(node).next().map(|link| solution.slot[link]),
        );
        let old_prev = solution.links(node).next().map(|link| solution.prev[link]);
        let gate = problem.dag().is_gate(node);
        let mut best: Option<Spot> = None;
        for &host in problem.fitting(problem.demand_class(node)) {
            let group = self.sites.group[host as usize];
            let arrival = self.arrivals.at(host, group);
            let tail = self.tails.at(host, group);
            let duration = self.sites.duration(problem, node, host);
            let least = arrival + duration + tail;
            self.steps += 1;
            if best.is_some_and(|best| least >= best.energy) {
                continue;
            }
            if gate {
                let energy = least + noise(&mut self.random, temperature);
                if host != old_host && best.is_none_or(|best| energy < best.energy) {
                    best = Some(Spot {
                        host,
                        slot: NONE,
                        index: 0,
                        length: least,
                        energy,
                    });
                }
                continue;
            }
            for slot in self.sites.slots(host) {
                let list = &solution.lists[slot];
                let place_of = |link: u32| solution.place[solution.owner[link as usize] as usize];
                let mut index = match after {
                    Some(after) => list.partition_point(|&link| place_of(link) <= after),
                    None => 0,
                };
                loop {
                    let prev = index.checked_sub(1).map(|index| list[index]);
                    if prev.is_some_and(|prev| place_of(prev) >= before) {
                        break;
                    }
                    let free = match prev {
                        Some(prev) => self.without.finish[solution.owner[prev as usize] as usize],
                        None => self.sites.ready[slot],
                    };
                    let start = arrival.max(free);
                    if best.is_some_and(|best| start + duration + tail >= best.energy) {
                        break;
                    }
                    let next = list.get(index);
                    let rest = next.map_or(0.0, |&next| {
                        let next = solution.owner[next as usize] as usize;
                        self.without.tail[next] + solution.duration[next]
                    });
                    let length = start + duration + tail.max(rest);
                    self.steps += 1;
                    let same =
                        old_slot == Some(slot as u32) && old_prev == Some(prev.unwrap_or(NONE));
                    if !same && best.is_none_or(|best| length < best.energy) {
                        let energy = length + noise(&mut self.random, temperature);
                        if best.is_none_or(|best| energy < best.energy) {
                            best = Some(Spot {
                                host,
                                slot: slot as u32,
                                index,
                                length,
                                energy,
                            });
                        }
                    }
                    if next.is_none() {
                        break;
                    }
                    index += 1;
                }
            }
        }
        best
    }

    /// Puts a node that was taken out into a place.
    pub(super) fn put(&mut self, node: u32, spot: Spot) {
        let problem = self.problem;
        let (net, solution) = (&self.net, &mut self.solution);
        // The node goes between places of the order; its own place is one of those counted.
        let (mut first, mut end) = (0, solution.order.len() as u32);
        let here = solution.place[node as usize];
        for edge in net.incoming(node) {
            first = first.max(solution.place[net.from[edge] as usize] + 1);
        }
        for &(to, _) in net.outgoing(node) {
            end = end.min(solution.place[to as usize]);
        }
        if spot.slot != NONE {
            let list = &solution.lists[spot.slot as usize];
            if let Some(prev) = spot.index.checked_sub(1) {
                let prev = solution.owner[list[prev] as usize];
                first = first.max(solution.place[prev as usize] + 1);
            }
            if let Some(&next) = list.get(spot.index) {
                let next = solution.owner[next as usize];
                end = end.min(solution.place[next as usize]);
            }
        }
        let target = if here < first {
            first - 1
        } else {
            here.min(end)
        };
        solution.shift(node, target);
        solution.host[node as usize] = spot.host;
        solution.duration[node as usize] = self.sites.duration(problem, node, spot.host);
        if spot.slot != NONE {
            solution.link(node, spot.slot, spot.index);
        }
        for edge in net.incoming(node) {
            let from = solution.host[net.from[edge] as usize];
            let (data, hosts) = (net.data[edge], [from, spot.host]);
            let routes = &self.routes;
            solution.cost[edge] = routes.cost(problem, &solution.controllers, edge, data, hosts);
        }
        for &(to, edge) in net.outgoing(node) {
            let edge = edge as usize;
            let (data, hosts) = (net.data[edge], [spot.host, solution.host[to as usize]]);
            let routes = &self.routes;
            solution.cost[edge] = routes.cost(problem, &solution.controllers, edge, data, hosts);
        }
    }
}

/// Random noise for a length: a number of exponential distribution with this mean.
pub(super) fn noise(random: &mut Random, mean: f64) -> f64 {
    // The least number that is drawn keeps the logarithm finite.
    -mean * random.unit().max(1e-12).ln()
}
