//! The growth of definitions.

use proptest::prelude::*;

use super::*;

pub(super) fn expansion(each: u32, n_items: u32, keys: &[&str]) -> Expansion {
    Expansion {
        each: NodeId(each),
        n_items,
        keys: keys.iter().map(|&key| key.to_owned()).collect(),
        ..Expansion::default()
    }
}

pub(super) fn names(definition: &Definition) -> Vec<&str> {
    let nodes = definition.nodes();
    nodes.map(|node| node.name.as_str()).collect()
}

/// `s(a f(s(b c)) d)`, where `c` reads `b` in its own body, and `d` gathers what `c` produces.
fn gathering() -> Draft {
    let mut draft = tree("s(a f(s(b c)) d)");
    edit(&mut draft, 4, |activity| {
        activity.inputs = vec![Staged {
            path: "item".into(),
            source: Source::Item(NodeId(3)),
            gathers: false,
            carried: None,
        }];
    });
    for (reader, producer, gathers) in [(5, 4, false), (6, 5, true)] {
        edit(&mut draft, producer, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out.txt".into(),
            }];
        });
        edit(&mut draft, reader, |activity| {
            activity.inputs = vec![Staged {
                path: if gathers { "in/" } else { "in" }.into(),
                source: output(producer),
                gathers,
                carried: None,
            }];
        });
    }
    draft
}

pub(super) fn output(activity: u32) -> Source {
    Source::Output {
        activity: NodeId(activity),
        output: 0,
    }
}

pub(super) fn edit(draft: &mut Draft, node: u32, change: impl FnOnce(&mut Activity)) {
    if let NodeKind::Activity(activity) = &mut draft.nodes[node as usize].kind {
        change(activity);
    }
}

pub(super) fn sources(definition: &Definition, activity: u32) -> Vec<Source> {
    let activity = definition.activity(ActivityId(activity)).unwrap();
    activity.inputs.iter().map(|input| input.source).collect()
}

#[test]
fn a_body_has_a_copy_for_each_item_with_ids_in_order() {
    let mut definition = gathering().check().unwrap();
    definition.expand(&expansion(2, 3, &[]));
    let grown = [
        "", "a", "", "", "b[0]", "c[0]", "d", "", "b[1]", "c[1]", "", "b[2]", "c[2]",
    ];
    assert_eq!(names(&definition), grown);
    assert_eq!(
        definition.node(NodeId(2)).children(),
        [3, 7, 10].map(NodeId)
    );
    assert_eq!(definition.parent(NodeId(7)), Some(NodeId(2)));
    assert_eq!(definition.parent(NodeId(9)), Some(NodeId(7)));
    assert_eq!(definition.origin(NodeId(11)), NodeId(4));
    assert_eq!(definition.plain_name(NodeId(11)), "b");
    assert_eq!(sources(&definition, 12), [output(11)]);
    assert_eq!(sources(&definition, 6), [output(5), output(9), output(12)]);
    assert_eq!(definition.instances(NodeId(5)), [5, 9, 12].map(NodeId));
    assert_eq!(definition.instances(NodeId(1)), [NodeId(1)]);
    let around: Vec<Enclosing> = definition.enclosing(NodeId(12)).collect();
    let (each, body) = (NodeId(2), NodeId(10));
    assert_eq!(
        around,
        [Enclosing {
            each,
            body,
            place: 2
        }]
    );
    assert_eq!(definition.draft(), &gathering());
    assert_eq!(
        edges_of(&definition),
        "a>b[0] a>b[1] a>b[2] b[0]>c[0] b[1]>c[1] b[2]>c[2] c[0]>d c[1]>d c[2]>d"
    );
}

#[test]
fn an_activity_may_gather_from_several_of_one_body() {
    let mut draft = gathering();
    edit(&mut draft, 6, |activity| {
        activity.inputs.push(Staged {
            path: "others/".into(),
            source: output(4),
            gathers: true,
            carried: None,
        });
    });
    let mut definition = draft.check().unwrap();
    definition.expand(&expansion(2, 2, &[]));
    let all = [output(5), output(9), output(4), output(8)];
    assert_eq!(sources(&definition, 6), all);
}

