use model::ResourceId;

use super::*;
use crate::render::tests::two;

/// Two activities that run on machines of these names, and a third of a minute planned for each.
fn running(machines: [&str; 2]) -> (Definition, Status) {
    let (definition, mut status) = two();
    status.machines.clear();
    for (place, name) in machines.iter().enumerate() {
        let resource = ResourceId::local(1 + place as u32);
        status.machines.push((resource, (*name).to_owned()));
        let one = &mut status.activities[place];
        one.phase = ActivityPhase::Running;
        one.planned = Some(Planned {
            resource,
            slot: 0,
            start: Span::ZERO,
            finish: Span::from_secs(20),
        });
        one.attempts[0].resource = resource;
        one.attempts[0].end = None;
        one.attempts[0].started = Some(Wall(0));
    }
    status.summary.totals.waiting = 1;
    (definition, status)
}

/// The machines `dead` and `late` stand still after five seconds and after an hour.
fn standstills() -> Standstills {
    let machine = |name: &str, after: Span| Standstill {
        name: name.to_owned(),
        after,
        at: Mono(0) + after,
    };
    Standstills {
        machines: vec![
            machine("dead", Span::from_secs(5)),
            machine("late", Span::from_secs(3600)),
        ],
    }
}

/// The verdicts after so many seconds each.
fn verdicts(of: &(Definition, Status), seconds: &[u64]) -> Vec<Option<String>> {
    let standstills = standstills();
    let mut seen = Seen::default();
    let verdicts = seconds.iter().map(|&seconds| {
        let now = (
            Mono(0) + Span::from_secs(seconds),
            Wall(0) + Span::from_secs(seconds),
        );
        let verdict = standstills.verdict((&of.1, &of.0), &mut seen, now);
        verdict.map(|failure| failure.to_string())
    });
    verdicts.collect()
}

#[test]
fn a_process_is_given_up_once_its_activities_are_late_and_nothing_has_happened() {
    let of = running(["dead", "dead"]);
    let told = verdicts(&of, &[6, 30, 39, 41]);
    assert_eq!(told[..3], [None, None, None]);
    assert_eq!(
        told[3].as_deref().unwrap(),
        "primes can never end: range runs on dead, which stands still for ever after 5.0s; merge runs on dead, \
         which stands still for ever after 5.0s; 1 activity waits for that"
    );
}

#[test]
fn what_runs_elsewhere_or_ends_by_itself_is_waited_for() {
    let alive = running(["dead", "alive"]);
    assert_eq!(verdicts(&alive, &[6, 100, 1000]), [None, None, None]);
    let later = running(["dead", "late"]);
    assert_eq!(verdicts(&later, &[6, 100, 1000]), [None, None, None]);
    assert!(verdicts(&later, &[3700, 3730])[1].is_some());
    let mut again = running(["dead", "dead"]);
    again.1.activities[1].phase = ActivityPhase::Backoff;
    assert_eq!(verdicts(&again, &[6, 100, 1000]), [None, None, None]);
    let (definition, status) = running(["dead", "dead"]);
    let mut draft = definition.draft().clone();
    for node in &mut draft.nodes {
        if let model::NodeKind::Activity(activity) = &mut node.kind {
            activity.timeout = Some(Span::from_secs(7200));
        }
    }
    let timed = (draft.check().unwrap(), status);
    assert_eq!(verdicts(&timed, &[6, 100, 1000]), [None, None, None]);
}

#[test]
fn whatever_happens_begins_the_wait_anew() {
    let (definition, status) = running(["dead", "dead"]);
    let mut other = status.clone();
    other.activities[0].phase = ActivityPhase::Completed;
    other.activities[0].attempts[0].end = Some("completed".to_owned());
    let standstills = standstills();
    let mut seen = Seen::default();
    let mut look = |status: &Status, seconds: u64| {
        let span = Span::from_secs(seconds);
        let now = (Mono(0) + span, Wall(0) + span);
        let verdict = standstills.verdict((status, &definition), &mut seen, now);
        verdict.is_some()
    };
    assert!(!look(&status, 50));
    assert!(!look(&other, 69));
    assert!(!look(&other, 88));
    assert!(look(&other, 90));
}

#[test]
fn looks_are_taken_now_and_then_once_a_machine_stands_still() {
    let standstills = standstills();
    let at = |seconds: u64| Mono(0) + Span::from_secs(seconds);
    let mut seen = Seen::default();
    assert!(!standstills.asks_for_a_look(&seen, at(4)));
    assert!(standstills.asks_for_a_look(&seen, at(5)));
    seen.looked = Some(at(5));
    assert!(!standstills.asks_for_a_look(&seen, at(6)));
    assert!(standstills.asks_for_a_look(&seen, at(7)));
    let none = Standstills {
        machines: Vec::new(),
    };
    assert!(!none.asks_for_a_look(&Seen::default(), at(100)));
}
