//! Messages to each peer, their repeats, and what survives an epoch.

use model::{AttemptId, Epoch};
use wire::attempt::{Dispatch, FromActivity, ToActivity};
use wire::executor::{Ended, Exit, FromExecutor, Held, Phase};
use wire::resource::{FromResource, ToResource};

use super::bench::{
    Bench, dispatch, ended, from_pm, grants, hello, id, id_of, job, job_with_output, note, show,
    staged, started,
};
use crate::{Effect, Input, Peer};

fn attach(epoch: u64, ask: u32) -> Input {
    from_pm(ToActivity::Attach {
        epoch: Epoch(epoch),
        ask,
        lease: None,
    })
}

fn end_of(activity: u32, note: &[u8]) -> Ended {
    ended(id(activity), Exit::Exited { code: 0 }, note)
}

fn acknowledge(activity: u32) -> Input {
    from_pm(ToActivity::Acknowledge(vec![id(activity)]))
}

#[test]
fn an_attempt_goes_its_whole_way() {
    let mut bench = Bench::ready(2, 2);
    let mut log = show(&bench.feed(dispatch(vec![job_with_output(id(1))])));
    let effects = bench.feed(staged(id(1)));
    let bytes = note(&effects);
    log += &show(&effects);
    log += &bench.all([
        Input::Executor(FromExecutor::Started(vec![started(id(1))])),
        Input::Executor(FromExecutor::Ended(vec![end_of(1, &bytes)])),
        Input::Collected {
            attempt: id(1),
            result: Ok(vec![super::bench::artifact()]),
        },
        acknowledge(1),
        dispatch(vec![job(id(1))]),
    ]);
    assert_eq!(
        log,
        "stage a1\n\
         executor: start a1\n\
         pm0: started a1\n\
         collect a1 /w/a1: out.txt\n\
         pm0: outcomes a1 completed with 1\n\
         executor: forget a1\n\
         clear a1 /w/a1\n\
         pm0: refused a1 Retracted\n"
    );
    // The last dispatch was a late copy, whose answer its sender ignores.
    assert_eq!(bench.drive.machine().n_attempts(), 0);
    bench.wait(1);
    assert_eq!(
        show(&bench.wait(9)),
        "group: register here e2 slots=2\n",
        "nothing else is left to say"
    );
}

#[test]
fn a_restored_process_manager_is_told_that_a_number_was_used_already() {
    let mut bench = Bench::ready(1, 0);
    bench.all([
        dispatch(vec![job(id(1))]),
        from_pm(ToActivity::Stop(vec![id(1)])),
        acknowledge(1),
        // It was restored from a backup, and knows of no dispatch.
        attach(1_000, 1),
    ]);
    let meant_for = Epoch(3);
    let again = from_pm(ToActivity::Dispatch {
        meant_for,
        attempts: vec![job(id(1))],
        holders: Vec::new(),
        holds: None,
    });
    assert_eq!(bench.all([again]), "pm0: refused a1 Retracted\n");
    let next = AttemptId { number: 2, ..id(1) };
    let with_next_number = from_pm(ToActivity::Dispatch {
        meant_for,
        attempts: vec![job(next)],
        holders: Vec::new(),
        holds: None,
    });
    assert_eq!(bench.all([with_next_number]), "stage a1\n");
}

#[test]
fn a_machine_tells_at_once_that_it_lends_less_and_never_more_than_it_has() {
    let mut bench = Bench::new(2, 0);
    assert_eq!(
        bench.all([Input::Lend(1, None)]),
        "",
        "nobody is there to be told"
    );
    let register = |slots: u32| format!("group: register here e1 slots={slots}\n");
    assert_eq!(bench.all([Input::Up(Peer::Group)]), register(1));
    assert_eq!(
        bench.all([Input::Lend(0, None), Input::Lend(0, None)]),
        register(0)
    );
    assert_eq!(bench.all([Input::Lend(9, None)]), register(2));
}

