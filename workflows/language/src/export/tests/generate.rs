//! Definitions with all that is awkward in YAML.

use model::{
    Activation, Activity, Assignment, Bytes, Caching, Capture, Command, Draft, Environment,
    Expression, ForEach, Input, Join, Link, Node, NodeId, NodeKind, Output, OutputSource, Parse,
    Produced, Repeat, Retry, RetryOn, Source, Span, Staged, Stdin, Template, Test, Type, Value,
    Variable, Work,
};
use proptest::prelude::*;

/// Text without expressions in it, with all that is awkward in YAML.
fn text() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "a",
        "b c",
        "\n",
        "  ",
        "\t",
        "'",
        "\"",
        "\\",
        ": ",
        " #",
        "- ",
        "{",
        "}",
        "[",
        "]",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "é",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{1f600}",
        "\r\n",
        "~",
        "null",
        "true",
        "12",
        "1.5",
        "0x1f",
        "$ ",
        "$${",
        "---",
        "...",
        "? ",
        ",",
        "=",
        "<<",
        "\u{7f}",
    ]);
    prop::collection::vec(parts, 0..6).prop_map(|parts| parts.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i32>().prop_map(f64::from),
        -1e300..1e300f64,
        Just(1e-7)
    ];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        number.prop_map(Value::Float),
        text().prop_map(|text| Value::Text(text.replace('$', "S"))),
        Just(Value::Null),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        let keys = text().prop_map(|text| text.replace('$', "S"));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(keys, inner, 0..4).prop_map(Value::Map),
        ]
    })
}

/// A path that may stand anywhere.
fn path() -> impl Strategy<Value = String> {
    text().prop_map(|text| {
        let path: String = text
            .replace(['\n', '\r', '/', '*', '?', '['], "_")
            .replace('$', "S");
        format!("p{path}")
    })
}

fn command() -> impl Strategy<Value = Command> {
    let word = prop_oneof![text(), Just("${count + 1}".to_owned())];
    prop_oneof![
        prop::collection::vec(word, 0..5).prop_map(|words| {
            let words = std::iter::once("run".to_owned()).chain(words);
            Command::List(words.map(Template).collect())
        }),
        (any::<bool>(), prop::collection::vec(text(), 1..4)).prop_map(|(value, lines)| {
            let first = if value { "x ${count}\n" } else { "x" };
            Command::Shell(Template(format!("{first}{}", lines.join("\n"))))
        }),
    ]
}

prop_compose! {
    fn leaf()(
        command in command(),
        env in prop::collection::btree_map(path().prop_map(|name| name.replace('=', "_")), text(), 0..3),
        labels in prop::collection::btree_map("[a-z0-9][a-z_-]{0,60}", path(), 0..3),
        outputs in prop::collection::vec(path(), 0..3),
        stdin in prop::option::of(text()),
        captures in (any::<bool>(), any::<bool>()),
        amounts in (0u64..5_000_000, 1u32..4, 0u64..1 << 33, 0u64..1 << 40),
        attempts in 1u32..4,
        (cache, repeatable, at_most_once) in (any::<Option<bool>>(), any::<bool>(), any::<bool>()),
        on in prop::collection::vec(0i32..256, 0..3),
        growth in prop::option::of(110u32..1_000),
        root in prop::option::of("/[a-z #'-]{0,40}"),
        replicas in prop::option::of(2u32..5),
        units in prop::option::of(prop::collection::vec(1u32..9, 1..3)),
    ) -> Activity {
        let capture = |given: bool, variable, parse| given.then_some(Capture { variable, parse });
        let (work, cores, memory, timeout) = amounts;
        let outputs = outputs.into_iter().enumerate();
        let units = units.map(|units| {
            let units = units.into_iter().enumerate();
            units.map(|(n, units)| (format!("limit-{n}"), units)).collect()
        });
        let mut on: Vec<RetryOn> = on.into_iter().map(|status| match status {
            0..10 => RetryOn::Lost,
            10..20 => RetryOn::Timeout,
            20..30 => RetryOn::Failed,
            30..40 => RetryOn::OutOfMemory,
            status => RetryOn::Exit(status),
        }).collect();
        let growth = growth.filter(|_| memory > 0);
        if growth.is_some() && !on.is_empty() {
            on.push(RetryOn::OutOfMemory);
        }
        Activity {
            env: env.into_iter().map(|(name, text)| (name, Template(text))).collect(),
            labels: labels.into_iter().collect(),
            outputs: outputs.map(|(n, path)| Produced { name: format!("o{n}"), path }).collect(),
            stdin: stdin.map(|text| Stdin::Text(Template(text))),
            stdout: capture(captures.0, 0, Parse::Int),
            stderr: capture(captures.1, 1, Parse::Text),
            work: (work > 0).then_some(Work(work)),
            cores,
            memory: (memory > 0).then_some(Bytes(memory)),
            timeout: (timeout > 0).then_some(Span(timeout)),
            retry: Retry {
                attempts: if at_most_once { 1 } else { attempts },
                backoff: Span(work),
                on,
                memory_percent: growth,
            },
            cache: Caching::written(cache),
            repeatable: repeatable && !at_most_once && units.is_none(),
            at_most_once,
            replicas: replicas.filter(|_| repeatable && !at_most_once && units.is_none()),
            activation: root.map(Activation::Path),
            limits: units,
            ..Activity::new(command)
        }
    }
}

