use std::collections::BTreeSet;

use model::{
    Activity, Assignment, Bytes, Capture, Command, Definition, Draft, Expression, Input, Join,
    Link, Node, NodeId, NodeKind, Output, OutputSource, Parse, Produced, Retry, RetryOn, Source,
    Span, Staged, Stdin, Template, Type, Value, Variable, Work,
};
use proptest::prelude::*;

use crate::compile;

fn compiled(text: &str) -> Definition {
    match compile("test.yaml", text.as_bytes()) {
        Ok(compiled) => compiled.definition,
        Err(diagnostics) => panic!("{:?}\n{text}", diagnostics.list()),
    }
}

const FULL: &str = r#"# full: 6 activities, 1 links. Written by xav export.
xavantes: 1
name: full
inputs: { limit: { type: int, default: 10, minimum: 1.0, maximum: 20.5 }, text: file }
variables:
  total: { type: int, value: 3 }
  odd: { type: json, value: {"a b": [1, 2.0, null, true, "${x}"]} }
outputs: { total: "${total + 1}", file: low.found }
files: [a.sh]
body:
  name: all
  sequence:
    - parallel:
        - activity: low
          run: [./a.sh, "${inputs.limit}", "a b", "", "-x"]
          env: { A: "1", B: "${total}" }
          stdin: { file: a.sh }
          outputs: { found: found.txt, rest: out/ }
          stdout: { into: total, as: int }
          work: 1500ms
          cores: 2
          memory: 512MiB
          timeout: 2m
          cache: true
          labels: { os: linux }
          retry: { attempts: 3, backoff: 1s, on: [3, lost, timeout] }
        - activity: high
          join: "${links.low}"
          run:
            shell: |
              echo one
                two # not a comment

              echo "three"
          stdin: "a\tb\n"
          stderr: { into: odd }
      links:
        - { from: low, to: high, when: "${total > 2}" }
    - name: choice
      if: "${total > 2}"
      then:
        activity: big
        run: [big]
      elif:
        - if: "${total > 1}"
          then:
            sequence:
              - activity: middle
                run: [middle]
              - if: "${true}"
                then:
                  empty:
        - if: "${total > 0}"
          then:
            name: last-empty
            empty:
      else:
        if: "${false}"
        then:
          activity: small
          run: [small]
    - assign:
        total: "${total + 1}"
    - name: nothing
      empty:
    - activity: "true"
      run:
        shell: "wc found.txt"
      inputs: { found.txt: low.found, more/: low.rest, given: inputs.text }
"#;

#[test]
fn what_is_canonical_comes_back_as_it_was() {
    let text = FULL.replace("stderr: { into: odd }", "stderr: { into: odd, as: json }");
    assert_eq!(super::yaml(&compiled(&text)), text);
}

#[test]
fn controllers_without_a_name_get_one_where_a_link_needs_it() {
    let leaf = |name: &str| Node {
        name: name.to_owned(),
        kind: NodeKind::Activity(Box::new(activity(Command::Shell(Template(
            "true".to_owned(),
        ))))),
        join: Join::All,
    };
    let controller = |kind| Node {
        name: String::new(),
        kind,
        join: Join::All,
    };
    let link = Link {
        from: NodeId(1),
        to: NodeId(3),
        when: None,
    };
    let root = NodeKind::Parallel {
        children: vec![NodeId(1), NodeId(3)],
        links: vec![link],
    };
    let draft = Draft {
        name: "unnamed".to_owned(),
        nodes: vec![
            controller(root),
            controller(NodeKind::Sequence(vec![NodeId(2)])),
            leaf("sequence-1"),
            leaf("b"),
        ],
        ..Draft::default()
    };
    let definition = draft.check().unwrap();
    let again = compiled(&super::yaml(&definition));
    assert_eq!(again.node(NodeId(1)).name, "sequence-1_");
    assert_eq!(again.links(), definition.links());
}

#[test]
fn keys_longer_than_yaml_takes_on_one_line_come_back() {
    let mut maker = activity(Command::Shell(Template("true".to_owned())));
    maker.outputs = vec![Produced {
        name: "o".to_owned(),
        path: "o".to_owned(),
    }];
    let mut reader = activity(Command::Shell(Template("true".to_owned())));
    let source = Source::Output {
        activity: NodeId(1),
        output: 0,
    };
    reader.inputs = vec![
        Staged {
            path: "é ".repeat(340),
            source,
        },
        Staged {
            path: "b".to_owned(),
            source,
        },
    ];
    let node = |name: &str, kind| Node {
        name: name.to_owned(),
        kind,
        join: Join::All,
    };
    let draft = Draft {
        name: "long".to_owned(),
        nodes: vec![
            node("", NodeKind::Sequence(vec![NodeId(1), NodeId(2)])),
            node("maker", NodeKind::Activity(Box::new(maker))),
            node("reader", NodeKind::Activity(Box::new(reader))),
        ],
        ..Draft::default()
    };
    let definition = draft.check().unwrap();
    assert_eq!(compiled(&super::yaml(&definition)), definition);
}

