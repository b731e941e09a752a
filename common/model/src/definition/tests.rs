//! The checks that make a draft a definition, and its graph.

mod grow;
mod picks;

use super::*;
use crate::Bytes;
use crate::Hash;

/// Parses a tree written as text: `s(a b p(c d | c>d))`, lower-case words are activities. `i(a b)`
/// is an `if` with a condition for each child, `e(a b)` one whose last child is the `else`, `f(a)` a
/// for-each, `w(a)` a loop.
pub(crate) fn tree(text: &str) -> Draft {
    let mut draft = Draft {
        name: "t".into(),
        ..Draft::default()
    };
    let spaced = text
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('|', " | ");
    let mut words = spaced.split_whitespace().peekable();
    parse(&mut words, &mut draft);
    draft
}

fn parse<'a>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    draft: &mut Draft,
) -> NodeId {
    let id = NodeId(draft.nodes.len() as u32);
    let word = words.next().unwrap();
    let controller = words.peek() == Some(&"(");
    let name = if controller {
        String::new()
    } else {
        word.to_owned()
    };
    draft.nodes.push(Node {
        name,
        kind: NodeKind::Empty,
        join: Join::All,
    });
    let kind = if controller {
        words.next();
        let mut children = Vec::new();
        let mut links = Vec::new();
        loop {
            match *words.peek().unwrap() {
                ")" => break,
                "|" => {
                    words.next();
                    while *words.peek().unwrap() != ")" {
                        let (from, to) = words.next().unwrap().split_once('>').unwrap();
                        let find = |name: &str| {
                            let found = draft.nodes.iter().position(|node| node.name == name);
                            NodeId(found.unwrap() as u32)
                        };
                        links.push(Link {
                            from: find(from),
                            to: find(to),
                            when: None,
                        });
                    }
                }
                _ => children.push(parse(words, draft)),
            }
        }
        words.next();
        match word {
            "s" => NodeKind::Sequence(children),
            "f" => NodeKind::ForEach(Box::new(ForEach {
                item: format!("i{}", id.0),
                index: None,
                items: Expression("[1]".into()),
                key: None,
                complete_when: None,
                at_most: None,
                children,
            })),
            "w" => NodeKind::Repeat(Box::new(Repeat {
                test: Test::While,
                condition: Expression("true".into()),
                index: None,
                max_iterations: None,
                children,
            })),
            "i" | "e" => {
                let n_conditions = children.len() - usize::from(word == "e");
                NodeKind::If {
                    conditions: vec![Expression("true".into()); n_conditions],
                    children,
                }
            }
            _ => NodeKind::Parallel { children, links },
        }
    } else {
        NodeKind::Activity(Box::new(activity()))
    };
    draft.nodes[id.index()].kind = kind;
    id
}

fn activity() -> Activity {
    Activity::new(Command::List(vec![Template("true".into())]))
}

fn edges(text: &str) -> String {
    edges_of(&tree(text).check().unwrap())
}

fn edges_of(definition: &Definition) -> String {
    let graph = definition.graph();
    let names: Vec<String> = graph
        .nodes()
        .map(|node| match node.activity {
            Some(activity) => definition.node(activity.node()).name.clone(),
            None => "*".to_owned(),
        })
        .collect();
    let mut edges: Vec<String> = graph
        .edges()
        .map(|(from, to, _)| format!("{}>{}", names[from], names[to]))
        .collect();
    edges.sort();
    edges.join(" ")
}

#[test]
fn graph_follows_sequence_parallel_and_links() {
    assert_eq!(edges("s(a b c)"), "a>b b>c");
    assert_eq!(edges("s(a p(b c) d)"), "a>b a>c b>d c>d");
    assert_eq!(edges("p(a b c | a>b b>c)"), "a>b b>c");
    assert_eq!(edges("p(a b)"), "");
    assert_eq!(edges("s(p(a b) p(c d))"), "a>c a>d b>c b>d");
}

#[test]
fn all_branches_of_an_if_lie_between_what_is_before_and_after_it() {
    assert_eq!(edges("s(a i(b) c)"), "a>b b>c");
    assert_eq!(edges("s(a e(b s(c d)) f)"), "a>b a>c b>f c>d d>f");
    assert_eq!(edges("p(a e(b c) d | a>b c>d)"), "a>b c>d");
}