#[test]
fn a_body_may_gather_from_another_for_each() {
    let mut draft = tree("s(f(a) f(b) f(f(c)))");
    edit(&mut draft, 2, |activity| {
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "out".into(),
        }];
    });
    for reader in [4, 7] {
        edit(&mut draft, reader, |activity| {
            activity.inputs = vec![Staged {
                path: "in/".into(),
                source: output(2),
                gathers: true,
                carried: None,
            }];
        });
    }
    let mut definition = draft.check().unwrap();
    definition.expand(&expansion(1, 3, &[]));
    let all = [output(2), output(8), output(9)];
    definition.expand(&expansion(3, 2, &[]));
    definition.expand(&expansion(5, 2, &[]));
    let inner = definition.node(NodeId(5)).children()[1];
    definition.expand(&expansion(inner.0, 2, &[]));
    assert_eq!(definition.instances(NodeId(7)).len(), 3);
    let readers = [NodeId(4), NodeId(7)].map(|reader| definition.instances(reader));
    for reader in readers.concat() {
        assert_eq!(sources(&definition, reader.0), all, "{reader}");
    }
}

#[test]
fn what_is_no_body_has_no_item_even_in_a_recorded_draft() {
    for (reader, body) in [(4, 99), (4, 1), (4, 4), (6, 3)] {
        let mut draft = gathering();
        edit(&mut draft, reader, |activity| {
            activity.inputs[0].source = Source::Item(NodeId(body));
        });
        assert!(draft.recorded().is_err(), "{reader} {body}");
    }
}

#[test]
fn an_expansion_happens_once_and_only_where_there_is_a_for_each() {
    let mut definition = gathering().check().unwrap();
    for wrong in [0, 1, 3, 99] {
        definition.expand(&expansion(wrong, 3, &[]));
    }
    assert_eq!(definition.nodes().len(), 7);
    definition.expand(&expansion(2, 0, &[]));
    definition.expand(&expansion(2, 3, &[]));
    assert_eq!(definition.nodes().len(), 7);
    assert_eq!(definition.n_items(NodeId(2)), Some(0));
    let too_many = limits::NODES_MAX / 3 + 1;
    let error = gathering().check().unwrap().may_expand(NodeId(2), too_many);
    assert!(error.unwrap_err().contains("at most 2000000"));
}

#[test]
fn items_name_the_paths_that_their_outputs_are_gathered_at() {
    let mut definition = tree("s(f(f(a)) b)").check().unwrap();
    definition.expand(&expansion(1, 12, &[]));
    let inner = definition.node(NodeId(1)).children()[10];
    definition.expand(&expansion(inner.0, 2, &["x", "y-1"]));
    let of = definition.node(inner).children()[1];
    assert_eq!(definition.node(of).name, "a[10][y-1]");
    assert_eq!(definition.item_path(of, NodeId(4)), "10/y-1");
    assert_eq!(definition.item_path(of, inner), "y-1");
    assert_eq!(definition.item_path(NodeId(3), NodeId(4)), "00/0");
}

#[test]
fn one_output_of_a_body_is_not_read_outside_of_it() {
    let problem = |change: &dyn Fn(&mut Draft)| {
        let mut draft = gathering();
        change(&mut draft);
        draft.check().unwrap_err()[0].to_string()
    };
    let single = problem(&|draft| {
        edit(draft, 6, |activity| {
            activity.inputs[0].gathers = false;
            activity.inputs[0].path = "in".into();
        });
    });
    assert!(
        single.contains("write `c[*].out` for all of them"),
        "{single}"
    );
    let alone = problem(&|draft| edit(draft, 5, |activity| activity.inputs[0].gathers = true));
    assert!(alone.contains("write `b.out`"), "{alone}");
    let file = problem(&|draft| edit(draft, 6, |activity| activity.inputs[0].path = "in".into()));
    assert!(file.contains("write `in/`"), "{file}");
    let item = problem(&|draft| {
        edit(draft, 6, |activity| {
            activity.inputs[0].source = Source::Item(NodeId(3))
        });
    });
    assert!(item.contains("outside of its for-each"), "{item}");
    let link = problem(&|draft| *draft = tree("p(a f(b) | a>b)"));
    assert!(link.contains("does not cross the body"), "{link}");
    let below = problem(&|draft| *draft = tree("p(a f(s(b c)) | b>c)"));
    assert!(below.contains("does not cross the body"), "{below}");
}

