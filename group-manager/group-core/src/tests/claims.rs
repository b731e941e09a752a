//! Claims, grants and releases.

use model::{Epoch, GrantId, GroupId, ProcessId};

use wire::group::FromGroup;

use super::bench::{Bench, attach, by, claim, down, holds, of, register, release, show};
use crate::record::{Grant, MachineNumber};
use crate::state::RELEASED_MAX;
use crate::{Config, Effect, Event, State};

#[test]
fn slots_are_granted_first_come_first_served() {
    let mut bench = Bench::ready();
    let log = bench.all([
        claim(1, 1, &[(0, 3), (1, 1)]),
        claim(2, 1, &[(0, 3), (1, 3), (9, 1)]),
        claim(3, 1, &[(0, 1)]),
    ]);
    assert_eq!(
        log,
        "am1: grants p1:3\n\
         am2: grants p1:1\n\
         pm0: granted p1 #1 r0:3 r1:1\n\
         am1: grants p1:3 p2:1\n\
         am2: grants p1:1 p2:1\n\
         pm0: granted p2 #1 r0:1 r1:1\n\
         pm0: refused p3 #1\n"
    );
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r0=a:0/4 r1=b:0/2\n");
    bench.check_replay();
}

#[test]
fn a_repeated_claim_has_the_same_answer_and_an_older_one_none() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 1)]), claim(1, 2, &[(0, 9), (0, 1)])]);
    let log = bench.all([
        claim(1, 1, &[(0, 1)]),
        claim(1, 2, &[(1, 2)]),
        claim(2, 1, &[(0, 1)]),
        release(1),
        claim(2, 1, &[(0, 1)]),
        claim(2, 2, &[(0, 1)]),
        claim(2, 1, &[(0, 1)]),
    ]);
    assert_eq!(
        log,
        "pm0: granted p1 #2 r0:1 r0:3\n\
         pm0: refused p2 #1\n\
         am1: grants\n\
         pm0: released p1\n\
         pm0: refused p2 #1\n\
         am1: grants p2:1\n\
         pm0: granted p2 #2 r0:1\n"
    );
    bench.check_replay();
}

#[test]
fn what_was_granted_outlives_the_manager() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3)])]);
    bench.restart();
    let log = bench.all([
        claim(1, 1, &[(0, 3)]),
        claim(2, 1, &[(0, 2)]),
        register(5, "a", 4),
        claim(2, 2, &[(0, 2)]),
    ]);
    assert_eq!(
        log,
        "pm0: granted p1 #1 r0:3\n\
         pm0: refused p2 #1\n\
         keep machine/a\n\
         am5: registered r0\n\
         am5: grants p1:3\n\
         am5: grants p1:3 p2:1\n\
         pm0: granted p2 #2 r0:1\n",
        "a machine that is not there is not granted"
    );
    bench.check_replay();
}

#[test]
fn a_release_is_answered_always_and_no_late_claim_takes_anything() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 1)])]);
    let log = bench.all([
        release(1),
        release(1),
        claim(1, 1, &[(0, 1)]),
        release(2),
        claim(2, 1, &[(0, 1)]),
        claim(1, 2, &[(1, 1)]),
    ]);
    assert_eq!(
        log,
        "am1: grants\n\
         pm0: released p1\n\
         pm0: released p1\n\
         pm0: released p1\n\
         pm0: released p2\n\
         am2: grants p1:1\n\
         pm0: granted p1 #2 r1:1\n",
        "a process that goes on after its release claims with a later number"
    );
    bench.restart();
    assert_eq!(
        bench.all([attach(1), claim(1, 1, &[(0, 1)])]),
        "pm0: offer e2\n"
    );
    bench.check_replay();
}

#[test]
fn what_is_granted_is_honoured_by_a_machine_that_shrinks_or_goes() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 3)])]);
    bench.wait(50);
    let log = bench.all([register(1, "a", 2), claim(2, 1, &[(0, 1)])]);
    assert_eq!(
        log,
        "keep machine/a\nam1: registered r0\nam1: grants p1:3\npm0: refused p2 #1\n"
    );
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r0=a:0/2 r1=b:2/2\n");
    bench.all([down(1)]);
    assert_eq!(show(&bench.wait(50)), "pm0: offer e1 r1=b:2/2\n");
    assert_eq!(
        bench.all([claim(1, 1, &[(0, 3)])]),
        "pm0: granted p1 #1 r0:3\n"
    );
    bench.check_replay();
}

#[test]
fn what_a_lost_journal_held_is_told_again_by_the_process_manager() {
    let mut bench = Bench::ready();
    // This manager knows nothing of process 1, and its grants have other numbers than before.
    let log = bench.all([
        claim(2, 1, &[(0, 1)]),
        holds(&[
            (1, 3, &[(0, 2), (0, 1), (1, 1)]),
            (2, 1, &[(0, 1)]),
            (3, 0, &[]),
        ]),
    ]);
    assert_eq!(
        log,
        "am1: grants p2:1\n\
         pm0: granted p2 #1 r0:1\n\
         am1: grants p2:1 p1:3\n\
         am2: grants p1:1\n"
    );
    assert_eq!(
        bench.all([holds(&[(1, 3, &[(0, 3), (1, 1)]), (2, 1, &[(0, 1)])])]),
        ""
    );
    // The next claim follows the last one that was answered, and a release gives all back.
    let log = bench.all([claim(1, 4, &[(1, 1)]), release(1)]);
    assert_eq!(
        log,
        "am2: grants p1:1 p1:1\n\
         pm0: granted p1 #4 r0:3 r1:1 r1:1\n\
         am1: grants p2:1\n\
         am2: grants\n\
         pm0: released p1\n"
    );
    bench.check_replay();
}

