//! The plan that is the answer where one is in force: the narrow one, or that for all activities.

use std::collections::BTreeMap;

use model::{
    ActivityGraph, ActivityId, Bytes, Entry, Generation, GraphNode, Network, NetworkLink, Plan,
    Platform, ProcessId, Resource, ResourceId, Span, Work,
};
use schedule::SchedulerKind;
use schedule::rounds::Scope;

use super::{InForce, PlanRequest, PlanResult};

/// Activities of these seconds side by side, on machines of one slot with these powers, placed so (machine by
/// activity, in their order).
fn asked(seconds: &[u64], powers: &[f64], places: &[u32], slow: &[u32]) -> PlanRequest {
    let nodes = seconds.iter().zip(0..).map(|(&seconds, id)| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work::from_secs(seconds),
        cores: 1,
    });
    let resources = powers.iter().zip(0..).map(|(&power, id)| Resource {
        id: ResourceId::local(id),
        name: format!("m{id}"),
        power,
        slots: 1,
        memory: Bytes(1 << 30),
        labels: BTreeMap::new(),
    });
    let link = NetworkLink {
        bandwidth: 1e9,
        latency: 0.0,
    };
    let request = schedule::Request {
        graph: ActivityGraph::new(nodes, []).unwrap(),
        platform: Platform::new(resources.collect(), Network::uniform(link)).unwrap(),
        demands: BTreeMap::new(),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(2),
        scheduler: SchedulerKind::Best,
        controllers: None,
    };
    let entries = places.iter().zip(0..).map(|(&place, id)| Entry {
        activity: ActivityId(id),
        resource: ResourceId::local(place),
        slot: 0,
        start: Span::from_secs(u64::from(id)),
        finish: Span::from_secs(u64::from(id) + 1),
    });
    PlanRequest {
        process: ProcessId(1),
        basis: 1,
        request,
        in_force: Some(InForce {
            entries: entries.collect(),
            slow: slow.iter().copied().map(ResourceId::local).collect(),
            scope: Scope::All,
        }),
        grows: None,
    }
}

/// The machine of each activity, and the seconds with the plan in force and with the answer.
fn told(made: PlanResult) -> (Vec<u32>, f64, f64) {
    let plan: Plan = made.result.unwrap();
    let places = plan.entries.iter().map(|one| one.resource.number);
    let (before, after) = made.compared.unwrap();
    (places.collect(), before.seconds(), after.seconds())
}

/// Machine 0 stands nearly still, and the other two have 2 or 4 s less than each other. With an activity of so many
/// seconds on each of them beside, it takes 14 s more if only the activity of machine 0 moves, and 10 s if two
/// others move as well.
fn uneven(long: u64, slow: &[u32]) -> PlanRequest {
    let seconds = [10, long, 3, 3, long, 4];
    asked(&seconds, &[0.01, 1.0, 1.0], &[0, 1, 1, 1, 2, 2], slow)
}

#[test]
fn others_stay_where_moving_them_too_would_gain_little() {
    let (places, before, after) = told(uneven(62, &[0]).answer());
    assert_eq!((places, after), (vec![2, 1, 1, 1, 2, 2], 76.0));
    assert_eq!(before, 1_000.0);
    // 5 % less.
    assert_eq!(told(uneven(62, &[]).answer()).2, 72.0);
}

#[test]
fn all_move_where_that_gains_enough_beyond_the_slow_machine() {
    let (places, _, after) = told(uneven(12, &[0]).answer());
    assert_ne!(places[1..], [1, 1, 1, 2, 2]);
    assert_eq!(after, 22.0);
}

#[test]
fn without_a_plan_in_force_nothing_is_compared() {
    let mut asked = asked(&[4, 4], &[1.0, 1.0], &[0, 0], &[]);
    asked.in_force = None;
    assert_eq!(asked.answer().compared, None);
}

#[test]
fn more_slots_are_filled_with_few_moves_unless_others_gain_enough() {
    let grown = |seconds: &[u64], powers: &[f64], places: &[u32]| {
        let mut asked = asked(seconds, powers, places, &[]);
        asked.grows = asked.in_force.take().map(|in_force| in_force.entries);
        let plan = asked.answer().result.unwrap();
        let places = plan.entries.iter().map(|one| one.resource.number);
        (places.collect::<Vec<u32>>(), plan.makespan().seconds())
    };
    assert_eq!(
        grown(&[2, 2, 2, 2], &[1.0, 1.0], &[0; 4]),
        (vec![0, 1, 0, 1], 4.0)
    );
    assert_eq!(
        grown(&[2, 2, 2, 2], &[1.0, 1.0], &[1; 4]),
        (vec![1, 0, 1, 0], 4.0)
    );
    // In the order in which they were planned, the long one would be the last one.
    assert_eq!(grown(&[1, 1, 1, 1, 9], &[1.0, 1.0], &[0; 5]).1, 9.0);
}
