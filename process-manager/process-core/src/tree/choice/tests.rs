//! An `if` in each of its states meets each choice and each end of its branches.

use model::{Definition, Expression, Link, NodeId, NodeKind};

use super::*;
use crate::record::{Flow, LinkState};
use crate::tests::bench::{controller, draft, ids, leaf};
use crate::tree::{Decision, Frame, Transition, begin};

const IF: NodeId = NodeId(1);
const A: NodeId = NodeId(2);

/// `p(i(a s(b c) d) e | c>e)`: nodes p 0, i 1, a 2, s 3, b 4, c 5, d 6, e 7; d is the `else`.
fn definition() -> Definition {
    let link = Link {
        from: NodeId(5),
        to: NodeId(7),
        when: None,
    };
    let condition = |text: &str| Expression(text.to_owned());
    draft(vec![
        controller(NodeKind::Parallel {
            children: ids(&[1, 7]),
            links: vec![link],
        }),
        controller(NodeKind::If {
            conditions: vec![condition("false"), condition("true")],
            children: ids(&[2, 3, 6]),
        }),
        leaf("a"),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        leaf("b"),
        leaf("c"),
        leaf("d"),
        leaf("e"),
    ])
    .check()
    .unwrap()
}

fn begun(definition: &Definition) -> Frame {
    let mut frame = Frame::new(definition);
    frame.apply(definition, &begin(definition), |_| {});
    frame
}

fn moves(flow: &Flow) -> Vec<(u32, NodeState)> {
    flow.nodes().map(|(node, state)| (node.0, state)).collect()
}

#[test]
fn the_chosen_branch_begins_and_the_others_are_skipped_with_their_links() {
    use NodeState::{Done, Running, Skipped};
    let definition = definition();
    let frame = begun(&definition);
    let choose = |branch| Transition::new(&definition, &frame, true).choose(IF, branch);
    let (a, d, rest) = (
        (2, Skipped),
        (6, Skipped),
        [(3, Skipped), (4, Skipped), (5, Skipped), (7, Skipped)],
    );
    let [s, b, c, e] = rest;
    assert_eq!(moves(&choose(0)), [(2, Running), s, b, c, d, e]);
    assert_eq!(moves(&choose(1)), [a, (3, Running), (4, Running), d]);
    assert_eq!(moves(&choose(2)), [a, s, b, c, (6, Running), e]);
    let none = [(0, Done), (1, Done), a, s, b, c, d, e];
    assert_eq!(moves(&choose(3)), none);
    let link: Vec<_> = choose(0).links().collect();
    assert_eq!(link, [(0, LinkState::False)]);
}

#[test]
fn a_condition_that_faults_breaks_all_below() {
    let definition = definition();
    let frame = begun(&definition);
    let flow = Transition::new(&definition, &frame, true).break_nodes([IF]);
    let broken: Vec<_> = (0..8).map(|node| (node, NodeState::Broken)).collect();
    assert_eq!(moves(&flow), broken);
}

#[test]
fn a_choice_is_made_once_and_only_while_the_if_runs() {
    use NodeState::{Broken, Done, Enabled, Idle, Running, Skipped};
    let definition = definition();
    for state in [Idle, Enabled, Running, Done, Skipped, Broken] {
        for child in [Idle, Enabled, Running, Done, Skipped, Broken] {
            let mut frame = Frame::new(&definition);
            let states = [(IF, state), (A, child)].into();
            frame.apply(&definition, &Flow::new(&states, &[].into()), |_| {});
            let is_open = state == Running && child == Idle;
            let decision = frame.next_decision();
            assert_eq!(
                decision == Some(Decision::Choose(IF)),
                is_open,
                "{state:?} {child:?}"
            );
            let flow = Transition::new(&definition, &frame, true).choose(IF, 0);
            assert_eq!(flow != Flow::default(), is_open, "{state:?} {child:?}");
        }
    }
}

#[test]
fn the_choice_leaves_the_agenda_with_the_flow_that_makes_it_and_a_snapshot_knows() {
    let definition = definition();
    let mut frame = begun(&definition);
    assert_eq!(frame.next_decision(), Some(Decision::Choose(IF)));
    let flow = Transition::new(&definition, &frame, true).choose(IF, 1);
    frame.apply(&definition, &flow, |_| {});
    assert_eq!(frame.next_decision(), None);
    let read: Frame = minicbor::decode(&minicbor::to_vec(&frame).unwrap()).unwrap();
    let mut read = read;
    read.rebuild(&definition);
    assert_eq!(read, frame);

    let mut frame = begun(&definition);
    let flow = Transition::new(&definition, &frame, true).break_nodes([IF]);
    frame.apply(&definition, &flow, |_| {});
    assert_eq!(frame.next_decision(), Some(Decision::Close));
}

#[test]
fn it_ends_as_its_chosen_child_does() {
    use NodeState::{Broken, Done, Skipped};
    assert_eq!(child_ended(Done), Answer::Finish);
    assert_eq!(child_ended(Skipped), Answer::Finish);
    assert_eq!(child_ended(Broken), Answer::Break);

    let definition = definition();
    let mut frame = begun(&definition);
    let flow = Transition::new(&definition, &frame, true).choose(IF, 0);
    frame.apply(&definition, &flow, |_| {});
    let transition = || Transition::new(&definition, &frame, true);
    assert_eq!(
        moves(&transition().finish(A)),
        [(0, Done), (1, Done), (2, Done)]
    );
    let broken = [(0, Broken), (1, Broken), (2, Broken)];
    assert_eq!(moves(&transition().break_nodes([A])), broken);
}
