//! A process that all tests of the report look at.
//!
//! ```text
//!   split ─┬─ left:  a0 ── a1 ─┬─ merge
//!          └─ right: b0 ───────┘
//!
//!   plan, ms   host 0  split 0-100 | a0 100-300 | a1 300-600 | merge 600-700
//!              host 1              | b0 100-500
//!   run, ms    host 0  split 10-120 | a0 130-340 | a1 1: 345-400 (fails), 2: 410-700 | merge 810-900
//!              host 1               | b0 135-800
//! ```

use model::{
    ActivityId, AttemptId, Bytes, Definition, Generation, OnFault, ResourceId, Span, Wall,
};
use wire::client::{
    ActivityPhase, ActivityStatus, AttemptStatus, Phase, Planned, Status, Summary, Totals,
};

use super::figures::Look;

const FILE: &str = "\
xavantes: 1
name: fork
body:
  sequence:
    - { activity: split, run: [a] }
    - parallel:
        - name: left
          sequence:
            - { activity: a0, run: [a] }
            - { activity: a1, run: [a], retry: { attempts: 2, backoff: 1ms } }
        - name: right
          sequence:
            - { activity: b0, run: [a] }
    - { activity: merge, run: [a] }
";

/// When it was submitted.
pub(super) const SUBMITTED: Wall = Wall(1_000_000_000_000);

/// The default view: an hour after the submission.
pub(super) const LOOK: Look = Look {
    now: Wall(SUBMITTED.0 + 3_600_000_000),
    is_live: false,
};

/// Its definition.
pub(super) fn definition() -> Definition {
    compiled(FILE)
}

/// A definition from its text.
pub(super) fn compiled(text: &str) -> Definition {
    let compiled = language::compile("fork.yaml", text.as_bytes());
    compiled.unwrap().definition
}

/// An attempt that took milliseconds `from` to `to`.
pub(super) fn attempt(activity: ActivityId, number: u32, from: u64, to: u64) -> AttemptStatus {
    AttemptStatus {
        attempt: AttemptId {
            process: "0abcdefgh1234".parse().unwrap(),
            activity,
            number,
        },
        resource: ResourceId::local(1),
        end: Some("completed".to_owned()),
        pid: 7,
        started: Some(SUBMITTED + Span::from_millis(from)),
        wall: Span::from_millis(to - from),
        cpu: Span::from_millis((to - from) / 2),
        peak_memory: Bytes(3 << 20),
        exit_code: Some(0),
        log: None,
        slots: 1,
    }
}

/// A status of a definition in which nothing has run yet.
pub(super) fn untouched(definition: &Definition) -> Status {
    let activities = definition
        .activities()
        .iter()
        .map(|&activity| ActivityStatus {
            activity,
            phase: ActivityPhase::Waiting,
            planned: None,
            attempts: Vec::new(),
            outputs: Vec::new(),
            reused: None,
            copy: None,
        });
    Status {
        summary: Summary {
            process: "0abcdefgh1234".parse().unwrap(),
            name: definition.name().to_owned(),
            origin: "/x/fork.yaml".to_owned(),
            phase: Phase::Running,
            submitted: SUBMITTED,
            ended: None,
            totals: Totals {
                waiting: definition.activities().len() as u32,
                ..Totals::default()
            },
            base: None,
            keep: None,
            owner: None,
            held: None,
        },
        inputs: Vec::new(),
        outputs: Vec::new(),
        variables: Vec::new(),
        faults: Vec::new(),
        activities: activities.collect(),
        generation: Generation(0),
        planned: None,
        machines: vec![(ResourceId::local(1), "host".to_owned())],
        waiting_for: None,
        on_fault: OnFault::Finish,
        copies: None,
        planned_from: None,
        turn: None,
        left: None,
        left_p90: None,
        rescheduled: Vec::new(),
        n_rescheduled: 0,
        slots: Vec::new(),
    }
}

/// The status of the process in the picture.
pub(super) fn status() -> Status {
    let mut status = untouched(&definition());
    status.summary.phase = Phase::Completed;
    status.summary.ended = Some(SUBMITTED + Span::from_millis(1_000));
    status.summary.totals = Totals {
        completed: 5,
        ..Totals::default()
    };
    status.generation = Generation(1);
    status.planned = Some(Span::from_millis(700));
    // split, a0, a1, b0, merge
    let plan = [
        (0, 0, 100),
        (0, 100, 300),
        (0, 300, 600),
        (1, 100, 500),
        (0, 600, 700),
    ];
    let run: [&[(u64, u64)]; 5] = [
        &[(10, 120)],
        &[(130, 340)],
        &[(345, 400), (410, 700)],
        &[(135, 800)],
        &[(810, 900)],
    ];
    for (index, one) in status.activities.iter_mut().enumerate() {
        let (slot, start, finish) = plan[index];
        one.phase = ActivityPhase::Completed;
        one.planned = Some(Planned {
            resource: ResourceId::local(1),
            slot,
            start: Span::from_millis(start),
            finish: Span::from_millis(finish),
        });
        let tries = run[index].iter().zip(1..);
        one.attempts = tries
            .map(|(&(from, to), number)| attempt(one.activity, number, from, to))
            .collect();
    }
    let failed = &mut status.activities[2].attempts[0];
    failed.end = Some("exit-code".to_owned());
    failed.exit_code = Some(3);
    status
}
