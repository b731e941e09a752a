//! Processes with a `for-each`.

use super::*;
use model::limits::{ITEMS_MAX, PARTS_MAX, STAGED_MAX};
use model::{ActivityId, ForEach, Node, OnFault};
use std::collections::BTreeMap;

fn each(items: &str, at_most: Option<u32>, body: u32) -> Node {
    controller(NodeKind::ForEach(Box::new(ForEach {
        item: "item".to_owned(),
        index: Some("at".to_owned()),
        items: Expression(items.to_owned()),
        key: None,
        at_most,
        complete_when: None,
        children: ids(&[body]),
    })))
}

fn key(draft: &mut Draft, node: usize, key: &str) {
    if let NodeKind::ForEach(each) = &mut draft.nodes[node].kind {
        each.key = Some(Expression(key.to_owned()));
    }
}

fn words(words: &[&str]) -> Command {
    let words = words.iter().map(|word| Template((*word).to_owned()));
    Command::List(words.collect())
}

/// `s(a f(s(b c)) d)`, where `a` writes its lines to `found`, `c` reads what `b` produces, and `d`
/// gathers what `c` does.
pub(super) fn process(items: &str, at_most: Option<u32>) -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 6]))),
        leaf("a"),
        each(items, at_most, 3),
        controller(NodeKind::Sequence(ids(&[4, 5]))),
        leaf("b"),
        leaf("c"),
        leaf("d"),
    ]);
    draft.variables = vec![model::Variable {
        of: None,
        name: "found".to_owned(),
        kind: model::Type::List(Box::new(model::Type::Text)),
        initial: Value::Null,
    }];
    edit(&mut draft.nodes[1], |activity| {
        activity.stdout = Some(model::Capture {
            variable: 0,
            parse: model::Parse::Lines,
        });
    });
    for (node, name) in [(4, "b"), (5, "c")] {
        edit(&mut draft.nodes[node], |activity| {
            activity.command = words(&[name, "${item}", "${at}"]);
            activity.outputs = vec![Produced {
                name: "file".to_owned(),
                path: "out/part.tar.gz".to_owned(),
            }];
        });
    }
    let read = |activity, path: &str, gathers| Staged {
        path: path.to_owned(),
        source: Source::Output {
            activity: NodeId(activity),
            output: 0,
        },
        gathers,
        carried: None,
    };
    edit(&mut draft.nodes[5], |activity| {
        activity.inputs = vec![read(4, "part", false)];
    });
    edit(&mut draft.nodes[6], |activity| {
        activity.inputs = vec![read(5, "parts/", true)];
    });
    draft
}

/// Lines for `a`, which all others could ignore.
pub(super) fn lines(_: &Dispatch) -> Option<(End, i32, String)> {
    Some((End::Completed, 0, "x\ny\nz\n".to_owned()))
}

pub(super) fn run(draft: Draft) -> Bench {
    let mut bench = Bench::new(lines);
    bench.submit(draft);
    bench
}

/// The paths at which the gathering activity found its files.
pub(super) fn gathered(draft: Draft) -> Vec<String> {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let theirs = std::rc::Rc::clone(&seen);
    let mut bench = Bench::new(move |dispatch| {
        if dispatch.command == ["d"] {
            let paths = dispatch.inputs.iter().map(|(path, _)| path.clone());
            theirs.borrow_mut().extend(paths);
        }
        lines(dispatch)
    });
    bench.submit(draft);
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    seen.take()
}

fn fault(draft: Draft) -> String {
    let mut bench = run(draft);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    status.faults[0].message.clone()
}

#[test]
fn a_body_runs_once_for_each_item_that_an_activity_found() {
    let mut bench = run(process("found", None));
    assert_eq!(
        bench.end_line(),
        "completed found=List([Text(\"x\"), Text(\"y\"), Text(\"z\")])"
    );
    let ran = [
        "a", "b x 0", "b y 1", "b z 2", "c x 0", "c y 1", "c z 2", "d",
    ];
    let mut started = bench.started.clone();
    started.sort();
    assert_eq!(started, ran);
    assert_eq!(bench.status().summary.totals.completed, 8);
}

#[test]
fn items_run_one_after_another_where_one_may_run_at_a_time() {
    let bench = run(process("found", Some(1)));
    let ran = [
        "a", "b x 0", "c x 0", "b y 1", "c y 1", "b z 2", "c z 2", "d",
    ];
    assert_eq!(bench.started, ran);
}