#[test]
fn a_machine_that_lends_nothing_tells_why() {
    let mut bench = Bench::new(2, 0);
    bench.all([Input::Up(Peer::Group)]);
    let mut closed = |input: Input| {
        let mut effects = bench.feed(input).into_iter();
        effects.find_map(|effect| {
            let Effect::ToGroup(FromResource::Register { facts, .. }) = effect else {
                return None;
            };
            Some(facts.closed)
        })
    };
    let why = || Some("closed until 20:00".to_owned());
    assert_eq!(closed(Input::Lend(0, why())), Some(why()));
    assert_eq!(closed(Input::Lend(0, why())), None, "it has said so");
    assert_eq!(closed(Input::Lend(2, None)), Some(None));
}

#[test]
fn another_power_is_told_at_once_where_somebody_is_there_to_be_told() {
    let mut bench = Bench::new(2, 0);
    assert_eq!(bench.all([Input::Power(1.25)]), "");
    let register = "group: register here e1 slots=2\n";
    assert_eq!(bench.all([Input::Up(Peer::Group)]), register);
    assert_eq!(bench.all([Input::Power(1.0)]), register);
    assert_eq!(bench.drive.machine().config.power, 1.0);
}

#[test]
fn a_machine_registers_until_it_was_told_number_and_grants() {
    let mut bench = Bench::new(2, 0);
    let register = "group: register here e1 slots=2\n";
    assert_eq!(bench.all([Input::Up(Peer::Group)]), register);
    assert_eq!(show(&bench.wait(1)), register);
    let registered = || Input::Group(ToResource::Registered(model::ResourceId::local(7)));
    assert_eq!(bench.all([registered(), registered()]), "numbered r7\n");
    assert_eq!(show(&bench.wait(1)), register);
    assert_eq!(bench.all([grants(&[])]), "");
    assert_eq!(show(&bench.wait(9)), "");
    assert_eq!(show(&bench.wait(1)), register, "it may have been forgotten");
    assert_eq!(
        bench.all([Input::Down(Peer::Group), Input::Up(Peer::Group)]),
        register
    );
}

#[test]
fn grants_are_asked_for_where_they_are_missing() {
    let mut bench = Bench::ready(2, 0);
    let other = || dispatch(vec![job(id_of(2, 9))]);
    assert_eq!(show(&bench.feed(other())), "pm0: refused a9 NoGrantYet\n");
    assert_eq!(show(&bench.wait(1)), "group: register here e2 slots=2\n");
    assert_eq!(
        bench.all([grants(&[(1, 1), (2, 1)]), other()]),
        "stage a9\n"
    );
    // Attempts beyond the grant wait, and grants are requested every few seconds.
    bench.feed(dispatch(vec![job(id_of(2, 10))]));
    assert_eq!(show(&bench.wait(1)), "");
    assert_eq!(show(&bench.wait(5)), "group: register here e2 slots=2\n");
}

#[test]
fn nobody_is_told_what_is_held_before_the_executor_has_said_so() {
    let mut bench = Bench::new(2, 0);
    let log = bench.all([
        attach(3, 8),
        from_pm(ToActivity::Retract(vec![id(1)])),
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::HeldEnd),
        attach(3, 8),
        attach(2, 9),
        attach(3, 10),
    ]);
    assert_eq!(
        log,
        "executor: hello cores=2\n\
         pm0: holding e2 ask=8 1/1\n\
         pm0: holding e2 ask=8 1/1\n\
         pm0: holding e3 ask=10 1/1\n",
        "a repeated question has the same answer, one of an earlier life none"
    );
}

#[test]
fn messages_from_before_the_answer_to_a_request_are_refused() {
    let mut bench = Bench::ready(2, 0);
    assert_eq!(bench.all([attach(1, 6)]), "pm0: holding e3 ask=6 1/1\n");
    // Its sender counts it as lost, because it was not held when the request was answered.
    assert_eq!(
        show(&bench.feed(dispatch(vec![job(id(1))]))),
        "pm0: refused a1 OtherEpoch { epoch: Epoch(3) }\n"
    );
}

