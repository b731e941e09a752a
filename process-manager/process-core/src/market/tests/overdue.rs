//! Group managers are told that the process whose turn it is waits.

use model::NodeKind;
use wire::group::Need;
use wire::lease;

use super::*;
use crate::io::PlanRequest;
use crate::limits;
use crate::machines::tests::reachable;
use crate::market::Answered;

/// An offer of a group that serves others too, with so many free slots.
fn shared(free: u32) -> Offer {
    let mut offer = offer(ONE);
    offer.is_shared = true;
    offer.resources[0].slots = 4;
    offer.resources[0].free = free;
    offer
}

/// A market with a process of two activities, of which one needs 2 slots, and a group that offers this.
fn waiting(bench: &mut Bench, offer: Offer) -> Market {
    let mut wide = leaf("a");
    if let NodeKind::Activity(activity) = &mut wide.kind {
        activity.cores = 2;
    }
    bench.found(draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2]))),
        leaf("b"),
        wide,
    ]));
    let mut market = Market::default();
    let step = &mut bench.step();
    market.begin(step.cx.process(ID).unwrap(), true);
    market.group_up(step, ONE);
    market.on_offer(step, ONE, offer);
    market.plan_next(step, &Machines::default(), &Idle);
    market
}

/// What a group is told of processes that wait: for how long, and for how many slots of a machine.
fn told(bench: &mut Bench, market: &mut Market) -> Vec<(GroupId, u64, Vec<u32>)> {
    bench.take_to_groups();
    market.tell_overdue(&mut bench.step());
    let sent = bench.take_to_groups().into_iter();
    let told = sent.filter_map(|(group, message)| {
        let ToGroup::Waits { waited, needs, .. } = message else {
            return None;
        };
        let cores = needs.iter().map(|need: &Need| need.cores);
        Some((group, waited.0 / 1_000_000, cores.collect()))
    });
    told.collect()
}

#[test]
fn a_group_that_serves_others_is_told_until_the_process_has_slots() {
    let mut bench = Bench::new(Config::default());
    let mut market = waiting(&mut bench, shared(0));
    bench.pass(limits::OVERDUE_AFTER);
    assert_eq!(told(&mut bench, &mut market), [(ONE, 1, vec![2, 1])]);
    bench.pass(limits::REPEAT);
    market.on_offer(&mut bench.step(), ONE, shared(0));
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    assert_eq!(told(&mut bench, &mut market), [(ONE, 2, vec![2, 1])]);
    // It still waits while it is planned.
    market.on_offer(&mut bench.step(), ONE, shared(4));
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    let asked = bench.plan_request().unwrap();
    assert_eq!(told(&mut bench, &mut market), [(ONE, 2, vec![2, 1])]);
    give_plan(&mut bench, &mut market, &asked);
    market.on_answer(&mut bench.step(), ONE, granted_slots(2));
    assert!(has_plan(&bench));
    assert_eq!(told(&mut bench, &mut market), []);
}

#[test]
fn a_group_that_serves_nobody_else_is_not_told() {
    let mut bench = Bench::new(Config::default());
    let alone = Offer {
        is_shared: false,
        ..shared(0)
    };
    let mut market = waiting(&mut bench, alone);
    bench.pass(limits::OVERDUE_AFTER);
    assert_eq!(told(&mut bench, &mut market), []);
}

#[test]
fn a_process_that_ends_waits_no_more() {
    let mut bench = Bench::new(Config::default());
    let mut market = waiting(&mut bench, shared(0));
    market.settle(&mut bench.step(), ID);
    bench.pass(limits::OVERDUE_AFTER);
    assert_eq!(told(&mut bench, &mut market), []);
}

#[test]
fn a_process_without_a_plan_gives_back_what_it_has_held_in_vain() {
    let mut bench = Bench::new(Config {
        lease: Some(lease::LENGTH),
        ..Config::default()
    });
    let machines = reachable(&mut bench, &[machine(ONE)]);
    let mut market = waiting(&mut bench, shared(2));
    let told = Answered {
        epoch: bench.shared.epoch,
        number: 1,
        n_revoked: 0,
    };
    market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    market.on_offer(&mut bench.step(), ONE, shared(2));
    market.plan_next(&mut bench.step(), &machines, &Idle);
    plan_as_asked(&mut bench, &mut market);
    // Others were faster with one of the two slots: nothing fits on what is left.
    market.on_answer(&mut bench.step(), ONE, granted_slots(1));
    market.plan_next(&mut bench.step(), &machines, &Idle);
    plan_as_asked(&mut bench, &mut market);
    assert!(!has_plan(&bench));
    bench.take_to_groups();
    market.return_slots(&mut bench.step(), &machines, ID);
    assert_eq!(bench.take_to_groups(), [], "it may be granted the rest");
    bench.pass(limits::STALLED_AFTER);
    market.return_slots(&mut bench.step(), &machines, ID);
    let sent = bench.take_to_groups();
    let kept = sent.iter().filter_map(|(_, message)| match message {
        ToGroup::Return { keep, .. } => Some(keep[0].slots),
        ToGroup::Attach { .. }
        | ToGroup::Claim { .. }
        | ToGroup::Release(_)
        | ToGroup::Holds(_)
        | ToGroup::Confirm { .. }
        | ToGroup::Waits { .. }
        | ToGroup::Shown { .. } => None,
    });
    assert_eq!(kept.collect::<Vec<_>>(), [0]);
}

/// Gives the market the plan that it has asked for.
fn plan_as_asked(bench: &mut Bench, market: &mut Market) {
    let asked = bench.plan_request().expect("a plan is asked for");
    give_plan(bench, market, &asked);
}

fn give_plan(bench: &mut Bench, market: &mut Market, asked: &PlanRequest) {
    market.on_planned(&mut bench.step(), asked.answer());
}

fn granted_slots(slots: u32) -> FromGroup {
    FromGroup::Granted {
        number: 1,
        process: ID,
        grants: vec![Grant {
            id: GrantId(1),
            resource: machine(ONE),
            slots,
        }],
        is_at_limit: false,
    }
}
