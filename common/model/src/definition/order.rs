//! The order of execution that a tree with links gives: whether it has a cycle, what precedes
//! what, and the activity graph.
//!
//! Every node of the tree is two vertices here, its start and its end. A controller's start comes
//! before its children's, its end after theirs; a link is an edge from an end to a start.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Link, Node, NodeKind, Source};
use crate::{ActivityGraph, ActivityId, Bytes, GraphNode, NodeId, Work};

/// The vertices and edges, and one topological order of them, as far as there is one.
pub(super) struct Order {
    offsets: Vec<u32>,
    heads: Vec<u32>,
    /// Vertices in topological order.
    sorted: Vec<u32>,
    /// The place of each vertex in `sorted`; 0 for all where there are cycles.
    position: Vec<u32>,
    /// Cycles that share nothing, each by the nodes it passes.
    cycles: Vec<Vec<NodeId>>,
}

/// Cycles that are looked for: each costs a pass over all edges.
const CYCLES_MAX: usize = 8;

fn start(node: NodeId) -> u32 {
    2 * node.0
}

fn end(node: NodeId) -> u32 {
    2 * node.0 + 1
}

fn in_a_row(id: NodeId, children: &[NodeId], edges: &mut Vec<(u32, u32)>) {
    let mut before = start(id);
    for &child in children {
        edges.push((before, start(child)));
        before = end(child);
    }
    edges.push((before, end(id)));
}

fn side_by_side(id: NodeId, children: &[NodeId], edges: &mut Vec<(u32, u32)>) {
    if children.is_empty() {
        edges.push((start(id), end(id)));
    }
    for &child in children {
        edges.push((start(id), start(child)));
        edges.push((end(child), end(id)));
    }
}

impl Order {
    /// Sorts the vertices of a tree with these links. O((n + e) log n).
    pub(super) fn new<N: Borrow<Node>>(nodes: &[N], links: &[(NodeId, Link)]) -> Order {
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(3 * nodes.len() + links.len());
        for (index, node) in nodes.iter().enumerate() {
            let id = NodeId(index as u32);
            match &node.borrow().kind {
                NodeKind::Sequence(children) => in_a_row(id, children, &mut edges),
                NodeKind::ForEach(each) if each.at_most == Some(1) => {
                    in_a_row(id, &each.children, &mut edges);
                }
                // Which branch is taken is not known, so each may lie between start and end.
                NodeKind::Parallel { children, .. } | NodeKind::If { children, .. } => {
                    side_by_side(id, children, &mut edges);
                }
                NodeKind::ForEach(each) => side_by_side(id, &each.children, &mut edges),
                NodeKind::Repeat(repeat) => in_a_row(id, &repeat.children, &mut edges),
                NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => {
                    edges.push((start(id), end(id)));
                }
            }
        }
        edges.extend(
            links
                .iter()
                .map(|(_, link)| (end(link.from), start(link.to))),
        );
        let n_vertices = 2 * nodes.len();
        let mut offsets = vec![0u32; n_vertices + 1];
        let mut n_before = vec![0u32; n_vertices];
        for &(tail, head) in &edges {
            offsets[tail as usize + 1] += 1;
            n_before[head as usize] += 1;
        }
        for vertex in 0..n_vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut next = offsets.clone();
        let mut heads = vec![0u32; edges.len()];
        for &(tail, head) in &edges {
            let place = &mut next[tail as usize];
            heads[*place as usize] = head;
            *place += 1;
        }
        drop(edges);

        let mut order = Order {
            offsets,
            heads,
            sorted: Vec::with_capacity(n_vertices),
            position: vec![0; n_vertices],
            cycles: Vec::new(),
        };
        let free = |n_before: &[u32]| {
            let vertices = 0..n_before.len() as u32;
            let free = vertices.filter(|&vertex| n_before[vertex as usize] == 0);
            free.collect::<Vec<u32>>()
        };
        let first = free(&n_before);
        order.sort(first, &mut n_before);
        if order.sorted.len() == n_vertices {
            for (place, &vertex) in order.sorted.iter().enumerate() {
                order.position[vertex as usize] = place as u32;
            }
            return order;
        }
        while order.sorted.len() < n_vertices && order.cycles.len() < CYCLES_MAX {
            let passed = cycle(&order.offsets, &order.heads, &n_before);
            order.cycles.push(nodes_of(&passed));
            // Without the cycle more can be sorted, and what then cannot has a cycle of its own.
            for &vertex in &passed {
                n_before[vertex as usize] = 0;
            }
            order.sort(passed, &mut n_before);
        }
        order
    }

    /// Sorts on from vertices before which nothing is left.
    fn sort(&mut self, first: Vec<u32>, n_before: &mut [u32]) {
        let mut open: BinaryHeap<Reverse<u32>> = first.into_iter().map(Reverse).collect();
        while let Some(Reverse(vertex)) = open.pop() {
            self.sorted.push(vertex);
            for &head in after(&self.offsets, &self.heads, vertex) {
                // 0 already where the head was taken out as part of a cycle.
                let left = &mut n_before[head as usize];
                if *left > 0 {
                    *left -= 1;
                    if *left == 0 {
                        open.push(Reverse(head));
                    }
                }
            }
        }
    }

    /// Cycles, each by the nodes it passes; none where everything can be in order.
    pub(super) fn cycles(&self) -> &[Vec<NodeId>] {
        &self.cycles
    }

