//! Definitions that are written, and read again.

mod generate;

use std::collections::BTreeSet;

use model::{
    Activity, Command, Definition, Draft, Join, Link, Node, NodeId, NodeKind, Produced, Source,
    Staged, Template,
};
use proptest::prelude::*;

use self::generate::draft;
use crate::compile;

fn compiled(text: &str) -> Definition {
    match compile("test.yaml", text.as_bytes()) {
        Ok(compiled) => compiled.definition,
        Err(diagnostics) => panic!("{:?}\n{text}", diagnostics.list()),
    }
}

const FULL: &str = r#"# full: 9 activities, 1 links. Written by xav export.
xavantes: 1
name: full
inputs:
  limit: { type: int, default: 10, minimum: 1.0, maximum: 20.5 }
  text: file
  parts: list of file
variables:
  total: { type: int, value: 3 }
  odd: { type: json, value: {"a b": [1, 2.0, null, true, "${x}"]} }
outputs: { total: "${total + 1}", file: low.found, fitted: "fit[*].fitted" }
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
    - name: each
      for-each:
        item: part
        index: place
        in: "${inputs.parts}"
        key: "${string(place)}"
        at-most: 8
        do:
          sequence:
            - activity: fit
              run: [fit, "${place}"]
              inputs: { part.txt: part, found.txt: low.found }
              outputs: { fitted: fitted.txt }
            - for-each:
                item: way
                in: "${[\"a\", 2]}"
                parallel: false
                do:
                  activity: try
                  run: [try, "${way}"]
    - activity: gather
      run: [gather]
      inputs: { parts/: "fit[*].fitted" }
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
        kind: NodeKind::Activity(Box::new(Activity::new(Command::Shell(Template(
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
    let mut maker = Activity::new(Command::Shell(Template("true".to_owned())));
    maker.outputs = vec![Produced {
        name: "o".to_owned(),
        path: "o".to_owned(),
    }];
    let mut reader = Activity::new(Command::Shell(Template("true".to_owned())));
    let source = Source::Output {
        activity: NodeId(1),
        output: 0,
    };
    reader.inputs = vec![
        Staged {
            path: "é ".repeat(340),
            source,
            gathers: false,
            carried: None,
        },
        Staged {
            path: "b".to_owned(),
            source,
            gathers: false,
            carried: None,
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
fn a_for_each_is_no_recording() {
    let text = "xavantes: 1\nname: each\nbody:\n  for-each: { item: x, in: [1], do: { activity: a, run: [a] } }";
    let error = super::wfformat(&compiled(text)).unwrap_err();
    assert_eq!(error, super::ExportError::Bodies("for-each"));
    assert_eq!(
        error.to_string(),
        "could not write WfFormat: it lists each task, and those of a for-each are known when it runs"
    );
}

#[test]
fn dot_has_a_cluster_for_each_controller() {
    let dot = super::dot(&compiled(FULL));
    assert_eq!(dot.matches("subgraph cluster_").count(), 9, "{dot}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_definition_comes_back_from_its_yaml(draft in draft(true)) {
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
    fn a_recording_of_any_definition_keeps_the_order_of_its_activities(draft in draft(false)) {
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
