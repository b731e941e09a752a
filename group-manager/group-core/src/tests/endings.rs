//! Holdings of process managers that are away.

use model::{ProcessId, Span};
use proptest::prelude::*;
use wire::resource::ToResource;

use super::bench::{
    Bench, alive, attach, by, claim, confirm, down, facts, in_epoch, register, register_in,
    release, show, unused,
};
use crate::record::MachineNumber;
use crate::{Effect, GivenUp, HOLDINGS_END_AFTER, Holder, Input, Peer};

const A: MachineNumber = MachineNumber(0);
const B: MachineNumber = MachineNumber(1);
const LEASE: Option<Span> = Some(Span::from_secs(10));

/// Process manager 0 holds slots of machines `a` and `b`, and process manager 1 is there too.
fn bench() -> Bench {
    let mut bench = Bench::watching(LEASE);
    bench.all([
        register(1, "a", 4),
        register(2, "b", 2),
        attach(1),
        by(1, attach(1)),
        claim(1, 1, &[(0, 2), (1, 1)]),
        claim(2, 1, &[(0, 1)]),
        by(1, claim(3, 1, &[(0, 1)])),
    ]);
    bench
}

fn away(manager: u32) -> Input {
    Input::Down(Peer::Process(manager))
}

/// Seconds pass in which the machines are alive; what is sent, without offers.
fn pass(bench: &mut Bench, seconds: u64) -> String {
    let mut sent = String::new();
    for _ in 0..seconds {
        let effects = bench.wait(1_000);
        sent += &told(&effects);
        sent += &told(&bench.feed(alive(1)));
        sent += &told(&bench.feed(alive(2)));
    }
    sent
}

/// Effects without offers, which are repeated.
fn told(effects: &[Effect]) -> String {
    let lines = show(effects);
    let lines = lines.lines().filter(|line| !line.contains(": offer"));
    lines.map(|line| format!("{line}\n")).collect()
}

fn all<const N: usize>(bench: &mut Bench, inputs: [Input; N]) -> String {
    let effects = inputs.map(|input| told(&bench.feed(input)));
    effects.concat()
}

#[test]
fn unused_slots_of_a_manager_that_is_away_are_offered_again() {
    let mut bench = bench();
    all(&mut bench, [away(0)]);
    assert_eq!(pass(&mut bench, 59), "");
    assert_eq!(
        pass(&mut bench, 1),
        "am1: inquire e1#1 p1 p2\nam2: inquire e1#2 p1\n"
    );
    // One machine still has something of process 1.
    assert_eq!(
        all(
            &mut bench,
            [unused(1, 1, (1, 1), &[2]), unused(2, 1, (1, 2), &[1])]
        ),
        "am1: grants p1:2 p3:1\nam2: grants\n"
    );
    assert_eq!((bench.state().held(A), bench.state().held(B)), (3, 0));
    assert_eq!(pass(&mut bench, 1), "am1: inquire e1#3 p1\n");
    // Until it has nothing any more.
    assert_eq!(
        all(&mut bench, [unused(1, 1, (1, 3), &[1])]),
        "am1: grants p3:1\n"
    );
    assert_eq!(pass(&mut bench, 120), "");
    assert_eq!(bench.state().held_by(A, 1), 1);
    bench.check_replay();
}

#[test]
fn a_question_is_repeated_until_it_is_answered() {
    let mut bench = bench();
    all(&mut bench, [away(0)]);
    let asked = "am1: inquire e1#1 p1 p2\nam2: inquire e1#2 p1\n";
    assert_eq!(pass(&mut bench, 62), asked.repeat(3));
    // Answers to other questions, or of an earlier epoch of the machine, do not count.
    let log = all(
        &mut bench,
        [
            register_in(2, 1, facts("a", 4)),
            unused(1, 1, (1, 1), &[1, 2]),
            unused(1, 2, (0, 1), &[1, 2]),
            unused(1, 2, (1, 2), &[1, 2]),
            unused(9, 2, (1, 1), &[1, 2]),
        ],
    );
    assert_eq!(
        log,
        "keep machine/a\nam1: registered r0\nam1: grants p1:2 p2:1 p3:1\n"
    );
    // Nobody ends what was not asked for.
    assert_eq!(
        all(&mut bench, [unused(1, 2, (1, 1), &[1, 2, 3])]),
        "am1: grants p3:1\n"
    );
}

#[test]
fn a_manager_that_is_back_in_time_keeps_everything() {
    let mut bench = bench();
    all(&mut bench, [away(0)]);
    pass(&mut bench, 59);
    all(&mut bench, [attach(1)]);
    assert_eq!(pass(&mut bench, 300), "");
    // Being away begins anew.
    all(&mut bench, [away(0)]);
    assert_eq!(pass(&mut bench, 59), "");
    assert_ne!(pass(&mut bench, 1), "");
    // What was asked for is told again, and late answers end nothing.
    assert_eq!(
        all(&mut bench, [attach(1), unused(1, 1, (1, 1), &[1, 2])]),
        "am1: grants p1:2 p2:1 p3:1\nam2: grants p1:1\n"
    );
    assert_eq!(bench.state().held_by(A, 0), 3);
    bench.check_replay();
}