#[test]
fn no_more_items_run_than_may() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "a" => lines(dispatch),
        _ => None,
    });
    bench.slots = 8;
    bench.submit(process("found", Some(2)));
    let mut started = bench.started.clone();
    started.sort();
    assert_eq!(started, ["a", "b x 0", "b y 1"]);
    for (command, next) in [("b x 0", "c x 0"), ("c x 0", "b z 2")] {
        let attempt = bench.attempt_of_line(command);
        bench.end(attempt, End::Completed, 0, "");
        assert_eq!(bench.started.last().unwrap(), next);
    }
}

#[test]
fn a_process_claims_twice_the_slots_that_its_items_may_use() {
    let held = |at_most| {
        let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
            "a" => Some((End::Completed, 0, "u\nv\nw\nx\ny\nz\n".to_owned())),
            _ => None,
        });
        bench.slots = 8;
        bench.connect();
        let mut draft = process("found", at_most);
        for node in [4, 5] {
            edit(&mut draft.nodes[node], |activity| {
                activity.work = Some(model::Work::from_secs(60));
            });
        }
        bench.submit(draft);
        bench.pass(10);
        (bench.started.len() - 1, bench.slots_held(KEY))
    };
    assert_eq!(held(None), (6, 6));
    assert_eq!(held(Some(3)), (3, 6));
    assert_eq!(held(Some(2)), (2, 4));
    assert_eq!(held(Some(1)), (1, 1));
}

#[test]
fn an_item_that_waits_for_its_turn_tells_which_ones_come_first() {
    let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
        "a" => lines(dispatch),
        _ => None,
    });
    bench.slots = 8;
    bench.submit(process("found", Some(1)));
    let waiting = |bench: &mut Bench| -> Vec<(u32, Vec<wire::client::Reason>)> {
        let status = bench.status();
        let named = status.activities.iter().map(|one| one.activity);
        let named: Vec<ActivityId> = named.collect();
        let reasons = named.into_iter().map(|activity| {
            let process = KEY.process();
            let answer = bench.answer(Request::Why { process, activity });
            let Answer::Why(why) = answer else {
                panic!("{answer:?}");
            };
            (activity.0, why.reasons)
        });
        let is_told =
            |reason: &wire::client::Reason| matches!(reason, wire::client::Reason::Items(_));
        let told = reasons.filter(|(_, reasons)| reasons.iter().any(is_told));
        told.collect()
    };
    let first = waiting(&mut bench);
    // `b` and `c` of the second and of the third item.
    assert_eq!(first.len(), 4);
    let ahead = |reasons: &[wire::client::Reason]| match reasons.last() {
        Some(wire::client::Reason::Items(ahead)) => ahead.clone(),
        other => panic!("{other:?}"),
    };
    let begun = ahead(&first[0].1).begun;
    assert_eq!(begun.len(), 1);
    for ((_, reasons), n_before) in first.iter().zip([0, 0, 1, 1]) {
        let (each, at_most) = (NodeId(2), 1);
        let begun = begun.clone();
        let wanted = wire::client::ItemsAhead {
            each,
            at_most,
            begun,
            n_before,
        };
        assert_eq!(ahead(reasons), wanted);
    }
    for command in ["b x 0", "c x 0"] {
        let attempt = bench.attempt_of_line(command);
        bench.end(attempt, End::Completed, 0, "");
    }
    // The second item has begun: its `c` waits for its `b` alone.
    let later = waiting(&mut bench);
    assert_eq!(later.len(), 2);
    assert_ne!(ahead(&later[0].1).begun, begun);
}

/// A process of 4,096 items that are gathered in so many directories.
fn gathered_often(n_directories: usize) -> Draft {
    let mut draft = process("range(256)", None);
    edit(&mut draft.nodes[6], |activity| {
        let own = activity.inputs[0].clone();
        let directories = (0..n_directories).map(|place| Staged {
            path: format!("parts-{place}/"),
            ..own.clone()
        });
        activity.inputs = directories.collect();
    });
    draft
}

#[test]
fn as_many_files_are_gathered_as_the_longest_list_has_items_and_not_without_an_end() {
    let n_directories = ITEMS_MAX.div_ceil(256);
    let paths = gathered(gathered_often(n_directories));
    assert_eq!(paths.len(), n_directories * 256);
    assert!(paths.len() > PARTS_MAX);
    let n_directories = STAGED_MAX / 256 + 1;
    assert_eq!(
        fault(gathered_often(n_directories)),
        "d: 265728 files would lie in its directory; at most 265536: let activities in the body \
         gather parts of them, or pack several into one"
    );
}

