//! `if`: the first child whose condition is true.
//!
//! ```text
//!  running, all children idle --a condition is true, or there is an else--> running: the child
//!      |           \--none is true--> done, all children cut                   |        \--broken--> broken
//!      \--a condition faults--> broken, all children cut                       \--ended--> done
//! ```
//! The conditions are evaluated outside: until then nothing below the `if` has begun, and the flow
//! that records the choice skips all children but the one that is chosen.

use model::NodeId;

use super::Answer;
use crate::record::NodeState;

/// Returns true if no branch has been chosen or skipped.
pub(super) fn is_open(children: &[NodeId], state: impl Fn(NodeId) -> NodeState) -> bool {
    children
        .iter()
        .all(|&child| state(child) == NodeState::Idle)
}

/// The answer to the end of the chosen child: the others are skipped and never begin.
pub(super) fn child_ended(child: NodeState) -> Answer {
    if child == NodeState::Broken {
        Answer::Break
    } else {
        Answer::Finish
    }
}

#[cfg(test)]
mod tests;
