//! Processes that no machine fits: how long they wait for one before they fault.

use wire::group::Unavailable;

use super::*;
use crate::limits;

/// The market is asked for a plan, and no machine fits the second activity.
fn refuse(bench: &mut Bench, market: &mut Market) {
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    let asked = bench.plan_request().expect("a plan is asked for");
    let refused = PlanResult {
        process: ID,
        basis: asked.basis,
        result: Err(schedule::Refusal::NoResource {
            activity: model::ActivityId(2),
            misfit: "needs 2 cores; the largest machine has 1".to_owned(),
        }),
        compared: None,
    };
    market.on_planned(&mut bench.step(), refused);
}

/// The offers of both groups come again, for as long as that takes.
fn pass(bench: &mut Bench, market: &mut Market, seconds: u64) {
    for _ in 0..seconds {
        bench.now.mono = bench.now.mono + Span::from_secs(1);
        for group in [ONE, TWO] {
            market.on_offer(&mut bench.step(), group, offer(group));
        }
        if !has_faulted(bench) {
            refuse(bench, market);
        }
    }
}

fn wide(group: GroupId) -> Offer {
    let mut offer = offer(group);
    (offer.resources[0].slots, offer.resources[0].free) = (2, 0);
    offer
}

fn has_faulted(bench: &Bench) -> bool {
    let mut events = bench.paper.events.iter();
    events.any(|(_, event)| matches!(event, Event::Faulted(_)))
}

/// A market with a process of which an activity needs two cores.
fn waiting() -> (Bench, Market) {
    let mut bench = Bench::new(Config {
        patience: Span::from_secs(10),
        ..Config::default()
    });
    let mut wanting = leaf("b");
    edit(&mut wanting, |activity| activity.cores = 2);
    let draft = draft(vec![
        controller(model::NodeKind::Sequence(ids(&[1, 2]))),
        leaf("a"),
        wanting,
    ]);
    bench.found(draft);
    let mut market = Market::default();
    let step = &mut bench.step();
    market.begin(step.cx.process(ID).unwrap(), true);
    for group in [ONE, TWO] {
        market.group_up(step, group);
        market.on_offer(step, group, offer(group));
    }
    refuse(&mut bench, &mut market);
    (bench, market)
}

#[test]
fn a_process_that_no_machine_fits_faults_after_its_patience() {
    let (mut bench, mut market) = waiting();
    pass(&mut bench, &mut market, 9);
    assert!(!has_faulted(&bench));
    pass(&mut bench, &mut market, 1);
    assert!(has_faulted(&bench));
}

#[test]
fn it_faults_as_well_where_others_hold_slots_all_along() {
    let (mut bench, mut market) = waiting();
    let busy = |group| {
        let mut offer = offer(group);
        if group == TWO {
            offer.resources[0].free = 0;
        }
        offer
    };
    for _ in 0..11 {
        bench.now.mono = bench.now.mono + Span::from_secs(1);
        for group in [ONE, TWO] {
            market.on_offer(&mut bench.step(), group, busy(group));
        }
        if !has_faulted(&bench) {
            refuse(&mut bench, &mut market);
        }
    }
    assert!(has_faulted(&bench));
}

#[test]
fn patience_begins_anew_where_a_machine_that_fits_was_offered_between() {
    let (mut bench, mut market) = waiting();
    pass(&mut bench, &mut market, 8);
    // It is held by others, and away again before the process is tried.
    market.on_offer(&mut bench.step(), TWO, wide(TWO));
    pass(&mut bench, &mut market, 10);
    assert!(!has_faulted(&bench));
    pass(&mut bench, &mut market, 1);
    assert!(has_faulted(&bench));
}

#[test]
fn patience_begins_anew_after_offers_were_lost() {
    let (mut bench, mut market) = waiting();
    pass(&mut bench, &mut market, 3);
    bench.now.mono = bench.now.mono + limits::OFFER_FRESH;
    pass(&mut bench, &mut market, 10);
    assert!(!has_faulted(&bench));
    pass(&mut bench, &mut market, 1);
    assert!(has_faulted(&bench));
}

/// The thing that the process waits for, in words.
fn told(bench: &mut Bench, market: &Market) -> String {
    let step = bench.step();
    market.waiting_for(step.cx.process(ID).unwrap()).unwrap()
}

#[test]
fn a_machine_that_fits_and_is_held_is_told_apart_from_none_that_ever_could() {
    let (mut bench, mut market) = waiting();
    let nearest = format!("m{}", machine(ONE));
    assert_eq!(
        told(&mut bench, &market),
        format!(
            "a machine that fits b: no machine has 2 cores; the nearest, {nearest}, has 1 core"
        )
    );
    // One that others hold could run it: asked again, nobody has to be tried first.
    market.on_offer(&mut bench.step(), TWO, wide(TWO));
    let held = format!("2 slots of m{} for b, held by others", machine(TWO));
    assert_eq!(told(&mut bench, &market), held);
    refuse(&mut bench, &mut market);
    assert_eq!(told(&mut bench, &market), held);
    // Where nothing at all is free, no plan is asked for.
    let mut full = offer(ONE);
    full.resources[0].free = 0;
    market.on_offer(&mut bench.step(), ONE, full.clone());
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    assert!(bench.plan_request().is_none());
    assert_eq!(told(&mut bench, &market), held);
    full.resources[0].resource = machine(TWO);
    market.on_offer(&mut bench.step(), TWO, full);
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    let told = told(&mut bench, &market);
    assert!(
        told.contains("no machine has 2 cores; the nearest, "),
        "{told}"
    );
}

#[test]
fn demands_that_are_met_apart_and_not_together_are_told_as_such() {
    let (mut bench, mut market) = waiting();
    let mut wanting = leaf("large");
    edit(&mut wanting, |activity| {
        activity.cores = 2;
        activity.memory = Some(Bytes(2 << 30));
        activity.labels = vec![("gpu".to_owned(), "yes".to_owned())];
    });
    bench.id = ProcessId(8);
    bench.found(draft(vec![wanting]));
    let step = &mut bench.step();
    market.begin(step.cx.process(ProcessId(8)).unwrap(), true);
    let told = |bench: &mut Bench, market: &Market| {
        let step = bench.step();
        market.waiting_for(step.cx.process(ProcessId(8)).unwrap())
    };
    let nearest = format!("m{}", machine(ONE));
    assert_eq!(
        told(&mut bench, &market).unwrap(),
        format!(
            "a machine that fits large: no machine has 2 cores, 2.0 GiB of memory and the label gpu: yes; \
             the nearest, {nearest}, has 1 core, 1.0 GiB of memory and no label gpu"
        )
    );
    let mut few = offer(ONE);
    few.resources[0].memory = Bytes(4 << 30);
    few.resources[0].labels = BTreeMap::from([("gpu".to_owned(), "yes".to_owned())]);
    few.unavailable = vec![Unavailable {
        resource: machine(TWO),
        why: "it is drained".to_owned(),
    }];
    market.on_offer(&mut bench.step(), ONE, few);
    market.on_offer(&mut bench.step(), TWO, wide(TWO));
    assert_eq!(
        told(&mut bench, &market).unwrap(),
        format!(
            "a machine that fits large: no machine that takes work has 2 cores, 2.0 GiB of memory and the \
             label gpu: yes together; the nearest, {nearest}, has 1 core"
        )
    );
}
