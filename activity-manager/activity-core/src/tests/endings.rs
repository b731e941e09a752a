//! Grants that the group manager ends, since their process manager is away.

use wire::executor::{Exit, FromExecutor};

use super::bench::{
    Bench, dispatch, ended, grants, grants_after, hello, id, id_of, inquire, job, note, staged,
    started,
};
use crate::Input;

#[test]
fn unused_is_what_has_no_attempt_but_ended_ones() {
    let mut bench = Bench::ready(2, 0);
    bench.feed(grants(&[(1, 1), (2, 1), (3, 1)]));
    bench.feed(dispatch(vec![job(id(0)), job(id_of(2, 0))]));
    assert_eq!(
        bench.all([inquire(1, &[1, 2, 3, 4])]),
        "group: #1 unused 3 4\n"
    );
    let start = note(&bench.feed(staged(id(0))));
    bench.feed(Input::Executor(FromExecutor::Started(vec![started(id(0))])));
    assert_eq!(bench.all([inquire(2, &[1])]), "group: #2 unused\n");
    let exit = Exit::Exited { code: 0 };
    bench.feed(Input::Executor(FromExecutor::Ended(vec![ended(
        id(0),
        exit,
        &start,
    )])));
    // Its outcome waits only for the acknowledgement.
    assert_eq!(bench.all([inquire(3, &[1])]), "group: #3 unused 1\n");
}

#[test]
fn what_is_called_unused_starts_nothing_until_grants_know_of_it() {
    let mut bench = Bench::ready(2, 0);
    assert_eq!(bench.all([inquire(4, &[1])]), "group: #4 unused 1\n");
    let refused = "pm0: refused a0 NoGrantYet\n";
    let sent = || dispatch(vec![job(id(0))]);
    assert!(bench.all([sent()]).contains(refused));
    // Grants that were sent before the answer had come do not count, nor does a late question.
    bench.feed(grants_after(3, &[(1, 2)]));
    assert!(bench.all([sent()]).contains(refused));
    bench.feed(grants_after(4, &[(1, 2)]));
    assert_eq!(bench.all([inquire(4, &[1])]), "");
    assert_eq!(bench.all([sent()]), "stage a0\n");
}

#[test]
fn files_of_a_process_whose_grant_has_ended_may_go() {
    let mut bench = Bench::ready(2, 0);
    bench.feed(inquire(4, &[1]));
    assert_eq!(bench.all([grants_after(4, &[])]), "unneeded 1\n");
}

#[test]
fn nobody_says_what_is_unused_before_the_executor_has_told_its_attempts() {
    let mut bench = Bench::ready(2, 0);
    bench.restart();
    assert_eq!(bench.all([inquire(1, &[1])]), "");
    bench.all([
        Input::Executor(hello(1)),
        Input::Executor(FromExecutor::HeldEnd),
    ]);
    assert_eq!(bench.all([inquire(1, &[1])]), "group: #1 unused 1\n");
}
