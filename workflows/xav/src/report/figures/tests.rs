use model::{Fault, Generation};
use wire::client::Phase;

use super::super::fixtures::{LOOK, SUBMITTED, attempt, compiled, definition, status, untouched};
use super::*;

fn report() -> Report {
    Report::of(&status(), &definition(), LOOK)
}

fn drawn(report: &Report) -> String {
    let mut text = String::new();
    for bar in &report.bars {
        let name = &report.activities[bar.activity].name;
        let (start, end) = (bar.start / 1_000, bar.end / 1_000);
        text.push_str(&format!(
            "{name}.{} {:?} {start}-{end} {}\n",
            bar.number, bar.slots, bar.state
        ));
    }
    text
}

#[test]
fn attempts_lie_on_the_slots_of_the_plan() {
    let report = report();
    assert_eq!(
        drawn(&report),
        "\
split.1 [0] 10-120 completed
a0.1 [0] 130-340 completed
b0.1 [1] 135-800 completed
a1.1 [0] 345-400 exit-code
a1.2 [0] 410-700 completed
merge.1 [0] 810-900 completed
"
    );
    assert_eq!(report.machines[0].name, "host");
    assert_eq!(report.machines[0].n_slots, 2);
}

#[test]
fn the_totals_are_those_of_all_attempts() {
    let report = report();
    assert_eq!(report.took, Some(Span::from_millis(1_000)));
    assert_eq!((report.until, report.axis), (1_000_000, 1_000_000));
    // 110 + 210 + 665 + 55 + 290 + 90 of 2 slots for 1,000 ms.
    assert_eq!(report.machines[0].usage.held, Span::from_millis(1_420));
    assert_eq!(report.utilisation, Some(0.71));
    assert_eq!(
        report.cpu,
        Span(55_000 + 105_000 + 332_000 + 27_000 + 145_000 + 45_000)
    );
    assert_eq!((report.n_slots, report.n_failed), (2, 1));
    let last: Vec<Option<usize>> = report.activities.iter().map(|row| row.last).collect();
    assert_eq!(last, [Some(0), Some(1), Some(4), Some(2), Some(5)]);
    assert_eq!(report.activities[2].n_attempts, 2);
}

#[test]
fn each_colour_knows_its_share() {
    let report = report();
    assert_eq!(report.groups.labels, ["fork", "left", "right"]);
    let millis: Vec<(usize, u64, u64)> = report
        .shares
        .iter()
        .map(|share| {
            (
                share.n_activities,
                share.busy.0 / 1_000,
                share.critical.0 / 1_000,
            )
        })
        .collect();
    assert_eq!(millis, [(2, 200, 200), (2, 555, 0), (1, 665, 665)]);
}

#[test]
fn the_plan_is_drawn_as_it_was_made() {
    let report = report();
    let plan: Vec<(usize, u32, u64, u64)> = report
        .plan
        .bars
        .iter()
        .map(|bar| {
            (
                bar.activity,
                bar.slots[0],
                bar.start / 1_000,
                bar.end / 1_000,
            )
        })
        .collect();
    assert_eq!(
        plan,
        [
            (0, 0, 0, 100),
            (1, 0, 100, 300),
            (2, 0, 300, 600),
            (3, 1, 100, 500),
            (4, 0, 600, 700)
        ]
    );
    assert!(!report.plan.is_order_only);
}

#[test]
fn a_plan_without_estimates_is_as_long_as_the_run() {
    let mut status = status();
    status.planned = None;
    let report = Report::of(&status, &definition(), LOOK);
    assert!(report.plan.is_order_only);
    let last = report.plan.bars.iter().map(|bar| bar.end).max();
    assert_eq!(last, Some(1_000_000));
    assert_eq!(report.plan.bars[0].end, 142_857);
}

#[test]
fn all_entries_of_a_later_plan_count_from_when_the_first_one_was_put_in_force() {
    let mut status = status();
    status.generation = Generation(2);
    status.planned_from = Some(SUBMITTED + Span::from_millis(35));
    let merge = status.activities[4].planned.as_mut().unwrap();
    (merge.start, merge.finish) = (Span::from_millis(650), Span::from_millis(750));
    let report = Report::of(&status, &definition(), LOOK);
    assert_eq!(report.plan.origin, 35_000);
    let bars = &report.plan.bars;
    let starts: Vec<u64> = bars.iter().map(|bar| bar.start / 1_000).collect();
    assert_eq!(starts, [35, 135, 335, 135, 685]);
}

