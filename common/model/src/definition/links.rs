//! The numbers of the links that begin or end at each node.

use std::collections::BTreeMap;

use crate::NodeId;

/// Numbers of links by node. Few copies of a body have any, so these cost nothing for the others.
#[derive(Clone, Debug)]
pub(super) struct LinkNumbers {
    of_draft: Vec<Vec<u32>>,
    of_copies: BTreeMap<NodeId, Vec<u32>>,
}

impl LinkNumbers {
    /// None yet, for a draft of so many nodes.
    pub(super) fn new(n_nodes: usize) -> LinkNumbers {
        LinkNumbers {
            of_draft: vec![Vec::new(); n_nodes],
            of_copies: BTreeMap::new(),
        }
    }

    pub(super) fn push(&mut self, node: NodeId, number: u32) {
        match self.of_draft.get_mut(node.index()) {
            Some(numbers) => numbers.push(number),
            None => self.of_copies.entry(node).or_default().push(number),
        }
    }

    pub(super) fn of(&self, node: NodeId) -> &[u32] {
        let numbers = match self.of_draft.get(node.index()) {
            Some(numbers) => Some(numbers),
            None => self.of_copies.get(&node),
        };
        numbers.map_or(&[], |numbers| numbers)
    }
}
