//! Outcomes whose process manager stays away.

use model::{Epoch, Span, Wall};
use wire::attempt::{Dispatch, ToActivity};
use wire::executor::{Ended, Exit, FromExecutor};

use super::bench::{
    Bench, OUTCOMES_KEPT, dispatch, ended, from_pm, hello, id, job, note, show, staged, started,
};
use crate::{Input, Peer};

/// Longer than a manager that is there takes to attach.
const HOURS: u64 = 2 * 3_600;

fn end(activity: u32, note: &[u8]) -> Ended {
    ended(id(activity), Exit::Exited { code: 0 }, note)
}

/// A manager with the outcomes of these attempts, whose process manager has left. Returns the notes of
/// the attempts too.
fn with_outcomes(attempts: Vec<Dispatch>) -> (Bench, Vec<Vec<u8>>) {
    let mut bench = Bench::ready(4, 0);
    let ids: Vec<u32> = attempts.iter().map(|one| one.attempt.activity.0).collect();
    bench.feed(dispatch(attempts));
    let mut notes = Vec::new();
    for &one in &ids {
        let note = note(&bench.feed(staged(id(one))));
        bench.feed(Input::Executor(FromExecutor::Started(vec![started(id(
            one,
        ))])));
        bench.feed(Input::Executor(FromExecutor::Ended(vec![end(one, &note)])));
        notes.push(note);
    }
    bench.feed(Input::Down(Peer::Process(0)));
    (bench, notes)
}

fn attach() -> Input {
    from_pm(ToActivity::Attach {
        epoch: Epoch(2),
        ask: 9,
        lease: None,
    })
}

#[test]
fn outcomes_of_a_manager_that_stays_away_are_kept_as_long_as_its_files() {
    let (mut bench, _) = with_outcomes(vec![job(id(1))]);
    let kept = OUTCOMES_KEPT.0 / 1_000_000;
    let log = show(&bench.wait(kept - 1));
    assert!(!log.contains("forget"), "{log}");
    assert_eq!(bench.drive.machine().n_attempts(), 1);
    let log = show(&bench.wait(2));
    assert!(log.contains("executor: forget a1\n"), "{log}");
    assert!(log.contains("clear a1 /w/a1\n"), "{log}");
    assert_eq!(bench.drive.machine().n_attempts(), 0);
    // It makes the attempt again, since it is not here.
    let log = bench.all([Input::Up(Peer::Process(0)), attach()]);
    assert!(!log.contains("outcomes"), "{log}");
}

#[test]
fn outcomes_of_a_manager_that_is_there_are_kept() {
    let (mut bench, _) = with_outcomes(vec![job(id(1))]);
    let kept = OUTCOMES_KEPT.0 / 1_000_000;
    bench.wait(kept - 1);
    bench.all([Input::Up(Peer::Process(0)), attach()]);
    let log = show(&bench.wait(2 * kept));
    assert!(!log.contains("forget"), "{log}");
    assert_eq!(bench.drive.machine().n_attempts(), 1);
}

#[test]
fn outcomes_of_attempts_that_must_not_run_twice_stay() {
    let once = Dispatch {
        at_most_once: true,
        ..job(id(1))
    };
    let (mut bench, _) = with_outcomes(vec![once]);
    bench.wait(2 * OUTCOMES_KEPT.0 / 1_000_000);
    assert_eq!(bench.drive.machine().n_attempts(), 1);
}

#[test]
fn old_outcomes_of_a_manager_that_was_away_before_the_start_are_forgotten_after_hours() {
    let (mut bench, notes) = with_outcomes(vec![job(id(1))]);
    bench.now.wall = Wall(0) + OUTCOMES_KEPT + Span::from_secs(HOURS);
    bench.restart();
    bench.all([
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::Ended(vec![end(1, &notes[0])])),
        Input::Executor(FromExecutor::HeldEnd),
    ]);
    assert_eq!(bench.drive.machine().n_attempts(), 1);
    // It may attach at any moment.
    bench.wait(60);
    assert_eq!(bench.drive.machine().n_attempts(), 1);
    let log = show(&bench.wait(HOURS));
    assert!(log.contains("executor: forget a1\n"), "{log}");
}