#[test]
fn a_manager_that_returns_later_is_told_what_is_left() {
    let mut bench = bench();
    all(&mut bench, [away(0)]);
    pass(&mut bench, 60);
    all(&mut bench, [unused(1, 1, (1, 1), &[1, 2])]);
    all(&mut bench, [attach(2)]);
    assert_eq!(
        all(&mut bench, [confirm(2, 1, &[1, 2])]),
        "pm0: e2 holds p1 #1 r1:1 p2 #1\n"
    );
    // It goes on with later claims, and late copies of earlier ones take nothing.
    assert_eq!(
        all(&mut bench, [claim(2, 1, &[(0, 1)])]),
        "",
        "it is of an earlier epoch"
    );
    let next = in_epoch(2, claim(2, 2, &[(0, 1)]));
    assert_eq!(
        all(&mut bench, [next]),
        "am1: grants p3:1 p2:1\npm0: granted p2 #2 r0:1\n"
    );
    bench.check_replay();
}

#[test]
fn the_time_begins_anew_with_each_epoch_of_the_group_manager() {
    let mut bench = bench();
    all(&mut bench, [away(0)]);
    pass(&mut bench, 59);
    bench.restart_watching(LEASE);
    all(
        &mut bench,
        [register(1, "a", 4), register(2, "b", 2), by(1, attach(1))],
    );
    assert_eq!(pass(&mut bench, 59), "");
    assert_eq!(
        pass(&mut bench, 1),
        "am1: inquire e2#1 p1 p2\nam2: inquire e2#2 p1\n"
    );
}

#[test]
fn what_is_held_on_a_machine_that_is_lost_ends_after_the_longest_lease() {
    let mut bench = bench();
    all(&mut bench, [away(0), down(2)]);
    let wait = |bench: &mut Bench, seconds| {
        for _ in 0..seconds {
            bench.wait(1_000);
            bench.feed(alive(1));
        }
    };
    wait(&mut bench, 606);
    assert_eq!((bench.state().held(A), bench.state().held(B)), (4, 1));
    wait(&mut bench, 2);
    assert_eq!((bench.state().held(A), bench.state().held(B)), (4, 0));
    bench.check_replay();
}

#[test]
fn holdings_of_a_barred_manager_end_as_soon_as_machines_have_nothing() {
    let mut bench = bench();
    all(&mut bench, [Input::Barred(0)]);
    assert_eq!(pass(&mut bench, 1), "", "its link has not ended");
    all(&mut bench, [away(0)]);
    assert_eq!(
        pass(&mut bench, 1),
        "am1: inquire e1#1 p1 p2\nam2: inquire e1#2 p1\n"
    );
    all(&mut bench, [unused(1, 1, (1, 1), &[1, 2])]);
    assert_eq!(bench.state().held_by(A, 0), 0);
    // With another certificate it is as any other.
    all(
        &mut bench,
        [Input::Up(Peer::Process(0)), attach(2), away(0)],
    );
    assert_eq!(pass(&mut bench, 59), "");
}

#[test]
fn an_administrator_ends_what_a_manager_that_is_away_holds() {
    let mut bench = bench();
    let give_up = |holder| Input::GiveUp(7, holder);
    assert_eq!(
        all(&mut bench, [give_up(Holder::Process(ProcessId(2)))]),
        "#7: Attached(0)\n",
        "it may give it back itself"
    );
    assert_eq!(pass(&mut bench, 2), "");
    let log = all(
        &mut bench,
        [away(0), give_up(Holder::Process(ProcessId(2)))],
    );
    assert_eq!(log, "#7: Ends { slots: 1 }\n");
    assert_eq!(pass(&mut bench, 1), "am1: inquire e1#1 p2\n");
    assert_eq!(
        all(&mut bench, [unused(1, 1, (1, 1), &[2])]),
        "am1: grants p1:2 p3:1\n"
    );
    assert_eq!(pass(&mut bench, 2), "");
    let log = all(&mut bench, [give_up(Holder::Manager(0))]);
    assert_eq!(log, "#7: Ends { slots: 3 }\n");
    assert_eq!(
        pass(&mut bench, 1),
        "am1: inquire e1#2 p1\nam2: inquire e1#3 p1\n"
    );
    // It comes back before the machines have answered.
    all(&mut bench, [attach(1), unused(1, 1, (1, 2), &[1])]);
    assert_eq!(pass(&mut bench, 2), "");
    assert_eq!(bench.state().held_by(A, 0), 2);
    let log = all(&mut bench, [give_up(Holder::Manager(9))]);
    assert_eq!(log, "#7: Ends { slots: 0 }\n");
}

