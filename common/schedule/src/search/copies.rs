//! Copies of tasks that others wait for.

use super::net::Net;
use super::{NONE, Search};
use crate::copied::Copied;

/// How often copies are looked for; after each time the schedule with them is searched.
const ROUNDS: u64 = 8;
/// The heat of the searches between.
const HEAT_BETWEEN: f64 = 0.3;
/// What chance adds to the length of a place for a receiver that moves away, in makespans.
const AWAY: f64 = 0.1;
/// Copies that are tried without success in a row, for each message that is critical.
const MISSES_MAX: usize = 3;

impl Search<'_> {
    /// Improves the schedule in direct mode with copies of the tasks that may be repeated, which
    /// `repeatable` tells by task. There are never more copies than tasks.
    pub(crate) fn run_with_copies(&mut self, repeatable: &[bool], steps_max: u64, enough: f64) {
        let end = self.steps + steps_max;
        for round in 1..=ROUNDS {
            self.add_copies(repeatable, end, enough);
            let until = end - steps_max / ROUNDS * (ROUNDS - round);
            if self.steps < until {
                self.run(until - self.steps, enough, HEAT_BETWEEN);
            }
        }
    }

    /// The schedule with its copies.
    pub(crate) fn copied(&self) -> Copied {
        let n_tasks = self.problem.dag().n_tasks() as u32;
        Copied {
            schedule: self.schedule(),
            copies: (n_tasks..self.net.n_nodes() as u32)
                .map(|node| self.placement(node))
                .collect(),
        }
    }

    fn add_copies(&mut self, repeatable: &[bool], end: u64, enough: f64) {
        let n_tasks = self.problem.dag().n_tasks();
        let mut n_misses = 0;
        while self.steps < end
            && self.solution.makespan > enough
            && self.net.n_nodes() < 2 * n_tasks
        {
            let messages = self.critical_messages(repeatable);
            if n_misses >= MISSES_MAX * messages.len() {
                return;
            }
            let edge = messages[self.random.below(messages.len())];
            n_misses = if self.try_copy(edge) { 0 } else { n_misses + 1 };
        }
    }

    /// Messages on a longest way from a task that may be copied and has other successors too: those
    /// that something waits for, and those that never leave a machine.
    fn critical_messages(&mut self, repeatable: &[bool]) -> Vec<u32> {
        self.steps += self.net.n_nodes() as u64;
        let least = self.solution.makespan * (1.0 - 1e-12);
        let (net, now) = (&self.net, &self.now);
        let on_way = |node: u32| {
            now.finish[node as usize] + now.tail[node as usize] >= least
                && self.problem.fixed(net.task[node as usize]).is_none()
        };
        let nodes = (0..net.n_nodes() as u32).filter(|&node| on_way(node));
        let edges = nodes.flat_map(|node| net.incoming(node).map(move |edge| (node, edge)));
        let critical = edges.filter(|&(node, edge)| {
            let from = net.from[edge];
            let task = net.task[from as usize];
            let arrival = now.finish[from as usize] + self.solution.cost[edge];
            let awaited = arrival >= now.start[node as usize] * (1.0 - 1e-12);
            (awaited || self.stays(edge))
                && repeatable[task as usize]
                && self.problem.dag().cores(task) == 1
                && self.problem.fixed(task).is_none()
                && net.outgoing(from).len() > 1
        });
        critical.map(|(_, edge)| edge as u32).collect()
    }

    /// Whether a message with data goes from a machine to itself.
    fn stays(&self, edge: usize) -> bool {
        let ends = [self.net.from[edge], self.net.to[edge]];
        let hosts = ends.map(|node| self.solution.host[node as usize]);
        hosts[0] == hosts[1] && self.net.data[edge] > 0.0
    }

    /// Copies the sender of a message for its receiver, where that lets the receiver start earlier
    /// and makes nothing longer. If the message stays on a machine the receiver first moves to
    /// another one, and then all must become shorter.
    fn try_copy(&mut self, edge: u32) -> bool {
        let before = (self.net.clone(), self.solution.clone());
        let makespan = self.solution.makespan;
        let moved = self.stays(edge as usize);
        if moved && !self.move_away(edge as usize)
            || !self.copy_for(edge, makespan)
            || (moved && self.solution.makespan >= makespan * (1.0 - 1e-9))
        {
            (self.net, self.solution) = before;
            self.now.resize(self.net.n_nodes());
            self.without.resize(self.net.n_nodes());
            self.recount();
            return false;
        }
        true
    }

    /// Moves the receiver of a message to the place that is best, but for what chance adds, if the
    /// message costs nothing, as it will when a copy of its sender is there; whether that is on
    /// another machine.
    fn move_away(&mut self, edge: usize) -> bool {
        let node = self.net.to[edge];
        if !self.moves(node) {
            return false;
        }
        let host = self.solution.host[node as usize];
        let data = std::mem::take(&mut self.net.data[edge]);
        self.solution.unlink(node);
        self.count_without(node);
        let spot = self.find_spot(node, AWAY * self.solution.makespan);
        self.net.data[edge] = data;
        match spot {
            Some(spot) => {
                self.put(node, spot);
                self.recount();
                spot.host != host
            }
            None => {
                self.solution.relink(node);
                false
            }
        }
    }

    /// Copies the sender of a message for its receiver; whether that lets the receiver start
    /// earlier and leaves the makespan below a limit.
    fn copy_for(&mut self, edge: u32, limit: f64) -> bool {
        let (sender, receiver) = (self.net.from[edge as usize], self.net.to[edge as usize]);
        let host = self.solution.host[receiver as usize];
        if !self.problem.fits(self.net.task[sender as usize], host) {
            return false;
        }
        let start = self.now.start[receiver as usize];
        let copy = self.add_node(sender, receiver);
        self.count_without(copy);
        match self.find_spot(copy, 0.0) {
            Some(spot) if self.without.makespan().max(spot.length) <= limit => {
                self.put(copy, spot);
                self.recount();
                self.now.start[receiver as usize] < start * (1.0 - 1e-9)
            }
            Some(_) | None => false,
        }
    }

    /// A copy of a node for a receiver, and for what else waits for the node on the receiver's
    /// machine later; it is on no slot yet. O(n + e).
    fn add_node(&mut self, node: u32, receiver: u32) -> u32 {
        let (net, solution) = (&self.net, &self.solution);
        let copy = net.n_nodes() as u32;
        let host = solution.host[receiver as usize];
        let place = solution.place[receiver as usize];
        let moves = |to: u32| {
            to == receiver
                || (solution.host[to as usize] == host && solution.place[to as usize] > place)
        };
        let mut edges: Vec<(u32, u32, f64)> = (0..net.n_edges())
            .map(|edge| {
                let (from, to) = (net.from[edge], net.to[edge]);
                let from = if from == node && moves(to) {
                    copy
                } else {
                    from
                };
                (from, to, net.data[edge])
            })
            .collect();
        for edge in net.incoming(node) {
            // Of all runs of what it waits for, the one whose data is there first.
            let task = net.task[net.from[edge] as usize];
            let mut first = (f64::INFINITY, net.from[edge]);
            for other in (0..copy).filter(|&other| net.task[other as usize] == task) {
                let sent = solution.host[other as usize];
                let hosts = [sent, host];
                let data = net.data[edge];
                let cost = self.routes.cost(self.problem, &[], edge, data, hosts);
                let at = self.now.finish[other as usize] + cost;
                if at < first.0 && solution.place[other as usize] < place {
                    first = (at, other);
                }
            }
            edges.push((first.1, copy, net.data[edge]));
        }
        let mut tasks = net.task.clone();
        tasks.push(net.task[node as usize]);
        self.net = Net::from_edges(tasks, edges);
        let solution = &mut self.solution;
        solution.order.insert(place as usize, copy);
        solution.place.push(0);
        for (place, &node) in (0u32..).zip(&solution.order) {
            solution.place[node as usize] = place;
        }
        solution.host.push(host);
        solution.duration.push(solution.duration[node as usize]);
        solution.owner.push(copy);
        solution.link_off.push(solution.owner.len() as u32);
        for list in [&mut solution.slot, &mut solution.prev, &mut solution.next] {
            list.push(NONE);
        }
        self.now.resize(self.net.n_nodes());
        self.without.resize(self.net.n_nodes());
        self.steps += 3 * (self.net.n_nodes() + self.net.n_edges()) as u64;
        self.count_costs();
        copy
    }
}
