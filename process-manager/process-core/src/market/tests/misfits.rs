//! Processes that no machine fits: how long they wait for one before they fault.

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