#[test]
fn data_orders_a_for_each_and_whoever_reads_from_it() {
    let mut draft = gathering();
    draft.nodes[0].kind = NodeKind::Parallel {
        children: vec![NodeId(1), NodeId(2), NodeId(6)],
        links: Vec::new(),
    };
    edit(&mut draft, 1, |activity| {
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "out.txt".into(),
        }];
    });
    edit(&mut draft, 4, |activity| {
        activity.inputs = vec![Staged {
            path: "given".into(),
            source: output(1),
            gathers: false,
            carried: None,
        }];
    });
    draft.order_by_data();
    let NodeKind::Parallel { links, .. } = &draft.nodes[0].kind else {
        panic!("it is one");
    };
    let mut ends: Vec<(u32, u32)> = links.iter().map(|link| (link.from.0, link.to.0)).collect();
    ends.sort_unstable();
    assert_eq!(ends, [(1, 2), (2, 6)]);
    draft.check().unwrap();
}

/// `s(a w(s(b c)) d)`: `b` reads `a` and then what `c` made in the iteration before, `c` reads `b`, and
/// `d` reads the last `c` and gathers what each `b` has made.
fn repeating() -> Draft {
    let mut draft = tree("s(a w(s(b c)) d)");
    for maker in [1, 4, 5] {
        edit(&mut draft, maker, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out.txt".into(),
            }];
        });
    }
    let read = |producer: u32| Staged {
        path: "in".into(),
        source: output(producer),
        gathers: false,
        carried: None,
    };
    edit(&mut draft, 4, |activity| {
        activity.inputs = vec![Staged {
            carried: Some(output(5)),
            ..read(1)
        }];
    });
    edit(&mut draft, 5, |activity| activity.inputs = vec![read(4)]);
    edit(&mut draft, 6, |activity| {
        let all = Staged {
            path: "all/".into(),
            gathers: true,
            ..read(4)
        };
        activity.inputs = vec![read(5), all];
    });
    draft
}

#[test]
fn a_loop_gets_one_iteration_after_another() {
    let mut definition = repeating().check().unwrap();
    definition.expand(&expansion(2, 1, &[]));
    assert_eq!(names(&definition)[3..], ["", "b[0]", "c[0]", "d"]);
    definition.expand(&expansion(2, 1, &[]));
    definition.expand(&expansion(2, 2, &[]));
    assert_eq!(definition.n_items(NodeId(2)), Some(4));
    assert_eq!(
        names(&definition)[7..],
        ["", "b[1]", "c[1]", "", "b[2]", "c[2]", "", "b[3]", "c[3]"]
    );
    assert_eq!(
        edges_of(&definition),
        "a>b[0] b[0]>c[0] b[0]>d b[1]>c[1] b[1]>d b[2]>c[2] b[2]>d b[3]>c[3] b[3]>d \
         c[0]>b[1] c[1]>b[2] c[2]>b[3] c[3]>d"
    );
    // Each iteration reads from the one before.
    assert_eq!(sources(&definition, 4), [output(1)]);
    assert_eq!(sources(&definition, 8), [output(5)]);
    assert_eq!(sources(&definition, 11), [output(9)]);
    assert_eq!(sources(&definition, 14), [output(12)]);
    assert_eq!(sources(&definition, 15), [output(14)]);
    // The reader outside has the last one, and gathers all.
    let read = [15, 4, 8, 11, 14].map(output);
    assert_eq!(sources(&definition, 6), read);
    assert_eq!(definition.last_instance(NodeId(5)), NodeId(15));
    assert_eq!(definition.last_instance(NodeId(1)), NodeId(1));
    assert_eq!(definition.item_path(NodeId(14), NodeId(6)), "3");
}

#[test]
fn the_same_iterations_may_come_at_once_or_one_by_one() {
    let mut at_once = repeating().check().unwrap();
    at_once.expand(&expansion(2, 5, &[]));
    let mut one_by_one = repeating().check().unwrap();
    for _ in 0..5 {
        one_by_one.expand(&expansion(2, 1, &[]));
    }
    assert!(at_once.nodes().eq(one_by_one.nodes()));
    assert_eq!(at_once.links(), one_by_one.links());
}

