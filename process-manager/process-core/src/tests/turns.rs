//! Processes that have much to do at once: each step of the manager does a bounded part of it, one
//! process after another, and others go between.

use std::collections::BTreeMap;

use model::{Assignment, Node, OnFault, ProcessId, Repeat, SubmitKey, Test, Variable};

use super::*;
use crate::budget::{DECISION_STEPS, SLICE_STEPS, TURNS_STEPS};

const HOGS: [SubmitKey; 3] = [SubmitKey(101), SubmitKey(102), SubmitKey(103)];

/// An expression that takes some ten thousand steps each time.
fn costly() -> String {
    let list: Vec<String> = (0..30).map(|number| number.to_string()).collect();
    let list = list.join(",");
    format!("[{list}].map(a, [{list}].map(b, a * b + a - b)).size() + n")
}

/// A sequence of assignments to `n`.
fn assigns(how_many: u32, value: &str) -> Draft {
    let children: Vec<u32> = (1..=how_many).collect();
    let assign = || {
        let value = Expression(value.to_owned());
        controller(NodeKind::Assign(vec![Assignment { variable: 0, value }]))
    };
    let mut nodes = vec![controller(NodeKind::Sequence(ids(&children)))];
    nodes.extend((0..how_many).map(|_| assign()));
    let mut draft = draft(nodes);
    draft.variables = vec![int("n", Value::Int(0))];
    draft
}

/// Decisions recorded of each process from an event on.
fn decided(bench: &Bench, from: usize) -> BTreeMap<ProcessId, usize> {
    let mut decided = BTreeMap::new();
    for (stream, event) in &bench.events[from..] {
        if let (Stream::Process(id), Event::Assigned { .. }) = (stream, event) {
            *decided.entry(*id).or_default() += 1;
        }
    }
    decided
}

/// The core is woken at the next moment at which it wants to be. The decisions recorded by that.
fn wake(bench: &mut Bench) -> BTreeMap<ProcessId, usize> {
    let from = bench.events.len();
    let at = bench.drive.next_wakeup().unwrap();
    bench.wake(at);
    decided(bench, from)
}

#[test]
fn a_step_decides_a_bounded_part_and_processes_take_turns() {
    // At most so many of the costly decisions fit into a slice; the last may begin within it.
    let in_slice = (SLICE_STEPS / 10_000 + 1) as usize;
    let in_turns = (TURNS_STEPS / 10_000) as usize + in_slice;
    let mut bench = Bench::new(well);
    for key in HOGS {
        let from = bench.events.len();
        bench.submit_as(submission(key, assigns(60, &costly())));
        let n_decided: usize = decided(&bench, from).values().sum();
        assert!((1..=in_slice).contains(&n_decided), "{n_decided}");
    }
    let mut all = decided(&bench, 0);
    let mut n_steps = 0;
    while all.values().any(|&n| n < 60) {
        let now = wake(&mut bench);
        assert!(now.values().sum::<usize>() <= in_turns, "{now:?}");
        for (id, n) in now {
            *all.entry(id).or_default() += n;
        }
        n_steps += 1;
        let most = all.values().max().unwrap();
        let is_fair = |n: &usize| most - n <= 2 * in_slice;
        assert!(all.values().all(is_fair), "{all:?}");
    }
    assert!(n_steps > 5, "{n_steps}");
    for key in HOGS {
        let status = bench.status_of(key);
        assert_eq!(status.summary.phase, Phase::Completed);
        assert_eq!(status.variables[0].1, Value::Int(60 * 30));
    }
    // The one expression of all of them was compiled once.
    assert_eq!(bench.drive.machine().shared.programs.n_compiled(), 1);
}

#[test]
fn decisions_that_cost_little_are_counted_too() {
    let mut bench = Bench::new(well);
    bench.submit_as(submission(HOGS[0], assigns(3_000, "1")));
    let n_decided = decided(&bench, 0)[&HOGS[0].process()];
    let most = (SLICE_STEPS / DECISION_STEPS) as usize;
    assert!((most / 2..=most + 1).contains(&n_decided), "{n_decided}");
    bench.pass(1);
    assert_eq!(bench.status_of(HOGS[0]).summary.phase, Phase::Completed);
}

#[test]
fn an_endless_loop_of_assignments_ends_by_its_limit_and_holds_nobody_up() {
    let mut draft = assigns(1, "n + 1");
    draft.nodes[0] = controller(NodeKind::Repeat(Box::new(Repeat {
        test: Test::While,
        condition: Expression("true".to_owned()),
        index: None,
        max_iterations: None,
        children: ids(&[1]),
    })));
    let in_turns = ((TURNS_STEPS + SLICE_STEPS) / DECISION_STEPS) as usize;
    let mut bench = Bench::new(well);
    bench.submit_as(submission(HOGS[0], draft));
    let mut n_wakes = 0;
    while bench.status_of(HOGS[0]).summary.phase == Phase::Running {
        let from = bench.events.len();
        let at = bench.drive.next_wakeup().unwrap();
        bench.wake(at);
        let n_events = bench.events.len() - from;
        assert!(n_events <= in_turns, "{n_events} of {in_turns}");
        // Between two turns the manager answers others.
        assert!(matches!(bench.answer(Request::List), Answer::Processes(_)));
        n_wakes += 1;
    }
    assert!(n_wakes >= 5, "{n_wakes}");
    let faults = bench.status_of(HOGS[0]).faults;
    assert_eq!(faults[0].name, FaultName::TooManyIterations);
    assert!(
        faults[0].message.ends_with("after 10000 iterations"),
        "{faults:?}"
    );
}