#[test]
fn a_later_epoch_finishes_what_the_executor_holds() {
    let mut bench = Bench::ready(2, 2);
    bench.feed(dispatch(
        (1..=5).map(|index| job_with_output(id(index))).collect(),
    ));
    let mut notes = Vec::new();
    for index in 1..=3 {
        notes.push(note(&bench.feed(staged(id(index)))));
    }
    assert_eq!(bench.restart(), "");
    let held = |attempt, note: &Vec<u8>, phase| Held {
        attempt,
        note: note.clone(),
        phase,
    };
    let log = bench.all([
        Input::Up(Peer::Group),
        grants(&[(1, 2)]),
        attach(1, 6),
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::Held(vec![
            held(id(1), &notes[0], Phase::Ended(end_of(1, &notes[0]))),
            held(id(2), &notes[1], Phase::Running(started(id(2)))),
        ])),
        Input::Executor(FromExecutor::Held(vec![
            held(id(3), &notes[2], Phase::Queued),
            held(id(4), &b"?".to_vec(), Phase::Ended(end_of(4, b"?"))),
        ])),
        Input::Executor(FromExecutor::HeldEnd),
        Input::Executor(FromExecutor::Ended(vec![end_of(2, &notes[1])])),
        Input::Collected {
            attempt: id(1),
            result: Ok(vec![super::bench::artifact()]),
        },
    ]);
    assert_eq!(
        log,
        "group: register here e3 slots=2\n\
         collect a1 /w/a1: out.txt\n\
         executor: hello cores=2\n\
         pm0: holding e4 ask=6 1/1 a1 a2 a3 a4\n\
         pm0: started a1 a2\n\
         pm0: outcomes a4 lost\n\
         collect a2 /w/a2: out.txt\n\
         pm0: outcomes a1 completed with 1\n"
    );
}

#[test]
fn what_ran_before_a_machine_was_left_without_slots_is_told() {
    let mut bench = Bench::ready(2, 2);
    bench.feed(dispatch(vec![job(id(1)), job(id(2))]));
    let notes = [1, 2].map(|index| note(&bench.feed(staged(id(index)))));
    bench.lose_slots();
    bench.restart();
    let held = |index: u32, phase| Held {
        attempt: id(index),
        note: notes[index as usize - 1].clone(),
        phase,
    };
    let log = bench.all([
        Input::Up(Peer::Group),
        attach(1, 6),
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::Held(vec![
            held(1, Phase::Ended(end_of(1, &notes[0]))),
            held(2, Phase::Running(started(id(2)))),
        ])),
        Input::Executor(FromExecutor::HeldEnd),
        Input::Executor(FromExecutor::Ended(vec![end_of(2, &notes[1])])),
    ]);
    for told in ["outcomes a1 ", "outcomes a2 "] {
        assert!(log.contains(told), "{log}");
    }
}

#[test]
fn attempts_of_a_lost_executor_are_lost() {
    let mut bench = Bench::ready(1, 1);
    bench.feed(dispatch((1..=3).map(|index| job(id(index))).collect()));
    let bytes = note(&bench.feed(staged(id(1))));
    bench.feed(staged(id(2)));
    bench.feed(Input::Executor(FromExecutor::Started(vec![started(id(1))])));
    // The same executor again: starts that it has not received are sent again.
    let held = Held {
        attempt: id(1),
        note: bytes,
        phase: Phase::Running(started(id(1))),
    };
    let log = bench.all([
        Input::ExecutorDown,
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::Held(vec![held])),
        Input::Executor(FromExecutor::HeldEnd),
    ]);
    assert_eq!(log, "executor: hello cores=1\nexecutor: start a2\n");
    // Another executor: all sent attempts are lost, and the rest goes on.
    let log = bench.all([
        Input::ExecutorDown,
        Input::Executor(hello(2)),
        Input::Executor(FromExecutor::HeldEnd),
        staged(id(3)),
    ]);
    assert_eq!(
        log,
        "executor: hello cores=1\n\
         stage a3\n\
         pm0: outcomes a1 lost, a2 lost\n\
         executor: start a3\n"
    );
}

#[test]
fn the_executor_gets_more_than_can_run_only_where_a_process_has_the_whole_machine() {
    let handed = |shares: &[(u64, u32)]| {
        let mut bench = Bench::ready(4, 6);
        bench.feed(grants(shares));
        let many = |process| (0..20).map(move |index| job(id_of(process, index)));
        let mut log = show(&bench.feed(dispatch(many(1).chain(many(2)).collect())));
        for index in 0..20 {
            log += &bench.all([staged(id_of(1, index)), staged(id_of(2, index))]);
        }
        let count = |what: &str| log.matches(what).count();
        (count("stage "), count("executor: start"))
    };
    assert_eq!(handed(&[(1, 4)]), (10, 10));
    assert_eq!(handed(&[(1, 3), (2, 1)]), (3 + 5 + 1 + 2, 4));
}

