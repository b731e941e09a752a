use model::{ActivityId, ProcessId, Span, Wall};
use proptest::prelude::*;
use wire::executor::{Captured, Exit};

use super::*;

fn attempt(activity: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(1),
        activity: ActivityId(activity),
        number: 1,
    }
}

fn start(activity: u32) -> Start {
    Start {
        attempt: attempt(activity),
        note: vec![activity as u8],
        ..Start::default()
    }
}

fn started(activity: u32) -> Started {
    Started {
        attempt: attempt(activity),
        pid: 1,
        started: Wall(0),
    }
}

fn ended(activity: u32) -> Ended {
    Ended {
        attempt: attempt(activity),
        exit: Exit::Exited { code: 0 },
        started: Wall(0),
        wall: Span(0),
        cpu_user: Span(0),
        cpu_system: Span(0),
        peak_memory_bytes: 0,
        stdout: Captured::default(),
        stderr: Captured::default(),
        note: Vec::new(),
        pid: 7,
        user: None,
        limit: None,
    }
}

#[test]
fn repeats_are_answered_by_what_is_held() {
    let mut store = Store::default();
    assert_eq!(store.queue(start(1)), Answer::Nothing);
    assert_eq!(store.queue(start(1)), Answer::Nothing);
    assert_eq!(
        store.take_first(|_| true).map(|start| start.attempt),
        Some(attempt(1))
    );
    store.run(started(1), 0, vec![7]);
    assert_eq!(store.take_first(|_| true), None);
    assert_eq!(store.queue(start(1)), Answer::Started);
    assert_eq!(store.retract(attempt(1)), Answer::Started);
    store.end(ended(1));
    assert_eq!(store.queue(start(1)), Answer::Ended);
    assert_eq!(store.retract(attempt(1)), Answer::Ended);
    assert_eq!(
        store.ended(attempt(1)).map(|ended| ended.note.clone()),
        Some(vec![7])
    );
    store.forget(attempt(1));
    assert_eq!(store.held_after(None), None);
}

#[test]
fn retracted_attempts_never_start() {
    let mut store = Store::default();
    store.queue(start(1));
    assert_eq!(store.retract(attempt(1)), Answer::Retracted);
    assert_eq!(store.retract(attempt(2)), Answer::Retracted);
    assert_eq!(store.queue(start(1)), Answer::Retracted);
    assert_eq!(store.queue(start(2)), Answer::Retracted);
    assert_eq!(store.take_first(|_| true), None);
    for activity in 10..10 + RETRACTED_MAX as u32 + 5 {
        store.retract(attempt(activity));
    }
    assert_eq!(store.retracted.len(), RETRACTED_MAX);
}

#[test]
fn a_full_queue_refuses_and_forgets() {
    let mut store = Store::default();
    for activity in 0..QUEUED_MAX as u32 {
        assert_eq!(store.queue(start(activity)), Answer::Nothing);
    }
    let late = start(QUEUED_MAX as u32);
    assert_eq!(store.queue(late.clone()), Answer::Refused);
    assert!(store.take_first(|_| true).is_some());
    assert_eq!(store.queue(late), Answer::Nothing);
}

#[test]
fn many_outcomes_leave_no_room_until_one_is_forgotten() {
    let mut store = Store::default();
    for activity in 0..ENDED_MAX as u32 {
        assert!(store.has_room());
        store.end(ended(activity));
    }
    assert!(!store.has_room());
    store.forget(attempt(5));
    assert!(store.has_room());

    let mut store = Store::default();
    let stdout = Captured {
        inline: vec![0; ENDED_BYTES_MAX / 2],
        ..Captured::default()
    };
    store.end(Ended {
        stdout: stdout.clone(),
        ..ended(1)
    });
    assert!(store.has_room());
    store.end(Ended { stdout, ..ended(2) });
    assert!(!store.has_room());
}

#[derive(Clone, Debug)]
enum Step {
    Queue(u32),
    Run,
    End(u32),
    Retract(u32),
    Forget(u32),
    Clear,
}

proptest! {
    #[test]
    fn counts_agree_with_the_entries_and_nothing_starts_twice(
        steps in prop::collection::vec(prop_oneof![
            4 => (0u32..12).prop_map(Step::Queue),
            3 => Just(Step::Run),
            2 => (0u32..12).prop_map(Step::End),
            1 => (0u32..12).prop_map(Step::Retract),
            1 => (0u32..12).prop_map(Step::Forget),
            1 => Just(Step::Clear),
        ], 0..80)
    ) {
        let mut store = Store::default();
        let mut running = BTreeSet::new();
        for step in steps {
            match step {
                Step::Queue(activity) => { store.queue(start(activity)); }
                Step::Run => if let Some(start) = store.take_first(|_| true) {
                    prop_assert!(running.insert(start.attempt));
                    store.run(started(start.attempt.activity.0), 0, start.note);
                },
                Step::End(activity) => if running.remove(&attempt(activity)) {
                    store.end(ended(activity));
                },
                Step::Retract(activity) => {
                    let runs = running.contains(&attempt(activity));
                    prop_assert_eq!(store.retract(attempt(activity)) == Answer::Started, runs);
                }
                Step::Forget(activity) => store.forget(attempt(activity)),
                Step::Clear => store.clear_queue(),
            }
            let mut counts = (0, 0, 0);
            let mut after = None;
            while let Some(held) = store.held_after(after) {
                after = Some(held.attempt);
                match held.phase {
                    Phase::Queued => counts.0 += 1,
                    Phase::Running(_) => counts.1 += 1,
                    Phase::Ended(_) => counts.2 += 1,
                }
            }
            prop_assert_eq!(counts, (store.n_queued, running.len(), store.n_ended));
            prop_assert_eq!(store.queued_bytes == 0, store.n_queued == 0);
            prop_assert_eq!(store.ended_bytes == 0, store.n_ended == 0);
        }
    }
}
