//! Grants of processes that have given slots back.

use wire::attempt::{Holds, ToActivity};

use super::bench::{Bench, dispatch, from_pm, grants, id, job, show, staged};
use crate::Input;

#[test]
fn a_grant_without_slots_keeps_the_files_of_its_process_and_lets_nothing_start() {
    let mut bench = Bench::ready(2, 0);
    assert_eq!(bench.all([grants(&[(1, 0)])]), "");
    let log = bench.all([dispatch(vec![job(id(0))])]);
    assert!(log.contains("refused a0 NoGrantYet"), "{log}");
    assert_eq!(bench.all([grants(&[])]), "unneeded 1\n");
}

/// An attempt whose process holds so many slots, as of a claim or return of this number.
fn holding(attempt: u32, number: u32, slots: u32) -> Input {
    let process = id(attempt).process;
    from_pm(ToActivity::Dispatch {
        meant_for: model::Epoch(2),
        attempts: vec![job(id(attempt))],
        holders: Vec::new(),
        holds: Some(Holds {
            process,
            number,
            slots,
        }),
    })
}

/// What is done once these attempts are ready.
fn ready(bench: &mut Bench, attempts: &[u32]) -> String {
    let ready = attempts.iter().map(|&one| bench.feed(staged(id(one))));
    let effects: Vec<_> = ready.flatten().collect();
    show(&effects)
}

#[test]
fn no_more_starts_than_its_process_manager_says_is_held_whatever_older_grants_say() {
    let mut bench = Bench::ready(2, 4);
    bench.all([holding(0, 3, 1), holding(1, 2, 2)]);
    assert_eq!(ready(&mut bench, &[0, 1]), "executor: start a0\n");
    // A later claim was granted more.
    let log = bench.all([holding(2, 4, 2)]);
    assert!(log.contains("executor: start a1\n"), "{log}");
    assert_eq!(ready(&mut bench, &[2]), "executor: start a2\n");
}
