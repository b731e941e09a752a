//! The market by itself: plans on offers, claims by group, slots given back.

mod holdings;
mod misfits;
mod overdue;

use std::collections::BTreeMap;

use model::{
    Bytes, Entry, Epoch, Generation, GrantId, GroupId, Plan, ProcessId, ResourceId, Span, Wall,
};
use wire::group::{FromGroup, Grant, Offer, Offered, ToGroup, Want};

use super::Market;

use crate::machines::Machines;

use crate::record::{Event, Phase};
use crate::tests::bench::{controller, draft, edit, ids, leaf};
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
            shown: None,
        }],
        leaving: Vec::new(),
        unavailable: Vec::new(),
        is_shared: false,
        n_revoked: 0,
        owners: None,
        takes_shown: false,
        policy: None,
        tuning: None,
    }
}

/// A market that has claimed slots of both groups for a plan.
fn planned() -> (Bench, Market) {
    let mut bench = Bench::new(Config::default());
    let mut market = market(&mut bench);
    let result = plan(&mut bench);
    market.on_planned(&mut bench.step(), result);
    (bench, market)
}

/// A plan with an activity on the machine of each group.
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
        compared: None,
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