    /// Searches in this order that follow so many edges together.
    pub(super) fn search(&self, edges_max: usize) -> Search<'_> {
        Search {
            order: self,
            seen: vec![0; self.position.len()],
            number: 0,
            n_left: edges_max,
        }
    }

    /// The activity graph. Starts and ends of controllers vanish where that adds no edges; where
    /// many meet many one stays as a gate, so that a barrier of 1,000 and 1,000 costs 2,000 edges
    /// and not a million. There must be no cycles.
    pub(super) fn graph<N: Borrow<Node>>(&self, tree: &[N]) -> ActivityGraph {
        let n_vertices = self.sorted.len();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); n_vertices];
        let mut number = vec![u32::MAX; n_vertices];
        let mut nodes = Vec::new();
        let mut edges = Vec::new();
        for &vertex in &self.sorted {
            let heads = after(&self.offsets, &self.heads, vertex);
            let mut tails = std::mem::take(&mut before[vertex as usize]);
            tails.sort_unstable();
            tails.dedup();
            let id = NodeId(vertex / 2);
            let activity = match &tree[id.index()].borrow().kind {
                NodeKind::Activity(activity) if vertex == end(id) => Some(activity),
                NodeKind::Activity(_)
                | NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::ForEach(_)
                | NodeKind::Repeat(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => None,
            };
            let stays = activity.is_some() || tails.len() * heads.len() > tails.len() + heads.len();
            if !stays {
                let (last, others) = match heads.split_last() {
                    Some(split) => split,
                    None => continue,
                };
                for &head in others {
                    before[head as usize].extend_from_slice(&tails);
                }
                let last = &mut before[*last as usize];
                if last.is_empty() {
                    *last = tails;
                } else {
                    last.append(&mut tails);
                }
                continue;
            }
            let own = nodes.len() as u32;
            number[vertex as usize] = own;
            nodes.push(GraphNode {
                activity: activity.map(|_| ActivityId(id.0)),
                work: activity
                    .and_then(|activity| activity.work)
                    .unwrap_or(Work::ZERO),
                cores: activity.map_or(0, |activity| activity.cores),
            });
            edges.extend(tails.into_iter().map(|tail| (tail, own, Bytes::ZERO)));
            for staged in activity.iter().flat_map(|activity| &activity.inputs) {
                if let Source::Output {
                    activity: producer, ..
                } = staged.source
                {
                    // A later producer gives nothing; only recorded drafts may name one.
                    let before = number[end(producer) as usize];
                    if before != u32::MAX {
                        edges.push((before, own, Bytes::ZERO));
                    }
                }
            }
            for &head in heads {
                before[head as usize].push(own);
            }
        }
        ActivityGraph::new(nodes, edges)
            .expect("edges follow the topological order in which the nodes were numbered")
    }
}

/// Questions to one order, which share what they may cost.
pub(super) struct Search<'a> {
    order: &'a Order,
    /// The number of the last question that came to each vertex.
    seen: Vec<u32>,
    number: u32,
    n_left: usize,
}

impl Search<'_> {
    /// True if `before` has ended whenever `later` starts; within a cycle everything comes before
    /// everything. O(n + e) at worst. None where too many edges have been followed.
    pub(super) fn precedes(&mut self, before: NodeId, later: NodeId) -> Option<bool> {
        let Order {
            offsets,
            heads,
            position,
            ..
        } = self.order;
        let goal = start(later);
        self.number += 1;
        let mut open = vec![end(before)];
        while let Some(vertex) = open.pop() {
            if vertex == goal {
                return Some(true);
            }
            let next = after(offsets, heads, vertex);
            self.n_left = self.n_left.checked_sub(next.len())?;
            for &head in next {
                let seen = &mut self.seen[head as usize];
                let may_lead = position[head as usize] <= position[goal as usize];
                if may_lead && *seen != self.number {
                    *seen = self.number;
                    open.push(head);
                }
            }
        }
        Some(false)
    }
}

fn after<'a>(offsets: &[u32], heads: &'a [u32], vertex: u32) -> &'a [u32] {
    &heads[offsets[vertex as usize] as usize..offsets[vertex as usize + 1] as usize]
}

/// A cycle among the vertices that could not be sorted, backwards.
fn cycle(offsets: &[u32], heads: &[u32], n_before: &[u32]) -> Vec<u32> {
    // Every vertex left over has a tail that is left over too, so going backwards must come round.
    let left = |vertex: u32| n_before[vertex as usize] > 0;
    let mut tail_of = vec![u32::MAX; n_before.len()];
    for vertex in (0..n_before.len() as u32).filter(|&vertex| left(vertex)) {
        for &head in after(offsets, heads, vertex) {
            if left(head) {
                tail_of[head as usize] = vertex;
            }
        }
    }
    let Some(mut vertex) = (0..n_before.len() as u32).find(|&vertex| left(vertex)) else {
        return Vec::new();
    };
    for _ in 0..n_before.len() {
        vertex = tail_of[vertex as usize];
    }
    let first = vertex;
    let mut passed = Vec::new();
    loop {
        passed.push(vertex);
        vertex = tail_of[vertex as usize];
        if vertex == first {
            return passed;
        }
    }
}

/// The nodes whose vertices these are, in the order of the links.
fn nodes_of(backwards: &[u32]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = backwards.iter().map(|vertex| NodeId(vertex / 2)).collect();
    nodes.dedup();
    if nodes.len() > 1 && nodes.first() == nodes.last() {
        nodes.pop();
    }
    nodes.reverse();
    nodes
}
