//! Priorities: the order in which waiting processes get machines, and ready activities are sent.

use model::{Identity, Role, SubmitKey};

use super::*;

fn key(number: usize) -> SubmitKey {
    SubmitKey(100 + number as u64)
}

/// Submits a process for each of these owners and priorities, one a second, while no group manager is
/// there. The numbers of the processes in the order in which they are planned once it is there.
fn order(submitted: &[(&str, i32)]) -> Vec<usize> {
    let mut bench = Bench::new(well);
    bench.give(Input::GroupDown(GROUP));
    for (number, &(owner, priority)) in submitted.iter().enumerate() {
        // Two activities, since one alone is planned without a request.
        let sequence = controller(NodeKind::Sequence(ids(&[1, 2])));
        let mut draft = draft(vec![sequence, leaf("a"), leaf("b")]);
        draft.priority = Some(priority);
        let owner = Identity::new("grid", "lab", Role::User, owner).unwrap();
        let submit = submission(key(number), draft);
        let request = Request::Submit(Box::new(submit));
        let input = Input::Request(ClientId(5), Caller::Holder(owner), 1, request);
        bench.give(input);
        bench.pass(1);
    }
    assert_eq!(bench.planned_for, []);
    bench.give(Input::GroupUp(GROUP));
    let number = |id| (0..submitted.len()).find(|&number| key(number).process() == id);
    let planned = bench.planned_for.iter().filter_map(|&id| number(id));
    planned.collect()
}

#[test]
fn first_come_is_first_served_where_no_priority_is_given() {
    assert_eq!(order(&[("ana", 0), ("ben", 0), ("ana", 0)]), [0, 1, 2]);
}

#[test]
fn the_processes_of_one_owner_go_by_their_priority() {
    let own = [("ana", 0), ("ana", 5), ("ana", -1), ("ana", 5)];
    assert_eq!(order(&own), [1, 3, 0, 2]);
}

/// Ben's process of priority 9 takes the turn of his first one, which waits in its place, behind what
/// Ana had submitted between the two.
#[test]
fn a_priority_overtakes_the_processes_of_no_other_owner() {
    assert_eq!(order(&[("ben", 0), ("ana", -9), ("ben", 9)]), [2, 1, 0]);
    let both = [("ana", 0), ("ben", 0), ("ben", 9), ("ana", 1), ("ben", -1)];
    assert_eq!(order(&both), [3, 2, 1, 0, 4]);
}

#[test]
fn of_ready_activities_those_of_greater_priority_are_sent_first() {
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&[1, 2, 3, 4]),
        links: Vec::new(),
    })];
    for (name, priority) in [
        ("low", Some(-3)),
        ("none", None),
        ("high", Some(9)),
        ("mid", Some(1)),
    ] {
        let mut node = leaf(name);
        edit(&mut node, |activity| activity.priority = priority);
        nodes.push(node);
    }
    let mut bench = Bench::new(well);
    bench.submit(draft(nodes));
    assert_eq!(bench.started, ["high", "mid", "none", "low"]);
}