#[test]
fn what_runs_lasts_until_it_is_looked_at_or_until_something_was_recorded_last() {
    let mut status = status();
    status.summary.phase = Phase::Running;
    status.summary.ended = None;
    status.activities[4].attempts.clear();
    status.activities[4].phase = ActivityPhase::Waiting;
    let running = &mut status.activities[3];
    running.phase = ActivityPhase::Running;
    running.attempts[0].end = None;
    running.attempts[0].wall = Span::ZERO;
    let live = Look {
        now: SUBMITTED + Span::from_millis(950),
        is_live: true,
    };
    let report = Report::of(&status, &definition(), live);
    assert_eq!(
        (report.state, report.took, report.until),
        ("running", None, 950_000)
    );
    assert_eq!(report.bars[2].end, 950_000);
    assert_eq!(report.activities[3].state, "running");
    assert_eq!(report.n_failed, 1);
    let report = Report::of(&status, &definition(), LOOK);
    assert_eq!((report.state, report.until), ("interrupted", 700_000));
    assert_eq!(report.bars[2].end, 700_000);
    assert_eq!(report.activities[3].state, "interrupted");
}

#[test]
fn a_recorded_outcome_is_no_bar() {
    let mut status = status();
    let one = &mut status.activities[1];
    one.reused = one.attempts.pop();
    let report = Report::of(&status, &definition(), LOOK);
    let row = &report.activities[1];
    assert_eq!((row.state, row.last, row.n_attempts), ("reused", None, 0));
    let reused = row.reused.as_ref().unwrap();
    assert_eq!(reused.of, "process 0abcdefgh1234, attempt 1, on host");
    assert_eq!(reused.wall, Span::from_millis(210));
    assert_eq!(report.bars.len(), 5);
}

#[test]
fn a_process_of_which_nothing_is_known_has_a_report() {
    let definition = definition();
    let report = Report::of(&untouched(&definition), &definition, LOOK);
    assert_eq!(report.state, "interrupted");
    assert!(report.bars.is_empty() && report.machines.is_empty() && report.chain.is_empty());
    assert_eq!((report.axis, report.utilisation), (1, None));
}

#[test]
fn a_clock_that_was_set_back_does_not_matter() {
    let mut status = status();
    for one in &mut status.activities {
        for attempt in &mut one.attempts {
            attempt.started = Some(Wall(5));
        }
    }
    let report = Report::of(&status, &definition(), LOOK);
    assert!(report.bars.iter().all(|bar| bar.start == 0));
    assert!(!report.chain.is_empty());
}

#[test]
fn several_slots_of_one_attempt_are_all_held() {
    let definition =
        compiled("xavantes: 1\nname: wide\nbody:\n  activity: one\n  run: [a]\n  cores: 3\n");
    let mut status = untouched(&definition);
    let id = status.activities[0].activity;
    status.activities[0].attempts = vec![attempt(id, 1, 0, 500)];
    for (slots, held) in [(3, vec![0, 1, 2]), (0, vec![0, 1, 2]), (2, vec![0, 1])] {
        status.activities[0].attempts[0].slots = slots;
        let report = Report::of(&status, &definition, LOOK);
        assert_eq!(report.bars[0].slots, held);
    }
}

#[test]
fn a_fault_tells_what_its_reader_needs() {
    let mut status = status();
    let mut fault = Fault::new(model::FaultName::ExitCode, "a1: ended with status 3")
        .of(status.activities[2].activity);
    fault.attempt = 2;
    fault.command = vec!["a".to_owned(), "b c".to_owned()];
    fault.directory = Some("/w/a1".to_owned());
    fault.resource = Some(ResourceId::local(1));
    fault.stderr_tail = "no\n\n".to_owned();
    status.faults.push(fault);
    let report = Report::of(&status, &definition(), LOOK);
    let fault = &report.faults[0];
    assert_eq!(fault.activity.as_deref(), Some("a1"));
    assert_eq!(
        (fault.name.as_str(), fault.message.as_str()),
        ("exit-code", "ended with status 3")
    );
    assert_eq!(fault.stderr, "no");
    let facts: Vec<String> = fault
        .facts
        .iter()
        .map(|(label, value)| format!("{label}={value}"))
        .collect();
    let path = definition().path(status.activities[2].activity.node());
    assert_eq!(
        facts.join(" "),
        format!("activity={path} attempt=2 command=a 'b c' machine=host directory=/w/a1")
    );
}

#[test]
fn slots_that_nothing_held_count_where_they_are_known() {
    let mut status = status();
    status.slots = vec![(model::ResourceId::local(1), 4)];
    let report = Report::of(&status, &definition(), LOOK);
    assert_eq!((report.n_slots, report.utilisation), (4, Some(0.355)));
    assert_eq!(report.machines[0].n_slots, 4);
    // The run shows them as idle rows; the plan has those that it uses.
    assert_eq!(
        (report.machines[0].n_planned, report.machines[0].n_ran),
        (2, 4)
    );
    // Of very many, so many rows as a chart has room for.
    status.slots[0].1 = 1_000;
    let report = Report::of(&status, &definition(), LOOK);
    assert_eq!((report.n_slots, report.machines[0].n_ran), (1_000, 64));
}
