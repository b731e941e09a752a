//! Holdings: asked for, confirmed, revoked and given back.

use wire::group::Held;
use wire::lease;

use super::*;
use crate::limits;
use crate::machines::tests::reachable;
use crate::market::Answered;
use crate::record::{self, Holding};

/// The questions for holdings that were sent, with the processes in them.
fn questions(bench: &mut Bench) -> Vec<(GroupId, u32, Vec<ProcessId>)> {
    let sent = bench.take_to_groups().into_iter();
    let asked = sent.filter_map(|(group, message)| {
        let ToGroup::Confirm {
            number, processes, ..
        } = message
        else {
            return None;
        };
        Some((group, number, processes))
    });
    asked.collect()
}

fn answered(bench: &Bench, number: u32, n_revoked: u64) -> Answered {
    Answered {
        epoch: bench.shared.epoch,
        number,
        n_revoked,
    }
}

fn held(number: u32, group: GroupId, slots: u32) -> Held {
    Held {
        process: ID,
        number,
        grants: vec![Grant {
            id: GrantId(1),
            resource: machine(group),
            slots,
        }],
    }
}

fn recorded(bench: &Bench, group: GroupId) -> (u32, u32) {
    let known = bench.process();
    (known.claim_number(group), known.granted(machine(group)))
}

#[test]
fn each_group_manager_is_asked_once_what_it_holds() {
    let mut bench = Bench::new(Config::default());
    let mut market = market(&mut bench);
    assert_eq!(
        questions(&mut bench),
        [(ONE, 1, vec![ID]), (TWO, 2, vec![ID])]
    );
    market.on_offer(&mut bench.step(), ONE, offer(ONE));
    assert_eq!(questions(&mut bench), [], "it is asked already");
    market.repeat_inquiry(&mut bench.step(), ONE);
    assert_eq!(questions(&mut bench), [(ONE, 1, vec![ID])]);
    let told = answered(&bench, 1, 0);
    market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    market.repeat_inquiry(&mut bench.step(), ONE);
    market.on_offer(&mut bench.step(), ONE, offer(ONE));
    assert_eq!(questions(&mut bench), []);
    // Another epoch of it is asked, and one that has ended grants since.
    let other = Offer {
        epoch: Epoch(2),
        ..offer(ONE)
    };
    market.on_offer(&mut bench.step(), ONE, other.clone());
    assert_eq!(questions(&mut bench), [(ONE, 3, vec![ID])]);
    let told = answered(&bench, 3, 0);
    market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    let revoked = Offer {
        n_revoked: 1,
        ..other
    };
    market.on_offer(&mut bench.step(), ONE, revoked);
    assert_eq!(questions(&mut bench), [(ONE, 4, vec![ID])]);
}

#[test]
fn what_a_group_manager_does_not_hold_any_more_is_recorded_as_ended() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    market.on_answer(&mut bench.step(), TWO, granted(TWO));
    bench.take_to_groups();
    market.group_down(&mut bench.step(), ONE);
    market.group_up(&mut bench.step(), ONE);
    market.on_offer(&mut bench.step(), ONE, offer(ONE));
    assert_eq!(questions(&mut bench), [(ONE, 3, vec![ID])]);
    let late = answered(&bench, 1, 0);
    assert_eq!(
        market.on_holdings(&mut bench.step(), ONE, late, Vec::new()),
        []
    );
    assert_eq!(recorded(&bench, ONE), (1, 1));
    let told = answered(&bench, 3, 0);
    assert_eq!(
        market.on_holdings(&mut bench.step(), ONE, told, Vec::new()),
        [ID]
    );
    assert_eq!(recorded(&bench, ONE), (1, 0));
    assert_eq!(recorded(&bench, TWO), (1, 1));
}

