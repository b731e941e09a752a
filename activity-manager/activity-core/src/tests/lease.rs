//! How long attempts go on without an answer of their process manager.

use model::{Epoch, Span};
use wire::attempt::{Dispatch, ToActivity};
use wire::executor::FromExecutor;

use super::bench::{Bench, dispatch, from_pm, grants, hello, id, job, show, staged, started};
use crate::{Input, Peer, Stream};

fn renewed(epoch: u64, number: u32) -> Input {
    from_pm(ToActivity::Renewed {
        epoch: Epoch(epoch),
        number,
        keeps: Vec::new(),
    })
}

/// a0 runs under a lease from the epoch's beginning at 0 s; there is one slot, so a1 waits.
fn underway() -> Bench {
    let mut bench = Bench::leased(1);
    let log = bench.all([
        dispatch(vec![job(id(0)), job(id(1))]),
        staged(id(0)),
        Input::Executor(FromExecutor::Started(vec![started(id(0))])),
    ]);
    assert_eq!(
        log,
        "executor: lease pm0 8 10\n\
         stage a0\n\
         pm0: accepted a1\n\
         executor: start a0\n\
         pm0: started a0\n"
    );
    bench
}

#[test]
fn a_lease_is_asked_for_at_each_fifth_of_it_and_counts_from_the_question() {
    let mut bench = underway();
    // The first request went with the answer to the attachment; nobody has answered it.
    let alive = "group: alive\n";
    assert_eq!(show(&bench.wait(2)), format!("{alive}pm0: renew e2 2\n"));
    assert_eq!(show(&bench.wait(2)), format!("{alive}pm0: renew e2 3\n"));
    // The answer to the request of second 2 comes at second 4.
    let log = show(&bench.feed(renewed(2, 2)));
    assert_eq!(log, "executor: lease pm0 10 12\n");
    // The request before it gives nothing new; nor does a copy.
    assert_eq!(bench.all([renewed(2, 1), renewed(2, 2)]), "");
    assert_eq!(
        show(&bench.feed(renewed(2, 3))),
        "executor: lease pm0 12 14\n"
    );
}

/// A process manager attaches with leases of another length than the default, and sends an attempt.
fn attaches(number: u32, seconds: u64) -> Input {
    let attach = ToActivity::Attach {
        epoch: Epoch(1),
        ask: 5,
        lease: Some(Span::from_secs(seconds)),
    };
    Input::Process(number, attach)
}

#[test]
fn each_process_manager_has_leases_of_its_own_length() {
    let mut bench = Bench::leased(1);
    let log = bench.all([attaches(1, 5), attaches(2, 60)]);
    assert_eq!(
        log,
        "pm1: holding e3 ask=5 1/1 lease=5.0s\npm1: renew e3 1\n\
         pm2: holding e4 ask=5 1/1 lease=1m 00s\npm2: renew e4 1\n"
    );
    // A fifth of its length, and at least as often as a machine must be heard.
    assert_eq!(show(&bench.wait(1)), "pm1: renew e3 2\n");
    let log = show(&bench.wait(1));
    assert_eq!(
        log,
        "group: alive\npm0: renew e2 2\npm1: renew e3 3\npm2: renew e4 2\n"
    );
    let answer = |to, epoch, number| {
        let epoch = Epoch(epoch);
        Input::Process(
            to,
            ToActivity::Renewed {
                epoch,
                number,
                keeps: Vec::new(),
            },
        )
    };
    // From the requests of second 2 on; the grace is at most the time between two of them.
    let log = bench.all([answer(0, 2, 2), answer(1, 3, 3), answer(2, 4, 2)]);
    assert_eq!(
        log,
        "executor: lease pm0 10 12\nexecutor: lease pm1 6 7\nexecutor: lease pm2 60 62\n"
    );
}

#[test]
fn a_process_manager_that_comes_back_with_shorter_leases_takes_nothing_back() {
    let mut bench = Bench::leased(1);
    let send = |epoch: u64, activity: u32| {
        let message = ToActivity::Dispatch {
            meant_for: Epoch(epoch),
            attempts: vec![job(id(activity))],
            holders: Vec::new(),
            holds: None,
        };
        Input::Process(1, message)
    };
    let log = bench.all([attaches(1, 60), send(3, 1)]);
    assert!(log.contains("executor: lease pm1 58 60\n"), "{log}");
    let again = ToActivity::Attach {
        epoch: Epoch(2),
        ask: 1,
        lease: Some(Span::from_secs(5)),
    };
    let renewed = ToActivity::Renewed {
        epoch: Epoch(4),
        number: 2,
        keeps: Vec::new(),
    };
    // The earlier promise stands, and answers of the present epoch add nothing yet.
    let log = bench.all([
        Input::Process(1, again),
        send(4, 2),
        Input::Process(1, renewed),
    ]);
    assert!(log.contains("lease=5.0s"), "{log}");
    assert!(!log.contains("executor: lease"), "{log}");
}