#[test]
fn an_if_has_a_branch_for_each_condition_and_at_most_one_more() {
    for (text, is_sound) in [("i(a b)", true), ("e(a b)", true), ("e(a)", false)] {
        assert_eq!(tree(text).check().is_ok(), is_sound, "{text}");
    }
    for n_conditions in [0, 1, 4] {
        let mut draft = tree("i(a b c)");
        if let NodeKind::If { conditions, .. } = &mut draft.nodes[0].kind {
            conditions.resize(n_conditions, Expression("true".into()));
        }
        let problems = draft.check().unwrap_err();
        let message = "n0: an `if` has a branch for each condition, and may have an `else`";
        assert_eq!(problems[0].to_string(), message);
    }
    let mut draft = tree("i(a b)");
    if let NodeKind::If { conditions, .. } = &mut draft.nodes[0].kind {
        conditions[1] = Expression(" ".into());
    }
    let problems = draft.check().unwrap_err();
    assert_eq!(problems[0].to_string(), "n0 elif.0.if: an empty expression");
    assert_eq!(Place::condition(0), "if");
}

#[test]
fn what_never_runs_together_is_neither_linked_nor_read() {
    let apart = "`a` and `c` are in different branches of one `if`, so they never both run";
    let problems = tree("p(e(a s(b c)) d | a>c)").check().unwrap_err();
    assert_eq!(problems[0].to_string(), format!("n0 links.0: {apart}"));
    assert!(tree("p(e(a s(b c)) d | a>d d>c)").check().is_ok());

    let reads = |text: &str| {
        let mut draft = tree(text);
        let find = |name: &str| draft.nodes.iter().position(|node| node.name == name);
        let (a, c) = (find("a").unwrap(), find("c").unwrap());
        if let NodeKind::Activity(producer) = &mut draft.nodes[a].kind {
            let (name, path) = ("o".to_owned(), "o".to_owned());
            producer.outputs = vec![Produced { name, path }];
        }
        if let NodeKind::Activity(consumer) = &mut draft.nodes[c].kind {
            let activity = NodeId(a as u32);
            consumer.inputs = vec![Staged {
                path: "i".to_owned(),
                source: Source::Output {
                    activity,
                    output: 0,
                },
                gathers: false,
                carried: None,
            }];
        }
        let checked = draft.check();
        checked.err().map(|problems| problems[0].message.clone())
    };
    assert_eq!(reads("e(a s(b c))").as_deref(), Some(apart));
    assert_eq!(reads("s(e(a b) c)"), None);
    assert_eq!(reads("e(s(a c) b)"), None);
}

#[test]
fn wide_barrier_becomes_a_gate() {
    let text = edges("s(p(a b c) p(d e f))");
    assert_eq!(text, "*>d *>e *>f a>* b>* c>*");
}

#[test]
fn cycle_is_named_by_its_path() {
    let problems = tree("p(a b c | a>b b>c c>a)").check().unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("cycle"), "{}", problems[0]);
    for link in ["a -> b", "b -> c", "c -> a"] {
        assert!(problems[0].message.contains(link), "{}", problems[0]);
    }
}

#[test]
fn cycle_through_a_sequence_is_found() {
    let problems = tree("p(s(a b) c | b>c c>a)").check().unwrap_err();
    assert!(problems[0].message.contains("cycle"), "{}", problems[0]);
}

#[test]
fn cycles_that_share_nothing_are_named_each() {
    let problems = tree("p(a b c d e | a>b b>a c>d d>c b>e)").check();
    let found: Vec<String> = problems
        .unwrap_err()
        .iter()
        .map(|problem| format!("{} {}", problem.place.field, problem.message))
        .collect();
    assert_eq!(
        found,
        [
            "links.0 these wait for each other in a cycle: a -> b -> a",
            "links.2 these wait for each other in a cycle: d -> c -> d",
        ]
    );
}

