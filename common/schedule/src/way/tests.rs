use model::{
    ActivityGraph, Bytes, Entry, Generation, GraphNode, Network, NetworkLink, Platform, Resource,
    ResourceId, Span, Work,
};
use proptest::prelude::*;

use super::*;
use crate::{Refusal, Request, TreeError, kept, plan};

/// Machines of one slot and power 1; a byte takes a second from one to another.
fn request(works: &[u64], edges: &[(u32, u32, u64)], n_machines: u32) -> Request {
    let nodes = (0..).zip(works).map(|(id, &work)| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work(work * 1_000_000),
        cores: 1,
    });
    let edges = edges
        .iter()
        .map(|&(from, to, bytes)| (from, to, Bytes(bytes)));
    let machines = (0..n_machines).map(|number| Resource {
        id: ResourceId::local(number),
        name: format!("m{number}"),
        power: 1.0,
        slots: 1,
        memory: Bytes(1 << 30),
        labels: BTreeMap::new(),
    });
    let link = NetworkLink {
        bandwidth: 1.0,
        latency: 0.0,
    };
    Request {
        graph: ActivityGraph::new(nodes, edges).unwrap(),
        platform: Platform::new(machines.collect(), Network::uniform(link)).unwrap(),
        demands: BTreeMap::new(),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler: SchedulerKind::Best,
        controllers: None,
    }
}

fn entries(places: &[u32]) -> Vec<Entry> {
    let entry = |(activity, &place): (u32, &u32)| Entry {
        activity: ActivityId(activity),
        resource: ResourceId::local(place),
        slot: 0,
        start: Span::from_secs(activity.into()),
        finish: Span::from_secs(activity.into()),
    };
    (0..).zip(places).map(entry).collect()
}

//   sequence 0: a0, parallel 1 [ a1, a2 ], a3      both controllers lie beside a0
fn diamond(places: &[u32], is_through: bool) -> Span {
    let edges = [(0, 1, 2), (0, 2, 2), (1, 3, 3), (2, 3, 3)];
    let mut request = request(&[1, 1, 1, 1], &edges, 4);
    request.controllers = is_through.then(|| Controllers {
        parents: vec![None, Some(0)],
        beside: vec![Some(ActivityId(0)); 2],
        of: [(0, 0), (1, 1), (2, 1), (3, 0)]
            .map(|(activity, of)| (ActivityId(activity), of))
            .into(),
    });
    kept(&request, &entries(places)).unwrap()
}

#[test]
fn data_passes_the_machines_of_the_controllers_on_its_way() {
    // 1 + 2 + 1 + 3 + 1, and through m0 there are 3 more.
    assert_eq!(diamond(&[0, 1, 2, 3], false), Span::from_secs(8));
    assert_eq!(diamond(&[0, 1, 2, 3], true), Span::from_secs(11));
    // What ends where the controllers are passes no machine twice.
    assert_eq!(diamond(&[0, 1, 2, 0], false), Span::from_secs(8));
    assert_eq!(diamond(&[0, 1, 2, 0], true), Span::from_secs(8));
}

#[test]
fn controllers_that_are_no_tree_are_refused() {
    let mut request = request(&[1, 1], &[], 1);
    request.controllers = Some(Controllers {
        parents: vec![None, None],
        beside: vec![None, None],
        of: BTreeMap::new(),
    });
    let refused = plan(&request).unwrap_err();
    assert!(matches!(refused, Refusal::Controllers(TreeError::Roots(2))));
}

/// A process as it is drawn: works, edges (from, to, bytes), the controller of each activity, and the activity beside
/// which each controller is.
struct Drawn {
    works: Vec<u64>,
    edges: Vec<(usize, usize, u64)>,
    above: Vec<u32>,
    beside: Vec<usize>,
}

/// A plan of this algorithm keeps the rules by this way ([`plan`] checks that itself), and what it places ends no later
/// than it says when it is kept.
fn holds_its_rules(
    drawn: &Drawn,
    (n_machines, slots): (u32, u32),
    kind: SchedulerKind,
) -> Result<(), TestCaseError> {
    let n = drawn.works.len();
    let edges = drawn.edges.iter();
    let edges = edges.map(|&(from, to, bytes)| ((from % n) as u32, (to % n) as u32, bytes));
    let edges: Vec<(u32, u32, u64)> = edges.filter(|(from, to, _)| from < to).collect();
    let mut request = request(&drawn.works, &edges, n_machines);
    let mut machines = request.platform.resources().to_vec();
    for machine in &mut machines {
        machine.slots = slots;
    }
    request.platform = Platform::new(machines, request.platform.network().clone()).unwrap();
    request.scheduler = kind;
    let beside = |one: &usize| Some(ActivityId((one % n) as u32));
    let above = |task: usize| (ActivityId(task as u32), drawn.above[task]);
    request.controllers = Some(Controllers {
        parents: vec![None, Some(0), Some(0), Some(1)],
        beside: drawn.beside.iter().map(beside).collect(),
        of: (0..n).map(above).collect(),
    });
    let made = plan(&request).unwrap();
    let rounding = Span(n as u64);
    let planned = made.makespan() + rounding;
    let through = kept(&request, &made.entries).unwrap();
    prop_assert!(through <= planned, "{through} {planned}");
    // Direct messages are there no later, so whatever was planned is possible. One way may still end before the
    // other, since gaps are filled in the order of the entries.
    request.controllers = None;
    let direct = kept(&request, &made.entries).unwrap();
    prop_assert!(direct <= planned, "{direct} {planned}");
    Ok(())
}

/// By direct messages there is a gap for an activity in front of an earlier one of its slot; by the way through the
/// controllers there is none.
#[test]
fn a_plan_that_is_kept_fills_gaps_that_are_there_by_its_way() {
    let drawn = Drawn {
        works: vec![1, 1, 1, 5, 8, 1],
        edges: vec![(0, 5, 3), (7, 8, 1), (0, 3, 4), (1, 3, 2)],
        above: vec![2, 0, 0, 2, 0, 0, 0, 0, 0],
        beside: vec![4, 0, 3, 0],
    };
    holds_its_rules(&drawn, (2, 1), SchedulerKind::Xavantes).unwrap();
}

proptest! {
    #[test]
    fn plans_through_controllers_hold_their_rules(
        works in prop::collection::vec(1u64..9, 2..9),
        edges in prop::collection::vec((0usize..9, 0usize..9, 1u64..9), 0..14),
        above in prop::collection::vec(0u32..4, 9),
        beside in prop::collection::vec(0usize..9, 4),
        machines in (1u32..4, 1u32..4),
        kind in prop::sample::select(SchedulerKind::ALL.to_vec()),
    ) {
        holds_its_rules(&Drawn { works, edges, above, beside }, machines, kind)?;
    }
}