#[test]
fn items_inside_of_an_iteration_read_what_the_loop_carries() {
    // The items `b` read `a`, and then what `c` has made of them in the iteration before.
    let mut draft = tree("s(a w(s(f(b) c)))");
    for maker in [1, 6] {
        edit(&mut draft, maker, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out".into(),
            }];
        });
    }
    edit(&mut draft, 5, |activity| {
        activity.inputs = vec![Staged {
            path: "in".into(),
            source: output(1),
            gathers: false,
            carried: Some(output(6)),
        }];
    });
    let mut definition = draft.check().unwrap();
    definition.expand(&expansion(2, 1, &[]));
    definition.expand(&expansion(4, 2, &[]));
    definition.expand(&expansion(2, 1, &[]));
    let last = definition.node(NodeId(2)).children()[1];
    let each = definition.node(last).children()[0];
    definition.expand(&expansion(each.0, 3, &[]));
    assert_eq!(
        edges_of(&definition),
        "a>b[0][0] a>b[0][1] b[0][0]>c[0] b[0][1]>c[0] b[1][0]>c[1] b[1][1]>c[1] b[1][2]>c[1] \
         c[0]>b[1][0] c[0]>b[1][1] c[0]>b[1][2]"
    );
    for item in definition.node(each).children() {
        assert_eq!(sources(&definition, item.0), [output(6)]);
    }
}

#[test]
fn whoever_comes_after_a_loop_reads_its_last_iteration_for_each_item() {
    // `c` runs for items that are known when the loop has ended.
    let mut draft = tree("s(w(w(a)) f(c))");
    edit(&mut draft, 3, |activity| {
        activity.outputs = vec![Produced {
            name: "out".into(),
            path: "out".into(),
        }];
    });
    edit(&mut draft, 5, |activity| {
        activity.inputs = vec![Staged {
            path: "in".into(),
            source: output(3),
            gathers: false,
            carried: None,
        }];
    });
    let mut definition = draft.check().unwrap();
    definition.expand(&expansion(1, 2, &[]));
    let inner = definition.node(NodeId(1)).children()[1];
    definition.expand(&expansion(inner.0, 3, &[]));
    definition.expand(&expansion(4, 3, &[]));
    let last = definition.last_instance(NodeId(3));
    assert_eq!(definition.node(last).name, "a[1][2]");
    for reader in definition.instances(NodeId(5)) {
        assert_eq!(sources(&definition, reader.0), [output(last.0)]);
    }
}

#[test]
fn only_a_loop_carries_files_from_one_iteration_to_the_next() {
    let problem = |text: &str, reader: u32, producer: u32| {
        let mut draft = tree(text);
        edit(&mut draft, 1, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out".into(),
            }];
        });
        edit(&mut draft, producer, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out".into(),
            }];
        });
        edit(&mut draft, reader, |activity| {
            activity.inputs = vec![Staged {
                path: "in".into(),
                source: output(1),
                gathers: false,
                carried: Some(output(producer)),
            }];
        });
        let recorded = draft.clone().recorded().is_ok();
        let problems = draft.check().err().unwrap_or_default();
        assert_eq!(recorded, problems.is_empty(), "{problems:?}");
        problems.first().map(Problem::to_string).unwrap_or_default()
    };
    // An activity may read what it has made itself the time before.
    assert_eq!(problem("s(a w(b))", 3, 3), "");
    assert_eq!(problem("s(a w(s(b w(c))))", 6, 4), "");
    for (text, reader, producer) in [
        ("s(a f(b))", 3, 3),
        ("s(a s(b c))", 3, 4),
        ("s(a w(b) c)", 4, 3),
        ("s(a w(b) w(c))", 5, 3),
        ("s(a w(s(b w(c))))", 4, 6),
    ] {
        let problem = problem(text, reader, producer);
        assert!(problem.contains("no loop around both"), "{text}: {problem}");
    }
}

/// A tree whose for-each controllers have so many items, and its loops so many iterations.
#[derive(Clone, Debug)]
enum Shape {
    Leaf,
    Controller(&'static str, Vec<Shape>),
    Each(u32, Box<Shape>),
    Loop(u32, Box<Shape>),
}

impl Shape {
    /// As text, with leaves named in order; unrolled, a for-each is a parallel of its bodies, and a loop a
    /// sequence.
    fn text(&self, n_leaves: &mut u32, suffix: &str, unrolled: bool) -> String {
        match self {
            Shape::Leaf => {
                *n_leaves += 1;
                format!("a{n_leaves}{suffix}")
            }
            Shape::Controller(kind, children) => {
                let texts = children.iter();
                let texts: Vec<String> = texts
                    .map(|child| child.text(n_leaves, suffix, unrolled))
                    .collect();
                format!("{kind}({})", texts.join(" "))
            }
            Shape::Each(_, body) if !unrolled => {
                format!("f({})", body.text(n_leaves, suffix, unrolled))
            }
            Shape::Loop(_, body) if !unrolled => {
                format!("w({})", body.text(n_leaves, suffix, unrolled))
            }
            Shape::Each(n_items, body) | Shape::Loop(n_items, body) => {
                let first = *n_leaves;
                let texts: Vec<String> = (0..*n_items)
                    .map(|item| {
                        *n_leaves = first;
                        body.text(n_leaves, &format!("{suffix}[{item}]"), unrolled)
                    })
                    .collect();
                let kind = match self {
                    Shape::Loop(..) => "s",
                    Shape::Leaf | Shape::Controller(..) | Shape::Each(..) => "p",
                };
                format!("{kind}({})", texts.join(" "))
            }
        }
    }

