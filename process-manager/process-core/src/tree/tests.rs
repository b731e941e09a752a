//! Every state of a node meets every signal from outside.

use model::{Definition, Link, NodeId, NodeKind};

use super::{Frame, Transition, begin};
use crate::record::{Flow, LinkState, NodeState};
use crate::tests::bench::{controller, draft, ids, leaf};

const A: NodeId = NodeId(2);
const B: NodeId = NodeId(3);

/// `p(s(a b) c | a>c)`: nodes p 0, s 1, a 2, b 3, c 4.
fn definition() -> Definition {
    let link = Link {
        from: A,
        to: NodeId(4),
        when: None,
    };
    draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 4]),
            links: vec![link],
        }),
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        leaf("a"),
        leaf("b"),
        leaf("c"),
    ])
    .check()
    .unwrap()
}

/// The frame after `a` ended and `b` took a state.
fn frame(definition: &Definition, state: NodeState) -> Frame {
    let mut frame = Frame::new(definition);
    let mut apply = |flow: &Flow| frame.apply(definition, flow, |_| {});
    apply(&begin(definition));
    let states = [(A, NodeState::Done), (B, state)].into();
    let links = [(0, LinkState::True)].into();
    apply(&Flow::new(&states, &links));
    frame
}

fn moves(flow: &Flow) -> Vec<(u32, NodeState)> {
    flow.nodes().map(|(node, state)| (node.0, state)).collect()
}

#[test]
fn a_leaf_that_runs_hands_its_end_up_and_any_other_stays_as_it_is() {
    use NodeState::{Broken, Done, Enabled, Idle, Running, Skipped};
    let definition = definition();
    for state in [Idle, Enabled, Running, Done, Skipped, Broken] {
        let frame = frame(&definition, state);
        let transition = || Transition::new(&definition, &frame, true);
        let finished = moves(&transition().finish(B));
        let broken = moves(&transition().break_nodes([B]));
        let joined = moves(&transition().join(B, true));
        let cut = moves(&transition().join(B, false));
        let (ends, breaks) = (vec![(1, Done), (3, Done)], vec![(1, Broken), (3, Broken)]);
        let skips = vec![(1, Done), (3, Skipped)];
        let expected = match state {
            Idle => [vec![], breaks, vec![], skips],
            Enabled => [vec![], breaks, vec![(3, Running)], skips],
            Running => [ends, breaks, vec![], vec![]],
            Done | Skipped | Broken => [vec![], vec![], vec![], vec![]],
        };
        assert_eq!([finished, broken, joined, cut], expected, "{state:?}");
    }
}

#[test]
fn nothing_moves_in_a_process_that_is_ending() {
    let definition = definition();
    let frame = frame(&definition, NodeState::Running);
    let flow = Transition::new(&definition, &frame, false).finish(B);
    assert_eq!(flow, Flow::default());
}

#[test]
fn the_value_of_a_link_is_the_first_one() {
    let definition = definition();
    let mut frame = Frame::new(&definition);
    frame.apply(&definition, &begin(&definition), |_| {});
    let flow = Transition::new(&definition, &frame, true).link(0, false);
    assert_eq!(moves(&flow), [(4, NodeState::Skipped)]);
    frame.apply(&definition, &flow, |_| {});
    let again = Transition::new(&definition, &frame, true).link(0, true);
    assert_eq!(again, Flow::default());
}
