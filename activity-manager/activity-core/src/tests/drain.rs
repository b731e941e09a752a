//! The processes that are served, and the orderly end of a manager.

use model::ProcessId;
use wire::attempt::ToActivity;
use wire::executor::FromExecutor;

use super::bench::{Bench, dispatch, from_pm, grants, id, id_of, job, staged, started};
use crate::Input;

#[test]
fn served_is_who_has_a_grant_or_an_attempt_here() {
    let mut bench = Bench::ready(1, 1);
    let ask = || Input::Served([1, 2, 3].map(ProcessId).into());
    assert_eq!(
        bench.all([grants(&[(1, 1), (2, 1)]), ask()]),
        "unserved 3\n"
    );
    // A waiting attempt stays served when the grant is gone.
    bench.feed(dispatch(vec![job(id_of(2, 5))]));
    assert_eq!(
        bench.all([grants(&[]), ask()]),
        "unneeded 1\nunneeded 2\nunserved 1 3\n"
    );
}

#[test]
fn with_nothing_to_hand_back_it_may_go_at_once() {
    let mut bench = Bench::ready(2, 0);
    let lent = "group: register here e2 slots=0\n";
    assert_eq!(bench.all([Input::Leave]), format!("{lent}left\n"));
    assert_eq!(bench.all([Input::Leave, Input::Lend(2, None)]), "");
}

#[test]
fn waiting_attempts_are_taken_back_and_running_ones_go_on() {
    let mut bench = Bench::ready(1, 1);
    let log = bench.all([
        dispatch(vec![job(id(0)), job(id(1)), job(id(2))]),
        staged(id(0)),
        Input::Executor(FromExecutor::Started(vec![started(id(0))])),
    ]);
    assert_eq!(
        log,
        "stage a0\n\
         stage a1\n\
         pm0: accepted a2\n\
         executor: start a0\n\
         pm0: started a0\n"
    );
    let lent = "group: register here e2 slots=0\n";
    assert_eq!(bench.all([Input::Leave]), lent);
    // Attempts that are ready or arrive meanwhile do not start.
    let log = bench.all([staged(id(1)), dispatch(vec![job(id(3))])]);
    assert_eq!(log, "pm0: accepted a3\n");
    let retract = |numbers: &[u32]| {
        let ids = numbers.iter().map(|&number| id(number)).collect();
        from_pm(ToActivity::Retract(ids))
    };
    let log = bench.all([retract(&[0, 1, 2])]);
    assert_eq!(
        log,
        "pm0: started a0\npm0: retracted a1 a2\nclear a1 /w/a1\n"
    );
    assert_eq!(
        bench.all([retract(&[3])]),
        "pm0: retracted a3\nleft\n",
        "told when it is true"
    );
}
