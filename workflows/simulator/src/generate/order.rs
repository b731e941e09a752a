//! The certain order in a tree with links, whichever links turn out true.
//!
//! A link orders its ends only where its target cannot be skipped before the link has a value: a
//! target below a controller that has incoming links of its own may be, and so may one in a branch
//! of an `if`.

use model::{Node, NodeId, NodeKind};

/// A length of time in the life of a node: from its start or end to its start or end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) node: NodeId,
    from_end: bool,
    to_end: bool,
}

impl Moment {
    /// When the node starts.
    pub(super) fn start(node: NodeId) -> Moment {
        Moment {
            node,
            from_end: false,
            to_end: false,
        }
    }

    /// When the node ends.
    pub(super) fn end(node: NodeId) -> Moment {
        Moment {
            node,
            from_end: true,
            to_end: true,
        }
    }

    /// As long as the node runs.
    pub(super) fn all_of(node: NodeId) -> Moment {
        Moment {
            node,
            from_end: false,
            to_end: true,
        }
    }
}

/// The order of starts and ends.
pub(super) struct Order {
    parents: Vec<Option<NodeId>>,
    incoming: Vec<Vec<NodeId>>,
    /// Branches of an `if`: which of them run is seen only when they are chosen from.
    is_branch: Vec<bool>,
    /// Links without a condition whose target joins all.
    reach: Vec<Vec<u64>>,
    /// The place of each start and end in the walk through the tree.
    place: Vec<[usize; 2]>,
}

impl Order {
    pub(super) fn new(nodes: &[Node]) -> Order {
        let mut order = Order {
            parents: vec![None; nodes.len()],
            incoming: vec![Vec::new(); nodes.len()],
            is_branch: vec![false; nodes.len()],
            reach: Vec::new(),
            place: vec![[0; 2]; nodes.len()],
        };
        let mut links = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            for child in node.children() {
                order.parents[child.index()] = Some(NodeId(index as u32));
                order.is_branch[child.index()] = matches!(node.kind, NodeKind::If { .. });
            }
            if let NodeKind::Parallel { links: own, .. } = &node.kind {
                links.extend(own.iter().map(|link| (link.from, link.to)));
            }
        }
        for &(from, to) in &links {
            order.incoming[to.index()].push(from);
        }
        let n_vertices = order.walk(nodes);
        let mut edges = vec![Vec::new(); n_vertices];
        for (index, node) in nodes.iter().enumerate() {
            let id = NodeId(index as u32);
            let mut before = order.vertex(id, false);
            let is_sequence = matches!(node.kind, NodeKind::Sequence(_));
            for &child in node.children() {
                edges[before].push(order.vertex(child, false));
                edges[order.vertex(child, true)].push(order.vertex(id, true));
                if is_sequence {
                    before = order.vertex(child, true);
                }
            }
            edges[order.vertex(id, false)].push(order.vertex(id, true));
        }
        for &(from, to) in &links {
            let mut ancestors = order
                .ancestors(to)
                .filter(|&above| !order.is_below(from, above));
            if !order.is_branch[to.index()] && ancestors.all(|above| order.is_entered(above)) {
                edges[order.vertex(from, true)].push(order.vertex(to, false));
            }
        }
        // Every edge leads forward in the walk, so backwards all successors are known.
        let n_words = n_vertices.div_ceil(64);
        order.reach = vec![vec![0; n_words]; n_vertices];
        for vertex in (0..n_vertices).rev() {
            let mut reach = vec![0u64; n_words];
            reach[vertex / 64] |= 1 << (vertex % 64);
            for &head in &edges[vertex] {
                for (word, other) in reach.iter_mut().zip(&order.reach[head]) {
                    *word |= other;
                }
            }
            order.reach[vertex] = reach;
        }
        order
    }

    /// The sources of the links that end at a node.
    pub(super) fn incoming(&self, id: NodeId) -> &[NodeId] {
        &self.incoming[id.index()]
    }

    /// True if one is over when the other begins.
    pub(super) fn are_ordered(&self, one: Moment, other: Moment) -> bool {
        self.precedes(one, other) || self.precedes(other, one)
    }

    /// True if `producer` has ended well whenever `consumer` starts.
    pub(super) fn has_surely_run(&self, producer: NodeId, consumer: NodeId) -> bool {
        let own = |id: &NodeId| !self.is_below(consumer, *id);
        let mut path = std::iter::once(producer)
            .chain(self.ancestors(producer))
            .filter(own);
        path.all(|id| self.is_entered(id))
            && self.precedes(Moment::end(producer), Moment::start(consumer))
    }

    /// True if it runs in every run that does not fault.
    pub(super) fn surely_runs(&self, id: NodeId) -> bool {
        std::iter::once(id)
            .chain(self.ancestors(id))
            .all(|id| self.is_entered(id))
    }

    /// True if a node runs whenever its controller does and its turn comes.
    fn is_entered(&self, id: NodeId) -> bool {
        self.incoming[id.index()].is_empty() && !self.is_branch[id.index()]
    }

    fn precedes(&self, one: Moment, other: Moment) -> bool {
        let tail = self.vertex(one.node, one.to_end);
        let head = self.vertex(other.node, other.from_end);
        self.reach[tail][head / 64] >> (head % 64) & 1 == 1
    }

    fn vertex(&self, id: NodeId, is_end: bool) -> usize {
        self.place[id.index()][usize::from(is_end)]
    }

    fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + Clone {
        std::iter::successors(self.parents[id.index()], |above| {
            self.parents[above.index()]
        })
    }

    fn is_below(&self, id: NodeId, above: NodeId) -> bool {
        self.ancestors(id).any(|ancestor| ancestor == above)
    }

    /// Numbers starts and ends in the order of a walk; returns how many there are.
    fn walk(&mut self, nodes: &[Node]) -> usize {
        let mut n_vertices = 0;
        let mut open = vec![(NodeId(0), false)];
        while let Some((id, is_end)) = open.pop() {
            self.place[id.index()][usize::from(is_end)] = n_vertices;
            n_vertices += 1;
            if !is_end {
                open.push((id, true));
                open.extend(
                    nodes[id.index()]
                        .children()
                        .iter()
                        .rev()
                        .map(|&child| (child, false)),
                );
            }
        }
        n_vertices
    }
}