#[test]
fn a_claim_that_was_refused_meanwhile_does_not_hide_what_is_not_held_any_more() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    market.on_answer(&mut bench.step(), TWO, granted(TWO));
    let told = answered(&bench, 1, 0);
    market.on_holdings(&mut bench.step(), ONE, told, vec![held(1, ONE, 1)]);
    let revoked = Offer {
        n_revoked: 1,
        ..offer(ONE)
    };
    bench.take_to_groups();
    market.on_offer(&mut bench.step(), ONE, revoked.clone());
    let asked = questions(&mut bench)[0].1;
    // A refusal is recorded with what was held before, since it tells nothing of that.
    let known = bench.process().state.holdings[&ONE].clone();
    let holding = Holding { number: 2, ..known };
    bench.record(Event::Granted {
        group: ONE,
        holding,
    });
    let told = answered(&bench, asked, 1);
    market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    assert_eq!(recorded(&bench, ONE), (2, 1));
    assert_eq!(questions(&mut bench), [(ONE, asked + 1, vec![ID])]);
    let told = answered(&bench, asked + 1, 1);
    market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    assert_eq!(recorded(&bench, ONE), (2, 0));
    market.on_offer(&mut bench.step(), ONE, revoked);
    assert_eq!(questions(&mut bench), []);
}

#[test]
fn a_group_manager_that_has_not_taken_a_return_is_told_again() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    market.on_answer(&mut bench.step(), TWO, granted(TWO));
    let holding = Holding {
        number: 2,
        grants: vec![record::Grant {
            id: GrantId(1),
            resource: machine(ONE),
            slots: 0,
        }],
    };
    bench.record(Event::Granted {
        group: ONE,
        holding,
    });
    market.group_down(&mut bench.step(), ONE);
    market.group_up(&mut bench.step(), ONE);
    bench.take_to_groups();
    market.on_offer(&mut bench.step(), ONE, offer(ONE));
    let told = answered(&bench, 3, 0);
    let before = vec![held(1, ONE, 1)];
    market.on_holdings(&mut bench.step(), ONE, told, before);
    assert_eq!(recorded(&bench, ONE), (2, 0), "it is not held again");
    let sent = bench.take_to_groups().into_iter();
    let returns = sent.filter(|(_, message)| matches!(message, ToGroup::Return { .. }));
    let keep = vec![Want {
        resource: machine(ONE),
        slots: 0,
    }];
    let (number, process, epoch) = (2, ID, bench.shared.epoch);
    let again = ToGroup::Return {
        number,
        process,
        keep,
        epoch,
    };
    assert_eq!(returns.collect::<Vec<_>>(), [(ONE, again)]);
}

#[test]
fn an_answer_is_older_than_a_claim_that_was_answered_meanwhile() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    let told = answered(&bench, 1, 0);
    market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    assert_eq!(recorded(&bench, ONE), (1, 1));
}

#[test]
fn what_is_held_under_the_number_of_an_open_claim_is_its_answer() {
    let (mut bench, mut market) = planned();
    for (group, number) in [(ONE, 1), (TWO, 2)] {
        assert!(!has_plan(&bench));
        let told = answered(&bench, number, 0);
        market.on_holdings(&mut bench.step(), group, told, vec![held(1, group, 1)]);
    }
    assert!(has_plan(&bench));
}

#[test]
fn a_claim_whose_number_an_earlier_epoch_has_used_is_made_anew() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), TWO, granted(TWO));
    claims(&mut bench);
    // Its first claim in this group was granted and has ended since.
    let ended = Held {
        grants: Vec::new(),
        ..held(1, ONE, 1)
    };
    let told = answered(&bench, 1, 0);
    market.on_holdings(&mut bench.step(), ONE, told, vec![ended]);
    assert_eq!(recorded(&bench, ONE), (1, 0));
    market.repeat_claims(&mut bench.step(), ID);
    assert_eq!(claims(&mut bench), [], "nobody waits for it any more");
    assert!(bench.shared.marks.wants_plans);
}

