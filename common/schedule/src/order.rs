//! Comparison of times and priorities, so that rounding never decides a tie.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::dag::Dag;

/// Two times count as equal when they differ by less than this part of the larger one, or of 1
/// (rule A0 of the digest of Bittencourt and Madeira's paper).
pub const TOLERANCE: f64 = 1e-9;

/// True if `a` is smaller than `b` by more than rounding can explain. Every choice between times
/// goes through here.
pub fn less(a: f64, b: f64) -> bool {
    // The first test answers nearly all calls; it also keeps infinities out of the difference.
    a < b && (b.is_infinite() || a < b - TOLERANCE * 1f64.max(a.abs()).max(b.abs()))
}

/// Seconds, in order.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Seconds(pub(crate) f64);

impl Eq for Seconds {}

impl PartialOrd for Seconds {
    fn partial_cmp(&self, other: &Seconds) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Seconds {
    fn cmp(&self, other: &Seconds) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// All positions by descending priority; equal priorities keep the order of the positions, so the
/// result is a linear extension of the graph where no priority is above a predecessor's.
/// O(n log n).
pub(crate) fn by_priority(priority: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..priority.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| {
        priority[b as usize]
            .total_cmp(&priority[a as usize])
            .then(a.cmp(&b))
    });
    let mut first = 0;
    while first < order.len() {
        let mut end = first + 1;
        while end < order.len()
            && !less(
                priority[order[end] as usize],
                priority[order[end - 1] as usize],
            )
        {
            end += 1;
        }
        order[first..end].sort_unstable();
        first = end;
    }
    order
}

/// The order of list schedulers: by descending rank, a task after its predecessors. Ranks are
/// compared exactly and equal ones have the order of the input that the graph was built from;
/// published makespans of graphs with many equal works are reached in no other way. O(n log n + e).
pub(crate) fn by_rank(dag: &Dag, rank: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = dag.tasks().collect();
    order.sort_unstable_by(|&a, &b| {
        rank[b as usize]
            .total_cmp(&rank[a as usize])
            .then(dag.given(a).cmp(&dag.given(b)))
    });
    let place = places(&order);
    let linear = dag.tasks().all(|task| {
        let mut preds = dag.predecessors(task);
        preds.all(|(pred, _)| place[pred as usize] < place[task as usize])
    });
    if linear {
        order
    } else {
        in_ready_order(dag, &order)
    }
}

/// The place of each task in an order.
pub(crate) fn places(order: &[u32]) -> Vec<u32> {
    let mut place = vec![0; order.len()];
    for (number, &task) in (0u32..).zip(order) {
        place[task as usize] = number;
    }
    place
}

/// The order in which tasks are taken if at each step the first one in `preference` is next of
/// those whose predecessors are all taken. A linear extension. O(n log n + e).
pub(crate) fn in_ready_order(dag: &Dag, preference: &[u32]) -> Vec<u32> {
    let place = places(preference);
    let mut waits: Vec<u32> = dag
        .tasks()
        .map(|task| dag.predecessors(task).len() as u32)
        .collect();
    let mut ready: BinaryHeap<Reverse<u32>> = dag
        .tasks()
        .filter(|&task| waits[task as usize] == 0)
        .map(|task| Reverse(place[task as usize]))
        .collect();
    let mut order = Vec::with_capacity(preference.len());
    while let Some(Reverse(number)) = ready.pop() {
        let task = preference[number as usize];
        order.push(task);
        for (succ, _) in dag.successors(task) {
            let waits = &mut waits[succ as usize];
            *waits -= 1;
            if *waits == 0 {
                ready.push(Reverse(place[succ as usize]));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests;
