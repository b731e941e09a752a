//! `for-each`: a body for each item of a list.
//!
//! ```text
//!  running --list known--> running, expanded --> the first `at-most` children
//!      |                        |                    \--one ended--> the next child
//!      |                        |                    |--all ended--> done, or broken if one of them is
//!      |                        |                    |--enough done--> done, the others cut
//!      |                        |                    \--too few can be done--> broken, the others cut
//!      |                        \--no items--> done, the body skipped
//!      \--the list faults--> broken
//! ```
//! Children begin in order, so those that have begun are the first ones.

use model::NodeId;

use super::{Answer, choice, parallel};
use crate::record::NodeState;

/// Returns true if no child has begun or was skipped.
pub(super) fn is_open(children: &[NodeId], state: impl Fn(NodeId) -> NodeState) -> bool {
    // Children begin in order: where the first has not begun, none has.
    choice::is_open(&children[..children.len().min(1)], state)
}

/// The children that may begin now, as places in the list: `n_ended` have ended.
pub(super) fn next(
    children: &[NodeId],
    at_most: Option<u32>,
    n_ended: usize,
    state: impl Fn(NodeId) -> NodeState,
) -> std::ops::Range<usize> {
    let n_begun = children.partition_point(|&child| state(child) != NodeState::Idle);
    let at_most = at_most.map_or(children.len(), |at_most| at_most as usize);
    let end = n_ended.saturating_add(at_most).min(children.len());
    n_begun..end.max(n_begun)
}

/// The answer to the end of a child where `n_done` of those that have ended are done, and `n_enough` of
/// them are enough. It is not asked again once enough are done.
pub(super) fn child_ended(
    n_children: usize,
    n_ended: usize,
    (n_done, n_enough): (u32, Option<u32>),
    is_any_broken: impl FnOnce() -> bool,
) -> Answer {
    let Some(n_enough) = n_enough.map(|n_enough| n_enough as usize) else {
        return parallel::child_ended(n_children, n_ended, is_any_broken);
    };
    let n_done = n_done as usize;
    let n_failed = n_ended.saturating_sub(n_done);
    if n_done >= n_enough {
        Answer::Finish
    } else if n_children.saturating_sub(n_failed) < n_enough {
        Answer::Break
    } else {
        Answer::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILDREN: [NodeId; 4] = [NodeId(1), NodeId(2), NodeId(3), NodeId(4)];

    /// The first children are in these states, the others idle.
    fn states(begun: &[NodeState]) -> impl Fn(NodeId) -> NodeState {
        move |child: NodeId| {
            let state = begun.get(child.index() - 1);
            state.copied().unwrap_or(NodeState::Idle)
        }
    }

    #[test]
    fn as_many_begin_as_may_run_at_the_same_time() {
        let (running, done) = (NodeState::Running, NodeState::Done);
        assert_eq!(next(&CHILDREN, None, 0, states(&[])), 0..4);
        assert_eq!(next(&CHILDREN, Some(1), 0, states(&[])), 0..1);
        assert_eq!(next(&CHILDREN, Some(3), 0, states(&[])), 0..3);
        assert_eq!(next(&CHILDREN, Some(9), 0, states(&[])), 0..4);
        assert_eq!(next(&CHILDREN, Some(2), 0, states(&[running; 2])), 2..2);
        assert_eq!(next(&CHILDREN, Some(2), 1, states(&[running, done])), 2..3);
        // Two that end in one transition make room for two.
        assert_eq!(next(&CHILDREN, Some(2), 2, states(&[done; 2])), 2..4);
        assert_eq!(next(&CHILDREN, Some(2), 4, states(&[done; 4])), 4..4);
    }

    #[test]
    fn it_ends_when_enough_are_done_or_too_few_can_be() {
        let never = || unreachable!("nobody looks at the children");
        let ended = |n_ended, n_done| child_ended(5, n_ended, (n_done, Some(3)), never);
        assert_eq!(ended(2, 2), Answer::Wait);
        assert_eq!(ended(3, 3), Answer::Finish);
        assert_eq!(ended(4, 2), Answer::Wait);
        assert_eq!(ended(5, 3), Answer::Finish);
        assert_eq!(ended(3, 0), Answer::Break);
        assert_eq!(ended(4, 1), Answer::Break);
        // Without a number all count.
        assert_eq!(child_ended(2, 2, (0, None), || true), Answer::Break);
        assert_eq!(child_ended(2, 2, (0, None), || false), Answer::Finish);
    }

    #[test]
    fn it_is_open_until_its_first_child_begins_or_is_cut() {
        assert!(is_open(&CHILDREN, states(&[])));
        for state in [NodeState::Enabled, NodeState::Done, NodeState::Skipped] {
            assert!(!is_open(&CHILDREN, states(&[state])));
        }
    }
}
