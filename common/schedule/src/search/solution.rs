//! A schedule as an order of all nodes and a slot for each, and the slots that there are.

use super::NONE;
use crate::problem::Problem;
use crate::schedule::{Schedule, holds_slots};

#[derive(Clone)]
pub(super) struct Solution {
    /// All nodes, a linear extension of the graph.
    pub(super) order: Vec<u32>,
    /// By node: where it is in `order`.
    pub(super) place: Vec<u32>,
    pub(super) host: Vec<u32>,
    /// By node: its links; a node has one on each slot that it holds.
    pub(super) link_off: Vec<u32>,
    /// By link.
    pub(super) slot: Vec<u32>,
    /// Its node.
    pub(super) owner: Vec<u32>,
    /// The links before and after it on its slot.
    pub(super) prev: Vec<u32>,
    pub(super) next: Vec<u32>,
    /// By slot: its links in order.
    pub(super) lists: Vec<Vec<u32>>,
    /// By node: how long it takes where it is.
    pub(super) duration: Vec<f64>,
    /// By edge: what its message costs.
    pub(super) cost: Vec<f64>,
    /// By controller: its machine; empty in direct mode.
    pub(super) controllers: Vec<u32>,
    pub(super) makespan: f64,
}

/// The slots of all machines in one numbering.
pub(super) struct Sites {
    /// By machine: its first slot.
    pub(super) first: Vec<u32>,
    /// By slot.
    pub(super) host: Vec<u32>,
    pub(super) ready: Vec<f64>,
    /// By machine.
    pub(super) group: Vec<u32>,
    pub(super) seconds_per_work: Vec<f64>,
}

impl Solution {
    pub(super) fn new(
        problem: &Problem,
        sites: &Sites,
        schedule: &Schedule,
        controllers: &[u32],
    ) -> Solution {
        let dag = problem.dag();
        let order = schedule.by_start();
        let mut place = vec![0; order.len()];
        for (number, &node) in (0u32..).zip(&order) {
            place[node as usize] = number;
        }
        let host: Vec<u32> = schedule.entries.iter().map(|entry| entry.host).collect();
        let mut link_off = vec![0];
        let mut owner = Vec::new();
        for task in dag.tasks() {
            if holds_slots(problem, task) {
                owner.extend((0..dag.cores(task)).map(|_| task));
            }
            link_off.push(owner.len() as u32);
        }
        let duration = dag.tasks().map(|task| match problem.fixed(task) {
            Some(_) => 0.0,
            None => sites.duration(problem, task, host[task as usize]),
        });
        let duration = duration.collect();
        let mut solution = Solution {
            order,
            place,
            host,
            slot: vec![NONE; owner.len()],
            prev: vec![NONE; owner.len()],
            next: vec![NONE; owner.len()],
            lists: vec![Vec::new(); sites.host.len()],
            duration,
            cost: Vec::new(),
            controllers: controllers.to_vec(),
            makespan: 0.0,
            link_off,
            owner,
        };
        let mut taken: Vec<u32> = solution.link_off.clone();
        for (host, slots) in schedule.order.iter().enumerate() {
            for (slot, tasks) in (sites.first[host]..).zip(slots) {
                // Tasks that start and end together may be listed in another order than this one.
                let mut tasks = tasks.clone();
                tasks.sort_unstable_by_key(|&task| solution.place[task as usize]);
                for task in tasks {
                    let link = taken[task as usize];
                    taken[task as usize] += 1;
                    solution.slot[link as usize] = slot;
                    if let Some(&prev) = solution.lists[slot as usize].last() {
                        solution.prev[link as usize] = prev;
                        solution.next[prev as usize] = link;
                    }
                    solution.lists[slot as usize].push(link);
                }
            }
        }
        solution
    }