#[test]
fn what_an_administrator_ends_ends_in_the_next_epoch_too() {
    let mut bench = bench();
    all(
        &mut bench,
        [
            away(0),
            Input::GiveUp(7, Holder::Process(ProcessId(1))),
            Input::GiveUp(8, Holder::Process(ProcessId(1))),
        ],
    );
    bench.check_replay();
    bench.restart_watching(LEASE);
    all(&mut bench, [register(1, "a", 4), register(2, "b", 2)]);
    assert_eq!(
        pass(&mut bench, 1),
        "am1: inquire e2#1 p1\nam2: inquire e2#2 p1\n"
    );
    all(&mut bench, [unused(1, 1, (2, 1), &[1])]);
    assert!(bench.state().is_given_up(ProcessId(1)));
    // Half of it has ended, and the next epoch ends the rest.
    bench.restart_watching(LEASE);
    all(&mut bench, [register(1, "a", 4), register(2, "b", 2)]);
    assert_eq!(pass(&mut bench, 1), "am2: inquire e3#1 p1\n");
    all(&mut bench, [unused(2, 1, (3, 1), &[1])]);
    assert_eq!((bench.state().held(A), bench.state().held(B)), (2, 0));
    assert!(!bench.state().is_given_up(ProcessId(1)));
    assert_eq!(pass(&mut bench, 2), "");
    bench.check_replay();
}

#[test]
fn a_manager_that_returns_to_the_next_epoch_keeps_what_an_administrator_would_end() {
    let mut bench = bench();
    let give_up = |holder| Input::GiveUp(7, holder);
    all(&mut bench, [away(0), give_up(Holder::Manager(0)), away(1)]);
    all(&mut bench, [give_up(Holder::Manager(1))]);
    bench.restart_watching(LEASE);
    all(
        &mut bench,
        [register(1, "a", 4), register(2, "b", 2), attach(2)],
    );
    assert_eq!(pass(&mut bench, 1), "am1: inquire e2#1 p3\n");
    assert_eq!(bench.state().held_by(A, 0), 3);
    // Nor does a later epoch end it.
    bench.restart_watching(LEASE);
    all(&mut bench, [register(1, "a", 4), register(2, "b", 2)]);
    assert_eq!(pass(&mut bench, 1), "am1: inquire e3#1 p3\n");
    bench.check_replay();
}

#[test]
fn a_late_claim_of_a_manager_that_is_away_is_held_no_longer_than_others() {
    let mut bench = Bench::watching(LEASE);
    bench.all([register(1, "a", 4), register(2, "b", 2), attach(1), away(0)]);
    pass(&mut bench, 100);
    all(&mut bench, [claim(1, 1, &[(0, 1)])]);
    assert_eq!(pass(&mut bench, 1), "am1: inquire e1#1 p1\n");
}

#[test]
fn in_one_program_nothing_ends() {
    let mut bench = Bench::ready();
    bench.all([claim(1, 1, &[(0, 2)]), away(0)]);
    bench.wait(3_600_000);
    assert_eq!(told(&bench.wait(3_600_000)), "");
    assert_eq!(bench.state().held(A), 2);
}

#[derive(Clone, Debug)]
enum Action {
    Attach(u32),
    Away(u32),
    Barred(u32),
    Claim(u32, u32),
    Release(u32),
    GiveUp(u32),
    Answer {
        machine: u32,
        is_late: bool,
        processes: Vec<u64>,
    },
    Pass(u64),
    Restart,
}