#[test]
fn outputs_that_take_too_much_together_are_a_fault() {
    let outputs = |n_outputs: usize| {
        let mut draft = process("range(4096)", None);
        let of_c = Source::Output {
            activity: NodeId(5),
            output: 0,
        };
        let outputs = (0..n_outputs).map(|place| model::Output {
            name: format!("parts_{place}"),
            source: model::OutputSource::Gathered(of_c),
        });
        draft.outputs = outputs.collect();
        let status = run(draft).status();
        (status.summary.phase, status.faults)
    };
    assert_eq!(outputs(1).0, Phase::Completed);
    let (phase, faults) = outputs(64);
    assert_eq!(phase, Phase::Faulted);
    assert_eq!(faults[0].name, FaultName::TooLarge);
    assert!(
        faults[0]
            .message
            .contains("the outputs take more than 4.0 MiB together")
    );
}

#[test]
fn what_items_produce_is_gathered_in_their_order() {
    let path = |item: &str| format!("parts/{item}.tar.gz");
    assert_eq!(gathered(process("found", None)), ["0", "1", "2"].map(path));
    let many = process("range(11)", None);
    let numbers: Vec<String> = (0..11).map(|item| path(&format!("{item:02}"))).collect();
    assert_eq!(gathered(many), numbers);
    let mut keyed = process("found", None);
    key(&mut keyed, 2, "\"s-\" + item");
    assert_eq!(gathered(keyed), ["s-x", "s-y", "s-z"].map(path));
    let none = process("[]", None);
    assert!(gathered(none).is_empty());
}

#[test]
fn without_items_the_body_is_skipped() {
    let mut bench = run(process("[]", None));
    assert_eq!(bench.started, ["a", "d"]);
    assert_eq!(
        bench.phases(KEY),
        ["completed", "skipped", "skipped", "completed"]
    );
}

#[test]
fn a_list_that_is_none_and_items_without_a_name_are_faults() {
    assert!(
        fault(process("size(found) > 9 ? found : 9", None)).ends_with("`in` is an int, not a list")
    );
    let keyed = |text: &str| {
        let mut draft = process("found", None);
        key(&mut draft, 2, text);
        fault(draft)
    };
    assert!(keyed("\"../\" + item").contains("`../x` cannot be a name"));
    assert!(keyed("\"same\"").ends_with("another item is called `same` too"));
    assert!(keyed("size(item) > 9 ? item : [item]").contains("text or a whole number"));
}

#[test]
fn lists_and_items_that_are_too_large_are_faults() {
    let said = fault(process("range(10000000)", None));
    assert!(
        said.contains("a `range` of 10000000 numbers; at most"),
        "{said}"
    );
    // Ten megabytes each, in what an activity has found.
    let item = "x".repeat(10 << 20);
    let mut bench = Bench::new(move |_| Some((End::Completed, 0, format!("{item}\n{item}\n"))));
    bench.submit(process("found", None));
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    let said = &status.faults[0].message;
    assert!(said.contains("at most") && said.len() < 1_000, "{said}");
    assert_eq!(bench.started, ["a"]);
}

#[test]
fn items_that_become_known_one_after_another_are_planned_many_at_once() {
    let mut nodes = vec![
        each("range(300)", None, 1),
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        leaf("a"),
        each("range(3)", None, 4),
        leaf("b"),
    ];
    for (node, names) in [(2, "outer"), (4, "inner")] {
        edit(&mut nodes[node], |activity| {
            activity.command = words(&[names]);
        });
    }
    if let NodeKind::ForEach(inner) = &mut nodes[3].kind {
        inner.item = "one".to_owned();
        inner.index = None;
    }
    // Each end of the outer activities makes three more known, while others are out.
    let mut bench = Bench::new(|_| None);
    bench.slots = 20;
    bench.submit(draft(nodes));
    while let Some(&attempt) = bench.held.keys().next() {
        bench.end(attempt, End::Completed, 0, "");
    }
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    assert_eq!(status.summary.totals.completed, 300 + 900);
    let n_plans = bench.planned_for.len();
    assert!(n_plans <= 20, "{n_plans} plans");
}

