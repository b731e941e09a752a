//! Processes that are let past the first one, which waits for slots that fit it.

use model::{SubmitKey, Work};

use super::*;

/// Processes in the order in which they are submitted.
pub(super) fn key(number: u64) -> SubmitKey {
    SubmitKey(100 + number)
}

/// An activity of a work in seconds, if it is known, on so many cores.
pub(super) fn one(name: &str, work: Option<u64>, cores: u32) -> Draft {
    let mut node = leaf(name);
    edit(&mut node, |activity| {
        activity.work = work.map(Work::from_secs);
        activity.cores = cores;
    });
    draft(vec![controller(NodeKind::Sequence(ids(&[1]))), node])
}

/// A machine of two slots, of which a command uses one that takes so long, and a process that wants both.
pub(super) fn waiting(work: Option<u64>) -> Bench {
    let mut bench = Bench::new(|_| None);
    bench.submit_as(submission(key(0), one("long", work, 1)));
    bench.start("long");
    bench.submit_as(submission(key(1), one("wide", Some(5), 2)));
    assert_eq!(bench.started, ["long"]);
    bench
}

impl Bench {
    /// A command is seen to run.
    pub(super) fn start(&mut self, name: &str) {
        let attempt = self.attempt_of(name);
        let at = self.now.wall;
        let started = FromActivity::Started(vec![Started {
            attempt,
            pid: 1,
            at,
        }]);
        self.give(Input::Activity(MACHINE, started));
    }

    pub(super) fn finish(&mut self, name: &str) {
        self.end(self.attempt_of(name), End::Completed, 0, "");
    }
}

#[test]
fn what_ends_before_the_first_process_can_begin_is_let_past() {
    let mut bench = waiting(Some(60));
    bench.submit_as(submission(key(2), one("longer", Some(90), 1)));
    bench.submit_as(submission(key(3), one("unknown", None, 1)));
    bench.submit_as(submission(key(4), one("short", Some(30), 1)));
    assert_eq!(bench.started, ["long", "short"]);
    bench.finish("short");
    bench.finish("long");
    assert_eq!(bench.started, ["long", "short", "wide"], "it is the first");
    bench.finish("wide");
    assert_eq!(bench.started[3..], ["longer", "unknown"]);
}

#[test]
fn time_that_has_passed_counts() {
    let mut bench = waiting(Some(60));
    bench.pass(40);
    bench.submit_as(submission(key(4), one("short", Some(30), 1)));
    assert_eq!(bench.started, ["long"]);
    bench.submit_as(submission(key(5), one("shorter", Some(15), 1)));
    assert_eq!(bench.started, ["long", "shorter"]);
}

#[test]
fn nothing_is_let_past_one_that_may_begin_at_any_moment() {
    // Nobody knows how long the command takes.
    let mut bench = waiting(None);
    bench.submit_as(submission(key(4), one("short", Some(1), 1)));
    assert_eq!(bench.started, ["long"]);
    // It takes longer than estimated.
    let mut bench = waiting(Some(60));
    bench.pass(61);
    bench.submit_as(submission(key(4), one("short", Some(1), 1)));
    assert_eq!(bench.started, ["long"]);
}

#[test]
fn nothing_more_is_let_past_while_one_takes_longer_than_estimated() {
    let mut bench = waiting(Some(60));
    bench.submit_as(submission(key(4), one("late", Some(30), 1)));
    assert_eq!(bench.started, ["long", "late"]);
    bench.start("late");
    bench.pass(65);
    bench.finish("long");
    bench.submit_as(submission(key(5), one("short", Some(1), 1)));
    assert_eq!(bench.started, ["long", "late"]);
    let list = bench.status_of(key(1));
    let waits = list.waiting_for.unwrap_or_default();
    assert!(waits.contains("takes longer than estimated"), "{waits}");
    bench.finish("late");
    assert_eq!(bench.started[2..], ["wide"]);
}
