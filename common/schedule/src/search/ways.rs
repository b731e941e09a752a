//! The longest ways through a solution, from its beginning to each node and from there to its end.

use super::NONE;
use super::net::Net;
use super::solution::{Sites, Solution};
use crate::memory::{Ledger, NOBODY};
use crate::order::Seconds;
use crate::problem::Problem;

/// Longest ways through a solution.
#[derive(Clone)]
pub(super) struct Ways {
    pub(super) start: Vec<f64>,
    pub(super) finish: Vec<f64>,
    /// From a node's finish to the end of everything.
    pub(super) tail: Vec<f64>,
}

impl Ways {
    pub(super) fn new(n_nodes: usize) -> Ways {
        Ways {
            start: vec![0.0; n_nodes],
            finish: vec![0.0; n_nodes],
            tail: vec![0.0; n_nodes],
        }
    }

    pub(super) fn copy_from(&mut self, other: &Ways) {
        self.start.copy_from_slice(&other.start);
        self.finish.copy_from_slice(&other.finish);
        self.tail.copy_from_slice(&other.tail);
    }

    pub(super) fn makespan(&self) -> f64 {
        self.finish.iter().copied().fold(0.0, f64::max)
    }

    pub(super) fn count_forward(
        &mut self,
        problem: &Problem,
        net: &Net,
        solution: &Solution,
        sites: &Sites,
        node: u32,
    ) {
        if let Some(fixed) = problem.fixed(node) {
            self.start[node as usize] = fixed.finish;
            self.finish[node as usize] = fixed.finish;
            return;
        }
        let mut start = 0.0f64;
        for link in solution.links(node) {
            let free = match solution.prev[link] {
                NONE => sites.ready[solution.slot[link] as usize],
                prev => self.finish[solution.owner[prev as usize] as usize],
            };
            start = start.max(free);
        }
        for edge in net.incoming(node) {
            start = start.max(self.finish[net.from[edge] as usize] + solution.cost[edge]);
        }
        self.start[node as usize] = start;
        self.finish[node as usize] = start + solution.duration[node as usize];
    }

    pub(super) fn count_backward(
        &mut self,
        net: &Net,
        solution: &Solution,
        node: u32,
        except: u32,
    ) {
        let mut tail = 0.0f64;
        for link in solution.links(node) {
            if solution.next[link] != NONE {
                let next = solution.owner[solution.next[link] as usize] as usize;
                tail = tail.max(self.tail[next] + solution.duration[next]);
            }
        }
        for &(to, edge) in net.outgoing(node) {
            if to != except {
                let to = to as usize;
                tail =
                    tail.max(solution.cost[edge as usize] + solution.duration[to] + self.tail[to]);
            }
        }
        self.tail[node as usize] = tail;
    }
}

/// Ways through memory, where it may run out: a node that waits for it follows the one that gives it
/// back.
pub(super) struct MemoryWays {
    /// By node: the one that it waits for.
    after: Vec<u32>,
    /// By node: the longest way from its finish through those that wait for it.
    tail: Vec<f64>,
}

impl MemoryWays {
    pub(super) fn new(problem: &Problem, n_nodes: usize) -> Option<MemoryWays> {
        problem.memory().map(|_| MemoryWays {
            after: vec![NOBODY; n_nodes],
            tail: vec![0.0; n_nodes],
        })
    }

    /// Puts the start of a node off until it has its memory, all before it in the order counted.
    pub(super) fn count_forward(
        &mut self,
        ways: &mut Ways,
        ledger: &mut Ledger<'_, Seconds>,
        solution: &Solution,
        node: u32,
    ) {
        let index = node as usize;
        let at = Seconds(ways.start[index]);
        let duration = solution.duration[index];
        let end = |Seconds(start): Seconds| Seconds(start + duration);
        let (Seconds(start), after) = ledger.start_after(node, solution.host[index], at, end);
        self.after[index] = after;
        self.tail[index] = 0.0;
        ways.start[index] = start;
        ways.finish[index] = start + solution.duration[index];
        ledger.hold(node, solution.host[index], Seconds(ways.finish[index]));
    }

    /// Adds what waits for the node's memory to its tail, all after it in the order counted.
    pub(super) fn count_backward(&mut self, ways: &mut Ways, solution: &Solution, node: u32) {
        let index = node as usize;
        let tail = ways.tail[index].max(self.tail[index]);
        ways.tail[index] = tail;
        if let Some(before) = self.tail.get_mut(self.after[index] as usize) {
            *before = before.max(tail + solution.duration[index]);
        }
    }
}
