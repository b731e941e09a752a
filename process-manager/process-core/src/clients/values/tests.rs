use model::{
    Capture, Command, Draft, NodeKind, Parse, Produced, Source, Staged, Template, Type, Variable,
};

use super::*;
use crate::Config;
use crate::record::Event;
use crate::tests::bench::{artifact, controller, draft, edit, ids, leaf};
use crate::tests::paper::Bench;

/// Bytes of a message that a page may have.
const MESSAGE_BYTES_MAX: usize = 100_000;

const MACHINE: model::ResourceId = model::ResourceId::local(1);

/// s(1 2): the second one reads a file of the first one, and a variable in its command and its environment.
fn chain() -> Draft {
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2]))),
        leaf("a"),
        leaf("b"),
    ]);
    draft.variables = vec![Variable {
        of: None,
        name: "n".to_owned(),
        kind: Type::Int,
        initial: Value::Int(7),
    }];
    edit(&mut draft.nodes[1], |activity| {
        activity.outputs = vec![Produced {
            name: "out".to_owned(),
            path: "o.txt".to_owned(),
        }];
    });
    edit(&mut draft.nodes[2], |activity| {
        activity.command = Command::List(vec![
            Template("count".to_owned()),
            Template("${n}".to_owned()),
        ]);
        activity.env = vec![("TWICE".to_owned(), Template("${n * 2}".to_owned()))];
        activity.stdout = Some(Capture {
            variable: 0,
            parse: Parse::Int,
        });
        activity.inputs = vec![Staged {
            path: "i.txt".to_owned(),
            source: Source::Output {
                activity: model::NodeId(1),
                output: 0,
            },
            gathers: false,
            carried: None,
        }];
    });
    draft
}

fn asked(process: &Process, activities: &[u32]) -> Vec<ActivityValues> {
    let wanted = ValuesWanted {
        process: process.id(),
        activities: activities.iter().copied().map(ActivityId).collect(),
    };
    let answer = values(process, &wanted);
    assert!(minicbor::to_vec(&answer).unwrap().len() < MESSAGE_BYTES_MAX);
    let Answer::Values(page) = answer else {
        panic!("{answer:?}");
    };
    page.activities
}

#[test]
fn a_command_is_told_with_the_values_that_it_was_sent_with() {
    let mut bench = Bench::new(Config::default());
    bench.found(chain());
    bench.plan(&[(1, MACHINE), (2, MACHINE)]);
    // Before its input is there, nothing is said of what would run.
    let [told] = &asked(bench.process(), &[2])[..] else {
        panic!("one was asked for")
    };
    assert_eq!((told.rendered, told.command.len()), (Rendered::Nothing, 0));
    bench.complete(1, MACHINE, vec![artifact()]);
    let [told] = &asked(bench.process(), &[2])[..] else {
        panic!("one was asked for")
    };
    assert_eq!(told.rendered, Rendered::Now);
    bench.complete(2, MACHINE, Vec::new());
    let [told] = &asked(bench.process(), &[2])[..] else {
        panic!("one was asked for")
    };
    assert_eq!(told.rendered, Rendered::AsSent);
    assert_eq!(told.command, ["count", "7"]);
    let twice = ("TWICE".to_owned(), Some("14".to_owned()));
    assert!(told.environment.contains(&twice), "{told:?}");
    let input = ToldInput {
        path: "i.txt".to_owned(),
        artifact: artifact(),
        name: None,
    };
    assert_eq!((&told.inputs[..], told.n_inputs), (&[input][..], 1));
    assert!(!told.is_cut && told.wrong.is_none());
    // A later write of the variable is not taken for what was sent.
    bench.record(Event::Assigned {
        writes: vec![(0, Value::Int(8))],
        flow: crate::record::Flow::default(),
        node: None,
    });
    let [told] = &asked(bench.process(), &[2])[..] else {
        panic!("one was asked for")
    };
    assert_eq!(told.rendered, Rendered::Changed);
    assert_eq!(told.command, ["count", "8"]);
}

#[test]
fn long_texts_are_told_in_part_and_pages_have_all_activities_in_their_order() {
    const ACTIVITIES: u32 = 300;
    let children: Vec<u32> = (1..=ACTIVITIES).collect();
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&children),
        links: Vec::new(),
    })];
    nodes.extend(children.iter().map(|n| leaf(&format!("a{n}"))));
    for node in &mut nodes[1..] {
        edit(node, |activity| {
            let words = (0..300).map(|_| Template("ü".repeat(2_000)));
            activity.command = Command::List(words.collect());
        });
    }
    let mut bench = Bench::new(Config::default());
    bench.found(draft(nodes));
    let (mut wanted, mut n_pages) = (&children[..], 0);
    while !wanted.is_empty() {
        let told = asked(bench.process(), wanted);
        let ids: Vec<u32> = told.iter().map(|one| one.activity.0).collect();
        assert_eq!(ids, wanted[..ids.len()]);
        for one in &told {
            let n_bytes: usize = one.command.iter().map(String::len).sum();
            assert!(one.is_cut && n_bytes <= TOLD_ACTIVITY_BYTES_MAX + 3 * TOLD_LISTED_MAX);
            assert!(one.command[0].ends_with('…'));
        }
        wanted = &wanted[ids.len()..];
        n_pages += 1;
    }
    assert!(n_pages > 1);
    let too_many = ValuesWanted {
        process: bench.process().id(),
        activities: vec![ActivityId(1); VALUES_ACTIVITIES_MAX + 1],
    };
    assert!(matches!(
        values(bench.process(), &too_many),
        Answer::Refused(_)
    ));
    // The root is no activity.
    let none = ValuesWanted {
        process: bench.process().id(),
        activities: vec![ActivityId(0)],
    };
    assert!(matches!(values(bench.process(), &none), Answer::Refused(_)));
}

#[test]
fn values_of_any_shape_are_cut_to_their_room() {
    let deep = (0..50).fold(Value::Text("x".repeat(5_000)), |value, _| {
        Value::List(vec![Value::Int(1), value])
    });
    let wide = Value::List(vec![Value::Null; 10_000]);
    let map = (0..5_000).map(|n| (format!("{n}"), Value::from(artifact())));
    for value in [deep, wide, Value::Map(map.collect())] {
        let mut room = Room::default();
        let told = room.value(&value);
        assert!(room.is_cut && told.size() < 20 * TOLD_BYTES_MAX, "{told:?}");
        assert!(minicbor::to_vec(&told).unwrap().len() < 2 * TOLD_BYTES_MAX);
    }
    let mut room = Room::default();
    let small = Value::List(vec![Value::Text("a".to_owned()), Value::from(artifact())]);
    assert_eq!((room.value(&small), room.is_cut), (small, false));
}
