//! `sequence`: one child after another.
//!
//! ```text
//!  running: child 1 --ended--> child 2 --ended--> ... --ended--> done
//!               \--broken--> broken, the rest cut
//! ```

use model::NodeId;

use super::Answer;
use crate::record::NodeState;

/// The child that a sequence begins with; none where it is empty.
pub(super) fn first(children: &[NodeId]) -> Option<NodeId> {
    children.first().copied()
}

/// The answer to the end of a child in this state, `n_ended` children having ended.
pub(super) fn child_ended(children: &[NodeId], n_ended: usize, child: NodeState) -> Answer {
    if child == NodeState::Broken {
        return Answer::Break;
    }
    match children.get(n_ended) {
        Some(&next) => Answer::Enable(next),
        None => Answer::Finish,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILDREN: [NodeId; 2] = [NodeId(1), NodeId(2)];

    #[test]
    fn the_next_child_follows_one_that_is_done_or_skipped() {
        assert_eq!(first(&CHILDREN), Some(NodeId(1)));
        for state in [NodeState::Done, NodeState::Skipped] {
            assert_eq!(child_ended(&CHILDREN, 1, state), Answer::Enable(NodeId(2)));
            assert_eq!(child_ended(&CHILDREN, 2, state), Answer::Finish);
        }
    }

    #[test]
    fn a_broken_child_breaks_it_at_once() {
        assert_eq!(child_ended(&CHILDREN, 1, NodeState::Broken), Answer::Break);
        assert_eq!(child_ended(&CHILDREN, 2, NodeState::Broken), Answer::Break);
    }
}
