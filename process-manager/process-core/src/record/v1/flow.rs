//! The moves of controllers: nodes and links of a definition that took another state.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::NodeId;

/// The state of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum NodeState {
    /// Its controller has not come to it.
    #[n(0)]
    #[default]
    Idle,
    /// Its controller has come to it; links may still hold it back.
    #[n(1)]
    Enabled,
    /// It runs.
    #[n(2)]
    Running,
    /// It has ended well.
    #[n(3)]
    Done,
    /// It will not run.
    #[n(4)]
    Skipped,
    /// It has faulted, or will not run because a node that it depends on has.
    #[n(5)]
    Broken,
}

impl NodeState {
    /// Returns true if this state is final.
    pub fn has_ended(self) -> bool {
        match self {
            NodeState::Idle | NodeState::Enabled | NodeState::Running => false,
            NodeState::Done | NodeState::Skipped | NodeState::Broken => true,
        }
    }
}

/// The value of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum LinkState {
    /// Its source has not ended.
    #[n(0)]
    #[default]
    Unknown,
    /// Control flows.
    #[n(1)]
    True,
    /// Control does not flow.
    #[n(2)]
    False,
    /// Its value will never be known: its source or its condition is broken.
    #[n(3)]
    Broken,
}

/// The moves of controllers between two expressions: nodes and links with the states that they took.
/// Neighbours that took the same state are one run, so the start of 100,000 activities is a few bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Flow {
    #[n(0)]
    nodes: Vec<NodeRun>,
    #[n(1)]
    links: Vec<LinkRun>,
}

/// Neighbouring nodes with the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
struct NodeRun {
    #[n(0)]
    first: u32,
    #[n(1)]
    n: u32,
    #[n(2)]
    state: NodeState,
}

/// Neighbouring links with the same value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
struct LinkRun {
    #[n(0)]
    first: u32,
    #[n(1)]
    n: u32,
    #[n(2)]
    state: LinkState,
}

impl Flow {
    /// These nodes and links took these states.
    pub(crate) fn new(
        nodes: &BTreeMap<NodeId, NodeState>,
        links: &BTreeMap<u32, LinkState>,
    ) -> Flow {
        let nodes = runs(nodes.iter().map(|(&node, &state)| (node.0, state)));
        let links = runs(links.iter().map(|(&link, &state)| (link, state)));
        Flow {
            nodes: nodes
                .map(|(first, n, state)| NodeRun { first, n, state })
                .collect(),
            links: links
                .map(|(first, n, state)| LinkRun { first, n, state })
                .collect(),
        }
    }

    /// The nodes that took another state, in the order of their numbers.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, NodeState)> {
        self.nodes.iter().flat_map(|run| {
            let numbers = run.first..run.first.saturating_add(run.n);
            numbers.map(|number| (NodeId(number), run.state))
        })
    }

    /// The links that got a value, in the order of their numbers.
    pub(crate) fn links(&self) -> impl Iterator<Item = (u32, LinkState)> {
        self.links.iter().flat_map(|run| {
            let numbers = run.first..run.first.saturating_add(run.n);
            numbers.map(|number| (number, run.state))
        })
    }
}

/// Runs of neighbouring numbers with the same state: first number, count, state.
fn runs<S: PartialEq + Copy>(
    states: impl Iterator<Item = (u32, S)>,
) -> impl Iterator<Item = (u32, u32, S)> {
    let mut states = states.peekable();
    std::iter::from_fn(move || {
        let (first, state) = states.next()?;
        let mut n = 1;
        while states
            .next_if(|&(number, other)| number == first + n && other == state)
            .is_some()
        {
            n += 1;
        }
        Some((first, n, state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_one_state_are_one_run() {
        let nodes: BTreeMap<NodeId, NodeState> = [
            (1, NodeState::Running),
            (2, NodeState::Running),
            (3, NodeState::Done),
            (5, NodeState::Done),
        ]
        .map(|(number, state)| (NodeId(number), state))
        .into();
        let links = (0..100_000).map(|link| (link, LinkState::True)).collect();
        let flow = Flow::new(&nodes, &links);
        assert_eq!(flow.nodes().collect::<BTreeMap<_, _>>(), nodes);
        assert_eq!(flow.links().collect::<BTreeMap<_, _>>(), links);
        assert_eq!((flow.nodes.len(), flow.links.len()), (3, 1));
    }
}