#[derive(Clone, Debug)]
enum Tree {
    Leaf(Box<Activity>),
    Assign,
    Empty,
    Sequence(Vec<Tree>),
    Parallel(Vec<Tree>),
    /// With an `else` or without.
    If(Vec<Tree>, bool),
    ForEach(Box<Tree>, Each),
    Loop(Box<Tree>, Loop),
}

/// The keys of a loop.
#[derive(Clone, Debug)]
struct Loop {
    is_until: bool,
    has_index: bool,
    max_iterations: Option<u32>,
}

/// The keys of a for-each.
#[derive(Clone, Debug)]
struct Each {
    /// The list is one of files, which the body may stage.
    of_files: bool,
    has_index: bool,
    has_key: bool,
    at_most: Option<u32>,
    complete_when: Option<u32>,
}

prop_compose! {
    fn each()(
        of_files in any::<bool>(),
        has_index in any::<bool>(),
        has_key in any::<bool>(),
        at_most in prop::option::of(1u32..4),
        complete_when in prop::option::of(1u32..4),
    ) -> Each {
        Each { of_files, has_index, has_key, at_most, complete_when }
    }
}

prop_compose! {
    fn repeat()(
        is_until in any::<bool>(),
        has_index in any::<bool>(),
        max_iterations in prop::option::of(1u32..4),
    ) -> Loop {
        Loop { is_until, has_index, max_iterations }
    }
}

/// A tree, for-eachs in it where that is said.
fn tree(has_bodies: bool) -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        6 => leaf().prop_map(|activity| Tree::Leaf(Box::new(activity))),
        1 => Just(Tree::Assign),
        1 => Just(Tree::Empty),
    ];
    leaf.prop_recursive(4, 14, 4, move |inner| {
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Sequence),
            2 => prop::collection::vec(inner.clone(), 1..5).prop_map(Tree::Parallel),
            2 => (prop::collection::vec(inner.clone(), 2..5), any::<bool>())
                .prop_map(|(parts, has_else)| Tree::If(parts, has_else)),
            u32::from(has_bodies) * 2 + 1 => (inner.clone(), repeat()).prop_map(move |(body, repeat)| {
                match has_bodies {
                    true => Tree::Loop(Box::new(body), repeat),
                    false => body,
                }
            }),
            u32::from(has_bodies) * 3 + 1 => (inner, each()).prop_map(move |(body, each)| match has_bodies {
                true => Tree::ForEach(Box::new(body), each),
                false => body,
            }),
        ]
    })
}

