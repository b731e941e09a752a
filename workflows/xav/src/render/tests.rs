use model::{ActivityId, AttemptId, Bytes, Generation, OnFault, ResourceId, Value};
use wire::client::AttemptStatus;

use super::*;

const FILE: &str = "\
xavantes: 1
name: primes
body:
  sequence:
    - { activity: range, run: [a] }
    - { activity: merge, run: [b] }
";

fn definition() -> Definition {
    language::compile("primes.yaml", FILE.as_bytes())
        .unwrap()
        .definition
}

fn completed(phase: Phase) -> Status {
    let process = "0abcdefgh1234".parse().unwrap();
    let activity = |id: u32, cpu: u64| ActivityStatus {
        activity: ActivityId(id),
        phase: ActivityPhase::Completed,
        planned: None,
        attempts: vec![AttemptStatus {
            attempt: AttemptId {
                process,
                activity: ActivityId(id),
                number: 1,
            },
            resource: ResourceId::local(1),
            end: Some("completed".to_owned()),
            pid: 7,
            started: Some(Wall(1_000_000)),
            wall: Span::from_millis(900),
            slots: 1,
            cpu: Span::from_millis(cpu),
            peak_memory: Bytes(3 << 20),
            exit_code: Some(0),
            log: None,
        }],
        outputs: Vec::new(),
        reused: None,
        copy: None,
    };
    Status {
        summary: Summary {
            process,
            name: "primes".to_owned(),
            origin: "/x/primes.yaml".to_owned(),
            phase,
            submitted: Wall(1_000_000),
            ended: phase.has_ended().then_some(Wall(2_200_000)),
            totals: Totals {
                completed: 2,
                ..Totals::default()
            },
            base: None,
            keep: None,
            owner: None,
            held: None,
        },
        inputs: vec![("limit".to_owned(), Value::Int(9))],
        outputs: vec![("count".to_owned(), Value::Int(4))],
        variables: Vec::new(),
        faults: Vec::new(),
        activities: vec![activity(1, 800), activity(2, 1_300)],
        generation: Generation(1),
        planned: Some(Span::from_secs(1)),
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

/// A definition of two activities, `range` and then `merge`, and the status of a process of it.
pub(crate) fn two() -> (Definition, Status) {
    (definition(), completed(Phase::Running))
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_ending_of_a_run_is_one_line() {
    assert_eq!(
        plain(&ending(&completed(Phase::Completed), Some(2))),
        "primes completed in 1.2s (planned 1.0s), 2 activities, CPU 2.1s, speedup 1.5 on 2 slots of host\n"
    );
    let mut cancelled = completed(Phase::Cancelled);
    cancelled.summary.totals = Totals {
        completed: 1,
        skipped: 1,
        ..Totals::default()
    };
    cancelled.planned = None;
    let mut stopped = cancelled.clone();
    stopped.summary.totals.skipped = 3;
    stopped.summary.totals.stopped = 2;
    assert!(plain(&ending(&stopped, Some(1))).contains("1 completed, 2 stopped, 1 not run"));
    assert_eq!(
        plain(&ending(&cancelled, Some(1))),
        "primes cancelled in 1.2s, 2 activities: 1 completed, 1 not run, CPU 2.1s, 1 slot of host\n"
    );
    cancelled.machines.clear();
    assert_eq!(
        plain(&ending(&cancelled, Some(1))),
        "primes cancelled in 1.2s, 2 activities: 1 completed, 1 not run, CPU 2.1s\n"
    );
}

#[test]
fn a_status_tells_where_everything_is() {
    let status = completed(Phase::Running);
    let text = plain(&super::status(
        &status,
        &definition(),
        "/s",
        false,
        (false, Wall(0)),
    ));
    let text = text.replace(&text::moment(Wall(1_000_000)), "1970-01-01 00:00:01");
    assert_eq!(
        text,
        "\
process     0abcdefgh1234
name        primes
state       interrupted
file        /x/primes.yaml
kept in     /s
started     1970-01-01 00:00:01, planned 1.0s
activities  2 activities
input       limit = 9
output      count = 4

ACTIVITY  STATE      TRIES  WALL   CPU    MEMORY   EXIT  WHERE
range     completed  1      900ms  800ms  3.0 MiB  0     host
merge     completed  1      900ms  1.3s   3.0 MiB  0     host

Nothing runs it at the moment. Go on with it: xav resume 0abcde
"
    );
}

#[test]
fn a_status_tells_the_order_of_those_that_wait() {
    let mut status = completed(Phase::Running);
    let order = |status: &Status| {
        let text = plain(&super::status(
            status,
            &definition(),
            "/s",
            true,
            (false, Wall(5_000_000)),
        ));
        let lines = text.lines().map(str::to_owned);
        lines
            .filter(|line| line.starts_with("order"))
            .collect::<Vec<_>>()
    };
    assert!(order(&status).is_empty());
    status.turn = Some(wire::client::Turn {
        n_before: 1,
        last: None,
        last_owner: Some("ben".to_owned()),
        free_at: Some(Wall(26_000_000)),
    });
    let told = "order       1 process is before it, the last of them of ben; machines are expected to be free for it \
                in 21.0s";
    assert_eq!(order(&status), [told]);
}

#[test]
fn a_list_tells_a_process_in_a_line() {
    let (ended, running) = (completed(Phase::Completed), completed(Phase::Running));
    let listed = [
        ListRow {
            summary: &running.summary,
            is_live: true,
            last: "1.2 MiB".to_owned(),
        },
        ListRow {
            summary: &ended.summary,
            is_live: false,
            last: "shared".to_owned(),
        },
    ];
    let mut faulted = ended.summary.clone();
    faulted.phase = Phase::Faulted;
    faulted.totals.completed = 0;
    faulted.totals.faulted = 1;
    faulted.totals.skipped = 1;
    let of_faulted = ListRow {
        summary: &faulted,
        is_live: false,
        last: String::new(),
    };
    let shown = plain(&list(&[of_faulted], "DISK", Wall(3_000_000)));
    assert!(shown.trim_end().ends_with(" 0/2"), "{shown}");
    let waiting = |totals: Totals, is_live| {
        let summary = Summary {
            totals,
            ..running.summary.clone()
        };
        plain(&state(&summary, is_live))
    };
    let nothing_begun = Totals {
        ready: 1,
        waiting: 4,
        ..Totals::default()
    };
    assert_eq!(waiting(nothing_begun, true), "waiting");
    assert_eq!(waiting(nothing_begun, false), INTERRUPTED);
    let one_ended = Totals {
        completed: 1,
        ..nothing_begun
    };
    assert_eq!(waiting(one_ended, true), "running");
    let text = plain(&list(&listed, "DISK", Wall(3_000_000)));
    let text = text.replace(&text::moment(Wall(1_000_000)), "1970-01-01 00:00:01");
    assert_eq!(
        text,
        "\
ID             NAME    STATE      STARTED              TOOK  ACTIVITIES  DISK
0abcdefgh1234  primes  running    1970-01-01 00:00:01  2.0s  2/2         1.2 MiB
0abcdefgh1234  primes  completed  1970-01-01 00:00:01  1.2s  2/2         shared
"
    );
}

#[test]
fn of_many_activities_those_that_matter_are_shown() {
    let mut status = completed(Phase::Running);
    let mut one = status.activities[0].clone();
    status.activities.clear();
    for id in 0..1_000 {
        one.activity = ActivityId(id);
        one.phase = match id {
            999 => ActivityPhase::Faulted,
            500 => ActivityPhase::Running,
            _ => ActivityPhase::Waiting,
        };
        status.activities.push(one.clone());
    }
    let all: Vec<&ActivityStatus> = status.activities.iter().collect();
    let shown = shown(&all);
    assert_eq!(shown.len(), ACTIVITIES_MAX);
    let last: Vec<u32> = shown[98..].iter().map(|one| one.activity.0).collect();
    assert_eq!(last, [500, 999]);
}
