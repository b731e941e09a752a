//! Counting the longest ways again after a move, all of them or those that it changed.

use super::{NONE, Search};
use crate::memory::Ledger;
use crate::order::Seconds;

impl Search<'_> {
    /// The makespan of the present solution if nothing before a place of the order has changed;
    /// none if it is longer than allowed. The finishes go into `without`.
    pub(super) fn length_from(&mut self, place: usize, allowed: f64) -> Option<f64> {
        self.without.finish.copy_from_slice(&self.now.finish);
        for &node in &self.solution.order[place..] {
            self.without
                .count_forward(self.problem, &self.net, &self.solution, &self.sites, node);
            self.steps += 1 + self.net.incoming(node).len() as u64;
            if self.without.finish[node as usize] + self.rest[node as usize] > allowed {
                return None;
            }
        }
        Some(self.without.makespan())
    }

    /// The longest ways without a node that has been unlinked.
    pub(super) fn count_without(&mut self, node: u32) {
        let place = self.solution.place[node as usize] as usize;
        self.without.copy_from(&self.now);
        self.without.finish[node as usize] = f64::NEG_INFINITY;
        self.without.tail[node as usize] = f64::NEG_INFINITY;
        let (net, solution, sites) = (&self.net, &self.solution, &self.sites);
        for &later in &solution.order[place + 1..] {
            self.without
                .count_forward(self.problem, net, solution, sites, later);
        }
        for &earlier in solution.order[..place].iter().rev() {
            self.without.count_backward(net, solution, earlier, node);
        }
        self.steps += (net.n_nodes() + net.n_edges()) as u64;
    }

    /// The nodes before and after a node on its slot.
    pub(super) fn neighbours(&self, node: u32) -> [u32; 2] {
        let solution = &self.solution;
        let Some(link) = solution.links(node).next() else {
            return [NONE; 2];
        };
        [solution.prev[link], solution.next[link]].map(|link| match link {
            NONE => NONE,
            link => solution.owner[link as usize],
        })
    }

    /// The same as [`Search::recount`] after a move of one node, which was between these before: only what
    /// becomes different is counted.
    pub(super) fn recount_around(&mut self, node: u32, old: [u32; 2]) {
        let new = self.neighbours(node);
        let steps = self.recount_forward(node, [old[1], new[1]]);
        self.steps += steps + self.recount_backward(node, [old[0], new[0]]);
        self.steps += self.net.n_nodes() as u64;
        self.reorder_moved();
        self.list_critical();
    }

    /// Counts finishes again, of a node that was moved and these on, and lists in `moved` whose starts are
    /// others. With the steps that it took.
    fn recount_forward(&mut self, node: u32, others: [u32; 2]) -> u64 {
        let (net, solution, changed) = (&self.net, &self.solution, &mut self.changed);
        self.moved.clear();
        let place = |node: u32| solution.place[node as usize] as usize;
        let (mut at, mut last, mut steps) = (net.n_nodes(), 0, 0);
        let succs = net.outgoing(node).iter().map(|&(to, _)| to);
        let others = others.into_iter().filter(|&other| other != NONE);
        for seed in succs.chain(others).chain([node]) {
            changed[seed as usize] = true;
            (at, last) = (at.min(place(seed)), last.max(place(seed)));
        }
        while at <= last {
            let here = solution.order[at];
            at += 1;
            if !std::mem::take(&mut changed[here as usize]) {
                continue;
            }
            let before = self.now.finish[here as usize];
            let start_before = self.now.start[here as usize];
            self.now
                .count_forward(self.problem, net, solution, &self.sites, here);
            steps += 1 + net.incoming(here).len() as u64;
            let start = self.now.start[here as usize];
            // The node itself has another place in the order.
            if here == node || start != start_before {
                self.moved
                    .push((Seconds(start), solution.place[here as usize], here));
            }
            if self.now.finish[here as usize] == before {
                continue;
            }
            steps += net.outgoing(here).len() as u64;
            let links = solution.links(here).map(|link| solution.next[link]);
            let behind = links.filter(|&link| link != NONE);
            let behind = behind.map(|link| solution.owner[link as usize]);
            let succs = net.outgoing(here).iter().map(|&(to, _)| to);
            for later in succs.chain(behind) {
                changed[later as usize] = true;
                last = last.max(place(later));
            }
        }
        steps
    }

    /// The same for tails, back to the beginning.
    fn recount_backward(&mut self, node: u32, others: [u32; 2]) -> u64 {
        let (net, solution, changed) = (&self.net, &self.solution, &mut self.changed);
        let place = |node: u32| solution.place[node as usize] as usize;
        let (mut first, mut last, mut steps) = (net.n_nodes(), 0, 0);
        let preds = net.incoming(node).map(|edge| net.from[edge]);
        let others = others.into_iter().filter(|&other| other != NONE);
        for seed in preds.chain(others).chain([node]) {
            changed[seed as usize] = true;
            (first, last) = (first.min(place(seed)), last.max(place(seed)));
        }
        let mut end = last + 1;
        while end > first {
            end -= 1;
            let here = solution.order[end];
            if !std::mem::take(&mut changed[here as usize]) {
                continue;
            }
            let before = self.now.tail[here as usize];
            self.now.count_backward(net, solution, here, NONE);
            steps += 1 + net.outgoing(here).len() as u64;
            if self.now.tail[here as usize] == before {
                continue;
            }
            steps += net.incoming(here).len() as u64;
            let links = solution.links(here).map(|link| solution.prev[link]);
            let ahead = links.filter(|&link| link != NONE);
            let ahead = ahead.map(|link| solution.owner[link as usize]);
            let preds = net.incoming(here).map(|edge| net.from[edge]);
            for earlier in preds.chain(ahead) {
                changed[earlier as usize] = true;
                first = first.min(place(earlier));
            }
        }
        steps
    }

    /// Counts all ways again, sorts the order by starts, and lists what is critical.
    pub(super) fn recount(&mut self) {
        let (net, solution, sites) = (&self.net, &mut self.solution, &self.sites);
        let mut ledger = Ledger::in_seconds(self.problem);
        for &node in &solution.order {
            self.now
                .count_forward(self.problem, net, solution, sites, node);
            if let (Some(memory), Some(ledger)) = (&mut self.memory, &mut ledger) {
                memory.count_forward(&mut self.now, ledger, solution, node);
            }
        }
        for &node in solution.order.iter().rev() {
            self.now.count_backward(net, solution, node, NONE);
            if let Some(memory) = &mut self.memory {
                memory.count_backward(&mut self.now, solution, node);
            }
        }
        self.steps += 2 * (net.n_nodes() + net.n_edges()) as u64;
        self.put_in_order();
    }

    /// Sorts the order by starts. Stable, so what starts together keeps an order that the graph allows.
    fn put_in_order(&mut self) {
        let solution = &mut self.solution;
        let starts = &self.now.start;
        solution
            .order
            .sort_by(|&a, &b| starts[a as usize].total_cmp(&starts[b as usize]));
        for (place, &node) in (0u32..).zip(&solution.order) {
            solution.place[node as usize] = place;
        }
        self.list_critical();
    }

    /// The same where all but the moved nodes are in order: only what lies between their old and their new
    /// places is merged.
    fn reorder_moved(&mut self) {
        self.moved.sort_unstable();
        let places = self.moved.iter().map(|&(_, place, _)| place as usize);
        let (Some(first), Some(last)) = (places.clone().min(), places.max()) else {
            return;
        };
        let starts = &self.now.start;
        let start = |node: u32| Seconds(starts[node as usize]);
        let (earliest, latest) = (self.moved[0].0, self.moved[self.moved.len() - 1].0);
        let order = &mut self.solution.order;
        let first = order[..first].partition_point(|&node| start(node) <= earliest);
        let end = last + 1 + order[last + 1..].partition_point(|&node| start(node) < latest);
        for &(_, _, node) in &self.moved {
            self.changed[node as usize] = true;
        }
        let mut moved = self.moved.iter().peekable();
        self.merged.clear();
        for (&node, place) in order[first..end].iter().zip(first as u32..) {
            if std::mem::take(&mut self.changed[node as usize]) {
                continue;
            }
            let here = (start(node), place, node);
            while let Some(&&(.., earlier)) = moved.peek().filter(|&&&moved| moved < here) {
                self.merged.push(earlier);
                moved.next();
            }
            self.merged.push(node);
        }
        self.merged.extend(moved.map(|&(.., node)| node));
        order[first..end].copy_from_slice(&self.merged);
        for (&node, place) in self.merged.iter().zip(first as u32..) {
            self.solution.place[node as usize] = place;
        }
    }

    /// Lists what is critical.
    fn list_critical(&mut self) {
        let solution = &mut self.solution;
        solution.makespan = self.now.makespan();
        let least = solution.makespan * (1.0 - 1e-12);
        let mut critical = std::mem::take(&mut self.critical);
        critical.clear();
        let nodes = self.solution.order.iter().copied().filter(|&node| {
            let way = self.now.finish[node as usize] + self.now.tail[node as usize];
            way >= least && self.moves(node)
        });
        critical.extend(nodes);
        self.critical = critical;
    }
}