#[test]
fn cycles_and_orders_are_checked_beside_other_mistakes() {
    let mut draft = tree("p(a b c d | a>b b>a)");
    draft.name = "Not A Name".into();
    let produced = |draft: &mut Draft, at: usize| {
        if let NodeKind::Activity(activity) = &mut draft.nodes[at].kind {
            let (name, path) = ("o".into(), "o".into());
            activity.outputs.push(Produced { name, path });
            activity.memory = Some(Bytes(0));
        }
    };
    let stage = |draft: &mut Draft, at: usize, from: u32, output: u32| {
        if let NodeKind::Activity(activity) = &mut draft.nodes[at].kind {
            let source = Source::Output {
                activity: NodeId(from),
                output,
            };
            let path = format!("{from}-{output}");
            activity.inputs.push(Staged {
                path,
                source,
                gathers: false,
                carried: None,
            });
        }
    };
    produced(&mut draft, 1);
    produced(&mut draft, 3);
    // From within the cycle, from beside, from what is not there, from itself.
    stage(&mut draft, 2, 1, 0);
    stage(&mut draft, 4, 3, 0);
    stage(&mut draft, 4, 3, 7);
    stage(&mut draft, 4, 99, 0);
    stage(&mut draft, 3, 3, 0);
    let problems = draft.check().unwrap_err();
    let mut found: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {}", problem.place.field, problem.message))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "inputs.3-0 `c` need not have ended when `d` starts",
            "inputs.3-0 an activity cannot read its own output",
            "inputs.3-7 no activity has such an output",
            "inputs.99-0 no activity has such an output",
            "links.0 these wait for each other in a cycle: a -> b -> a",
            "memory 0 bytes; nothing can run in that",
            "memory 0 bytes; nothing can run in that",
            "name `Not A Name` is not a process name",
        ]
    );
}

#[test]
fn reader_beside_its_producer_is_refused_and_after_it_is_not() {
    for (text, sound) in [
        ("p(a b)", false),
        ("s(a b)", true),
        ("p(a b | a>b)", true),
        ("s(b a)", false),
        ("p(a c b | a>c c>b)", true),
        ("p(s(a c) b | c>b)", true),
    ] {
        let mut draft = tree(text);
        let find = |draft: &Draft, name: &str| {
            NodeId(
                draft
                    .nodes
                    .iter()
                    .position(|node| node.name == name)
                    .unwrap() as u32,
            )
        };
        let (a, b) = (find(&draft, "a"), find(&draft, "b"));
        if let NodeKind::Activity(producer) = &mut draft.nodes[a.index()].kind {
            producer.outputs.push(Produced {
                name: "out".into(),
                path: "out.txt".into(),
            });
        }
        if let NodeKind::Activity(consumer) = &mut draft.nodes[b.index()].kind {
            let source = Source::Output {
                activity: a,
                output: 0,
            };
            consumer.inputs.push(Staged {
                path: "in.txt".into(),
                source,
                gathers: false,
                carried: None,
            });
        }
        assert_eq!(draft.check().is_ok(), sound, "{text}");
    }
}

#[test]
fn nodes_that_are_no_tree_are_refused() {
    let mut twice = tree("p(a b)");
    twice.nodes[0].kind = NodeKind::Parallel {
        children: vec![NodeId(1), NodeId(1)],
        links: Vec::new(),
    };
    assert!(twice.check().is_err());
    let mut orphan = tree("p(a b)");
    orphan.nodes[0].kind = NodeKind::Sequence(vec![NodeId(1)]);
    assert!(orphan.check().is_err());
    let mut round = tree("p(a b)");
    round.nodes[0].kind = NodeKind::Sequence(vec![NodeId(0), NodeId(1), NodeId(2)]);
    assert!(round.check().is_err());
    let mut far = tree("p(a b)");
    far.nodes[0].kind = NodeKind::Sequence(vec![NodeId(1), NodeId(2), NodeId(9)]);
    assert!(far.check().is_err());
    assert!(Draft::default().check().is_err());
}

#[test]
fn every_problem_is_named_at_once() {
    let mut draft = tree("p(a a)");
    draft.name = "Not A Name".into();
    draft.files = vec!["../up".into(), "/root".into()];
    let text: Vec<String> = draft
        .check()
        .unwrap_err()
        .iter()
        .map(Problem::to_string)
        .collect();
    assert_eq!(text.len(), 4, "{text:#?}");
}

#[test]
fn ids_and_hashes_are_read_as_they_are_written() {
    for number in [0, 1, 31, 32, u64::MAX, 0x1234_5678_9abc_def0] {
        let id = crate::ProcessId(number);
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    assert!("zzzzzzzzzzzzz".parse::<crate::ProcessId>().is_err());
    let hash = Hash([7; 32]);
    assert_eq!(hash.to_string().parse(), Ok(hash));
}

#[test]
fn draft_survives_its_encoding() {
    let draft = tree("s(a p(b c | b>c) d)");
    let bytes = minicbor::to_vec(&draft).unwrap();
    assert_eq!(minicbor::decode::<Draft>(&bytes).unwrap(), draft);
}