#[test]
fn wide_attempts_wait_for_their_cores() {
    let mut bench = Bench::ready(4, 0);
    bench.feed(grants(&[(1, 3), (2, 1)]));
    let wide = |index, cores| Dispatch {
        cores,
        ..job(id(index))
    };
    let log = show(&bench.feed(dispatch(vec![wide(1, 2), wide(2, 2), wide(3, 1)])));
    assert_eq!(
        log, "stage a1\npm0: accepted a2 a3\n",
        "the order of dispatch is kept"
    );
}

#[test]
fn outcomes_are_repeated_until_they_are_acknowledged() {
    let mut bench = Bench::ready(2, 0);
    let stop = |index| from_pm(ToActivity::Stop(vec![id(index)]));
    bench.feed(dispatch((1..=4).map(|index| job(id(index))).collect()));
    assert_eq!(bench.all([stop(3)]), "pm0: outcomes a3 stopped\n");
    assert_eq!(show(&bench.wait(1)), "pm0: outcomes a3 stopped\n");
    assert_eq!(
        bench.all([Input::Down(Peer::Process(0)), stop(4)]),
        "pm0: outcomes a4 stopped\n"
    );
    assert_eq!(bench.all([Input::Down(Peer::Process(0))]), "");
    assert_eq!(show(&bench.wait(1)), "");
    assert_eq!(
        bench.all([attach(1, 6)]),
        "pm0: holding e3 ask=6 1/1 a1 a2 a3 a4\npm0: outcomes a3 stopped, a4 stopped\n"
    );
    assert_eq!(bench.all([acknowledge(3)]), "executor: forget a3\n");
    // A manager that asked before its acknowledgement was here asks until it hears something.
    assert_eq!(bench.all([stop(3)]), "pm0: retracted a3\n");
    assert_eq!(bench.all([stop(3)]), "pm0: retracted a3\n");
    assert_eq!(show(&bench.wait(1)), "pm0: outcomes a4 stopped\n");
}

#[test]
fn a_start_is_repeated_only_while_the_executor_has_free_cores() {
    let mut bench = Bench::ready(1, 1);
    bench.feed(dispatch(vec![job(id(1)), job(id(2))]));
    bench.all([staged(id(1)), staged(id(2))]);
    assert_eq!(show(&bench.wait(3)), "executor: start a1 a2\n");
    bench.feed(Input::Executor(FromExecutor::Started(vec![started(id(1))])));
    assert_eq!(show(&bench.wait(3)), "");
    assert_eq!(
        show(&bench.wait(27)),
        "group: register here e2 slots=1\nexecutor: retract a1\n",
        "asks what became of it"
    );
    bench.feed(Input::Executor(FromExecutor::Started(vec![started(id(1))])));
    assert_eq!(bench.drive.machine().n_attempts(), 2);
}

#[test]
fn retracted_attempts_are_not_sent_to_the_executor_again() {
    let mut bench = Bench::ready(1, 1);
    bench.feed(dispatch(vec![job(id(1))]));
    bench.feed(staged(id(1)));
    assert!(!show(&bench.wait(2)).contains("a1"));
    let retract = from_pm(ToActivity::Retract(vec![id(1)]));
    assert_eq!(bench.all([retract]), "executor: retract a1\n");
    // The executor may have done so while its answer is on its way.
    assert!(!show(&bench.wait(2)).contains("a1"));
    assert!(show(&bench.wait(1)).contains("executor: retract a1\n"));
    let given_back = Input::Executor(FromExecutor::Retracted(vec![id(1)]));
    assert!(bench.all([given_back]).contains("pm0: retracted a1\n"));
    assert_eq!(bench.drive.machine().n_attempts(), 0);
}

