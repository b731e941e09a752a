//! Inputs that are picked among the outputs of many items.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use model::{ForEach, Hash, Node, Pick, PickCase, Repeat, Test};

use super::*;

fn expression(text: &str) -> Expression {
    Expression(text.to_owned())
}

fn case(when: Option<&str>, activity: u32, place: Option<&str>) -> PickCase {
    PickCase {
        when: when.map(expression),
        source: Source::Output {
            activity: NodeId(activity),
            output: 0,
        },
        place: place.map(expression),
    }
}

fn each(item: &str, items: &str, body: u32) -> Node {
    controller(NodeKind::ForEach(Box::new(ForEach {
        item: item.to_owned(),
        index: None,
        items: expression(items),
        key: None,
        at_most: None,
        complete_when: None,
        children: ids(&[body]),
    })))
}

fn makes(node: &mut Node, words: [&str; 2]) {
    edit(node, |activity| {
        activity.command = Command::List(words.map(|word| Template(word.to_owned())).into());
        activity.outputs = vec![Produced {
            name: "file".to_owned(),
            path: "part".to_owned(),
        }];
    });
}

fn picks(draft: &mut Draft, reader: usize, path: &str, cases: Vec<PickCase>) {
    let all = draft.picks.get_or_insert_default();
    all.push(Pick { cases });
    let pick = Source::Pick(all.len() as u32 - 1);
    edit(&mut draft.nodes[reader], |activity| {
        activity.inputs.push(Staged {
            path: path.to_owned(),
            source: pick,
            gathers: false,
            carried: None,
        });
    });
}

/// `s(f(leaf) f(merge))`, a tree over four leaves: `merge 2` reads what `merge 0` and `merge 1` made.
fn tree(items: &str) -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 3]))),
        each("leaf", "[0, 1, 2, 3]", 2),
        leaf("leaf"),
        each("n", items, 4),
        leaf("merge"),
    ]);
    makes(&mut draft.nodes[2], ["leaf", "${leaf}"]);
    makes(&mut draft.nodes[4], ["merge", "${n}"]);
    for (path, half) in [("left", 0), ("right", 1)] {
        let leaf = format!("2 * n + {half}");
        let own = format!("2 * n + {half} - 4");
        let cases = vec![
            case(Some("n < 2"), 2, Some(&leaf)),
            case(None, 4, Some(&own)),
        ];
        picks(&mut draft, 4, path, cases);
    }
    draft.picks.get_or_insert_default().push(Pick {
        cases: vec![case(None, 4, Some("2"))],
    });
    draft.outputs = vec![Output {
        name: "all".to_owned(),
        source: OutputSource::Produced(Source::Pick(2)),
    }];
    draft
}

/// What each command makes, and what it was given, by its line.
type Seen = Rc<RefCell<BTreeMap<String, (Hash, Vec<Hash>)>>>;

/// A bench on which this command does not end by itself, and what it sees.
fn bench(endless: &'static str) -> (Bench, Seen) {
    let seen = Seen::default();
    let theirs = Rc::clone(&seen);
    let bench = Bench::new(move |dispatch| {
        let line = dispatch.command.join(" ");
        let made = Hash(*made_by(dispatch).finalize().as_bytes());
        let files = dispatch.inputs.iter().map(|(_, file)| file.hash);
        let is_endless = line == endless;
        theirs.borrow_mut().insert(line, (made, files.collect()));
        (!is_endless).then(|| well(dispatch)).flatten()
    });
    (bench, seen)
}

/// The lines of the commands that made what a command was given.
fn read_by(seen: &Seen, line: &str) -> Vec<String> {
    let seen = seen.borrow();
    let maker = |hash: &Hash| {
        let mut all = seen.iter();
        let found = all.find(|(_, (made, _))| made == hash);
        found.map_or(String::new(), |(line, _)| line.clone())
    };
    seen[line].1.iter().map(maker).collect()
}

