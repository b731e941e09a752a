use std::collections::BTreeMap;

use model::{
    ActivityGraph, ActivityId, Bytes, Generation, GraphNode, GroupId, Network, NetworkLink,
    Platform, Resource, ResourceId, Span, Work,
};

use super::{Options, Placed, Refusal, Request, SchedulerKind, plan, plan_with_options};
use crate::dag::DagError;
use crate::problem::ProblemError;

/// The group of the machine.
const GROUP: GroupId = GroupId::new(1);

// a0 (2 s) --> a1 (3 s) --> a2 (1 s), on one machine of 2 slots
fn request() -> Request {
    let node = |id, secs| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work::from_secs(secs),
        cores: 1,
    };
    let nodes = [node(0, 2), node(1, 3), node(2, 1)];
    let edges = [(0, 1, Bytes(1_000_000)), (1, 2, Bytes(0))];
    let resource = Resource {
        id: ResourceId::new(GROUP, 4),
        name: "here".to_owned(),
        power: 1.0,
        slots: 2,
        memory: Bytes(1 << 30),
        labels: BTreeMap::new(),
    };
    let link = NetworkLink {
        bandwidth: 1e6,
        latency: 0.5,
    };
    Request {
        graph: ActivityGraph::new(nodes, edges).unwrap(),
        platform: Platform::new(vec![resource], Network::uniform(link)).unwrap(),
        demands: BTreeMap::new(),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(7),
        scheduler: SchedulerKind::default(),
        controllers: None,
    }
}

fn times(request: &Request) -> Vec<(u32, u64, u64)> {
    let plan = plan(request).unwrap();
    let second = |span: Span| span.0 / 1_000_000;
    plan.entries
        .iter()
        .map(|e| (e.activity.0, second(e.start), second(e.finish)))
        .collect()
}

#[test]
fn a_chain_is_planned_one_after_the_other() {
    assert_eq!(times(&request()), [(0, 0, 2), (1, 2, 5), (2, 5, 6)]);
    let made = plan(&request()).unwrap();
    assert_eq!(made.generation, Generation(7));
    assert!(made.bound <= made.makespan() && made.bound.0 + 10 >= made.makespan().0);
}

#[test]
fn slots_held_by_others_are_waited_for() {
    let ready = vec![vec![Span::from_secs(9), Span::from_secs(4)]];
    assert_eq!(
        times(&Request { ready, ..request() }),
        [(0, 4, 6), (1, 6, 9), (2, 9, 10)]
    );
}

#[test]
fn the_rest_is_planned_around_what_has_started() {
    let placed = |resource| {
        let finish = Span::from_secs(1);
        vec![Placed {
            activity: ActivityId(0),
            resource: ResourceId::new(GROUP, resource),
            finish,
        }]
    };
    assert_eq!(
        times(&Request {
            placed: placed(4),
            ..request()
        }),
        [(1, 1, 4), (2, 4, 5)]
    );
    // From a machine that is not offered the data takes 0.5 s and 1 s.
    let plan = plan(&Request {
        placed: placed(99),
        ..request()
    })
    .unwrap();
    assert_eq!(plan.entries[0].start, Span(2_500_000));
}