    /// Becomes like another one, in the memory that it has.
    pub(super) fn copy_from(&mut self, other: &Solution) {
        self.order.clone_from(&other.order);
        self.place.clone_from(&other.place);
        self.host.clone_from(&other.host);
        self.link_off.clone_from(&other.link_off);
        self.slot.clone_from(&other.slot);
        self.owner.clone_from(&other.owner);
        self.prev.clone_from(&other.prev);
        self.next.clone_from(&other.next);
        self.lists.clone_from(&other.lists);
        self.duration.clone_from(&other.duration);
        self.cost.clone_from(&other.cost);
        self.controllers.clone_from(&other.controllers);
        self.makespan = other.makespan;
    }

    pub(super) fn links(&self, node: u32) -> std::ops::Range<usize> {
        self.link_off[node as usize] as usize..self.link_off[node as usize + 1] as usize
    }

    /// Takes a node out of its slot; its links keep what `relink` needs.
    pub(super) fn unlink(&mut self, node: u32) {
        for link in self.links(node) {
            let (prev, next) = (self.prev[link], self.next[link]);
            if prev != NONE {
                self.next[prev as usize] = next;
            }
            if next != NONE {
                self.prev[next as usize] = prev;
            }
            let index = self.index_of(link);
            self.lists[self.slot[link] as usize].remove(index);
        }
    }

    pub(super) fn relink(&mut self, node: u32) {
        for link in self.links(node) {
            let index = match self.prev[link] {
                NONE => 0,
                prev => self.index_of(prev as usize) + 1,
            };
            self.connect(link as u32, index);
        }
    }

    pub(super) fn link(&mut self, node: u32, slot: u32, index: usize) {
        for link in self.links(node) {
            self.slot[link] = slot;
            self.connect(link as u32, index);
        }
    }

    pub(super) fn connect(&mut self, link: u32, index: usize) {
        let list = &mut self.lists[self.slot[link as usize] as usize];
        let prev = index.checked_sub(1).map_or(NONE, |index| list[index]);
        let next = list.get(index).copied().unwrap_or(NONE);
        list.insert(index, link);
        (self.prev[link as usize], self.next[link as usize]) = (prev, next);
        if prev != NONE {
            self.next[prev as usize] = link;
        }
        if next != NONE {
            self.prev[next as usize] = link;
        }
    }

    pub(super) fn index_of(&self, link: usize) -> usize {
        let place = self.place[self.owner[link] as usize];
        self.lists[self.slot[link] as usize]
            .partition_point(|&other| self.place[self.owner[other as usize] as usize] < place)
    }

    /// Moves a node to another place of the order.
    pub(super) fn shift(&mut self, node: u32, target: u32) {
        let (here, target) = (self.place[node as usize] as usize, target as usize);
        let moved = if here < target {
            self.order[here..=target].rotate_left(1);
            here..=target
        } else {
            self.order[target..=here].rotate_right(1);
            target..=here
        };
        for place in moved {
            self.place[self.order[place] as usize] = place as u32;
        }
    }
}

impl Sites {
    pub(super) fn new(problem: &Problem) -> Sites {
        let mut sites = Sites {
            first: Vec::new(),
            host: Vec::new(),
            ready: Vec::new(),
            group: Vec::new(),
            seconds_per_work: Vec::new(),
        };
        for (number, host) in (0u32..).zip(problem.hosts()) {
            sites.first.push(sites.host.len() as u32);
            sites.group.push(host.group);
            sites.seconds_per_work.push(1.0 / host.power);
            for &ready in problem.ready(number) {
                sites.host.push(number);
                sites.ready.push(ready);
            }
        }
        sites.first.push(sites.host.len() as u32);
        sites
    }

    pub(super) fn slots(&self, host: u32) -> std::ops::Range<usize> {
        self.first[host as usize] as usize..self.first[host as usize + 1] as usize
    }

    pub(super) fn duration(&self, problem: &Problem, task: u32, host: u32) -> f64 {
        if problem.has_costs() {
            problem.duration(task, host)
        } else {
            problem.dag().work(task) * self.seconds_per_work[host as usize]
        }
    }
}
