//! The activities of a process and what each waits for.

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use thiserror::Error;

use crate::{ActivityId, Bytes, Work};

/// A node of an [`ActivityGraph`]: an activity, or a gate where many meet many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphNode {
    /// The activity; none for a gate, which has no work, holds no slot and is never sent anywhere.
    pub activity: Option<ActivityId>,
    /// The amount of its computation.
    pub work: Work,
    /// Slots of one machine that it holds: 0 for a gate.
    pub cores: u32,
}

/// A directed graph without cycles: nodes weighted by work, edges by the bytes that flow.
/// Its nodes are in topological order: an edge goes from a lower index to a higher one.
#[derive(Clone, Debug, Default)]
pub struct ActivityGraph {
    graph: DiGraph<GraphNode, Bytes>,
}

/// Why nodes and edges are not an activity graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GraphError {
    /// An edge that does not go from a lower index to a higher one.
    #[error("edge {from} -> {to} does not follow the order of the nodes")]
    Order {
        /// Its tail.
        from: usize,
        /// Its head.
        to: usize,
    },
    /// An edge to a node that is not there.
    #[error("edge {from} -> {to} leaves the graph of {n_nodes} nodes")]
    Missing {
        /// Its tail.
        from: usize,
        /// Its head.
        to: usize,
        /// Nodes of the graph.
        n_nodes: usize,
    },
}

impl ActivityGraph {
    /// Builds a graph from nodes in topological order and edges between their places; edges
    /// between the same two nodes are merged by adding their bytes. O(n + e log e).
    pub fn new(
        nodes: impl IntoIterator<Item = GraphNode>,
        edges: impl IntoIterator<Item = (u32, u32, Bytes)>,
    ) -> Result<ActivityGraph, GraphError> {
        let mut graph = DiGraph::new();
        for node in nodes {
            graph.add_node(node);
        }
        let n_nodes = graph.node_count();
        let mut edges: Vec<_> = edges.into_iter().collect();
        edges.sort_unstable_by_key(|&(from, to, _)| (from, to));
        edges.dedup_by(|later, earlier| {
            let same = (later.0, later.1) == (earlier.0, earlier.1);
            if same {
                earlier.2 = earlier.2 + later.2;
            }
            same
        });
        for (from, to, bytes) in edges {
            let (from, to) = (from as usize, to as usize);
            if from.max(to) >= n_nodes {
                return Err(GraphError::Missing { from, to, n_nodes });
            }
            if from >= to {
                return Err(GraphError::Order { from, to });
            }
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(to), bytes);
        }
        Ok(ActivityGraph { graph })
    }

    /// Nodes, gates included.
    pub fn n_nodes(&self) -> usize {
        self.graph.node_count()
    }

    /// Edges.
    pub fn n_edges(&self) -> usize {
        self.graph.edge_count()
    }

    /// The nodes by their places.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &GraphNode> {
        self.graph.raw_nodes().iter().map(|node| &node.weight)
    }

    /// All edges: tail, head, bytes.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize, Bytes)> {
        self.graph
            .edge_references()
            .map(|edge| (edge.source().index(), edge.target().index(), *edge.weight()))
    }

    /// The same graph with other works and bytes: what was learned since. The edges come as tail
    /// and head.
    pub fn weighted(
        &self,
        mut work: impl FnMut(&GraphNode) -> Work,
        mut bytes: impl FnMut(&GraphNode, &GraphNode, Bytes) -> Bytes,
    ) -> ActivityGraph {
        let nodes = &self.graph;
        let graph = self.graph.map(
            |_, node| GraphNode {
                work: work(node),
                ..*node
            },
            |edge, &weight| match nodes.edge_endpoints(edge) {
                Some((from, to)) => bytes(&nodes[from], &nodes[to], weight),
                None => weight,
            },
        );
        ActivityGraph { graph }
    }
}