#[test]
fn one_of_an_earlier_epoch_that_is_silent_is_asked_about() {
    let mut bench = Bench::new(1, 0);
    let note = crate::record::Note {
        directory: "/w/a1".to_owned(),
        ..Default::default()
    }
    .bytes();
    let held = Held {
        attempt: id(1),
        note: note.clone(),
        phase: Phase::Queued,
    };
    bench.all([
        attach(1, 5),
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::Held(vec![held])),
        Input::Executor(FromExecutor::HeldEnd),
    ]);
    assert_eq!(show(&bench.wait(3)), "executor: tail a1\n");
    let written = Some(wire::executor::Written::default());
    let log = bench.all([
        Input::Executor(FromExecutor::Output {
            attempt: id(1),
            written,
        }),
        Input::Executor(FromExecutor::Ended(vec![end_of(1, &note)])),
    ]);
    assert_eq!(
        log,
        "executor: retract a1\npm0: outcomes a1 completed with 0\n"
    );
}

#[test]
fn output_of_running_attempts_is_read_and_others_are_refused_at_once() {
    let mut bench = Bench::ready(1, 1);
    let tail = |activity| from_pm(ToActivity::Tail(id(activity)));
    let output = |written| {
        Input::Executor(FromExecutor::Output {
            attempt: id(1),
            written,
        })
    };
    let two = vec![job_with_output(id(1)), job(id(2))];
    bench.all([dispatch(two), staged(id(1)), staged(id(2))]);
    assert_eq!(bench.all([tail(2)]), "pm0: tail a2\n");
    bench.all([Input::Executor(FromExecutor::Started(vec![started(id(1))]))]);
    assert_eq!(bench.all([tail(1)]), "executor: tail a1\n");
    let written = wire::executor::Written::default();
    let log = bench.all([output(Some(written.clone())), output(Some(written))]);
    assert_eq!(log, "tail pm0 a1 0 0\n", "who asks once is told once");
    bench.all([tail(1)]);
    assert_eq!(bench.all([output(None)]), "pm0: tail a1\n");
    // Nobody waits for an executor that is gone.
    bench.all([tail(1)]);
    let log = bench.all([Input::ExecutorDown, tail(1)]);
    let nothing = "pm0: tail a1\n";
    assert_eq!(log, format!("{nothing}{nothing}"));
}

#[test]
fn excess_attempts_are_refused_and_large_answers_come_in_parts() {
    let mut bench = Bench::ready(1, 0);
    let many: Vec<Dispatch> = (0..1_030).map(|index| job(id(index))).collect();
    let effects = bench.feed(dispatch(many));
    let log = show(&effects);
    assert!(
        log.ends_with("pm0: refused a1024 a1025 a1026 a1027 a1028 a1029 Full\n"),
        "{log}"
    );
    let text = || wire::attempt::Stdin::Text("x".repeat(7 << 20));
    let large = |index| {
        dispatch(vec![Dispatch {
            stdin: text(),
            ..job(id(index))
        }])
    };
    let taken = (2_000..2_050).take_while(|&index| {
        show(&bench.feed(large(index))) == format!("pm0: accepted a{index}\n")
    });
    assert_eq!(taken.count(), 36, "256 MiB of dispatches");
    let effects = bench.feed(attach(1, 6));
    let sizes: Vec<usize> = effects
        .iter()
        .filter_map(|effect| {
            let Effect::ToProcess(_, FromActivity::Holding { attempts, .. }) = effect else {
                return None;
            };
            Some(attempts.len())
        })
        .collect();
    assert_eq!(sizes, [1_024, 36]);
}

#[test]
fn a_process_manager_that_never_asked_is_not_answered() {
    let mut bench = Bench::ready(1, 0);
    let attempts = vec![job(id(1))];
    let message = ToActivity::Dispatch {
        meant_for: Epoch(2),
        attempts,
        holders: Vec::new(),
        holds: None,
    };
    assert_eq!(show(&bench.feed(Input::Process(4, message))), "");
    let other = hello(2);
    let FromExecutor::Hello(mut other) = other else {
        unreachable!()
    };
    other.protocol += 1;
    // An executor of another version gets no work.
    let log = bench.all([
        Input::Executor(FromExecutor::Hello(other)),
        Input::Executor(FromExecutor::HeldEnd),
        dispatch(vec![job(id(1))]),
        staged(id(1)),
    ]);
    assert_eq!(log, "stage a1\n");
}