#[test]
fn refusals_say_what_is_wrong() {
    let mut wide = request();
    let nodes = [GraphNode {
        activity: Some(ActivityId(5)),
        work: Work(1),
        cores: 8,
    }];
    wide.graph = ActivityGraph::new(nodes, []).unwrap();
    let refused = plan(&wide).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "activity a5 needs 8 cores; the largest machine has 2"
    );

    let twice = [GraphNode {
        activity: Some(ActivityId(5)),
        work: Work(1),
        cores: 1,
    }; 2];
    let graph = ActivityGraph::new(twice, []).unwrap();
    let refused = plan(&Request { graph, ..request() });
    assert_eq!(refused, Err(Refusal::Twice(ActivityId(5))));

    let none = [GraphNode {
        activity: Some(ActivityId(5)),
        work: Work(1),
        cores: 0,
    }];
    let graph = ActivityGraph::new(none, []).unwrap();
    let refused = plan(&Request { graph, ..request() });
    assert_eq!(
        refused,
        Err(Refusal::Graph(DagError::NoSlot {
            activity: ActivityId(5)
        }))
    );

    let away = Placed {
        activity: ActivityId(9),
        resource: ResourceId::new(GROUP, 4),
        finish: Span::ZERO,
    };
    let refused = plan(&Request {
        placed: vec![away],
        ..request()
    });
    assert_eq!(refused, Err(Refusal::Unknown(ActivityId(9))));
    let home = Placed {
        activity: ActivityId(1),
        ..away
    };
    let refused = plan(&Request {
        placed: vec![home; 2],
        ..request()
    });
    assert_eq!(refused, Err(Refusal::Twice(ActivityId(1))));

    let refused = plan(&Request {
        ready: vec![vec![Span::ZERO; 3]],
        ..request()
    });
    assert!(matches!(
        refused,
        Err(Refusal::Problem(ProblemError::Slots { .. }))
    ));

    let long = [GraphNode {
        activity: Some(ActivityId(5)),
        work: Work(u64::MAX),
        cores: 1,
    }];
    let graph = ActivityGraph::new(long, []).unwrap();
    let refused = plan(&Request {
        graph,
        ready: vec![vec![Span(u64::MAX); 2]],
        ..request()
    });
    assert!(matches!(refused, Err(Refusal::TooLong(_))), "{refused:?}");
}

#[test]
fn an_activity_in_no_machine_that_has_ended_needs_none() {
    let mut wide = request();
    let node = |id, cores| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work(1),
        cores,
    };
    wide.graph = ActivityGraph::new([node(5, 8), node(6, 1)], [(0, 1, Bytes(0))]).unwrap();
    let ended = Placed {
        activity: ActivityId(5),
        resource: ResourceId::new(GROUP, 77),
        finish: Span::ZERO,
    };
    wide.placed = vec![ended];
    assert_eq!(plan(&wide).unwrap().entries.len(), 1);
}

#[test]
fn schedulers_are_found_by_name() {
    for kind in SchedulerKind::ALL {
        assert_eq!(SchedulerKind::named(kind.scheduler().name()), Some(kind));
    }
    assert_eq!(SchedulerKind::named("magic"), None);
}

#[test]
fn copies_are_told_beside_the_plan_where_activities_may_be_repeated() {
    // One activity that two others wait for on two machines, over a slow link.
    let node = |id| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work(1_000_000),
        cores: 1,
    };
    let edges = [(0, 1, Bytes(10_000_000)), (0, 2, Bytes(10_000_000))];
    let graph = ActivityGraph::new((0..3).map(node), edges).unwrap();
    let request = Request {
        graph,
        platform: crate::fixtures::platform(&[(1.0, 1), (1.0, 1)]),
        demands: BTreeMap::new(),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler: SchedulerKind::Xavantes,
        controllers: None,
    };
    let options = |repeatable: &[u32]| Options {
        budget: Some(Span(10_000)),
        repeatable: repeatable.iter().map(|&id| ActivityId(id)).collect(),
    };
    let detailed = plan_with_options(&request, &options(&[0])).unwrap();
    assert_eq!(detailed.plan.makespan(), Span(3_000_000));
    let copied = detailed.copied.unwrap();
    assert_eq!(copied.copies.len(), 1);
    assert_eq!(copied.copies[0].activity, ActivityId(0));
    let ends = copied.entries.iter().map(|entry| entry.finish).max();
    assert_eq!(ends, Some(Span(2_000_000)));
    let none = plan_with_options(&request, &options(&[])).unwrap();
    assert_eq!(none.copied, None);
}
