use model::Wall;

use super::super::figures::{Look, Report};
use super::super::fixtures::{LOOK, SUBMITTED, attempt, compiled, definition, status, untouched};
use super::*;

/// The steps as text: what ran, when it began, why not earlier.
fn told(report: &Report) -> Vec<String> {
    let name = |bar: usize| {
        let bar = &report.bars[bar];
        format!("{}.{}", report.activities[bar.activity].name, bar.number)
    };
    let steps = report.chain.iter().map(|step| {
        let reason = match step.reason {
            Reason::First => "first".to_owned(),
            Reason::After(bar) => format!("after {}", name(bar)),
            Reason::Slot(bar) => format!("slot of {}", name(bar)),
            Reason::Retry(bar) => format!("again after {}", name(bar)),
        };
        format!("{} +{} {reason}", name(step.bar), step.wait / 1_000)
    });
    steps.collect()
}

#[test]
fn the_path_goes_from_the_end_to_what_was_waited_for_last() {
    let report = Report::of(&status(), &definition(), LOOK);
    assert_eq!(
        told(&report),
        [
            "split.1 +10 first",
            "b0.1 +15 after split.1",
            "merge.1 +10 after b0.1"
        ]
    );
}

#[test]
fn a_second_try_waits_for_the_first() {
    let mut status = status();
    status.activities[3].attempts[0].wall = Span::from_millis(100);
    let report = Report::of(&status, &definition(), LOOK);
    assert_eq!(
        told(&report),
        [
            "split.1 +10 first",
            "a0.1 +10 after split.1",
            "a1.1 +5 after a0.1",
            "a1.2 +10 again after a1.1",
            "merge.1 +110 after a1.2"
        ]
    );
}

//   one slot   a 0-100 | b 100-300 | c 310-400      nothing depends on anything
#[test]
fn what_waits_for_a_slot_says_whose() {
    let definition = compiled(
        "xavantes: 1\nname: flat\nbody:\n  parallel:\n    - { activity: a, run: [a] }\n    \
         - { activity: b, run: [a] }\n    - { activity: c, run: [a] }\n",
    );
    let mut status = untouched(&definition);
    for (one, (from, to)) in status
        .activities
        .iter_mut()
        .zip([(0, 100), (100, 300), (310, 400)])
    {
        one.attempts = vec![attempt(one.activity, 1, from, to)];
    }
    let report = Report::of(&status, &definition, LOOK);
    assert_eq!(
        told(&report),
        ["a.1 +0 first", "b.1 +0 slot of a.1", "c.1 +10 slot of b.1"]
    );
    // With a second slot that nobody used for long, nobody waited for the first.
    status.activities[2].attempts[0].started = Some(SUBMITTED + Span::from_millis(50));
    let report = Report::of(&status, &definition, LOOK);
    assert_eq!(told(&report), ["a.1 +0 first", "b.1 +0 slot of a.1"]);
}

//   a  ── (b is skipped) ──▶ c
#[test]
fn what_did_not_run_stands_for_what_came_before_it() {
    let definition = compiled(
        "xavantes: 1\nname: line\nbody:\n  sequence:\n    - { activity: a, run: [a] }\n    \
         - { activity: b, run: [a] }\n    - { activity: c, run: [a] }\n",
    );
    let mut status = untouched(&definition);
    status.activities[0].attempts = vec![attempt(status.activities[0].activity, 1, 0, 100)];
    let mut late = attempt(status.activities[2].activity, 1, 150, 200);
    late.resource = model::ResourceId::local(2);
    status.activities[2].attempts = vec![late];
    let look = Look {
        now: Wall(0),
        ..LOOK
    };
    let report = Report::of(&status, &definition, look);
    assert_eq!(told(&report), ["a.1 +0 first", "c.1 +50 after a.1"]);
}

#[test]
fn the_path_ends_whatever_the_clocks_say() {
    let mut status = status();
    for one in &mut status.activities {
        for attempt in &mut one.attempts {
            attempt.started = Some(SUBMITTED);
            attempt.wall = Span::ZERO;
        }
    }
    let report = Report::of(&status, &definition(), LOOK);
    assert!(report.chain.len() <= report.bars.len());
}

#[test]
fn the_longest_chain_knows_no_slots() {
    let report = Report::of(&status(), &definition(), LOOK);
    // split 110, b0 665, merge 90
    assert_eq!(report.longest, Span::from_millis(865));
}
