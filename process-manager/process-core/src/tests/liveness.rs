//! Two machines of one slot under leases, played by hand: what happens when one falls silent.

mod files;
mod leases;
mod rounds;
mod stage;

use model::{Epoch, ResourceId, SubmitKey, Wall};
use wire::attempt::FromActivity;

use self::stage::*;
use crate::Input;
use crate::record::Verdict;
use crate::tests::bench::submission;

#[test]
fn what_may_run_waits_for_the_end_of_the_lease_and_then_goes_elsewhere() {
    let mut stage = Stage::new(two(|_| {}));
    assert_eq!(stage.said(), ["r0 send a1#1", "r1 send a2#1"]);
    stage.runs(0, 1);
    stage.wait(2_000);
    stage.renew(0, 7);
    assert_eq!(stage.said(), ["r0 renewed e4 7"]);
    stage.is_silent = true;
    // Ten seconds, a hundredth and half a second after that answer.
    assert!(stage.wait(10_550).is_empty());
    assert_eq!(stage.wait(100), ["r1 send a1#2"]);
    assert_eq!(stage.verdicts, [Verdict::Again]);
}

#[test]
fn who_waits_for_a_machine_does_not_keep_its_holder_from_being_planned_again() {
    let mut stage = Stage::new(two(|_| {}));
    stage.free = 0;
    stage.offer();
    // The clock was set back, so that it counts as the one that came first.
    stage.now.wall = Wall(1_000);
    stage.submit(submission(SubmitKey(78), two(|_| {})));
    assert_eq!(stage.said(), ["r0 send a1#1", "r1 send a2#1"]);
    stage.runs(0, 1);
    stage.is_silent = true;
    assert_eq!(stage.wait(10_650), ["r1 send a1#2"]);
}

#[test]
fn what_has_not_started_is_asked_back_from_a_silent_machine_until_it_answers() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    assert!(stage.wait(2_900).is_empty());
    assert_eq!(stage.wait(200), ["r0 retract a1#1"]);
    // It may have started: nothing goes elsewhere before it says that it has not.
    assert_eq!(stage.wait(2_000), ["r0 retract a1#1"]);
    let attempt = stage.attempt(1);
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    let log = stage.said();
    assert_eq!(log.len(), 1);
    assert!(log[0].ends_with("send a1#2"), "{log:?}");
}

#[test]
fn a_machine_that_is_heard_again_is_still_asked_whether_it_gave_back() {
    let mut stage = Stage::new(two(|_| {}));
    stage.wait(3_100);
    stage.said();
    stage.hear(0, FromActivity::Accepted(Vec::new()));
    assert_eq!(stage.wait(1_000), ["r0 retract a1#1"]);
    stage.runs(0, 1);
    assert!(stage.wait(2_000).is_empty());
}

#[test]
fn a_repeatable_attempt_is_doubled_as_soon_as_its_machine_is_suspect() {
    let draft = model::Draft {
        policy: Some(model::Policy::Static),
        ..two(|activity| activity.repeatable = true)
    };
    let mut stage = Stage::new(draft);
    stage.runs(0, 1);
    stage.said();
    let log = stage.wait(3_100);
    assert!(log.contains(&"r1 send a1#2".to_owned()), "{log:?}");
    // The attempt that it may hold is stopped until the machine reports its end.
    assert!(stage.wait(1_000).contains(&"r0 stop a1#1".to_owned()));
    let attempt = stage.attempt(1);
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    assert!(stage.wait(2_000).is_empty());
}

#[test]
fn what_must_not_run_twice_is_tried_again_only_where_it_has_not_started() {
    let once = || Stage::new(two(|activity| activity.at_most_once = true));
    let mut stage = once();
    stage.wait(3_100);
    let attempt = stage.attempt(1);
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    assert_eq!(stage.verdicts, [Verdict::Moved]);
    let mut stage = once();
    stage.wait(10_700);
    let [Verdict::Faulted(fault)] = stage.verdicts.as_slice() else {
        panic!("{:?}", stage.verdicts)
    };
    assert_eq!(fault.name, model::FaultName::OutcomeUnknown);
}

#[test]
fn what_must_not_run_twice_may_have_run_where_the_machine_has_lost_its_journal() {
    for forgets in [false, true] {
        let mut stage = Stage::new(two(|activity| activity.at_most_once = true));
        stage.forgets = forgets;
        stage.give(Input::ActivityUp(ResourceId::local(0)));
        let is_unknown = |verdict: &Verdict| matches!(verdict, Verdict::Faulted(fault) if fault.name == model::FaultName::OutcomeUnknown);
        assert_eq!(
            stage.verdicts.iter().any(is_unknown),
            forgets,
            "{:?}",
            stage.verdicts
        );
    }
}

#[test]
fn a_machine_that_is_to_be_emptied_gives_back_what_has_not_started() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    stage.leaving = vec![ResourceId::local(1)];
    stage.offer();
    assert_eq!(stage.said(), ["r1 retract a2#1"]);
    stage.runs(1, 2);
    assert!(stage.wait(1_500).iter().all(|line| !line.contains("a2")));
}

#[test]
fn a_question_of_another_epoch_is_not_answered() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    let renew = FromActivity::Renew {
        epoch: Epoch(3),
        number: 1,
    };
    stage.hear(0, renew);
    assert!(stage.said().is_empty());
}

#[test]
fn who_connects_with_the_number_of_another_machine_is_not_listened_to() {
    let mut stage = Stage::new(two(|_| {}));
    stage.said();
    let named = |name: &str| Input::ActivityNamed(ResourceId::local(0), name.to_owned());
    stage.give(named("m7"));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.renew(0, 1);
    assert!(stage.said().is_empty());
    stage.give(named("m0"));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.renew(0, 1);
    assert!(stage.said().contains(&"r0 renewed e4 1".to_owned()));
}

/// Others are kept from the number of a machine as soon as its name is known, and that is told once.
#[test]
fn the_name_of_a_machine_is_told_by_its_group_or_by_what_was_recorded() {
    let mut stage = Stage::new(two(|_| {}));
    let both = [(0, "m0".to_owned()), (1, "m1".to_owned())];
    assert_eq!(stage.registered, both);
    stage.runs(1, 2);
    assert_eq!(stage.registered, both);
    // The next epoch knows it before it has heard of the group.
    stage.registered.clear();
    stage.machines = Vec::new();
    stage.live_again(10);
    assert_eq!(stage.registered, both);
}

/// An attempt that was not sent does not wait for a machine that never connects in this epoch.
#[test]
fn what_is_planned_on_a_machine_that_never_comes_back_is_planned_again() {
    let mut stage = Stage::new(two(|_| {}));
    stage.runs(1, 2);
    // It is given back just when the connection ends, so that it has not gone there again.
    let attempt = stage.attempt(1);
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.hear(0, FromActivity::Retracted(vec![attempt]));
    assert_eq!(stage.verdicts, [Verdict::Moved]);
    // The group has started again as well, and does not know that machine.
    stage.machines = vec![1];
    stage.is_silent = true;
    stage.live_again(10);
    assert_eq!(stage.sent_after(), 3_000);
}