#[test]
fn others_are_dispatched_while_processes_wait_for_their_turns() {
    let mut bench = Bench::new(well);
    for key in HOGS {
        bench.submit_as(submission(key, assigns(200, &costly())));
    }
    // In the same moment, and it never waits for a turn.
    bench.submit(diamond());
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(bench.started, ["a", "b", "c", "d"]);
    for key in HOGS {
        assert_eq!(bench.status_of(key).summary.phase, Phase::Running);
        bench.answer(Request::Cancel(key.process()));
        assert_eq!(bench.status_of(key).summary.phase, Phase::Cancelled);
    }
    bench.pass(5);
}

#[test]
fn a_restart_amid_many_decisions_does_not_make_them_all_first() {
    let mut bench = Bench::new(well);
    for key in HOGS {
        bench.submit_as(submission(key, assigns(60, &costly())));
    }
    wake(&mut bench);
    let before = decided(&bench, 0);
    bench.restart();
    let after = decided(&bench, 0);
    let n_decided: usize = after.values().sum::<usize>() - before.values().sum::<usize>();
    let in_slice = (SLICE_STEPS / 10_000 + 1) as usize;
    assert!(n_decided <= HOGS.len() * in_slice, "{before:?} {after:?}");
    assert_eq!(bench.status_of(HOGS[0]).summary.phase, Phase::Running);
    bench.pass(1);
    for key in HOGS {
        let status = bench.status_of(key);
        assert_eq!(status.summary.phase, Phase::Completed);
        assert_eq!(status.variables[0].1, Value::Int(60 * 30));
    }
}

#[test]
fn the_expressions_of_one_decision_share_what_it_may_use() {
    let text = |n: usize| Value::Text("a".repeat(n));
    let json = |name: &str, initial: Value| Variable {
        of: None,
        name: name.into(),
        kind: Type::Json,
        initial,
    };
    // A command that would take minutes with so many arguments.
    let mut slow = draft(vec![controller(NodeKind::Sequence(ids(&[1]))), leaf("a")]);
    slow.variables = vec![int("n", Value::Int(0))];
    edit(&mut slow.nodes[1], |activity| {
        let argument = Template(format!("${{{}}}", costly()));
        activity.command = Command::List(vec![argument; 1_000]);
    });
    // Variables that fill the memory of the manager together.
    let mut wide = assigns(1, "large1");
    let large = (1..=4).map(|number| json(&format!("large{number}"), text(4_000_000)));
    wide.variables = [json("copy", Value::Null)]
        .into_iter()
        .chain(large)
        .collect();
    // A value that would take the stack of whoever goes through it.
    let mut deep = assigns(200, "[n]");
    deep.variables = vec![json("n", Value::Null)];
    for (draft, message) in [
        (slow, "more than 100000 steps"),
        (wide, "bytes together; at most 16777216"),
        (deep, "more than 128 lists and maps within each other"),
    ] {
        let mut bench = Bench::new(well);
        bench.submit(draft);
        bench.pass(1);
        let status = bench.status();
        assert_eq!(status.summary.phase, Phase::Faulted);
        let said = &status.faults[0].message;
        assert!(said.contains(message), "{said}");
        assert!(bench.started.is_empty());
    }
}

#[test]
fn thousands_of_activities_that_fault_at_once_are_taken_in_turn() {
    let children: Vec<u32> = (1..=5_000).collect();
    let parallel = NodeKind::Parallel {
        children: ids(&children),
        links: Vec::new(),
    };
    let failing = |number: u32| -> Node {
        let mut node = leaf(&format!("a{number}"));
        edit(&mut node, |activity| {
            activity.command = Command::List(vec![Template("${ 1 / zero }".into())]);
        });
        node
    };
    let mut nodes = vec![controller(parallel)];
    nodes.extend(children.iter().map(|&number| failing(number)));
    let mut draft = draft(nodes);
    draft.variables = vec![int("zero", Value::Int(0))];
    let mut submit = submission(KEY, draft);
    submit.on_fault = Some(OnFault::Continue);
    let mut bench = Bench::new(well);
    bench.submit_as(submit);
    let totals = bench.status().summary.totals;
    assert!((1..5_000).contains(&totals.faulted), "{totals:?}");
    bench.pass(1);
    let summary = bench.status().summary;
    assert_eq!(
        (summary.totals.faulted, summary.phase),
        (5_000, Phase::Faulted)
    );
}
