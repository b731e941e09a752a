//! Holdings that process managers confirm, and claims of earlier epochs.

use model::Span;

use super::bench::{Bench, attach, by, claim, confirm, in_epoch, register, release};
use crate::Event;
use crate::record::MachineNumber;

#[test]
fn one_question_is_answered_for_all_processes_of_a_manager() {
    let mut bench = Bench::ready();
    bench.all([
        claim(1, 1, &[(0, 2), (1, 1)]),
        claim(2, 3, &[(0, 1)]),
        by(1, claim(3, 1, &[(0, 1)])),
        claim(4, 1, &[(0, 9)]),
        claim(5, 2, &[(1, 1)]),
        release(5),
    ]);
    assert_eq!(
        bench.all([confirm(1, 1, &[1, 2, 3, 4, 5, 6])]),
        "pm0: e1 holds p1 #1 r0:2 r1:1 p2 #3 r0:1 p4 #1 p5 #2\n",
        "3 is another manager's, and nothing is known of 6"
    );
    bench.check_replay();
}

#[test]
fn slots_of_processes_that_their_manager_does_not_know_any_more_are_free_again() {
    let mut bench = Bench::ready();
    bench.all([
        claim(1, 1, &[(0, 1)]),
        claim(2, 1, &[(1, 1)]),
        by(1, claim(3, 1, &[(1, 1)])),
    ]);
    // It has lost its journal, and says so with a later epoch.
    let log = bench.all([attach(2), confirm(2, 1, &[1])]);
    assert_eq!(
        log,
        "pm0: offer e1 r0=a:3/4 r1=b:0/2\n\
         am2: grants p3:1\n\
         pm0: e2 holds p1 #1 r0:1\n"
    );
    bench.check_replay();
}

#[test]
fn a_list_that_was_sent_before_a_claim_takes_nothing_from_it() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 1)]), confirm(1, 1, &[])]);
    assert_eq!(bench.state().held(MachineNumber(0)), 1);
    // In another epoch of the group manager, a list for the one before may come late.
    bench.restart();
    bench.all([register(1, "a", 4), attach(1)]);
    assert_eq!(bench.all([confirm(1, 1, &[])]), "");
    assert_eq!(bench.state().held(MachineNumber(0)), 1);
    // And so may a list of an earlier epoch of the process manager.
    bench.all([attach(2)]);
    assert_eq!(bench.all([confirm(1, 2, &[])]), "");
    assert_eq!(bench.state().held(MachineNumber(0)), 1);
    let log = bench.all([confirm(2, 2, &[])]);
    assert_eq!(log, "am1: grants\npm0: e2 holds\n");
    bench.check_replay();
}

#[test]
fn a_late_claim_of_an_earlier_epoch_takes_nothing() {
    let mut bench = Bench::ready();
    bench.all([attach(2)]);
    assert_eq!(bench.all([claim(1, 1, &[(0, 1)])]), "");
    assert_eq!(
        bench.all([in_epoch(2, claim(1, 1, &[(0, 1)]))]),
        "am1: grants p1:1\npm0: granted p1 #1 r0:1\n"
    );
    // What comes after a restart of this manager does so as well, once the sender is known.
    bench.restart();
    bench.all([register(1, "a", 4), confirm(2, 2, &[1])]);
    assert_eq!(bench.all([claim(1, 2, &[(0, 1)])]), "");
}

#[test]
fn claims_of_a_restored_manager_are_answered_though_later_ones_of_it_were_refused() {
    let mut bench = Bench::ready();
    // 1 holds slots under number 1, and claims for more were refused. 2 is over.
    bench.all([
        claim(1, 1, &[(0, 1)]),
        claim(1, 2, &[(9, 1)]),
        claim(1, 3, &[(9, 1)]),
        claim(2, 1, &[(9, 1)]),
        release(2),
    ]);
    // Its backup knows nothing of that.
    bench.all([attach(2), confirm(2, 1, &[1, 2])]);
    assert_eq!(
        bench.all([in_epoch(2, claim(1, 2, &[(1, 1)]))]),
        "am2: grants p1:1\npm0: granted p1 #2 r0:1 r1:1\n"
    );
    assert_eq!(
        bench.all([in_epoch(2, claim(2, 1, &[(0, 1)]))]),
        "am1: grants p1:1 p2:1\npm0: granted p2 #1 r0:1\n"
    );
    bench.check_replay();
}

#[test]
fn nobody_claims_or_gives_back_for_processes_of_another_manager() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 1)])]);
    let log = bench.all([
        by(1, claim(1, 2, &[(0, 1)])),
        by(1, release(1)),
        by(1, confirm(1, 1, &[1])),
    ]);
    assert_eq!(log, "pm1: refused p1 #2\npm1: released p1\npm1: e1 holds\n");
    assert_eq!(bench.state().held(MachineNumber(0)), 1);
}

#[test]
fn a_holding_of_an_earlier_version_is_adopted_by_the_manager_that_lists_it() {
    let mut bench = Bench::watching(Some(Span::from_secs(10)));
    bench.all([register(1, "a", 4), attach(1), claim(1, 1, &[(0, 1)])]);
    for event in &mut bench.events {
        if let Event::Granted { manager, .. } = event {
            *manager = None;
        }
    }
    bench.restart_watching(Some(Span::from_secs(10)));
    bench.all([by(5, attach(1)), by(5, confirm(1, 2, &[]))]);
    assert_eq!(bench.state().held(MachineNumber(0)), 1, "it is of nobody");
    let log = bench.all([by(5, confirm(1, 2, &[1]))]);
    assert_eq!(log, "pm5: e1 holds p1 #1 r0:1\n");
    assert_eq!(bench.state().held_by(MachineNumber(0), 5), 1);
    bench.check_replay();
}