/// Puts a tree behind the nodes that are there. Each activity reads the outputs of the activities that
/// a sequence puts before it, of all items where they lie in a for-each, and the items that are files;
/// parallels link their first child to their last.
fn plant(tree: &Tree, before: &[(Source, bool)], nodes: &mut Vec<Node>) -> NodeId {
    let id = NodeId(nodes.len() as u32);
    nodes.push(Node {
        name: format!("n{}", id.0),
        kind: NodeKind::Empty,
        join: Join::All,
    });
    let kind = match tree {
        Tree::Leaf(leaf) => {
            let mut leaf = leaf.clone();
            let staged = before.iter().enumerate();
            leaf.inputs = staged
                .map(|(n, &(source, gathers))| Staged {
                    path: format!("in {n}{}", if gathers { "/" } else { "" }),
                    source,
                    gathers,
                    carried: None,
                })
                .collect();
            NodeKind::Activity(leaf)
        }
        Tree::Assign => NodeKind::Assign(vec![Assignment {
            variable: 0,
            value: Expression("count + [1, 2][0]".to_owned()),
        }]),
        Tree::Empty => NodeKind::Empty,
        Tree::Sequence(parts) => {
            let mut before = before.to_vec();
            let mut children = Vec::new();
            for part in parts {
                let child = plant(part, &before, nodes);
                children.push(child);
                let (producer, gathers) = match &nodes[child.index()].kind {
                    NodeKind::ForEach(each) => (each.children[0], true),
                    NodeKind::Repeat(repeat) => (repeat.children[0], false),
                    NodeKind::Sequence(_)
                    | NodeKind::Parallel { .. }
                    | NodeKind::If { .. }
                    | NodeKind::Activity(_)
                    | NodeKind::Assign(_)
                    | NodeKind::Empty => (child, false),
                };
                if let NodeKind::Activity(made) = &nodes[producer.index()].kind {
                    let outputs = 0..made.outputs.len() as u32;
                    let output = |output| Source::Output {
                        activity: producer,
                        output,
                    };
                    before.extend(outputs.map(|place| (output(place), gathers)));
                }
            }
            NodeKind::Sequence(children)
        }
        Tree::If(parts, has_else) => {
            let branches = parts.iter().map(|part| plant(part, before, nodes));
            let children: Vec<NodeId> = branches.collect();
            let n_conditions = parts.len() - usize::from(*has_else);
            let condition = |n| Expression(format!(" count == {n} "));
            NodeKind::If {
                conditions: (0..n_conditions).map(condition).collect(),
                children,
            }
        }
        Tree::Loop(body, repeat) => {
            let child = plant(body, before, nodes);
            if let NodeKind::Activity(body) = &mut nodes[child.index()].kind
                && !body.outputs.is_empty()
                && let Some(staged) = body.inputs.iter_mut().find(|staged| !staged.gathers)
            {
                staged.carried = Some(Source::Output {
                    activity: child,
                    output: 0,
                });
            }
            let (test, condition) = match repeat.is_until {
                true => (Test::Until, "count > 3"),
                false => (Test::While, "[true][0]"),
            };
            NodeKind::Repeat(Box::new(Repeat {
                test,
                condition: Expression(condition.to_owned()),
                index: repeat.has_index.then(|| format!("index_{}", id.0)),
                max_iterations: repeat.max_iterations,
                children: vec![child],
            }))
        }
        Tree::ForEach(body, each) => {
            // Nothing is gathered in another body.
            let mut read: Vec<_> = before
                .iter()
                .copied()
                .filter(|(_, gathers)| !gathers)
                .collect();
            if each.of_files {
                read.push((Source::Item(NodeId(id.0 + 1)), false));
            }
            let list = if each.of_files {
                " inputs.reads"
            } else {
                r#"[1, "a\n", null]"#
            };
            let index = each.has_index.then(|| format!("index_{}", id.0));
            NodeKind::ForEach(Box::new(ForEach {
                item: format!("item_{}", id.0),
                items: Expression(list.to_owned()),
                key: each.has_key.then(|| match &index {
                    Some(index) => Expression(format!("string({index} + 1)")),
                    None => Expression("'k'".to_owned()),
                }),
                index,
                at_most: each.at_most,
                complete_when: each.complete_when.map(|number| {
                    // As a number, and as an expression.
                    Expression(if number == 3 {
                        " size(inputs.reads) - 1".to_owned()
                    } else {
                        number.to_string()
                    })
                }),
                children: vec![plant(body, &read, nodes)],
            }))
        }
        Tree::Parallel(parts) => {
            let children: Vec<NodeId> = parts
                .iter()
                .map(|part| plant(part, before, nodes))
                .collect();
            let mut links = Vec::new();
            if let [first, .., last] = children[..] {
                let when = Some(Expression("count > 1".to_owned())).filter(|_| last.0 % 2 == 0);
                links.push(Link {
                    from: first,
                    to: last,
                    when,
                });
                nodes[last.index()].join = match last.0 % 3 {
                    0 => Join::Any,
                    1 if nodes[first.index()]
                        .name
                        .starts_with(|c: char| c.is_alphabetic()) =>
                    {
                        Join::When(Expression(format!("links.{}", nodes[first.index()].name)))
                    }
                    _ => Join::All,
                };
            }
            NodeKind::Parallel { children, links }
        }
    };
    if matches!(kind, NodeKind::Empty | NodeKind::Assign(_)) && id.0.is_multiple_of(2) {
        // Names of steps may be words of YAML.
        nodes[id.index()].name = ["true", "null", "12", "1e5"][id.index() / 2 % 4].to_owned() + "_";
        nodes[id.index()].name.push_str(&id.0.to_string());
    }
    nodes[id.index()].kind = kind;
    id
}

