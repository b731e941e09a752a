//! The market by itself: plans on offers, claims by group, slots given back.

use std::collections::BTreeMap;

use model::{
    Bytes, Entry, Epoch, Generation, GrantId, GroupId, Plan, ProcessId, ResourceId, Span, Wall,
};
use wire::group::{FromGroup, Grant, Held, Offer, Offered, ToGroup, Want};

use super::{Answered, Market};
use crate::machines::Machines;
use crate::record::{self, Event, Holding, Phase};
use crate::tests::bench::{controller, draft, ids, leaf};
use crate::tests::paper::{Bench, ID, Idle};
use crate::{Config, PlanResult, Stream};

const ONE: GroupId = GroupId::new(1);
const TWO: GroupId = GroupId::new(2);

/// A market with a process of two activities, and two groups with a machine each.
fn market(bench: &mut Bench) -> Market {
    let draft = draft(vec![
        controller(model::NodeKind::Sequence(ids(&[1, 2]))),
        leaf("a"),
        leaf("b"),
    ]);
    bench.found(draft);
    let mut market = Market::default();
    let step = &mut bench.step();
    market.begin(step.cx.process(ID).unwrap(), true);
    for group in [ONE, TWO] {
        market.group_up(step, group);
        market.on_offer(step, group, offer(group));
    }
    market.plan_next(step, &Machines::default(), &Idle);
    market
}

fn machine(group: GroupId) -> ResourceId {
    ResourceId::new(group, 0)
}

fn offer(group: GroupId) -> Offer {
    let resource = machine(group);
    Offer {
        epoch: Epoch(1),
        resources: vec![Offered {
            resource,
            name: format!("m{resource}"),
            power: 1.0,
            slots: 1,
            free: 1,
            memory: Bytes(1 << 30),
            labels: BTreeMap::new(),
            bulk: None,
            yours: 0,
        }],
        leaving: Vec::new(),
        is_shared: false,
        n_revoked: 0,
        owners: None,
    }
}

/// A plan with an activity on the machine of each group.
/// A market that has claimed slots of both groups for a plan.
fn planned() -> (Bench, Market) {
    let mut bench = Bench::new(Config::default());
    let mut market = market(&mut bench);
    let result = plan(&mut bench);
    market.on_planned(&mut bench.step(), result);
    (bench, market)
}

fn plan(bench: &mut Bench) -> PlanResult {
    let request = bench.plan_request();
    let entries = [(1, ONE), (2, TWO)].map(|(activity, group)| Entry {
        activity: model::ActivityId(activity),
        resource: machine(group),
        slot: 0,
        start: Span::ZERO,
        finish: Span(5),
    });
    PlanResult {
        process: ID,
        basis: request.expect("a plan is asked for").basis,
        result: Ok(Plan {
            generation: Generation(1),
            entries: entries.into(),
            bound: Span(5),
        }),
    }
}

/// The groups that were sent a claim, with its number.
fn claims(bench: &mut Bench) -> Vec<(GroupId, u32)> {
    let sent = bench.take_to_groups().into_iter();
    let claims = sent.filter_map(|(group, message)| {
        let ToGroup::Claim { number, .. } = message else {
            return None;
        };
        Some((group, number))
    });
    claims.collect()
}

fn granted(group: GroupId) -> FromGroup {
    FromGroup::Granted {
        number: 1,
        process: ID,
        grants: vec![Grant {
            id: GrantId(1),
            resource: machine(group),
            slots: 1,
        }],
        is_at_limit: false,
    }
}

fn has_plan(bench: &Bench) -> bool {
    let mut events = bench.paper.events.iter();
    events.any(|(_, event)| matches!(event, Event::Planned(_)))
}

#[test]
fn a_plan_is_in_force_when_all_its_groups_have_granted() {
    let (mut bench, mut market) = planned();
    assert_eq!(claims(&mut bench), [(ONE, 1), (TWO, 1)]);
    market.on_answer(&mut bench.step(), TWO, granted(TWO));
    assert!(!has_plan(&bench));
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    assert!(has_plan(&bench));
    assert!(bench.shared.marks.processes.contains(&ID));
}

#[test]
fn a_claim_is_repeated_with_its_number_until_it_is_answered() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    claims(&mut bench);
    market.repeat_claims(&mut bench.step(), ID);
    assert_eq!(claims(&mut bench), [(TWO, 1)]);
    market.on_answer(&mut bench.step(), TWO, granted(TWO));
    market.repeat_claims(&mut bench.step(), ID);
    assert_eq!(claims(&mut bench), []);
}

#[test]
fn a_part_of_the_slots_is_kept_and_planned_on_alone() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    let refused = FromGroup::Refused {
        number: 1,
        process: ID,
        is_at_limit: false,
    };
    market.on_answer(&mut bench.step(), TWO, refused);
    assert!(!has_plan(&bench));
    bench.take_to_groups();
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    let platform = bench.plan_request().unwrap().request.platform;
    let used: Vec<ResourceId> = platform.resources().iter().map(|one| one.id).collect();
    assert_eq!(used, [machine(ONE)]);
}

#[test]
fn slots_are_given_back_to_each_group_that_was_asked_for_some() {
    let (mut bench, mut market) = planned();
    market.on_answer(&mut bench.step(), ONE, granted(ONE));
    assert!(!market.release(&mut bench.step(), ID), "it goes on");
    let closed = Event::Closed {
        phase: Phase::Faulted,
        at: Wall(9),
        outputs: Vec::new(),
    };
    bench.step().cx.record(Stream::Process(ID), closed);
    bench.take_to_groups();
    assert!(!market.release(&mut bench.step(), ID));
    let release = ToGroup::Release(ID);
    assert_eq!(
        bench.take_to_groups(),
        [(ONE, release.clone()), (TWO, release)]
    );
    let released = || FromGroup::Released(ID);
    assert_eq!(market.on_answer(&mut bench.step(), TWO, released()), None);
    assert_eq!(
        market.on_answer(&mut bench.step(), ONE, released()),
        Some(ID)
    );
    assert_eq!(market.n_demands(), 0);
}

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
fn a_group_manager_that_does_not_answer_holds_up_nobody_for_long() {
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
    bench.pass(Span::from_secs(1));
    market.repeat_inquiry(&mut bench.step(), ONE);
    assert!(std::mem::take(&mut bench.shared.marks.wants_plans));
    market.plan_next(&mut bench.step(), &Machines::default(), &Idle);
    assert_eq!(claims(&mut bench), [(ONE, 1)]);
}