#[test]
fn an_answer_for_another_epoch_renews_nothing() {
    let mut bench = underway();
    bench.wait(2);
    assert_eq!(bench.all([renewed(1, 2), renewed(3, 2), renewed(2, 9)]), "");
}

#[test]
fn at_the_end_of_a_lease_all_ends_and_the_epoch_is_over() {
    let mut bench = underway();
    bench.wait(7);
    let log = show(&bench.wait(1));
    assert_eq!(
        log,
        "pm0: outcomes a1 stopped\n\
         executor: stop a0\n\
         pm0: renew e3 3\n"
    );
    // Messages for the earlier epoch are refused with the number of the present one, whose requests
    // nobody may answer yet.
    let log = bench.all([dispatch(vec![job(id(2))]), renewed(3, 3), renewed(2, 2)]);
    assert_eq!(log, "pm0: refused a2 OtherEpoch { epoch: Epoch(3) }\n");
}

#[test]
fn a_daemon_that_was_frozen_refuses_what_came_meanwhile() {
    let mut bench = underway();
    bench.now.mono = bench.now.mono + Span::from_secs(30);
    let log = show(&bench.feed(dispatch(vec![job(id(2))])));
    assert!(log.contains("outcomes a1 stopped"), "{log}");
    assert!(log.contains("refused a2 OtherEpoch"), "{log}");
    assert!(!log.contains("stage"), "{log}");
}

#[test]
fn an_answer_that_comes_after_the_end_revives_nothing() {
    let mut bench = underway();
    bench.wait(2);
    bench.wait(2);
    bench.now.mono = bench.now.mono + Span::from_secs(5);
    let log = show(&bench.feed(renewed(2, 3)));
    assert!(log.contains("outcomes a1 stopped"), "{log}");
    assert!(!log.contains("lease"), "{log}");
}

#[test]
fn after_another_attachment_work_is_taken_again() {
    let mut bench = underway();
    bench.wait(8);
    let attach = from_pm(ToActivity::Attach {
        epoch: Epoch(1),
        ask: 6,
        lease: None,
    });
    let log = bench.all([attach]);
    assert_eq!(
        log,
        "pm0: holding e4 ask=6 1/1 a0 a1\npm0: started a0\npm0: outcomes a1 stopped\npm0: renew e4 3\n"
    );
    assert_eq!(
        show(&bench.feed(renewed(4, 3))),
        "executor: lease pm0 16 18\n"
    );
    let again = from_pm(ToActivity::Dispatch {
        meant_for: Epoch(4),
        attempts: vec![job(id(2))],
        holders: Vec::new(),
        holds: None,
    });
    assert_eq!(show(&bench.feed(again)), "pm0: accepted a2\n");
}

#[test]
fn without_a_lease_nothing_is_handed_over_after_a_restart_of_the_daemon() {
    let mut bench = underway();
    bench.restart();
    let log = bench.all([
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::HeldEnd),
        from_pm(ToActivity::Attach {
            epoch: Epoch(1),
            ask: 6,
            lease: None,
        }),
    ]);
    // No lease was given to this epoch: only the executor knows the earlier one.
    assert_eq!(
        log,
        "executor: hello cores=1\npm0: holding e4 ask=6 1/1\npm0: renew e4 1\n"
    );
}

#[test]
fn an_executor_that_comes_back_is_told_how_long_its_commands_may_go_on() {
    let mut bench = underway();
    let log = bench.all([
        Input::ExecutorDown,
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::HeldEnd),
    ]);
    assert!(
        log.starts_with("executor: hello cores=1\nexecutor: lease pm0 8 10\n"),
        "{log}"
    );
}

#[test]
fn nobody_is_asked_who_cannot_be_reached() {
    let mut bench = underway();
    bench.feed(Input::Down(Peer::Process(0)));
    assert_eq!(show(&bench.wait(2)), "group: alive\n");
}

#[test]
fn without_leases_nobody_asks_and_nothing_ends() {
    let mut bench = Bench::ready(1, 0);
    bench.all([
        dispatch(vec![job(id(0))]),
        staged(id(0)),
        Input::Executor(FromExecutor::Started(vec![started(id(0))])),
    ]);
    for _ in 0..20 {
        let log = show(&bench.wait(1));
        assert!(!log.contains("renew") && !log.contains("stop"), "{log}");
    }
}

fn once(activity: u32) -> Dispatch {
    Dispatch {
        at_most_once: true,
        ..job(id(activity))
    }
}

fn remembers(bench: &Bench) -> usize {
    let state = bench.drive.states().get(Stream::Manager);
    state.map_or(0, |state| state.starting.len())
}