fn is_in_body(nodes: &[Node], node: usize) -> bool {
    let parent = |at: &usize| {
        let is_child = |node: &Node| node.children().iter().any(|child| child.index() == *at);
        nodes.iter().position(is_child)
    };
    let mut above = std::iter::successors(parent(&node), parent);
    above.any(|at| nodes[at].kind.has_bodies())
}

prop_compose! {
    /// The environment of all commands.
    fn environment()(
        env in prop::collection::btree_map("[A-Z]{1,9}", text(), 0..3),
        pass in prop::collection::btree_set("[a-z]{1,9}", 0..3),
        file in prop::option::of(path()),
        root in prop::option::of("/[a-z]{0,9}"),
    ) -> Option<Box<Environment>> {
        let environment = Environment {
            env: env.into_iter().map(|(name, text)| (name, Template(text))).collect(),
            pass: pass.into_iter().collect(),
            file: file.filter(|path| !path.ends_with('/')),
            activation: root.map(Activation::Path),
        };
        (!environment.is_empty()).then(|| Box::new(environment))
    }
}

prop_compose! {
    pub(super) fn draft(has_bodies: bool)(
        tree in tree(has_bodies),
        initial in value(),
        default in prop::option::of(value()),
        bounds in (prop::option::of(-1e9..0.0f64), prop::option::of(0..=i32::MAX)),
        files in prop::collection::btree_set(path(), 0..3),
        environment in environment(),
    ) -> Draft {
        let mut nodes = Vec::new();
        plant(&tree, &[], &mut nodes);
        let mut outputs = vec![Output {
            name: "sum".to_owned(),
            source: OutputSource::Expression(Expression(" count + 1 ".to_owned())),
        }];
        let first = nodes.iter().position(|node| {
            matches!(&node.kind, NodeKind::Activity(activity) if !activity.outputs.is_empty())
        });
        outputs.extend(first.map(|first| {
            let source = Source::Output { activity: NodeId(first as u32), output: 0 };
            let source = match is_in_body(&nodes, first) {
                true => OutputSource::Gathered(source),
                false => OutputSource::Produced(source),
            };
            Output { name: "file".to_owned(), source }
        }));
        let json = |default| Input {
            name: "given".to_owned(), kind: Type::Json, default, minimum: None, maximum: None,
        };
        let bounded = Input {
            name: "bounded".to_owned(),
            kind: Type::Float,
            default: None,
            minimum: bounds.0,
            maximum: bounds.1.map(f64::from),
        };
        let reads = Input {
            name: "reads".to_owned(),
            kind: Type::List(Box::new(Type::File)),
            default: None,
            minimum: None,
            maximum: None,
        };
        Draft {
            name: "generated".to_owned(),
            inputs: vec![json(default.filter(|value| *value != Value::Null)), bounded, reads],
            variables: vec![
                Variable { of: None, name: "count".to_owned(), kind: Type::Int, initial: Value::Int(-3) },
                Variable { of: None, name: "text".to_owned(), kind: Type::Text, initial: Value::Null },
                Variable { of: None, name: "odd".to_owned(), kind: Type::Json, initial },
            ],
            outputs,
            files: files.into_iter().collect(),
            environment,
            limits: Some(vec![("limit-0".to_owned(), 9)]),
            nodes,
            ..Draft::default()
        }
    }
}
