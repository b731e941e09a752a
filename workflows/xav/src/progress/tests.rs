use model::{ActivityId, ResourceId};
use wire::client::{
    ControllerProgress, InBackoff, Phase, RunAgain, RunAgainCause, Running, Totals,
};

use super::*;

pub(super) const FILE: &str = "\
xavantes: 1
name: primes
body:
  sequence:
    - { activity: range, run: [a] }
    - { activity: merge, run: [b] }
";

pub(crate) fn progress(n_running: u32) -> Progress {
    let one = |id: u32, since: u64| Running {
        activity: ActivityId(id),
        number: 1,
        resource: ResourceId::local(0),
        since: Wall(since),
        name: None,
    };
    Progress {
        process: ProcessId(1),
        revision: 1,
        phase: Phase::Running,
        totals: Totals {
            waiting: 10,
            running: n_running,
            completed: 3,
            ..Totals::default()
        },
        controllers: Vec::new(),
        running: vec![
            one(2, 2_000_000),
            one(1, 1_000_000),
            one(2, 4),
            one(2, 3),
            one(2, 2),
        ],
        left: Some(Span::from_secs(90)),
        waiting_for: None,
        left_p90: None,
        rescheduled: None,
        n_rescheduled: 0,
        run_again: Vec::new(),
        n_run_again: 0,
        backoff: None,
        machines: Vec::new(),
    }
}

#[test]
fn a_line_tells_how_far_it_is_and_what_runs_the_longest_first() {
    let definition = language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    assert_eq!(
        line(&progress(5), &definition, Wall(3_000_000)),
        "3 of 18 completed, 5 running (merge 3.0s, merge 3.0s, merge 3.0s, range 2.0s, and 1 more), about 1m 30s left"
    );
    let waiting = Progress {
        running: Vec::new(),
        left: None,
        waiting_for: Some("a machine with 8 cores".to_owned()),
        ..progress(0)
    };
    assert_eq!(
        line(&waiting, &definition, Wall(3_000_000)),
        "3 of 13 completed, waits for a machine with 8 cores"
    );
}

#[test]
fn bars_are_as_long_as_there_are_activities_by_then() {
    let definition = language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    let mut bars = Bars::new(&definition);
    assert_eq!(bars.process.length(), Some(2));
    let mut counts = ControllerProgress {
        node: NodeId(1),
        n_all: 4,
        n_ended: 2,
    };
    // Items come while the process runs.
    for n_all in [4, 9] {
        counts.n_all = n_all;
        bars.last = Some(Progress {
            controllers: vec![counts, counts],
            ..progress(n_all)
        });
        bars.draw(&definition, Wall(3_000_000));
        assert_eq!(bars.process.length(), Some(u64::from(13 + n_all)));
        assert_eq!(bars.controllers[0].1.length(), Some(u64::from(n_all)));
    }
}

#[test]
fn a_line_tells_what_waits_before_another_attempt() {
    let definition = language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    let mut waiting = Progress {
        running: Vec::new(),
        left: None,
        backoff: Some(InBackoff {
            n: 2,
            activity: ActivityId(1),
            name: None,
            until: Wall(11_000_000),
        }),
        ..progress(0)
    };
    assert_eq!(
        line(&waiting, &definition, Wall(3_000_000)),
        "3 of 13 completed, 2 wait before another attempt (range in 8.0s)"
    );
    waiting.backoff = waiting.backoff.map(|one| InBackoff { n: 1, ..one });
    assert_eq!(
        line(&waiting, &definition, Wall(3_000_000)),
        "3 of 13 completed, 1 waits before another attempt (range in 8.0s)"
    );
}

fn failed(n_failed: u32) -> RunAgain {
    RunAgain {
        activity: ActivityId(1),
        name: None,
        cause: RunAgainCause::Failed {
            fault: "exit-code".to_owned(),
            exit_code: Some(3),
            n_failed,
            most: 40,
            next: Wall(11_000_000),
        },
    }
}

/// A report of so many since the manager started, the last of them listed.
fn again(n: u32, n_listed: u32) -> Progress {
    Progress {
        run_again: (n - n_listed + 1..=n).map(failed).collect(),
        n_run_again: u64::from(n),
        ..progress(0)
    }
}

#[test]
fn each_activity_that_runs_again_is_told_once_with_its_cause() {
    let definition = language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    let mut told = RunAgains::default();
    let now = Wall(2_000_000);
    let mut take = |progress: &Progress| told.take(progress, &definition, now);
    assert_eq!(
        take(&again(1, 1)),
        "range failed (exit code 3) in attempt 1 of 40; the next one begins in 9.0s\n"
    );
    assert_eq!(take(&again(1, 1)), "");
    let mut others = again(2, 2);
    others.run_again[1].cause = RunAgainCause::Lost {
        machine: "m1".to_owned(),
    };
    assert_eq!(
        take(&others),
        "range was lost with m1 or the executor there; it runs again\n"
    );
    others.n_run_again = 3;
    others.run_again.push(RunAgain {
        activity: ActivityId(40),
        name: Some("align.17".to_owned()),
        cause: RunAgainCause::FilesGone {
            machine: "m2".to_owned(),
        },
    });
    assert_eq!(
        take(&others),
        "align.17 runs again: files that it made are gone, and m2 needs them\n"
    );
    // The manager was started again, and counts from one.
    assert!(take(&again(1, 1)).starts_with("range failed"));
    let RunAgainCause::Failed { fault, .. } = &mut others.run_again[0].cause else {
        panic!("{others:?}");
    };
    *fault = "time-limit".to_owned();
    others.n_run_again = 2;
    others.run_again.truncate(1);
    assert_eq!(
        told.take(&others, &definition, Wall(12_000_000)),
        "range failed (time-limit) in attempt 1 of 40; the next one begins now\n"
    );
}

#[test]
fn many_that_run_again_are_folded_into_a_line() {
    let definition = language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition;
    let mut told = RunAgains::default();
    let seconds = |seconds: u64| Wall(seconds * 1_000_000);
    let first = told.take(&again(100, 16), &definition, seconds(20));
    assert_eq!(first.lines().count(), 8, "{first}");
    assert_eq!(told.take(&again(103, 3), &definition, seconds(21)), "");
    assert_eq!(told.wait(seconds(29)), "");
    // 84 that are not listed, 8 of the first report, and all of the second.
    assert_eq!(
        told.wait(seconds(30)),
        "95 activities run again, beside those\n"
    );
    assert_eq!(told.end(), "");
    // Others have lines of their own from then on.
    let next = told.take(&again(104, 1), &definition, seconds(31));
    assert!(
        next.starts_with("range failed (exit code 3) in attempt 104"),
        "{next}"
    );
}