fn action() -> impl Strategy<Value = Action> {
    let manager = || 0u32..2;
    let answer = (
        1u32..3,
        any::<bool>(),
        proptest::collection::vec(0u64..2, 0..3),
    );
    prop_oneof![
        2 => manager().prop_map(Action::Attach),
        2 => manager().prop_map(Action::Away),
        1 => manager().prop_map(Action::Barred),
        3 => (manager(), 0u32..2).prop_map(|(of, machine)| Action::Claim(of, machine)),
        1 => manager().prop_map(Action::Release),
        1 => manager().prop_map(Action::GiveUp),
        4 => answer.prop_map(|(machine, is_late, processes)| Action::Answer {
            machine,
            is_late,
            processes
        }),
        4 => (0u64..40).prop_map(Action::Pass),
        1 => Just(Action::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Process `n` is of manager `n`. A grant ends only by its release, or where its manager was away
    /// for long, or an administrator ends it while its manager is away, in this epoch or an earlier one, and
    /// the machine has said so in answer to the last question; and never otherwise.
    #[test]
    fn nothing_ends_but_by_a_release_or_an_answer_about_a_manager_that_is_away(
        actions in proptest::collection::vec(action(), 0..80),
    ) {
        let mut bench = Bench::watching(LEASE);
        bench.all([register(1, "a", 4), register(2, "b", 2)]);
        let mut away_since = [Some(bench.now.mono); 2];
        let mut is_barred = [false; 2];
        let mut is_given_up = [false; 2];
        let mut numbers = [0; 2];
        // The last question to each machine, while it is not answered.
        let mut asked: [Option<(u64, u64)>; 3] = [None; 3];
        for action in actions {
            let held = |bench: &Bench| [A, B].map(|machine| [0, 1].map(|of| bench.state().held_by(machine, of)));
            let before = held(&bench);
            let mut may_end = [[false; 2]; 2];
            let mut effects = Vec::new();
            match action {
                Action::Attach(of) => {
                    bench.feed(Input::Up(Peer::Process(of)));
                    is_barred[of as usize] = false;
                    is_given_up[of as usize] = false;
                    away_since[of as usize] = None;
                    effects = bench.feed(by(of, attach(1)));
                }
                Action::Away(of) => {
                    let now = bench.now.mono;
                    away_since[of as usize].get_or_insert(now);
                    bench.feed(away(of));
                }
                Action::Barred(of) => {
                    is_barred[of as usize] = true;
                    bench.feed(Input::Barred(of));
                }
                Action::Claim(of, machine) => {
                    numbers[of as usize] += 1;
                    let number = numbers[of as usize];
                    bench.feed(by(of, claim(of.into(), number, &[(machine, 1)])));
                }
                Action::Release(of) => {
                    for machine in &mut may_end {
                        machine[of as usize] = true;
                    }
                    bench.feed(by(of, release(of.into())));
                }
                Action::GiveUp(of) => {
                    let answers = bench.feed(Input::GiveUp(1, Holder::Manager(of)));
                    let ends = |one: &Effect| matches!(one, Effect::GivenUp(_, GivenUp::Ends { .. }));
                    let holds = before.iter().any(|machine| machine[of as usize] > 0);
                    prop_assert!(!holds || answers.iter().any(ends) == away_since[of as usize].is_some());
                    is_given_up[of as usize] |= holds && answers.iter().any(ends);
                }
                Action::Answer { machine, is_late, processes } => {
                    let question = asked[machine as usize].unwrap_or((1, 1));
                    if !is_late {
                        for &process in &processes {
                            let of = process as usize;
                            let long = |since| bench.now.mono.since(since) >= HOLDINGS_END_AFTER;
                            let is_away = away_since[of].is_some_and(|since| is_barred[of] || long(since));
                            let is_away = is_away || is_given_up[of];
                            may_end[machine as usize - 1][of] = is_away && asked[machine as usize].is_some();
                        }
                    }
                    let question = if is_late { (question.0, question.1.wrapping_sub(1)) } else { question };
                    bench.feed(unused(machine, 1, question, &processes));
                }
                Action::Pass(seconds) => {
                    for _ in 0..seconds {
                        effects.extend(bench.wait(1_000));
                        bench.feed(alive(1));
                        bench.feed(alive(2));
                    }
                }
                Action::Restart => {
                    bench.restart_watching(LEASE);
                    bench.all([register(1, "a", 4), register(2, "b", 2)]);
                    away_since = [Some(bench.now.mono); 2];
                    is_barred = [false; 2];
                    asked = [None; 3];
                }
            }
            for (process, is_given_up) in (0..).map(ProcessId).zip(&mut is_given_up) {
                *is_given_up &= bench.state().holding(process).is_some();
                prop_assert_eq!(bench.state().is_given_up(process), *is_given_up);
            }
            for effect in &effects {
                if let Effect::ToActivity(to, ToResource::Inquire { question, .. }) = effect {
                    asked[*to as usize] = Some((question.epoch.0, question.number));
                }
            }
            let after = held(&bench);
            for (machine, may_end) in may_end.iter().enumerate() {
                for of in 0..2 {
                    let has_ended = after[machine][of] < before[machine][of];
                    prop_assert!(!has_ended || may_end[of], "{machine} {of}: {before:?} {after:?}");
                }
            }
        }
        bench.check_replay();
        // Whatever is left ends once everybody is away and all machines have nothing.
        bench.all([away(0), away(1)]);
        for _ in 0..70 {
            let effects = bench.wait(1_000);
            bench.feed(alive(1));
            bench.feed(alive(2));
            for effect in effects {
                if let Effect::ToActivity(to, ToResource::Inquire { question, processes }) = effect {
                    let processes: Vec<u64> = processes.iter().map(|one| one.0).collect();
                    bench.feed(unused(to, 1, (question.epoch.0, question.number), &processes));
                }
            }
        }
        prop_assert_eq!((bench.state().held(A), bench.state().held(B)), (0, 0));
    }
}