    /// The items and iterations, in the order of the text.
    fn items(&self) -> Vec<u32> {
        match self {
            Shape::Leaf => Vec::new(),
            Shape::Controller(_, children) => children.iter().flat_map(Shape::items).collect(),
            Shape::Each(n_items, body) | Shape::Loop(n_items, body) => {
                [*n_items].into_iter().chain(body.items()).collect()
            }
        }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    Just(Shape::Leaf).prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|all| Shape::Controller("s", all)),
            proptest::collection::vec(inner.clone(), 1..4)
                .prop_map(|all| Shape::Controller("p", all)),
            (1u32..4, inner.clone()).prop_map(|(n, body)| Shape::Each(n, Box::new(body))),
            (1u32..4, inner).prop_map(|(n, body)| Shape::Loop(n, Box::new(body))),
        ]
    })
}

/// Lets go of all nodes.
fn released(definition: &Definition) -> Definition {
    // A definition of its own, which nobody shares.
    let mut released = definition.clone().with_priority(0);
    (0..released.n_nodes() as u32).for_each(|node| released.release(NodeId(node)));
    released
}

#[test]
fn a_copy_that_was_let_go_is_made_again_as_it_was() {
    for (draft, each) in [(gathering(), 2), (repeating(), 2)] {
        let mut definition = draft.check().unwrap();
        for _ in 0..3 {
            definition.expand(&expansion(each, 3, &[]));
            let nodes: Vec<Node> = definition.nodes().cloned().collect();
            let again = released(&definition);
            assert!(again.nodes().eq(&nodes));
            for (id, node) in (0..).map(NodeId).zip(&nodes) {
                assert_eq!(again.name_of(id), node.name);
                assert_eq!(again.children(id), node.children());
            }
        }
    }
}

proptest! {
    #[test]
    fn a_grown_definition_has_the_order_of_one_that_is_written_out(
        shape in shape(),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let folded = tree(&shape.text(&mut 0, "", false));
        let eaches = (0..).zip(&folded.nodes);
        let eaches: Vec<NodeId> = eaches
            .filter(|(_, node)| node.kind.has_bodies())
            .map(|(id, _)| NodeId(id))
            .collect();
        let items = shape.items();
        let mut grown = folded.check().unwrap();
        // The same, but each node is read at once, so that it is there when others are added.
        let mut read = grown.clone();
        let mut order = order.into_iter().cycle();
        loop {
            let ids = (0..grown.nodes().len() as u32).map(NodeId);
            let n_wanted = |id: NodeId| {
                let at = eaches.iter().position(|&one| one == grown.origin(id));
                at.map_or(0, |at| items[at])
            };
            let is_ready = |id: &NodeId| {
                grown.n_items(*id).unwrap_or(0) < n_wanted(*id)
                    && grown.enclosing(*id).all(|around| grown.is_expanded(around.each))
            };
            let ready: Vec<NodeId> = ids.filter(is_ready).collect();
            if ready.is_empty() {
                break;
            }
            let each = *order.next().unwrap().get(&ready);
            let is_loop = matches!(grown.node(each).kind, NodeKind::Repeat(_));
            let n_items = if is_loop { 1 } else { n_wanted(each) };
            grown.expand(&expansion(each.0, n_items, &[]));
            read.expand(&expansion(each.0, n_items, &[]));
            prop_assert_eq!(read.nodes().len(), grown.n_nodes());
        }
        prop_assert_eq!(edges_of(&grown), edges_of(&read));
        prop_assert!(grown == read);
        let written = tree(&shape.text(&mut 0, "", true)).recorded().unwrap();
        prop_assert_eq!(edges_of(&grown), edges_of(&written));
        let all = |definition: &Definition| {
            let activities = definition.activities().iter();
            let mut names: Vec<String> = activities
                .map(|activity| definition.node(activity.node()).name.clone())
                .collect();
            names.sort();
            names
        };
        prop_assert_eq!(all(&grown), all(&written));
    }
}