#[test]
fn a_tree_of_items_is_made_from_its_leaves() {
    let (mut bench, seen) = bench("");
    bench.submit(tree("[0, 1, 2]"));
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    assert_eq!(bench.started.len(), 7);
    assert_eq!(bench.started[6], "merge 2");
    assert_eq!(read_by(&seen, "merge 0"), ["leaf 0", "leaf 1"]);
    assert_eq!(read_by(&seen, "merge 1"), ["leaf 2", "leaf 3"]);
    assert_eq!(read_by(&seen, "merge 2"), ["merge 0", "merge 1"]);
    let Value::Artifact(all, _) = &status.outputs[0].1 else {
        panic!("{:?}", status.outputs);
    };
    assert_eq!(all.hash, seen.borrow()["merge 2"].0);
}

#[test]
fn an_item_begins_when_what_it_reads_is_there_though_others_run() {
    // The third one reads the first one twice, and the second one runs on and on.
    let mut draft = tree("[0, 1, 2]");
    draft.picks.as_mut().unwrap()[1].cases[1].place = Some(expression("0"));
    let (mut bench, seen) = bench("merge 1");
    bench.submit(draft);
    let before_restart = ["completed", "sent", "completed"];
    assert_eq!(merges(&mut bench), before_restart);
    // A restart makes the definition again of what was recorded.
    bench.restart();
    assert_eq!(merges(&mut bench), before_restart);
    let attempt = bench.attempt_of_line("merge 1");
    bench.end(attempt, End::Completed, 0, "");
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(read_by(&seen, "merge 2"), ["merge 0", "merge 0"]);
}

/// The phases of the merges, in the order of their items: the first one has the number of the draft.
fn merges(bench: &mut Bench) -> Vec<&'static str> {
    let phases = bench.phases(KEY);
    vec![phases[1], phases[5], phases[6]]
}

/// `f(p(first second))`, in which `second` reads the `first` of the item before, and has a link of its own that is false.
#[test]
fn items_that_come_one_after_another_anyway_are_no_reason_to_run() {
    for (at_most, runs) in [(Some(1), false), (None, true)] {
        let mut each = each("n", "[0, 1]", 2);
        if let NodeKind::ForEach(each) = &mut each.kind {
            each.at_most = at_most;
        }
        let link = Link {
            from: NodeId(3),
            to: NodeId(4),
            when: Some(expression("n > 5")),
        };
        let mut draft = draft(vec![
            controller(NodeKind::Sequence(ids(&[1]))),
            each,
            controller(NodeKind::Parallel {
                children: ids(&[3, 4]),
                links: vec![link],
            }),
            leaf("first"),
            leaf("second"),
        ]);
        makes(&mut draft.nodes[3], ["first", "${n}"]);
        makes(&mut draft.nodes[4], ["second", "${n}"]);
        draft.nodes[4].join = Join::Any;
        let before = case(None, 3, Some("n - 1"));
        picks(
            &mut draft,
            4,
            "before",
            vec![case(Some("n == 0"), 3, None), before],
        );
        let (mut bench, _) = bench("");
        bench.submit(draft);
        assert_eq!(bench.status().summary.phase, Phase::Completed);
        let mut expected = vec!["first 0", "first 1"];
        // A link between items that may run side by side counts as every other one.
        expected.extend(runs.then_some("second 1"));
        assert_eq!(bench.started, expected, "{at_most:?}");
    }
}

#[test]
fn a_place_without_an_item_is_a_fault_before_any_item_begins() {
    for (items, fault) in [
        (
            "[0, 5]",
            "`left` of `merge[1]`: `[2 * n + 0 - 4]` is item 6, and item 1 can read those before it alone",
        ),
        (
            "[0, 2]",
            "`right` of `merge[1]`: `[2 * n + 1 - 4]` is item 1, and item 1 can read those before it alone",
        ),
        (
            "[-1]",
            "`left` of `merge[0]`: `[2 * n + 0]` is item -2, and there are 4, counted from 0",
        ),
    ] {
        let mut bench = Bench::new(well);
        bench.submit(tree(items));
        let status = bench.status();
        assert_eq!(
            status.faults[0].message,
            format!("sequence/for-each: input {fault}")
        );
        assert_eq!(bench.started.len(), 4, "{items}");
    }
    let mut bench = Bench::new(well);
    let mut draft = tree("[0, 1, 2]");
    draft.picks.as_mut().unwrap()[2].cases[0].place = Some(expression("3"));
    bench.submit(draft);
    let status = bench.status();
    assert_eq!(
        status.faults[0].message,
        "output `all`: `[3]` is item 3, and there are 3, counted from 0"
    );
}