#[test]
fn a_definition_of_ones_own_becomes_a_recording() {
    let definition = compiled(
        "
xavantes: 1
name: own
inputs: { text: file }
body:
  sequence:
    - activity: cut
      run: [cut]
      work: 2s
      inputs: { text: inputs.text }
      outputs: { a: a.txt, all: out/ }
    - parallel:
        - { activity: left, run: [left], inputs: { a: cut.a } }
        - { activity: right, run: [right] }
        - { activity: after, run: [after], work: 1ms }
      links: [{ from: left, to: after }]
    - { activity: join, run: [join], inputs: { out/: cut.all } }
",
    );
    let text = super::wfformat(&definition).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let tasks: Vec<String> = json["workflow"]["specification"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            format!(
                "{} after {} before {} reads {} writes {}",
                task["id"],
                task["parents"],
                task["children"],
                task["inputFiles"],
                task["outputFiles"]
            )
        })
        .collect();
    assert_eq!(
        tasks,
        [
            r#""cut" after [] before ["left","right","join"] reads ["inputs/text"] writes ["cut/a.txt","cut/out/"]"#,
            r#""left" after ["cut"] before ["after"] reads ["cut/a.txt"] writes []"#,
            r#""right" after ["cut"] before ["join"] reads [] writes []"#,
            r#""after" after ["left"] before ["join"] reads [] writes []"#,
            r#""join" after ["cut","right","after"] before [] reads ["cut/out/"] writes []"#,
        ]
    );
    let runs = &json["workflow"]["execution"]["tasks"];
    assert_eq!(runs[0]["runtimeInSeconds"], 2.0);
    assert_eq!(runs[3]["runtimeInSeconds"], 0.001);
    let again = crate::wfformat::import(text.as_bytes(), &crate::wfformat::Options::default());
    assert_eq!(again.unwrap().draft.check().unwrap().activities().len(), 5);
}

#[test]
fn too_many_pairs_are_refused() {
    let side = |name: &str| {
        let leaves = (0..2_100).map(|n| format!("- {{ activity: {name}{n}, run: [x] }}\n        "));
        format!("    - parallel:\n        {}\n", leaves.collect::<String>())
    };
    let text = format!(
        "xavantes: 1\nname: wide\nbody:\n  sequence:\n{}{}",
        side("a"),
        side("b")
    );
    assert_eq!(
        super::wfformat(&compiled(&text)),
        Err(super::ExportError::Edges)
    );
}

#[test]
fn dot_has_a_cluster_for_each_controller() {
    let dot = super::dot(&compiled(FULL));
    assert_eq!(dot.matches("subgraph cluster_").count(), 6, "{dot}");
}

fn activity(command: Command) -> Activity {
    Activity::new(command)
}

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
        (cache, repeatable, at_most_once) in (any::<bool>(), any::<bool>(), any::<bool>()),
        on in prop::collection::vec(0i32..256, 0..3),
    ) -> Activity {
        let capture = |given: bool, variable, parse| given.then_some(Capture { variable, parse });
        let (work, cores, memory, timeout) = amounts;
        let outputs = outputs.into_iter().enumerate();
        let on = on.into_iter().map(|status| match status {
            0..10 => RetryOn::Lost,
            10..20 => RetryOn::Timeout,
            status => RetryOn::Exit(status),
        });
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
                on: on.collect(),
            },
            cache,
            repeatable: repeatable && !at_most_once,
            at_most_once,
            ..activity(command)
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
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        6 => leaf().prop_map(|activity| Tree::Leaf(Box::new(activity))),
        1 => Just(Tree::Assign),
        1 => Just(Tree::Empty),
    ];
    leaf.prop_recursive(4, 14, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Sequence),
            prop::collection::vec(inner.clone(), 1..5).prop_map(Tree::Parallel),
            (prop::collection::vec(inner, 2..5), any::<bool>())
                .prop_map(|(parts, has_else)| Tree::If(parts, has_else)),
        ]
    })
}

