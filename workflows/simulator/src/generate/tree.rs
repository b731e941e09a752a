//! The shape of a process.

use model::{Join, Node, NodeId, NodeKind};

use super::blank;
use crate::random::Random;

/// Controllers within each other.
const DEPTH_MAX: u32 = 6;

/// A tree of controllers.
pub(super) enum Tree {
    Sequence(Vec<Tree>),
    Parallel(Vec<Tree>),
    Leaf(Leaf),
}

/// The kind of a leaf.
#[derive(Clone, Copy)]
pub(super) enum Leaf {
    Activity,
    Assign,
    Empty,
}

impl Tree {
    /// A tree with so many activities.
    pub(super) fn new(random: &mut Random, n_activities: u32) -> Tree {
        Tree::below(random, n_activities, 0)
    }

    fn below(random: &mut Random, n_activities: u32, depth: u32) -> Tree {
        if n_activities <= 1 && (depth > 0 || random.below(4) > 0) {
            return Tree::Leaf(Leaf::Activity);
        }
        let n_parts = random.between(2, 6).min(u64::from(n_activities)).max(1) as u32;
        let mut children = Vec::new();
        let mut left = n_activities;
        for part in 0..n_parts {
            let others = n_parts - part - 1;
            let own = if others == 0 || depth + 1 >= DEPTH_MAX {
                1
            } else {
                random.between(
                    1,
                    u64::from((left - others).min(2 * left / (others + 1)).max(1)),
                ) as u32
            };
            children.push(Tree::below(random, own, depth + 1));
            left -= own;
        }
        // The rest goes in as further children.
        while left > 0 {
            let own = if depth + 1 >= DEPTH_MAX {
                1
            } else {
                left.min(1 + random.below(6) as u32)
            };
            children.push(Tree::below(random, own, depth + 1));
            left -= own;
        }
        for leaf in [Leaf::Assign, Leaf::Empty] {
            let often = if matches!(leaf, Leaf::Assign) { 2 } else { 8 };
            if random.below(often) == 0 {
                let place = random.index(children.len() + 1);
                children.insert(place, Tree::Leaf(leaf));
            }
        }
        if random.below(2) == 0 {
            Tree::Sequence(children)
        } else {
            Tree::Parallel(children)
        }
    }

    /// Appends the nodes in the order in which they are written.
    pub(super) fn flatten(self, nodes: &mut Vec<Node>) -> NodeId {
        let id = NodeId(nodes.len() as u32);
        let (prefix, kind, children, is_parallel) = match self {
            Tree::Leaf(leaf) => {
                let prefix = match leaf {
                    Leaf::Activity => "a",
                    Leaf::Assign => "s",
                    Leaf::Empty => "e",
                };
                (prefix, blank(leaf), Vec::new(), false)
            }
            Tree::Sequence(children) => ("q", NodeKind::Empty, children, false),
            Tree::Parallel(children) => ("p", NodeKind::Empty, children, true),
        };
        nodes.push(Node {
            name: format!("{prefix}{}", id.0),
            kind,
            join: Join::All,
        });
        if children.is_empty() {
            return id;
        }
        let children = children
            .into_iter()
            .map(|child| child.flatten(nodes))
            .collect();
        nodes[id.index()].kind = if is_parallel {
            NodeKind::Parallel {
                children,
                links: Vec::new(),
            }
        } else {
            NodeKind::Sequence(children)
        };
        id
    }
}
