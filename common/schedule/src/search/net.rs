//! The graph of a search: tasks as nodes, messages as numbered edges, in both directions in flat arrays.

use crate::bound::Shortest;
use crate::problem::Problem;

/// The graph of a problem as a search walks it; each task is a node.
#[derive(Debug)]
pub(super) struct Net {
    /// By node: where its incoming edges begin; edges are numbered in this order.
    pub(super) in_off: Vec<u32>,
    /// By edge.
    pub(super) from: Vec<u32>,
    pub(super) to: Vec<u32>,
    pub(super) data: Vec<f64>,
    /// By node: where its outgoing edges begin in `out`.
    pub(super) out_off: Vec<u32>,
    /// (to, edge)
    pub(super) out: Vec<(u32, u32)>,
}

impl Net {
    /// A node for each task. Edges into started tasks are left out.
    pub(super) fn new(problem: &Problem) -> Net {
        let dag = problem.dag();
        let waits = |task: &u32| problem.fixed(*task).is_none();
        let edges = dag.tasks().filter(waits).flat_map(|task| {
            dag.predecessors(task)
                .map(move |(pred, edge)| (pred, task, dag.data(edge)))
        });
        Net::from_edges(dag.n_tasks(), edges.collect())
    }

    /// From edges (tail, head, data) that are sorted by head.
    fn from_edges(n: usize, edges: Vec<(u32, u32, f64)>) -> Net {
        let mut net = Net {
            in_off: vec![0; n + 1],
            from: Vec::with_capacity(edges.len()),
            to: Vec::with_capacity(edges.len()),
            data: Vec::with_capacity(edges.len()),
            out_off: vec![0; n + 1],
            out: vec![(0, 0); edges.len()],
        };
        for &(from, to, data) in &edges {
            net.in_off[to as usize + 1] += 1;
            net.out_off[from as usize + 1] += 1;
            net.from.push(from);
            net.to.push(to);
            net.data.push(data);
        }
        for node in 0..n {
            net.in_off[node + 1] += net.in_off[node];
            net.out_off[node + 1] += net.out_off[node];
        }
        let mut next = net.out_off.clone();
        for (edge, &(from, to, _)) in (0u32..).zip(&edges) {
            let place = &mut next[from as usize];
            net.out[*place as usize] = (to, edge);
            *place += 1;
        }
        net
    }

    /// By node: the least time from its finish to the end of everything, each node on its best
    /// machine and messages for nothing. The order is a linear extension. O(n + e), and a look at
    /// each machine for each node.
    pub(super) fn rest(&self, problem: &Problem, order: &[u32]) -> Vec<f64> {
        let shortest = Shortest::new(problem);
        let mut rest = vec![0.0f64; self.n_nodes()];
        // Started tasks come before all others, and take no time here.
        for &node in order.iter().rev().filter(|&&n| problem.fixed(n).is_none()) {
            let whole = shortest.duration(node) + rest[node as usize];
            for &from in &self.from[self.incoming(node)] {
                rest[from as usize] = rest[from as usize].max(whole);
            }
        }
        rest
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.in_off.len() - 1
    }

    pub(super) fn n_edges(&self) -> usize {
        self.from.len()
    }

    /// Edges that end at a node.
    pub(super) fn incoming(&self, node: u32) -> std::ops::Range<usize> {
        self.in_off[node as usize] as usize..self.in_off[node as usize + 1] as usize
    }

    /// (to, edge)
    pub(super) fn outgoing(&self, node: u32) -> &[(u32, u32)] {
        &self.out[self.out_off[node as usize] as usize..self.out_off[node as usize + 1] as usize]
    }
}