#[test]
fn items_are_kept_over_a_restart_and_a_snapshot() {
    let mut bench = Bench::new(|dispatch| match dispatch.command.join(" ").as_str() {
        "c y 1" => None,
        _ => lines(dispatch),
    });
    bench.submit(process("found", None));
    let before = bench.phases(KEY);
    bench.restart();
    assert_eq!(bench.phases(KEY), before);
    let attempt = bench.attempt_of_line("c y 1");
    bench.end(attempt, End::Completed, 0, "");
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(bench.started.last().unwrap(), "d");
}

/// `s(f(s(g(b) c)) d)`, where `c` gathers what `b` does in its own item, and `d` all of `b`.
fn nested() -> Draft {
    let mut draft = process("[[1, 2], [], [3]]", None);
    let at = |activity: u32, path: &str| Staged {
        path: path.to_owned(),
        source: Source::Output {
            activity: NodeId(activity),
            output: 0,
        },
        gathers: true,
        carried: None,
    };
    let mut nodes = vec![
        controller(NodeKind::Sequence(ids(&[1, 6]))),
        each("[[1, 2], [], [3]]", None, 2),
        controller(NodeKind::Sequence(ids(&[3, 5]))),
        each("item", None, 4),
        draft.nodes[4].clone(),
        draft.nodes[5].clone(),
        draft.nodes[6].clone(),
    ];
    if let NodeKind::ForEach(inner) = &mut nodes[3].kind {
        inner.item = "one".to_owned();
        inner.index = None;
    }
    edit(&mut nodes[4], |activity| {
        activity.command = words(&["b", "${one}"]);
    });
    edit(&mut nodes[5], |activity| {
        activity.command = words(&["c", "${size(item)}"]);
        activity.inputs = vec![at(4, "own/")];
    });
    edit(&mut nodes[6], |activity| {
        activity.inputs = vec![at(4, "parts/")];
    });
    draft.nodes = nodes;
    draft.variables.clear();
    draft
}

#[test]
fn bodies_within_bodies_have_items_of_their_own() {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(BTreeMap::new()));
    let theirs = std::rc::Rc::clone(&seen);
    let mut bench = Bench::new(move |dispatch| {
        let paths = dispatch.inputs.iter().map(|(path, _)| path.clone());
        let paths: Vec<String> = paths.collect();
        theirs
            .borrow_mut()
            .insert(dispatch.command.join(" "), paths.join(" "));
        lines(dispatch)
    });
    bench.submit(nested());
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    let seen = seen.take();
    let shown: Vec<String> = seen
        .iter()
        .map(|(line, paths)| format!("{line}: {paths}"))
        .collect();
    assert_eq!(
        shown,
        [
            "b 1: ",
            "b 2: ",
            "b 3: ",
            "c 0: ",
            "c 1: own/0.tar.gz",
            "c 2: own/0.tar.gz own/1.tar.gz",
            "d: parts/0/0.tar.gz parts/0/1.tar.gz parts/2/0.tar.gz",
        ]
    );
}

#[test]
fn where_a_process_goes_on_a_fault_breaks_one_item() {
    let mut bench = Bench::new(|dispatch| match dispatch.command.join(" ").as_str() {
        "b y 1" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => lines(dispatch),
    });
    let submit = wire::client::Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, process("found", Some(1)))
    };
    bench.submit_as(submit);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    assert_eq!(status.faults.len(), 1);
    let ran = ["a", "b x 0", "c x 0", "b y 1", "b z 2", "c z 2"];
    assert_eq!(bench.started, ran);
}

#[test]
fn many_items_that_do_nothing_end_together() {
    let nodes = vec![
        controller(NodeKind::Sequence(ids(&[1, 3]))),
        each("range(20000)", None, 2),
        controller(NodeKind::Empty),
        leaf("a"),
    ];
    let mut bench = run(draft(nodes));
    assert_eq!(bench.status().summary.phase, Phase::Completed);
}

#[test]
fn a_long_list_of_lines_is_an_output() {
    let lines: String = (0..70_000).map(|line| format!("{line}\n")).collect();
    let mut bench = Bench::new(move |_| Some((End::Completed, 0, lines.clone())));
    let mut draft = process("found", None);
    draft.nodes = vec![draft.nodes.swap_remove(1)];
    draft.outputs = vec![Output {
        name: "all".to_owned(),
        source: OutputSource::Expression(Expression("found".to_owned())),
    }];
    bench.submit(draft);
    let status = bench.status();
    assert_eq!(
        status.summary.phase,
        Phase::Completed,
        "{:?}",
        status.faults
    );
    let Value::List(all) = &status.outputs[0].1 else {
        panic!("no list");
    };
    assert_eq!(all.len(), 70_000);
}