/// Puts a tree behind the nodes that are there; each activity reads an output of an activity that
/// a sequence puts before it, and parallels link their first child to their last.
fn plant(tree: &Tree, before: &[Source], nodes: &mut Vec<Node>) -> NodeId {
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
                .map(|(n, source)| Staged {
                    path: format!("in {n}"),
                    source: *source,
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
                if let NodeKind::Activity(activity) = &nodes[child.index()].kind {
                    let outputs = 0..activity.outputs.len() as u32;
                    before.extend(outputs.map(|output| Source::Output {
                        activity: child,
                        output,
                    }));
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

prop_compose! {
    fn draft()(
        tree in tree(),
        initial in value(),
        default in prop::option::of(value()),
        bounds in (prop::option::of(-1e9..0.0f64), prop::option::of(any::<i32>())),
        files in prop::collection::btree_set(path(), 0..3),
    ) -> Draft {
        let mut nodes = Vec::new();
        plant(&tree, &[], &mut nodes);
        let mut outputs = vec![Output {
            name: "sum".to_owned(),
            source: OutputSource::Expression(Expression(" count + 1 ".to_owned())),
        }];
        let first = nodes.iter().position(|node| match &node.kind {
            NodeKind::Activity(activity) => !activity.outputs.is_empty(),
            NodeKind::Sequence(_) | NodeKind::Parallel { .. } | NodeKind::If { .. } | NodeKind::Assign(_) | NodeKind::Empty => false,
        });
        outputs.extend(first.map(|first| Output {
            name: "file".to_owned(),
            source: OutputSource::Produced(Source::Output { activity: NodeId(first as u32), output: 0 }),
        }));
        let json = |default| Input {
            name: "given".to_owned(), kind: Type::Json, default, minimum: None, maximum: None,
        };
        let bounded = Input {
            name: "bounded".to_owned(),
            kind: Type::List(Box::new(Type::Float)),
            default: None,
            minimum: bounds.0,
            maximum: bounds.1.map(f64::from),
        };
        Draft {
            name: "generated".to_owned(),
            inputs: vec![json(default.filter(|value| *value != Value::Null)), bounded],
            variables: vec![
                Variable { name: "count".to_owned(), kind: Type::Int, initial: Value::Int(-3) },
                Variable { name: "text".to_owned(), kind: Type::Text, initial: Value::Null },
                Variable { name: "odd".to_owned(), kind: Type::Json, initial },
            ],
            outputs,
            files: files.into_iter().collect(),
            nodes,
            ..Draft::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_definition_comes_back_from_its_yaml(draft in draft()) {
        let definition = draft.check().unwrap();
        let text = super::yaml(&definition);
        let again = compile("test.yaml", text.as_bytes());
        let again = match again {
            Ok(again) => again.definition,
            Err(diagnostics) => panic!("{:#?}\n{text}", diagnostics.list()),
        };
        prop_assert_eq!(again.draft(), definition.draft(), "{}", text);
    }

    #[test]
    fn a_recording_of_any_definition_keeps_the_order_of_its_activities(draft in draft()) {
        let definition = draft.check().unwrap();
        let text = match super::wfformat(&definition) {
            Ok(text) => text,
            Err(error) => {
                prop_assert!(definition.activities().is_empty(), "{}", error);
                return Ok(());
            }
        };
        let imported = crate::wfformat::import(text.as_bytes(), &Default::default()).unwrap();
        let again = imported.draft.check().unwrap();
        prop_assert_eq!(order_of(&again), order_of(&definition), "{}", text);
    }
}

/// All pairs of activities of which the first ends before the second starts.
fn order_of(definition: &Definition) -> BTreeSet<(String, String)> {
    let graph = definition.graph();
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); graph.n_nodes()];
    let mut edges: Vec<(usize, usize)> = graph.edges().map(|(from, to, _)| (from, to)).collect();
    edges.sort_unstable_by_key(|edge| edge.1);
    for (from, to) in edges {
        let further: Vec<usize> = before[from].iter().copied().collect();
        before[to].insert(from);
        before[to].extend(further);
    }
    let names: Vec<Option<String>> = graph
        .nodes()
        .map(|node| {
            node.activity
                .map(|id| definition.node(id.node()).name.clone())
        })
        .collect();
    let mut pairs = BTreeSet::new();
    for (to, tails) in before.iter().enumerate() {
        let named = |&from: &usize| names[from].clone().zip(names[to].clone());
        pairs.extend(tails.iter().filter_map(named));
    }
    pairs
}