#[test]
fn a_process_whose_rest_fits_nowhere_holds_up_nobody_with_its_slots() {
    let mut bench = Bench::new(Config {
        lease: Some(lease::LENGTH),
        ..Config::default()
    });
    let machines = reachable(&mut bench, &[machine(ONE), machine(TWO)]);
    let mut market = market(&mut bench);
    let result = plan(&mut bench);
    market.on_planned(&mut bench.step(), result);
    for group in [ONE, TWO] {
        market.on_answer(&mut bench.step(), group, granted(group));
    }
    let told = answered(&bench, 2, 0);
    market.on_holdings(&mut bench.step(), TWO, told, vec![held(1, TWO, 1)]);
    // The slot of the first activity was revoked, and is not free.
    let mut revoked = offer(ONE);
    (revoked.n_revoked, revoked.resources[0].free) = (1, 0);
    for asked in [1, 3] {
        let told = answered(&bench, asked, asked.into());
        market.on_holdings(&mut bench.step(), ONE, told, Vec::new());
    }
    market.on_offer(&mut bench.step(), ONE, revoked);
    let returned = |bench: &mut Bench, market: &mut Market| {
        market.return_slots(&mut bench.step(), &machines, ID);
        let sent = bench.take_to_groups().into_iter();
        let kept = sent.filter_map(|(group, message)| match message {
            ToGroup::Return { keep, .. } => Some((group, keep[0].slots)),
            ToGroup::Attach { .. }
            | ToGroup::Claim { .. }
            | ToGroup::Release(_)
            | ToGroup::Holds(_)
            | ToGroup::Confirm { .. }
            | ToGroup::Waits { .. }
            | ToGroup::Shown { .. } => None,
        });
        kept.collect::<Vec<_>>()
    };
    market.plan_again(&mut bench.step(), &machines, ID);
    market.plan_next(&mut bench.step(), &machines, &Idle);
    let asked = bench.plan_request().unwrap();
    let refused = PlanResult {
        process: ID,
        basis: asked.basis,
        result: Err(schedule::Refusal::NoResource {
            activity: model::ActivityId(1),
            misfit: "needs a machine with a label".to_owned(),
        }),
        compared: None,
    };
    market.on_planned(&mut bench.step(), refused);
    bench.now.mono = bench.now.mono + limits::STALLED_AFTER;
    assert_eq!(returned(&mut bench, &mut market), [], "nobody wants them");
    let shared = Offer {
        is_shared: true,
        ..offer(TWO)
    };
    market.on_offer(&mut bench.step(), TWO, shared);
    assert_eq!(returned(&mut bench, &mut market), [(TWO, 0)]);
    assert_eq!(recorded(&bench, TWO), (2, 0));
}

#[test]
fn a_process_of_an_earlier_epoch_waits_a_moment_for_what_it_was_granted() {
    let mut bench = Bench::new(Config::default());
    let leaves = ids(&[1, 2]);
    bench.found(draft(vec![
        controller(model::NodeKind::Sequence(leaves)),
        leaf("a"),
        leaf("b"),
    ]));
    let mut market = Market::default();
    let step = &mut bench.step();
    market.begin(step.cx.process(ID).unwrap(), false);
    market.group_up(step, ONE);
    market.on_offer(step, ONE, offer(ONE));
    market.plan_next(step, &Machines::default(), &Idle);
    assert!(bench.plan_request().is_none());
    // It was granted the whole machine.
    let told = answered(&bench, 1, 0);
    market.on_holdings(&mut bench.step(), ONE, told, vec![held(4, ONE, 1)]);
    assert_eq!(recorded(&bench, ONE), (4, 1));
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    assert!(bench.plan_request().is_some());
}

#[test]
fn a_claim_number_as_high_as_there_is_can_be_followed() {
    let mut bench = Bench::new(Config::default());
    bench.found(draft(vec![
        controller(model::NodeKind::Sequence(ids(&[1]))),
        leaf("a"),
    ]));
    let mut market = Market::default();
    let step = &mut bench.step();
    market.begin(step.cx.process(ID).unwrap(), false);
    market.group_up(step, ONE);
    market.on_offer(step, ONE, offer(ONE));
    let told = answered(&bench, 1, 0);
    let most = held(u32::MAX, ONE, 1);
    market.on_holdings(&mut bench.step(), ONE, told, vec![most]);
    assert_eq!(recorded(&bench, ONE), (u32::MAX, 1));
    let machines = Machines::default();
    market.tell_return(&mut bench.step(), ONE, ID, Vec::new());
    market.plan_next(&mut bench.step(), &machines, &Idle);
    assert_eq!(recorded(&bench, ONE), (u32::MAX, 0));
}
