//! `while` and `repeat-until`: the body again and again.
//!
//! ```text
//!  running --another iteration--> running, its body there --> running: the body --ended--> running
//!      |                                                                 \--broken--> broken
//!      \--no other iteration--> done; the body is skipped where it never ran
//!      \--the condition faults, or there are too many--> broken
//! ```
//! The condition is evaluated outside, and an iteration gets its body before it begins: the last child
//! tells how far the loop is.

use model::NodeId;

use super::Answer;
use crate::record::NodeState;

/// What a running loop needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Whether there is another iteration.
    Condition,
    /// The beginning of the last iteration, whose body is there.
    Begin(NodeId),
    /// The end of the last iteration.
    Nothing,
}

/// What a running loop needs next; `has_begun` is true if the first iteration is known to be one.
pub(super) fn next(
    children: &[NodeId],
    has_begun: bool,
    state: impl Fn(NodeId) -> NodeState,
) -> Next {
    let Some(&last) = children.last().filter(|_| has_begun) else {
        return Next::Condition;
    };
    match state(last) {
        NodeState::Idle => Next::Begin(last),
        NodeState::Enabled | NodeState::Running => Next::Nothing,
        NodeState::Done | NodeState::Skipped => Next::Condition,
        // The loop breaks with it.
        NodeState::Broken => Next::Nothing,
    }
}

/// The answer to the end of an iteration.
pub(super) fn child_ended(child: NodeState) -> Answer {
    match child {
        NodeState::Broken => Answer::Break,
        // An expression decides.
        NodeState::Idle
        | NodeState::Enabled
        | NodeState::Running
        | NodeState::Done
        | NodeState::Skipped => Answer::Wait,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILDREN: [NodeId; 2] = [NodeId(1), NodeId(5)];

    #[test]
    fn it_goes_from_the_condition_to_an_iteration_and_back() {
        let with = |first, second| {
            move |child: NodeId| match child {
                NodeId(1) => first,
                _ => second,
            }
        };
        let (idle, done) = (NodeState::Idle, NodeState::Done);
        assert_eq!(
            next(&CHILDREN[..1], false, with(idle, idle)),
            Next::Condition
        );
        let first = Next::Begin(NodeId(1));
        assert_eq!(next(&CHILDREN[..1], true, with(idle, idle)), first);
        for state in [NodeState::Enabled, NodeState::Running, NodeState::Broken] {
            assert_eq!(next(&CHILDREN[..1], true, with(state, idle)), Next::Nothing);
            assert_eq!(next(&CHILDREN, true, with(done, state)), Next::Nothing);
        }
        assert_eq!(
            next(&CHILDREN[..1], true, with(done, idle)),
            Next::Condition
        );
        assert_eq!(
            next(&CHILDREN, true, with(done, idle)),
            Next::Begin(NodeId(5))
        );
        for state in [NodeState::Done, NodeState::Skipped] {
            assert_eq!(next(&CHILDREN, true, with(done, state)), Next::Condition);
        }
    }

    #[test]
    fn only_a_broken_iteration_ends_it_without_its_condition() {
        assert_eq!(child_ended(NodeState::Broken), Answer::Break);
        assert_eq!(child_ended(NodeState::Done), Answer::Wait);
        assert_eq!(child_ended(NodeState::Skipped), Answer::Wait);
    }
}
