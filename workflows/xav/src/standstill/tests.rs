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

/// The verdict after so many seconds.
fn verdict((definition, status): &(Definition, Status), seconds: u64) -> Option<String> {
    let passed = Span::from_secs(seconds);
    let now = (Mono(0) + passed, Wall(0) + passed);
    let verdict = standstills().verdict((status, definition), now);
    verdict.map(|failure| failure.to_string())
}

#[test]
fn a_process_is_given_up_once_all_that_runs_stands_still_and_is_late() {
    let of = running(["dead", "dead"]);
    assert_eq!(verdict(&of, 39), None);
    assert_eq!(
        verdict(&of, 40).unwrap(),
        "primes can never end: range runs on dead, which stands still for ever after 5.0s; merge runs on dead, \
         which stands still for ever after 5.0s; 1 activity waits for that"
    );
    let mut nobody_knows = of;
    nobody_knows
        .1
        .activities
        .iter_mut()
        .for_each(|one| one.planned = None);
    assert!(verdict(&nobody_knows, 6).is_some());
}

#[test]
fn what_runs_elsewhere_or_ends_by_itself_is_waited_for() {
    assert_eq!(verdict(&running(["dead", "alive"]), 1000), None);
    let later = running(["dead", "late"]);
    assert_eq!(verdict(&later, 1000), None);
    assert!(verdict(&later, 3700).is_some());
    let mut again = running(["dead", "dead"]);
    again.1.activities[1].phase = ActivityPhase::Backoff;
    assert_eq!(verdict(&again, 1000), None);
    let (definition, status) = running(["dead", "dead"]);
    let mut draft = definition.draft().clone();
    for node in &mut draft.nodes {
        if let model::NodeKind::Activity(activity) = &mut node.kind {
            activity.timeout = Some(Span::from_secs(7200));
        }
    }
    assert_eq!(verdict(&(draft.check().unwrap(), status), 1000), None);
    // Nothing runs: there is nothing to give up.
    let mut waiting = running(["dead", "dead"]);
    for one in &mut waiting.1.activities {
        one.phase = ActivityPhase::Waiting;
    }
    assert_eq!(verdict(&waiting, 1000), None);
}

#[test]
fn looks_are_taken_where_nothing_happens_beside_a_machine_that_stands_still() {
    let at = |seconds: u64| Mono(0) + Span::from_secs(seconds);
    let mut seen = Seen::from(at(0));
    let looks = |seen: &mut Seen, seconds| standstills().ask_for_a_look(seen, at(seconds));
    // The machine stands still from the fifth second on.
    assert!(!looks(&mut seen, 24));
    assert!(looks(&mut seen, 25));
    assert!(!looks(&mut seen, 44));
    assert!(looks(&mut seen, 45));
    let none = Standstills {
        machines: Vec::new(),
    };
    assert!(!none.ask_for_a_look(&mut Seen::from(at(0)), at(100)));
    // Whatever happens begins the wait anew, and nothing else does.
    let mut progress = crate::progress::tests::progress(2);
    progress.totals.completed += 1;
    seen.note(&progress, at(60));
    assert!(!looks(&mut seen, 79));
    progress.left = Some(Span::from_secs(1));
    seen.note(&progress, at(79));
    assert!(looks(&mut seen, 80));
}