#[test]
fn each_process_manager_is_told_which_slots_its_processes_hold() {
    let mut bench = Bench::ready();
    bench.all([by(1, attach(1)), by(2, attach(1))]);
    bench.wait(50);
    bench.all([
        claim(1, 1, &[(0, 1)]),
        by(1, claim(2, 1, &[(0, 2), (1, 1)])),
        claim(3, 1, &[(0, 1)]),
    ]);
    let yours = |effects: &[Effect]| -> Vec<(u32, Vec<u32>)> {
        let told = effects.iter().filter_map(|effect| {
            let Effect::ToProcess(to, FromGroup::Offer(offer)) = effect else {
                return None;
            };
            let yours = offer.resources.iter().map(|one| one.yours).collect();
            Some((*to, yours))
        });
        told.collect()
    };
    let told = [(0, vec![2, 0]), (1, vec![2, 1]), (2, vec![0, 0])];
    assert_eq!(yours(&bench.wait(50)), told);
    bench.all([release(1), by(1, release(2))]);
    let told = [(0, vec![1, 0]), (1, vec![0, 0]), (2, vec![0, 0])];
    assert_eq!(yours(&bench.wait(50)), told);
    bench.check_replay();
    // The numbers of process managers stay, so those that held something still do.
    bench.restart();
    bench.all([register(1, "a", 4)]);
    assert_eq!(yours(&bench.feed(attach(1))), [(0, vec![1])]);
}

#[test]
fn a_process_manager_beside_another_is_told_sooner_what_is_free() {
    let is_shared = |effects: Vec<Effect>| -> Vec<bool> {
        let told = effects.iter().filter_map(|effect| {
            let Effect::ToProcess(_, FromGroup::Offer(offer)) = effect else {
                return None;
            };
            Some(offer.is_shared)
        });
        told.collect()
    };
    let mut bench = Bench::ready();
    // The first change after a while is told at once.
    bench.wait(50);
    bench.feed(claim(1, 1, &[(0, 1)]));
    bench.feed(release(1));
    assert_eq!(is_shared(bench.wait(10)), []);
    assert_eq!(is_shared(bench.wait(40)), [false]);
    bench.feed(by(1, attach(1)));
    bench.wait(50);
    bench.feed(claim(2, 1, &[(0, 1)]));
    bench.feed(release(2));
    assert_eq!(is_shared(bench.wait(10)), [true, true]);
}

#[test]
fn a_holding_of_an_earlier_version_gets_its_process_manager_with_the_next_claim() {
    let grant = |id| Grant {
        id: GrantId(id),
        resource: MachineNumber(0),
        slots: 2,
    };
    let granted = |number, manager| Event::Granted {
        process: ProcessId(1),
        number,
        grants: vec![grant(number.into())],
        manager,
        owner: None,
    };
    let mut state = State::default();
    state.apply(&granted(1, None));
    assert_eq!(state.held(MachineNumber(0)), 2);
    assert_eq!(state.held_by(MachineNumber(0), 7), 0);
    state.apply(&granted(2, Some(7)));
    assert_eq!(state.held(MachineNumber(0)), 4);
    assert_eq!(state.held_by(MachineNumber(0), 7), 4);
    assert_eq!(State::restore(state.snapshot()), state);
}

#[test]
fn the_oldest_release_is_forgotten_when_there_are_too_many() {
    let grants = |id| {
        let (id, resource, slots) = (GrantId(id), MachineNumber(0), 1);
        vec![Grant {
            id,
            resource,
            slots,
        }]
    };
    let mut state = State::default();
    let mut forgotten = Vec::new();
    for number in 1..=RELEASED_MAX as u64 + 2 {
        let process = ProcessId(number);
        let granted = Event::Granted {
            process,
            number: 1,
            grants: grants(number),
            manager: Some(0),
            owner: None,
        };
        state.apply(&granted);
        let forgets = state.forgotten_by(process);
        forgotten.extend(forgets);
        state.apply(&Event::Released { process, forgets });
    }
    assert_eq!(forgotten, [ProcessId(1), ProcessId(2)]);
    assert_eq!(state.released(ProcessId(2)), None);
    assert_eq!(state.released(ProcessId(3)), Some(1));
    assert_eq!(state.snapshot().released.len(), RELEASED_MAX);
    // A process that is remembered already takes the place of no other one.
    assert_eq!(state.forgotten_by(ProcessId(3)), None);
}

#[test]
fn a_machine_of_another_group_is_not_granted() {
    let mut bench = Bench::ready();
    let foreign = GroupId::new(5);
    let log = bench.all([
        of(foreign, claim(1, 1, &[(0, 1)])),
        of(foreign, holds(&[(2, 1, &[(0, 1)])])),
        claim(3, 1, &[(0, 1)]),
    ]);
    assert_eq!(
        log,
        "pm0 names r0@g5\n\
         pm0: refused p1 #1\n\
         pm0 names r0@g5\n\
         am1: grants p3:1\n\
         pm0: granted p3 #1 r0:1\n"
    );
    bench.check_replay();
}

#[test]
fn a_restored_manager_begins_an_epoch_that_nobody_has_seen() {
    let mut bench = Bench::ready();
    bench.restart_configured(Config {
        epochs_above: Epoch(1_000_000),
        ..Config::default()
    });
    bench.all([register(1, "a", 4), attach(1)]);
    assert_eq!(show(&bench.wait(5_000)), "pm0: offer e1000001 r0=a:4/4\n");
    // The number is recorded: later epochs go on from there.
    bench.restart_configured(Config::default());
    bench.all([register(1, "a", 4), attach(1)]);
    assert_eq!(show(&bench.wait(5_000)), "pm0: offer e1000002 r0=a:4/4\n");
}