#[test]
fn where_a_process_goes_on_only_what_reads_a_broken_item_does_not_run() {
    let mut bench = Bench::new(|dispatch| match dispatch.command.join(" ").as_str() {
        "merge 1" => Some((failed(FaultName::ExitCode), 1, String::new())),
        _ => well(dispatch),
    });
    let submit = wire::client::Submit {
        on_fault: Some(OnFault::Continue),
        ..submission(KEY, tree("[0, 1, 2]"))
    };
    bench.submit_as(submit);
    assert_eq!(merges(&mut bench), ["completed", "faulted", "skipped"]);
}

/// `s(f(leaf) w(fold))`: each iteration reads a leaf of its own and what the one before it has made.
#[test]
fn iterations_pick_too_and_are_the_same_after_a_restart() {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 3]))),
        each("leaf", "[0, 1, 2, 3]", 2),
        leaf("leaf"),
        controller(NodeKind::Repeat(Box::new(Repeat {
            test: Test::While,
            condition: expression("i < 4"),
            index: Some("i".to_owned()),
            max_iterations: None,
            children: ids(&[4]),
        }))),
        leaf("fold"),
    ]);
    makes(&mut draft.nodes[2], ["leaf", "${leaf}"]);
    makes(&mut draft.nodes[4], ["fold", "${i}"]);
    picks(&mut draft, 4, "own", vec![case(None, 2, Some("3 - i"))]);
    let before = vec![
        case(Some("i == 0"), 2, Some("0")),
        case(None, 4, Some("i - 1")),
    ];
    picks(&mut draft, 4, "before", before);
    let (mut bench, seen) = bench("fold 2");
    bench.submit(draft);
    bench.restart();
    let attempt = bench.attempt_of_line("fold 2");
    bench.end(attempt, End::Completed, 0, "");
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(read_by(&seen, "fold 0"), ["leaf 3", "leaf 0"]);
    assert_eq!(read_by(&seen, "fold 1"), ["leaf 2", "fold 0"]);
    assert_eq!(read_by(&seen, "fold 3"), ["leaf 0", "fold 2"]);
}

#[test]
fn files_that_a_later_item_may_pick_stay_where_others_go() {
    let mut draft = Draft {
        keep_intermediates: Some(false),
        ..tree("[0, 1, 2]")
    };
    // It waits until there is nothing to pick any more, and nobody reads what it makes.
    draft.nodes[0].kind = NodeKind::Sequence(ids(&[1, 3, 5]));
    draft.nodes.push(leaf("alone"));
    makes(&mut draft.nodes[5], ["alone", "x"]);
    let (mut bench, seen) = bench("alone x");
    bench.submit(draft);
    bench.run();
    bench.restart();
    let gone = |bench: &Bench| -> BTreeSet<u32> {
        let discarded = bench.discarded.iter();
        discarded.map(|(_, activity)| *activity).collect()
    };
    assert_eq!(gone(&bench), BTreeSet::new());
    let attempt = bench.attempt_of_line("alone x");
    bench.end(attempt, End::Completed, 0, "");
    bench.run();
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    assert_eq!(read_by(&seen, "merge 2"), ["merge 0", "merge 1"]);
    // Files of merges are outputs.
    assert_eq!(gone(&bench), BTreeSet::from([2, 5, 6, 7, 8]));
    bench.restart();
}

#[test]
fn more_picks_than_a_process_may_have_are_a_fault_and_record_nothing() {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2]))),
        leaf("alone"),
        each("n", "range(1000)", 3),
        leaf("merge"),
    ]);
    makes(&mut draft.nodes[1], ["alone", "x"]);
    for number in 0..1_050 {
        let cases = vec![case(None, 1, None)];
        picks(&mut draft, 3, &format!("in{number}"), cases);
    }
    let (mut bench, _) = bench("");
    bench.submit(draft);
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Faulted);
    let fault = &status.faults[0];
    assert_eq!(fault.name, FaultName::TooLarge, "{fault:?}");
    let said = &fault.message;
    assert!(said.contains("the inputs that they pick"), "{said}");
    bench.restart();
    assert_eq!(bench.status().summary.phase, Phase::Faulted);
}
