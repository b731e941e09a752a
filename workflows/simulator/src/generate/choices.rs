//! Controllers of a random process become `if`s.

use model::{Expression, Link, Node, NodeId, NodeKind};

use crate::random::{Random, Rate};

/// Makes random numbers of their own out of the key of a process, so that a process without an `if`
/// is what it would be if there were none.
pub(super) const SALT: u64 = 0x6966_2065_6c69_6620;

/// Controllers that become an `if`...
const CHOICES: Rate = Rate::percent(12);
/// ...and those of them whose last branch is an `else`.
const WITH_ELSE: Rate = Rate::percent(60);

/// Turns some controllers below the root into `if`s, whose conditions are drawn later.
pub(super) fn draw(random: &mut Random, nodes: &mut [Node]) {
    let parents = parents(nodes);
    let links: Vec<(NodeId, NodeId)> = nodes.iter().flat_map(links_of).collect();
    for (index, node) in nodes.iter_mut().enumerate().skip(1) {
        let children = node.children().to_vec();
        if children.is_empty() || !random.happens(CHOICES) {
            continue;
        }
        let id = NodeId(index as u32);
        let branch_of = |below| child_above(&parents, id, below);
        let join_branches = |&(from, to): &(NodeId, NodeId)| {
            let (from, to) = (branch_of(from), branch_of(to));
            from.is_some() && to.is_some() && from != to
        };
        if links_of(node).next().is_some() || links.iter().any(join_branches) {
            continue;
        }
        let n_else = usize::from(children.len() > 1 && random.happens(WITH_ELSE));
        node.kind = NodeKind::If {
            conditions: vec![Expression(String::new()); children.len() - n_else],
            children,
        };
    }
}

fn parents(nodes: &[Node]) -> Vec<Option<NodeId>> {
    let mut parents = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for child in node.children() {
            parents[child.index()] = Some(NodeId(index as u32));
        }
    }
    parents
}

fn links_of(node: &Node) -> impl Iterator<Item = (NodeId, NodeId)> + use<> {
    let links: Vec<Link> = match &node.kind {
        NodeKind::Parallel { links, .. } => links.clone(),
        NodeKind::Sequence(_)
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => Vec::new(),
    };
    links.into_iter().map(|link| (link.from, link.to))
}

/// The child of a controller that a node is, or is below.
fn child_above(parents: &[Option<NodeId>], controller: NodeId, node: NodeId) -> Option<NodeId> {
    let mut above = std::iter::successors(Some(node), |at| parents[at.index()]);
    above.find(|at| parents[at.index()] == Some(controller))
}