#[test]
fn attempts_that_must_not_run_twice_are_remembered_from_before_their_start_to_their_acknowledgement()
 {
    let mut bench = Bench::ready(1, 0);
    bench.feed(dispatch(vec![once(1)]));
    assert_eq!(remembers(&bench), 0);
    let log = show(&bench.feed(staged(id(1))));
    assert_eq!(
        (log.as_str(), remembers(&bench)),
        ("executor: start a1\n", 1)
    );
    // Daemon and executor are killed: nobody else knows that it may have run.
    bench.restart();
    let log = bench.all([
        Input::Executor(hello(2)),
        Input::Executor(FromExecutor::HeldEnd),
        from_pm(ToActivity::Attach {
            epoch: Epoch(1),
            ask: 6,
            lease: None,
        }),
    ]);
    assert_eq!(
        log,
        "executor: hello cores=1\npm0: holding e4 ask=6 1/1 a1\npm0: outcomes a1 lost\n"
    );
    bench.feed(from_pm(ToActivity::Acknowledge(vec![id(1)])));
    assert_eq!(remembers(&bench), 0);
}

#[test]
fn a_lost_journal_is_told_of_until_what_follows_is_recorded() {
    let mut bench = Bench::new(1, 0);
    bench.config.has_forgotten = true;
    bench.restart();
    // An epoch with a journal reports it too: nobody may have received the earlier report.
    bench.config.has_forgotten = false;
    bench.restart();
    let attach = |ask| {
        let (epoch, lease) = (Epoch(1), None);
        from_pm(ToActivity::Attach { epoch, ask, lease })
    };
    bench.all([
        Input::Up(Peer::Group),
        grants(&[(1, 1)]),
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::HeldEnd),
    ]);
    let log = bench.all([attach(5)]);
    assert!(log.ends_with("forgotten\n"), "{log}");
    // A sender to that epoch has recorded its report.
    let meant_for = bench.drive.states().get(Stream::Manager).unwrap().epoch;
    bench.feed(from_pm(ToActivity::Dispatch {
        meant_for,
        attempts: vec![once(1)],
        holders: Vec::new(),
        holds: None,
    }));
    let log = bench.all([attach(6)]);
    assert!(!log.contains("forgotten"), "{log}");
    // Another process manager has not: its activities would run twice.
    let attach = ToActivity::Attach {
        epoch: Epoch(1),
        ask: 7,
        lease: None,
    };
    let log = bench.all([Input::Up(Peer::Process(1)), Input::Process(1, attach)]);
    assert!(log.ends_with("forgotten\n"), "{log}");
    // It still counts after a restart.
    bench.restart();
    let log = bench.all([
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::HeldEnd),
        attach_of(0),
        attach_of(1),
    ]);
    let told: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("holding"))
        .collect();
    assert!(
        !told[0].contains("forgotten") && told[1].contains("forgotten"),
        "{log}"
    );
}

fn attach_of(process_manager: u32) -> Input {
    let attach = ToActivity::Attach {
        epoch: Epoch(2),
        ask: 8,
        lease: None,
    };
    Input::Process(process_manager, attach)
}

#[test]
fn unstarted_attempts_that_must_not_run_twice_are_forgotten() {
    let mut bench = Bench::ready(1, 0);
    bench.all([dispatch(vec![once(1)]), staged(id(1))]);
    bench.feed(from_pm(ToActivity::Retract(vec![id(1)])));
    let log = show(&bench.feed(Input::Executor(FromExecutor::Retracted(vec![id(1)]))));
    assert!(log.starts_with("pm0: retracted a1\n"), "{log}");
    assert_eq!(remembers(&bench), 0);
}

#[test]
fn grants_last_an_hour_without_the_group_manager() {
    let mut bench = Bench::leased(1);
    bench.all([grants(&[(1, 1)]), Input::Down(Peer::Group)]);
    let attach = |ask| {
        from_pm(ToActivity::Attach {
            epoch: Epoch(1),
            ask,
            lease: None,
        })
    };
    let mut starts = |seconds, ask, activity| {
        bench.now.mono = bench.now.mono + Span::from_secs(seconds);
        bench.feed(attach(ask));
        let state = bench.drive.states().get(Stream::Manager);
        let meant_for = state.unwrap().epoch;
        let attempts = vec![job(id(activity))];
        let message = ToActivity::Dispatch {
            meant_for,
            attempts,
            holders: Vec::new(),
            holds: None,
        };
        bench.feed(from_pm(message));
        let log = show(&bench.feed(staged(id(activity))));
        bench.feed(from_pm(ToActivity::Stop(vec![id(activity)])));
        bench.feed(Input::Executor(FromExecutor::Retracted(vec![id(activity)])));
        log.contains("start")
    };
    assert!(starts(3_590, 6, 1));
    assert!(!starts(20, 7, 2));
}
