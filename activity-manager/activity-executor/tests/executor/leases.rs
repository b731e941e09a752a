//! Commands with leases, which their process manager must have renewed recently.

use model::{Mono, Span};
use rustix::time::{ClockId, clock_gettime};
use wire::executor::{Exit, FromExecutor, Lease, Start, ToExecutor};

use crate::bench::{Bench, attempt};

/// The lease of process manager 7, from this moment on; processes that ignore TERM have half a
/// second.
pub(crate) fn lease(until: Span) -> ToExecutor {
    let now = clock_gettime(ClockId::Boottime);
    let now = Mono(now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1_000);
    ToExecutor::Lease(Lease {
        owner: 7,
        until: now + until,
        dead_by: now + until + Span::from_millis(500),
    })
}

pub(crate) fn owned(start: Start) -> Start {
    Start {
        owner: Some(7),
        ..start
    }
}

fn retracted(bench: &mut Bench) -> u32 {
    loop {
        if let FromExecutor::Retracted(ids) = bench.next() {
            return ids[0].activity.0;
        }
    }
}

#[test]
fn nothing_is_started_without_a_lease() {
    let mut bench = Bench::new(1);
    let start = owned(bench.start(1, &["true"]));
    bench.send(ToExecutor::Start(vec![start]));
    assert_eq!(retracted(&mut bench), 1);
    // It does not start with a later lease either: its process manager was told that it has not.
    bench.send(lease(Span::from_secs(1_000)));
    let again = owned(bench.start(1, &["true"]));
    bench.send(ToExecutor::Start(vec![again]));
    assert_eq!(retracted(&mut bench), 1);
    let other = owned(bench.start(2, &["true"]));
    assert_eq!(bench.run(other).exit, Exit::Exited { code: 0 });
}

#[test]
fn at_the_end_of_a_lease_what_runs_is_stopped_and_what_waits_taken_back() {
    let mut bench = Bench::new(2);
    bench.send(lease(Span::from_millis(300)));
    let deaf = owned(bench.shell(1, "trap '' TERM; echo $$; sleep 1000; touch late"));
    let waiting = owned(Start {
        cores: 2,
        ..bench.start(2, &["touch", "late"])
    });
    // Another owner's attempt is unaffected.
    let other = bench.shell(3, "sleep 1; echo done");
    bench.send(ToExecutor::Start(vec![deaf, other, waiting]));
    // Nothing is sent from here on, as by a frozen daemon.
    assert_eq!(retracted(&mut bench), 2);
    let ended = bench.ended(2);
    assert_eq!(ended[&1].exit, Exit::Expired);
    let wall = ended[&1].wall;
    assert!(wall >= Span::from_millis(500), "{wall}");
    assert_eq!(ended[&3].exit, Exit::Exited { code: 0 });
    assert!(!bench.path().join("late").exists());
    bench.send(ToExecutor::Forget(vec![attempt(1), attempt(3)]));
}

#[test]
fn a_later_end_replaces_an_earlier_one_and_not_the_other_way_round() {
    let mut bench = Bench::new(1);
    bench.send(lease(Span::from_millis(300)));
    let start = owned(bench.shell(1, "sleep 1"));
    bench.send(ToExecutor::Start(vec![start]));
    bench.send(lease(Span::from_secs(1_000)));
    bench.send(lease(Span::from_millis(200)));
    assert_eq!(bench.ended(1)[&1].exit, Exit::Exited { code: 0 });
}
