//! Slots that processes give back before their ends.

use model::{ProcessId, Span};

use super::bench::{
    Bench, alive, attach, by, claim, confirm, holds, in_epoch, keep, register, release, show,
    unused,
};
use crate::{Input, Peer};

#[test]
fn slots_that_are_given_back_are_for_others_and_their_machine_keeps_the_files() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3), (1, 2)]), claim(1, 2, &[(0, 1)])]);
    let log = bench.all([
        keep(1, 3, &[(0, 1), (1, 0)]),
        claim(2, 1, &[(0, 3), (1, 2)]),
        claim(2, 2, &[(0, 1)]),
    ]);
    assert_eq!(
        log,
        "am1: grants p1:1\n\
         am2: grants p1:0\n\
         pm0: granted p1 #3 r0:1 r1:0\n\
         am1: grants p1:1 p2:3\n\
         am2: grants p1:0 p2:2\n\
         pm0: granted p2 #1 r0:3 r1:2\n\
         pm0: refused p2 #2\n"
    );
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r0=a:0/4 r1=b:0/2\n");
    assert_eq!(
        bench.all([release(1)]),
        "am1: grants p2:3\nam2: grants p2:2\npm0: released p1\n"
    );
    bench.check_replay();
}

#[test]
fn a_repeat_takes_nothing_more_and_a_copy_after_a_later_claim_is_ignored() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3)]), keep(1, 2, &[(0, 1)])]);
    let log = bench.all([
        keep(1, 2, &[(0, 1)]),
        // The claim before comes once more.
        claim(1, 1, &[(0, 3)]),
        claim(1, 3, &[(0, 2)]),
        keep(1, 2, &[(0, 1)]),
        claim(1, 4, &[(1, 9)]),
        claim(2, 1, &[(0, 4)]),
        claim(1, 5, &[(1, 1)]),
        keep(1, 4, &[(0, 0)]),
        // An earlier epoch has claimed under this number.
        keep(1, 5, &[(0, 1), (1, 2)]),
    ]);
    assert_eq!(
        log,
        "pm0: granted p1 #2 r0:1\n\
         am1: grants p1:1 p1:2\n\
         pm0: granted p1 #3 r0:1 r0:2\n\
         am2: grants p1:2\n\
         pm0: granted p1 #4 r0:1 r0:2 r1:2\n\
         am1: grants p1:1 p1:2 p2:1\n\
         pm0: granted p2 #1 r0:1\n\
         pm0: refused p1 #5\n\
         am1: grants p1:1 p2:1\n\
         pm0: granted p1 #5 r0:1 r1:2\n"
    );
    bench.check_replay();
}

#[test]
fn nobody_keeps_more_than_is_held_and_nobody_gives_back_for_others() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3)]), by(1, attach(1))]);
    let log = bench.all([
        keep(1, 2, &[(0, 9), (1, 2), (7, 1)]),
        by(1, keep(1, 3, &[])),
        keep(4, 1, &[(0, 1)]),
        in_epoch(0, keep(1, 3, &[])),
        keep(1, 3, &[]),
    ]);
    assert_eq!(
        log,
        "pm0: granted p1 #2 r0:3\n\
         pm1: granted p1 #3\n\
         pm0: granted p4 #1\n\
         am1: grants\n\
         pm0: granted p1 #3\n"
    );
    bench.check_replay();
}

#[test]
fn an_old_list_of_holdings_restores_nothing_that_was_given_back() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3)]), keep(1, 2, &[(0, 1)])]);
    assert_eq!(bench.all([holds(&[(1, 1, &[(0, 3)])])]), "");
    assert_eq!(bench.all([holds(&[(1, 2, &[(0, 1)])])]), "");
    bench.check_replay();
}

#[test]
fn a_return_outlives_the_manager_and_its_number_is_told() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3)]), keep(1, 2, &[(0, 1)])]);
    bench.restart();
    let log = bench.all([
        register(1, "a", 4),
        attach(1),
        confirm(1, 2, &[1]),
        keep(1, 2, &[(0, 1)]),
        claim(2, 1, &[(0, 3)]),
    ]);
    assert!(
        log.ends_with(
            "pm0: e1 holds p1 #2 r0:1\n\
             pm0: granted p1 #2 r0:1\n\
             am1: grants p1:1 p2:3\n\
             pm0: granted p2 #1 r0:3\n"
        ),
        "{log}"
    );
}

#[test]
fn a_grant_without_slots_ends_with_the_others_of_a_process_manager_that_is_away() {
    let mut bench = Bench::watching(Some(Span::from_secs(10)));
    bench.all([
        register(1, "a", 4),
        attach(1),
        claim(1, 1, &[(0, 2)]),
        keep(1, 2, &[(0, 0)]),
        Input::Barred(0),
        Input::Down(Peer::Process(0)),
    ]);
    let mut sent = String::new();
    for _ in 0..2 {
        bench.feed(alive(1));
        sent += &show(&bench.wait(1_000));
    }
    assert!(sent.contains("am1: inquire"), "{sent}");
    bench.feed(unused(1, 1, (1, 1), &[1]));
    assert!(bench.state().holding(ProcessId(1)).is_none());
    bench.check_replay();
}
