//! The size of snapshots follows what has changed since the one before, however much has ended.

use super::*;
use model::{ForEach, Node, Repeat, Test};

const ITEMS: [usize; 2] = [100, 800];

/// `f(s(a b))` over so many items, or `w(s(a b))` with so many iterations.
fn each(n: usize) -> Node {
    controller(NodeKind::ForEach(Box::new(ForEach {
        item: "item".to_owned(),
        index: None,
        items: Expression(format!("range({n})")),
        key: None,
        at_most: Some(2),
        complete_when: None,
        children: ids(&[1]),
    })))
}

fn repeat(n: usize) -> Node {
    controller(NodeKind::Repeat(Box::new(Repeat {
        test: Test::While,
        condition: Expression(format!("at < {n}")),
        index: Some("at".to_owned()),
        max_iterations: Some(n as u32),
        children: ids(&[1]),
    })))
}

/// Bytes of the snapshots that are taken after each end of an activity.
fn sizes(root: Node) -> Vec<usize> {
    let mut bench = Bench::new(|_| None);
    let mut draft = draft(vec![
        root,
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        leaf("a"),
        leaf("b"),
    ]);
    for node in [2, 3] {
        edit(&mut draft.nodes[node], |activity| {
            activity.outputs = vec![Produced {
                name: "file".to_owned(),
                path: "out".to_owned(),
            }];
        });
    }
    bench.submit(draft);
    let mut sizes = Vec::new();
    while let Some(&attempt) = bench.held.keys().next() {
        bench.end(attempt, End::Completed, 0, "");
        sizes.push(bench.store.last(Stream::Process(KEY.process())));
    }
    let status = bench.status();
    assert_eq!(status.summary.phase, Phase::Completed);
    sizes
}

fn largest_are_alike(root: impl Fn(usize) -> Node) {
    let [few, many] = ITEMS.map(|n| {
        let sizes = sizes(root(n));
        assert_eq!(sizes.len(), 2 * n);
        *sizes.iter().max().unwrap()
    });
    // Numbers above 255 take a byte more.
    assert!(many < few + few / 10, "{few} bytes and {many}");
}

#[test]
fn a_snapshot_of_many_items_is_as_small_as_one_of_few() {
    largest_are_alike(each);
}

#[test]
fn a_snapshot_of_many_iterations_is_as_small_as_one_of_few() {
    largest_are_alike(repeat);
}

#[test]
fn what_changes_after_the_end_is_in_the_next_snapshot() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    bench.run();
    let stream = Stream::Process(KEY.process());
    // Whoever reads it packs and unpacks it.
    bench.pass(3600);
    let state = bench.drive.states().get(stream).unwrap();
    let whole = format!("{state:?}");
    let mut packed = crate::State::default();
    for (_, event) in bench.events.iter().filter(|(of, _)| *of == stream) {
        packed.apply(event);
        packed.pack(None);
    }
    assert!(matches!(packed, crate::State::Packed(_)));
    let head = packed.snapshot();
    let chapters = packed.take_chapters();
    assert!(!chapters.is_empty());
    assert!(packed.take_chapters().is_empty());
    let founding = bench.events.iter().find(|(of, _)| *of == stream).unwrap();
    let mut read = crate::State::default();
    read.apply(&founding.1);
    let read = read.restore(head, chapters);
    assert_eq!(format!("{read:?}"), whole);
}
