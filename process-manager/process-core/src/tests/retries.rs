//! Further tries: the causes after which there is one, and the memory that it gets.

use std::cell::RefCell;
use std::rc::Rc;

use model::{ActivityId, Bytes, FaultName, RetryOn};
use wire::client::{Answer, Reason, Request};

use super::bench::{Bench, KEY, draft, edit, failed, leaf};

#[test]
fn an_attempt_is_repeated_only_for_the_causes_that_are_named() {
    let causes = [
        (FaultName::ExitCode, 75),
        (FaultName::ExitCode, 4),
        (FaultName::Timeout, 0),
        (FaultName::OutOfMemory, 0),
        (FaultName::MissingOutput, 0),
    ];
    for (on, repeated) in [
        (Vec::new(), [true, true, true, true, true]),
        (vec![RetryOn::Exit(75)], [true, false, false, false, false]),
        (vec![RetryOn::Failed], [true, true, false, false, false]),
        (vec![RetryOn::Timeout], [false, false, true, false, false]),
        (
            vec![RetryOn::OutOfMemory],
            [false, false, false, true, false],
        ),
        (vec![RetryOn::Lost], [false, false, false, false, false]),
    ] {
        for ((name, code), repeated) in causes.clone().into_iter().zip(repeated) {
            let mut draft = draft(vec![leaf("a")]);
            edit(&mut draft.nodes[0], |activity| {
                activity.retry.attempts = 2;
                activity.retry.on.clone_from(&on);
            });
            let told = name.clone();
            let mut bench = Bench::new(move |_| Some((failed(name.clone()), code, String::new())));
            bench.submit(draft);
            bench.run();
            let n_tries = 1 + usize::from(repeated);
            assert_eq!(bench.started.len(), n_tries, "{told} {code} on {on:?}");
        }
    }
}

#[test]
fn memory_grows_with_each_try_that_exceeded_it_up_to_that_of_the_machine() {
    let ends = ["out-of-memory", "timeout", "out-of-memory", "out-of-memory"];
    let mut draft = draft(vec![leaf("a")]);
    edit(&mut draft.nodes[0], |activity| {
        activity.memory = Some(Bytes(300 << 20));
        activity.retry.attempts = 5;
        activity.retry.memory_percent = Some(200);
    });
    let asked = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&asked);
    let mut bench = Bench::new(move |dispatch| {
        seen.borrow_mut().push(dispatch.memory.unwrap().0 >> 20);
        None
    });
    bench.submit(draft);
    for (number, end) in ends.into_iter().enumerate() {
        // The record of the tries before is enough.
        if number == 2 {
            bench.restart();
        }
        let attempt = bench.attempt_of("a");
        let name = match end {
            "timeout" => FaultName::Timeout,
            _ => FaultName::OutOfMemory,
        };
        bench.end(attempt, failed(name), 0, "");
        bench.pass(1);
    }
    let why = bench.answer(Request::Why {
        process: KEY.process(),
        activity: ActivityId(0),
    });
    let Answer::Why(why) = why else {
        panic!("{why:?}")
    };
    let tries = Reason::Tries {
        n_failed: 4,
        most: 5,
        ends: ends.map(str::to_owned).to_vec(),
        memory: Some(Bytes(1 << 30)),
    };
    assert_eq!(why.reasons, [tries]);
    let mut asked = asked.borrow().clone();
    asked.dedup();
    // The machine has 1024 MiB.
    assert_eq!(asked, [300, 600, 1024]);
}
