use std::collections::{BTreeMap, BTreeSet};

use model::{
    ActivityGraph, ActivityId, Bytes, Entry, Generation, GraphNode, Network, NetworkLink, Platform,
    Resource, ResourceId, Span, Work,
};

use super::{grown_from, kept, moved_from};
use crate::request::{Placed, Refusal, Request, SchedulerKind, plan};

/// Independent activities of 2 s, and machines of one slot with these powers.
fn request(n: u32, powers: &[f64]) -> Request {
    let nodes = (0..n).map(|id| GraphNode {
        activity: Some(ActivityId(id)),
        work: Work::from_secs(2),
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
    Request {
        graph: ActivityGraph::new(nodes, []).unwrap(),
        platform: Platform::new(resources.collect(), Network::uniform(link)).unwrap(),
        demands: BTreeMap::new(),
        ready: Vec::new(),
        held: Vec::new(),
        placed: Vec::new(),
        generation: Generation(1),
        scheduler: SchedulerKind::Best,
        controllers: None,
    }
}

fn on(machine: u32, activity: u32, start: u64) -> Entry {
    Entry {
        activity: ActivityId(activity),
        resource: ResourceId::local(machine),
        slot: 0,
        start: Span::from_secs(start),
        finish: Span::from_secs(start + 2),
    }
}

#[test]
fn a_plan_takes_as_long_as_its_slowest_machine_makes_it() {
    let entries = [on(0, 0, 0), on(0, 1, 2), on(1, 2, 0), on(1, 3, 2)];
    let as_expected = request(4, &[1.0, 1.0]);
    assert_eq!(kept(&as_expected, &entries), Ok(Span::from_secs(4)));
    let halved = request(4, &[1.0, 0.5]);
    assert_eq!(kept(&halved, &entries), Ok(Span::from_secs(8)));
    assert!(plan(&halved).unwrap().makespan() < Span::from_secs(8));
}

#[test]
fn a_plan_is_as_long_as_the_scheduler_says_where_nothing_has_changed() {
    for n in 1..12 {
        let request = request(n, &[1.0, 0.7, 1.9]);
        let made = plan(&request).unwrap();
        let kept = kept(&request, &made.entries).unwrap();
        assert!(kept <= made.makespan(), "{kept} {}", made.makespan());
    }
}

#[test]
fn activities_without_a_place_go_where_they_end_first() {
    // Machine 7 is gone, and nobody has planned activity 1.
    let request = request(2, &[1.0, 0.1]);
    assert_eq!(kept(&request, &[on(7, 0, 0)]), Ok(Span::from_secs(4)));
}

#[test]
fn running_activities_hold_their_slots_and_are_not_counted_twice() {
    let mut request = request(2, &[1.0]);
    request.placed = vec![Placed {
        activity: ActivityId(0),
        resource: ResourceId::local(0),
        finish: Span::from_secs(1),
    }];
    request.ready = vec![vec![Span::from_secs(1)]];
    let entries = [on(0, 0, 0), on(0, 1, 2)];
    assert_eq!(kept(&request, &entries), Ok(Span::from_secs(3)));
}

#[test]
fn a_request_that_cannot_be_planned_is_refused_alike() {
    let mut request = request(1, &[1.0]);
    request.placed = vec![Placed {
        activity: ActivityId(9),
        resource: ResourceId::local(0),
        finish: Span::ZERO,
    }];
    assert_eq!(kept(&request, &[]), Err(Refusal::Unknown(ActivityId(9))));
}

#[test]
fn activities_of_a_slow_machine_move_and_all_others_stay() {
    // Machine 0 runs at a third of its power: of its three activities two go to the others.
    let request = request(6, &[1.0 / 3.0, 1.0, 1.0]);
    let entries = [
        on(0, 0, 0),
        on(0, 1, 2),
        on(0, 2, 4),
        on(1, 3, 0),
        on(1, 4, 2),
        on(2, 5, 0),
    ];
    let slow = BTreeSet::from([ResourceId::local(0)]);
    let plan = moved_from(&request, &entries, &slow).unwrap();
    let places: Vec<u32> = plan.entries.iter().map(|one| one.resource.number).collect();
    assert_eq!(places[3..], [1, 1, 2]);
    assert_eq!(plan.makespan(), Span::from_secs(6));
    assert_eq!(kept(&request, &entries), Ok(Span::from_secs(18)));
    assert_eq!(kept(&request, &plan.entries), Ok(Span::from_secs(6)));
    // Where no machine is slow, nothing moves.
    let stays = moved_from(&request, &entries, &BTreeSet::new()).unwrap();
    let moved = |(one, other): (&Entry, &Entry)| one.resource != other.resource;
    assert!(!stays.entries.iter().zip(&entries).any(moved));
}

#[test]
fn added_slots_are_filled_with_few_moves() {
    // Twelve in a row on one machine, and then a second, a third and a fourth one. In the order in which they begin, the
    // seventh of them finds the second machine free before its own, so that the fourth machine costs one move more than
    // its three.
    let entries: Vec<Entry> = (0..12).map(|id| on(0, id, 2 * u64::from(id))).collect();
    let mut entries = entries;
    for (n, makespan, n_moved) in [(2, 12, 6), (3, 8, 4), (4, 6, 4)] {
        let request = request(12, &vec![1.0; n]);
        let grown = grown_from(&request, &entries).unwrap();
        assert_eq!(grown.makespan(), Span::from_secs(makespan));
        let moved = grown.entries.iter().zip(&entries);
        let moved = moved.filter(|(after, before)| after.resource != before.resource);
        assert_eq!(moved.count(), n_moved, "{n}");
        entries = grown.entries;
    }
    // Nothing moves where nothing would end sooner.
    let request = request(12, &[1.0; 4]);
    assert_eq!(grown_from(&request, &entries).unwrap().entries, entries);
}
