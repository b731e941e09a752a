use model::{ActivityId, Entry, Generation, NodeKind, Plan, ResourceId, Span};

use crate::Config;
use crate::market::Market;
use crate::record::{Event, Replanned};
use crate::tests::bench::{controller, draft, ids, leaf};
use crate::tests::paper::{Bench, ID};

const ONE: ResourceId = ResourceId::local(1);
const TWO: ResourceId = ResourceId::local(2);

/// A process of three activities in a row, planned on the first machine, of which the first has
/// ended and the second is out, ten seconds after the plan was put in force.
fn bench() -> Bench {
    let mut bench = Bench::new(Config::default());
    bench.found(draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 3]))),
        leaf("a"),
        leaf("b"),
        leaf("c"),
    ]));
    bench.pass(Span::from_secs(1));
    bench.plan(&[(1, ONE), (2, ONE), (3, ONE)]);
    bench.complete(1, ONE, Vec::new());
    bench.record(Event::Sent(vec![(ActivityId(2), 1, ONE)], Vec::new()));
    bench.pass(Span::from_secs(10));
    bench
}

fn entry(activity: u32, resource: ResourceId, start: Span) -> Entry {
    Entry {
        activity: ActivityId(activity),
        resource,
        slot: 0,
        start,
        finish: start + Span::from_secs(5),
    }
}

fn made(entries: Vec<Entry>) -> Plan {
    Plan {
        generation: Generation(2),
        entries,
        bound: Span::from_secs(5),
    }
}

fn take(bench: &mut Bench, made: Plan) {
    let mut market = Market::default();
    market.take_plan(&mut bench.step(), ID, made, true);
}

#[test]
fn what_has_ended_or_is_out_keeps_its_place_in_the_plan_before() {
    let mut bench = bench();
    let before = bench.process().state.plan.clone();
    take(&mut bench, made(vec![entry(3, TWO, Span::ZERO)]));
    let plan = &bench.process().state.plan;
    assert_eq!(plan.generation, Generation(2));
    assert_eq!(plan.entries[..2], before.entries[..2]);
    assert_eq!(plan.entries[2].resource, TWO);
}

#[test]
fn what_was_sent_while_a_plan_was_made_keeps_its_place_too() {
    let mut bench = bench();
    let before = bench.process().state.plan.clone();
    let places = vec![entry(2, TWO, Span::ZERO), entry(3, TWO, Span::from_secs(5))];
    take(&mut bench, made(places));
    let plan = &bench.process().state.plan;
    assert_eq!(plan.entry(ActivityId(2)), before.entry(ActivityId(2)));
}

#[test]
fn times_of_all_plans_count_from_when_the_first_one_was_put_in_force() {
    let mut bench = bench();
    take(&mut bench, made(vec![entry(3, TWO, Span::from_secs(2))]));
    let plan = bench.process().state.plan.clone();
    let place = entry(3, TWO, Span::from_secs(12));
    assert_eq!(plan.entry(ActivityId(3)), Some(&place));
    assert_eq!(plan.bound, Span::from_secs(15));

    bench.pass(Span::from_secs(3));
    let again = Plan {
        generation: Generation(3),
        ..made(vec![entry(3, ONE, Span::ZERO)])
    };
    take(&mut bench, again);
    let place = entry(3, ONE, Span::from_secs(13));
    assert_eq!(
        bench.process().state.plan.entry(ActivityId(3)),
        Some(&place)
    );
}

#[test]
fn only_entries_that_moved_are_recorded() {
    let mut bench = bench();
    let before = bench.process().state.plan.clone();
    take(&mut bench, made(vec![entry(3, TWO, Span::from_secs(2))]));
    let Some((_, Event::Replanned(replanned))) = bench.paper.events.last() else {
        panic!("{:?}", bench.paper.events.last())
    };
    let Replanned {
        entries, removed, ..
    } = replanned.as_ref();
    assert_eq!(*entries, [entry(3, TWO, Span::from_secs(12))]);
    assert_eq!(*removed, []);
    assert_eq!(replanned.plan(&before), bench.process().state.plan);
}
