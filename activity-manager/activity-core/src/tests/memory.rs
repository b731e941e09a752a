//! The memory of a machine: attempts whose demands exceed it together run one after another.

use model::{Bytes, Epoch};
use wire::attempt::{Dispatch, ToActivity};
use wire::executor::{Exit, FromExecutor, Held, Phase};

use super::bench::{
    Bench, dispatch, ended, from_pm, grants, hello, id_of, job, note, show, staged, started,
};
use crate::{Input, Peer};

const MIB: u64 = 1 << 20;

/// An attempt of a process that may use so many MiB; the machine has 1,024.
fn with_memory(process: u64, activity: u32, mib: u64) -> Dispatch {
    Dispatch {
        memory: (mib > 0).then_some(Bytes(mib * MIB)),
        ..job(id_of(process, activity))
    }
}

/// Dispatches an attempt and makes it ready. The note and the line of its start, where it starts.
fn make_ready(bench: &mut Bench, job: Dispatch) -> Option<Vec<u8>> {
    let attempt = job.attempt;
    bench.feed(dispatch(vec![job]));
    let effects = bench.feed(staged(attempt));
    (!show(&effects).is_empty()).then(|| note(&effects))
}

/// The command of an attempt ends. The effects, as lines.
fn end(bench: &mut Bench, process: u64, activity: u32, note: &[u8]) -> String {
    let exit = Exit::Exited { code: 0 };
    let ended = ended(id_of(process, activity), exit, note);
    show(&bench.feed(Input::Executor(FromExecutor::Ended(vec![ended]))))
}

#[test]
fn attempts_wait_for_memory_that_others_use() {
    let mut bench = Bench::ready(4, 2);
    let first = make_ready(&mut bench, with_memory(1, 1, 600)).unwrap();
    assert_eq!(make_ready(&mut bench, with_memory(1, 2, 600)), None);
    let log = end(&mut bench, 1, 1, &first);
    assert!(log.contains("executor: start a2\n"), "{log}");
}

#[test]
fn attempts_whose_demands_fit_together_run_side_by_side() {
    let mut bench = Bench::ready(4, 2);
    assert!(make_ready(&mut bench, with_memory(1, 1, 600)).is_some());
    assert!(make_ready(&mut bench, with_memory(1, 2, 424)).is_some());
    assert!(make_ready(&mut bench, with_memory(1, 3, 0)).is_some());
    assert_eq!(make_ready(&mut bench, with_memory(1, 4, 1)), None);
}

#[test]
fn a_demand_beyond_the_whole_memory_runs_alone() {
    let mut bench = Bench::ready(4, 2);
    assert!(make_ready(&mut bench, with_memory(1, 1, 5_000)).is_some());
    assert_eq!(make_ready(&mut bench, with_memory(1, 2, 1)), None);
}

#[test]
fn small_demands_do_not_overtake_a_large_one_that_waits() {
    let mut bench = Bench::ready(4, 2);
    bench.feed(grants(&[(1, 3), (2, 1)]));
    let first = make_ready(&mut bench, with_memory(1, 1, 600)).unwrap();
    assert_eq!(make_ready(&mut bench, with_memory(2, 21, 900)), None);
    // It would fit beside the first one, as the next ones of its process would, again and again.
    assert_eq!(make_ready(&mut bench, with_memory(1, 2, 300)), None);
    let log = end(&mut bench, 1, 1, &first);
    assert!(log.contains("start a21\n"), "{log}");
    assert!(!log.contains("start a2\n"), "{log}");
}

#[test]
fn memory_is_counted_that_attempts_of_an_earlier_epoch_use() {
    let mut bench = Bench::ready(4, 2);
    let first = make_ready(&mut bench, with_memory(1, 1, 600)).unwrap();
    bench.restart();
    let running = Held {
        attempt: id_of(1, 1),
        note: first.clone(),
        phase: Phase::Running(started(id_of(1, 1))),
    };
    let log = bench.all([
        Input::Up(Peer::Group),
        grants(&[(1, 4)]),
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::Held(vec![running])),
        Input::Executor(FromExecutor::HeldEnd),
        from_pm(ToActivity::Attach {
            epoch: Epoch(1),
            ask: 6,
            lease: None,
        }),
    ]);
    assert!(log.contains("holding e4"), "{log}");
    for (activity, mib, starts) in [(2, 424, true), (3, 1, false)] {
        let job = with_memory(1, activity, mib);
        let attempt = job.attempt;
        bench.feed(from_pm(ToActivity::Dispatch {
            meant_for: Epoch(4),
            attempts: vec![job],
            holders: Vec::new(),
            holds: None,
        }));
        let log = show(&bench.feed(staged(attempt)));
        assert_eq!(log.contains("start"), starts, "{activity}: {log}");
    }
}
