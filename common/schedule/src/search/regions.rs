//! Moves of a region: tasks that exchange data in one group of machines go to another group.
//!
//! Where messages between groups are dear, a part of the graph stays inside one of them, and neither a task
//! nor a machine of it can leave alone. So all of the part moves, and each of its tasks is placed again on
//! the machine of the other group where it ends first.

use super::reach::Way;
use super::spots::noise;
use super::{NONE, Search};
use crate::problem::OUTSIDE;

/// A region has at most so many tasks...
const REGION_MAX: usize = 200;
/// ...and at most one of so many of all: with more of them on the way, all is rather planned anew.
const REGION_PART: usize = 3;

/// The messages that lead from a task of a region to others.
#[derive(Clone, Copy)]
enum Follow {
    All,
    ToSuccessors,
    ToPredecessors,
}

const FOLLOW: [Follow; 3] = [Follow::All, Follow::ToSuccessors, Follow::ToPredecessors];

impl Search<'_> {
    /// Moves a region to another group, unless that is too much worse. The order stays.
    pub(super) fn move_region(&mut self, temperature: f64) {
        self.steps += 1;
        let node = self.some_node();
        let here = self.solution.host[node as usize];
        let there = self.some_group_for(node);
        if !self.moves(node) || here == OUTSIDE || there == Some(self.sites.group[here as usize]) {
            return;
        }
        let Some(there) = there else { return };
        let region = self.region_of(node);
        if region.len() < 2 {
            return;
        }
        self.before.copy_from(&self.solution);
        self.steps += (self.net.n_nodes() + self.net.n_edges()) as u64 / 2;
        for &task in &region {
            self.solution.unlink(task);
        }
        match self.spread(&region, there, temperature) {
            Some(tasks) => self.judge(&tasks, temperature),
            None => std::mem::swap(&mut self.solution, &mut self.before),
        }
    }

    /// Any group, or the one of a machine that suits a node; none if that is outside.
    fn some_group_for(&mut self, node: u32) -> Option<u32> {
        if self.random.below(2) == 0 {
            let n_groups = self.problem.links().n_groups() as usize;
            return Some(self.random.below(n_groups) as u32);
        }
        match self.some_host_for(node) {
            OUTSIDE => None,
            host => Some(self.sites.group[host as usize]),
        }
    }

    /// A task and those that messages reach from it in its group, the nearest first, in the present order.
    /// Small regions are as likely as large ones.
    fn region_of(&mut self, node: u32) -> Vec<u32> {
        let limit = REGION_MAX.min(self.net.n_nodes() / REGION_PART).max(2);
        let times = (limit as f64 / 2.0).powf(self.random.unit());
        let most = (2.0 * times) as usize + 1;
        let follow = FOLLOW[self.random.below(FOLLOW.len())];
        let (back, on) = match follow {
            Follow::All => (true, true),
            Follow::ToSuccessors => (false, true),
            Follow::ToPredecessors => (true, false),
        };
        let group = self.sites.group[self.solution.host[node as usize] as usize];
        let mut region = vec![node];
        self.changed[node as usize] = true;
        let mut next = 0;
        while let Some(&task) = region.get(next).filter(|_| region.len() < most) {
            next += 1;
            let (net, sites) = (&self.net, &self.sites);
            let before = net.incoming(task).map(|edge| (net.from[edge], edge));
            let after = net.outgoing(task).iter();
            let after = after.map(|&(to, edge)| (to, edge as usize));
            let messages = before.filter(|_| back).chain(after.filter(|_| on));
            for (other, edge) in messages {
                self.steps += 1;
                let host = self.solution.host[other as usize];
                let is_there = host != OUTSIDE && sites.group[host as usize] == group;
                let belongs = is_there && net.data[edge] > 0.0 && self.moves(other);
                if belongs && !self.changed[other as usize] && region.len() < most {
                    self.changed[other as usize] = true;
                    region.push(other);
                }
            }
        }
        for &task in &region {
            self.changed[task as usize] = false;
        }
        region.sort_unstable_by_key(|&task| self.solution.place[task as usize]);
        region
    }

    /// Places tasks that are out of their slots, in the present order, on the machines of a group where they
    /// end first, but for what chance adds. With their machines; none if one fits nowhere there.
    fn spread(&mut self, region: &[u32], group: u32, temperature: f64) -> Option<Vec<(u32, u32)>> {
        let hosts = 0..self.sites.group.len() as u32;
        self.steps += u64::from(hosts.end);
        let hosts: Vec<u32> = hosts
            .filter(|&host| self.sites.group[host as usize] == group)
            .collect();
        // What waits for a task that has moved keeps its old finish here: all is counted when it is judged.
        self.without.finish.copy_from_slice(&self.now.finish);
        let mut tasks = Vec::with_capacity(region.len());
        for &task in region {
            self.arrivals.clear();
            for edge in self.net.incoming(task) {
                let (from, data) = (self.net.from[edge] as usize, self.net.data[edge]);
                let (finish, host) = (self.without.finish[from], self.solution.host[from]);
                self.arrivals
                    .add(self.problem, finish, host, data, Way::Here);
                self.steps += 1;
            }
            let mut best: Option<(f64, f64, u32, usize)> = None;
            for &host in &hosts {
                if !self.problem.fits(task, host) {
                    continue;
                }
                let arrival = self.arrivals.at(host, group);
                let duration = self.sites.duration(self.problem, task, host);
                for slot in self.sites.slots(host) {
                    self.steps += 1;
                    let finish = arrival.max(self.free_before(task, slot)) + duration;
                    let energy = finish + noise(&mut self.random, temperature);
                    if best.is_none_or(|(least, ..)| energy < least) {
                        best = Some((energy, finish, host, slot));
                    }
                }
            }
            let (_, finish, host, slot) = best?;
            self.without.finish[task as usize] = finish;
            self.solution.host[task as usize] = host;
            self.put_in_its_place(task, host, slot);
            tasks.push((task, host));
        }
        Some(tasks)
    }

    /// When a slot is free for a task that comes where the order has it, by the finishes in `without`.
    fn free_before(&self, task: u32, slot: usize) -> f64 {
        let solution = &self.solution;
        if self.problem.dag().is_gate(task) {
            return 0.0;
        }
        let place = solution.place[task as usize];
        let list = &solution.lists[slot];
        let index = list.partition_point(|&link| {
            solution.place[solution.owner[link as usize] as usize] < place
        });
        match index.checked_sub(1).map_or(NONE, |index| list[index]) {
            NONE => self.sites.ready[slot],
            link => self.without.finish[solution.owner[link as usize] as usize],
        }
    }
}
