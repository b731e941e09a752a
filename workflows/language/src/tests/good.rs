//! Definitions that are accepted, and the model that each becomes.

use std::path::Path;

use model::{
    Activation, Bytes, Caching, Command, Expression, Join, NodeId, NodeKind, Parse, Retry, RetryOn,
    Source, Span, Stdin, Template, Type, Value, Work,
};

use super::{compiled, lines};
use crate::{compile, dot, json, tree};

const WHOLE: &str = r#"
xavantes: 1
name: whole
inputs:
  limit: { type: int, default: 10, minimum: 2, maximum: 1e6 }
  words: list of string
  corpus: file
variables:
  total: int
  text: { type: string, value: "a: b" }
  flags: { type: json, value: { on: true, list: [1, 2.5, null] } }
outputs:
  total: ${ total }
  found: first.found
files: [first.sh]
data: controllers
copies: 1
keep-intermediates: false
on-fault: continue
policy: rounds:4
threshold: 0.25
priority: -7
body:
  parallel:
    - activity: first
      run: [./first.sh, 1, true, -0.5, "${inputs.limit}", '${words[0]}']
      env: { LANG: C, N: "${inputs.limit + 1}" }
      stdin: { file: corpus.txt }
      inputs: { corpus.txt: inputs.corpus }
      outputs: { found: found.txt, all: "*.txt", dir: out/ }
      stdout: { into: total, as: int }
      stderr: { into: text }
      work: 1m30s
      cores: 2
      memory: 512MiB
      labels: { os: linux }
      timeout: 1h
      retry: { attempts: 3, backoff: 100ms, on: [1, lost, timeout] }
      cache: true
      repeatable: true
      replicas: 3
      priority: 12
    - sequence:
        name: later
        do:
          - assign: { total: "${ total * 2 }", text: "it's $${x}", flags: [1, "two", { three: 3.5 }] }
          - empty:
      join: any
    - activity: last
      join: ${ links.first && links['later'] }
      stdin: "n=${total}\n"
      run:
        shell: |
          cat all/*.txt dir/* |
            grep -c $${NAME:-x}  ${inputs.words}
      inputs: { all/: first.all, dir/: first.dir }
  links:
    - { from: first, to: later, when: "${ total > 3 }" }
    - { from: first, to: last }
    - { from: later, to: last }
"#;

#[test]
fn everything_is_read() {
    let text = WHOLE.replace("'${words[0]}'", "'${inputs.words[0]}'");
    let compiled = compiled(&text);
    assert!(compiled.warnings.is_empty(), "{}", compiled.warnings);
    let draft = compiled.definition.draft();
    assert_eq!(draft.inputs[0].default, Some(Value::Int(10)));
    assert_eq!(
        (draft.inputs[0].minimum, draft.inputs[0].maximum),
        (Some(2.0), Some(1e6))
    );
    assert_eq!(draft.inputs[1].kind, Type::List(Box::new(Type::Text)));
    assert_eq!(draft.variables[1].initial, Value::Text("a: b".into()));
    let NodeKind::Activity(first) = &draft.nodes[1].kind else {
        panic!()
    };
    let Command::List(parts) = &first.command else {
        panic!()
    };
    let parts: Vec<&str> = parts.iter().map(|part| part.0.as_str()).collect();
    assert_eq!(
        parts,
        [
            "./first.sh",
            "1",
            "true",
            "-0.5",
            "${inputs.limit}",
            "${inputs.words[0]}"
        ]
    );
    assert_eq!(
        first.env[1],
        ("N".into(), Template("${inputs.limit + 1}".into()))
    );
    assert_eq!(first.stdin, Some(Stdin::File("corpus.txt".into())));
    assert_eq!(first.inputs[0].source, Source::Input(2));
    assert!(first.outputs[1].is_glob());
    let capture = first.stdout.unwrap();
    assert_eq!((capture.variable, capture.parse), (0, Parse::Int));
    assert_eq!(first.work, Some(Work::from_secs(90)));
    assert_eq!((first.cores, first.memory), (2, Some(Bytes(512 << 20))));
    assert_eq!(first.labels, [("os".to_owned(), "linux".to_owned())]);
    assert_eq!(first.timeout, Some(Span::from_secs(3600)));
    assert_eq!(first.cache, Caching::Always);
    assert_eq!(draft.policy, Some(model::Policy::Rounds(4)));
    let tuning = draft.tuning.unwrap();
    assert_eq!(
        (tuning.threshold, tuning.reward),
        (Some(model::Part(250)), None)
    );
    assert_eq!((draft.priority, first.priority), (Some(-7), Some(12)));
    assert!(first.repeatable && first.n_replicas() == 3 && !first.at_most_once);
    let on = vec![RetryOn::Exit(1), RetryOn::Lost, RetryOn::Timeout];
    assert_eq!(
        first.retry,
        Retry {
            attempts: 3,
            backoff: Span::from_millis(100),
            on,
            memory_percent: None,
        }
    );
    assert_eq!(
        (draft.nodes[2].name.as_str(), &draft.nodes[2].join),
        ("later", &Join::Any)
    );
    let NodeKind::Assign(writes) = &draft.nodes[3].kind else {
        panic!()
    };
    let sources: Vec<&str> = writes.iter().map(|write| write.value.0.as_str()).collect();
    assert_eq!(
        sources,
        [
            " total * 2 ",
            "\"it's ${x}\"",
            "[1, \"two\", {\"three\": 3.5}]"
        ]
    );
    let NodeKind::Activity(last) = &draft.nodes[5].kind else {
        panic!()
    };
    let line = "cat all/*.txt dir/* |\n  grep -c $${NAME:-x}  ${inputs.words}\n";
    assert_eq!(last.command, Command::Shell(Template(line.into())));
    assert_eq!(
        last.stdin,
        Some(Stdin::Text(Template("n=${total}\n".into())))
    );
    assert_eq!(
        last.inputs[1].source,
        Source::Output {
            activity: NodeId(1),
            output: 2
        }
    );
    let NodeKind::Parallel { links, .. } = &draft.nodes[0].kind else {
        panic!()
    };
    assert_eq!(links[0].when, Some(Expression(" total > 3 ".into())));
    assert_eq!((links[2].from, links[2].to), (NodeId(2), NodeId(5)));
}

#[test]
fn an_if_is_read_and_shown_with_its_branches() {
    let text = r#"
xavantes: 1
name: choice
inputs: { n: int }
body:
  name: size
  if: ${ inputs.n > 100 }
  then: { activity: big, run: [big] }
  elif:
    - if: ${ inputs.n > 10 }
      then:
        sequence:
          - { activity: one, run: [one] }
          - { activity: two, run: [two] }
    - { if: "${ inputs.n > 1 }", then: { empty: } }
  else: { activity: small, run: [small] }
"#;
    let definition = compiled(text).definition;
    let NodeKind::If {
        conditions,
        children,
    } = &definition.node(NodeId(0)).kind
    else {
        panic!()
    };
    let conditions: Vec<&str> = conditions.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(
        conditions,
        [" inputs.n > 100 ", " inputs.n > 10 ", " inputs.n > 1 "]
    );
    assert_eq!(children, &[1, 2, 5, 6].map(NodeId));
    let drawn = "\
choice
└─ size (if)
   ├─ [inputs.n > 100] big: big
   ├─ [inputs.n > 10] sequence
   │  ├─ one: one
   │  └─ two: two
   ├─ [inputs.n > 1] empty
   └─ [else] small: small
";
    assert_eq!(tree(&definition), drawn);
    let body = &json(&definition)["body"];
    assert_eq!(body["kind"], "if");
    assert_eq!(body["conditions"][2], "${ inputs.n > 1 }");
    assert_eq!(body["children"][3]["name"], "small");
    let dot = dot(&definition);
    assert!(dot.contains("label=\"size (if)\""), "{dot}");
    assert!(dot.contains("n3 -> n4;") && !dot.contains("n1 ->"), "{dot}");
}

#[test]
fn a_switch_is_an_if() {
    let choice = |steps: &str| {
        let text = format!("xavantes: 1\nname: choice\ninputs: {{ n: int }}\nbody:\n{steps}");
        compiled(&text).definition
    };
    let switch = choice(
        "  name: size
  switch:
    - case: ${ inputs.n > 100 }
      do: { activity: big, run: [big] }
    - case: ${ inputs.n > 10 }
      do:
        - { activity: one, run: [one] }
        - { activity: two, run: [two] }
    - default:
        - { activity: small, run: [small] }
",
    );
    let written_as_if = choice(
        "  name: size
  if: ${ inputs.n > 100 }
  then: [{ activity: big, run: [big] }]
  elif:
    - if: ${ inputs.n > 10 }
      then: { sequence: [{ activity: one, run: [one] }, { activity: two, run: [two] }] }
  else: { activity: small, run: [small] }
",
    );
    assert_eq!(switch.draft(), written_as_if.draft());
}

#[test]
fn json_is_read_with_its_escapes() {
    let text = r#"{"xavantes": 1, "name": "j", "body": {"activity": "a",
        "run": ["echo", "\ud834\udd1e \u00e9 \/ \t", 1.50]}}"#;
    let compiled = compile("j.json", text.as_bytes()).unwrap();
    let NodeKind::Activity(a) = &compiled.definition.node(NodeId(0)).kind else {
        panic!()
    };
    let part = |text: &str| Template(text.to_owned());
    assert_eq!(
        a.command,
        Command::List(vec![part("echo"), part("𝄞 é / \t"), part("1.50")])
    );
}

#[test]
fn mapping_forms_and_list_forms_mean_the_same() {
    let head = "xavantes: 1\nname: p\nbody:\n";
    let list = "  parallel:\n    - { activity: a, run: [a] }\n    - { activity: b, run: [b] }\n  \
                links: [{ from: a, to: b }]\n  name: both\n";
    let form = "  parallel:\n    name: both\n    do:\n      - { activity: a, run: [a] }\n      \
                - { activity: b, run: [b] }\n    links: [{ from: a, to: b }]\n";
    let definition = |body: &str| compiled(&format!("{head}{body}")).definition;
    assert_eq!(definition(list), definition(form));
}

#[test]
fn a_body_that_is_a_list_is_a_sequence() {
    let steps = "  - { activity: a, run: [a] }\n  - { activity: b, run: [b] }\n";
    let definition =
        |body: &str| compiled(&format!("xavantes: 1\nname: p\nbody:\n{body}")).definition;
    let sequence = format!("  sequence:\n{}", steps.replace("  -", "    -"));
    assert_eq!(definition(steps), definition(&sequence));
    let refused = super::refused("xavantes: 1\nname: p\nbody: []\n");
    let expected = ["3:7: a list without steps (write `empty:` for nothing)"];
    assert_eq!(lines(&refused), expected);
}

#[test]
fn line_ends_of_windows_and_a_byte_order_mark_are_read() {
    let text = "xavantes: 1\nname: p\nbody:\n  activity: a\n  run: [a]\n  inputz: 1\n";
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let expected = ["6:3: unknown key `inputz` (did you mean `inputs`?)"];
    assert_eq!(lines(&super::refused(text)), expected);
    assert_eq!(lines(&super::refused(windows)), expected);
    let shell = "xavantes: 1\r\nname: p\r\nbody:\r\n  activity: a\r\n  run:\r\n    shell: |\r\n      a\r\n      b ${x}\r\n";
    assert_eq!(
        lines(&super::refused(shell)),
        [
            "8:11: no variable is called `x` (a variable of the shell is written `$NAME` or `$${NAME}`)"
        ]
    );
}

#[test]
fn a_variable_that_is_never_written_is_warned_of() {
    let text = "xavantes: 1\nname: p\nvariables:\n  total: int\nbody: { activity: a, run: [a] }\n";
    let compiled = compiled(text);
    assert_eq!(
        lines(&compiled.warnings),
        ["4:3: nothing is ever written to the variable `total`"]
    );
}

#[test]
fn samples_compile_without_a_word() {
    for (name, text) in super::schema::samples() {
        match compile(&name, text.as_bytes()) {
            Ok(compiled) => assert!(compiled.warnings.is_empty(), "{}", compiled.warnings),
            Err(diagnostics) => panic!("{diagnostics}"),
        }
    }
}

#[test]
fn definitions_of_the_reference_compile() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    // Whole ones; the first shows the head alone.
    let whole: Vec<&str> = blocks
        .filter(|block| block.starts_with("xavantes:") && !block.contains("[...]"))
        .collect();
    assert!(whole.len() >= 2, "{whole:?}");
    for text in whole {
        assert_eq!(compiled(text).warnings.list(), [], "{text}");
    }
}

#[test]
fn a_definition_is_shown() {
    let text = WHOLE.replace("'${words[0]}'", "'${inputs.words[0]}'");
    let definition = compiled(&text).definition;
    assert_eq!(
        tree(&definition),
        "\
whole
└─ parallel
   ├─ first: ./first.sh 1 true -0.5 ${inputs.limit} ${inputs.words[0]}
   ├─ later (sequence)  (after any of first)
   │  ├─ assign: total = total * 2, text = \"it's ${x}\", flags = [1, \"two\", {\"three\": 3.5}]
   │  └─ empty
   └─ last: $ cat all/*.txt dir/* | grep -c $${NAME:-x} ${inputs.words}  (after as joined of first, later)
"
    );
    assert_eq!(
        dot(&definition),
        "\
digraph \"whole\" {
  rankdir=LR;
  node [shape=box, style=rounded];
  subgraph cluster_n0 {
    label=\"parallel\"; style=dotted;
    n1 [label=\"first\"];
    subgraph cluster_n2 {
      label=\"later (sequence)\"; style=dotted;
    }
    n5 [label=\"last\"];
  }
  n1 -> n5 [label=\"all/\\ndir/\"];
}
"
    );
    let json = json(&definition);
    assert_eq!(
        json["body"]["children"][0]["inputs"]["corpus.txt"],
        "inputs.corpus"
    );
    assert_eq!(json["body"]["children"][2]["inputs"]["dir/"], "first.dir");
    assert_eq!(json["body"]["links"][0]["when"], "${ total > 3 }");
    assert_eq!(json["outputs"]["found"], "first.found");
    assert_eq!(json["body"]["children"][0]["work_seconds"], 90.0);
}

#[test]
fn the_environment_retries_and_named_limits_are_read() {
    let compiled = compiled(
        "xavantes: 1\nname: p\ninputs: { n: int }\nenv: { A: 'n ${ inputs.n }', B: 2 }\npass: [HOME, R_LIBS]\n\
         env-file: a/run.env\nenvironment: { path: /opt/all }\nbody:\n  activity: a\n  run: [a]\n  memory: 1GiB\n  \
         environment: { path: /opt/own }\n  retry: { attempts: 3, on: [exit, out-of-memory, 75], memory: x1.5 }\n",
    );
    let draft = compiled.definition.draft();
    let environment = draft.environment.as_ref().unwrap();
    let pairs = [("A", "n ${ inputs.n }"), ("B", "2")];
    let pairs = pairs.map(|(name, text)| (name.to_owned(), Template(text.to_owned())));
    assert_eq!(environment.env, pairs);
    assert_eq!(environment.pass, ["HOME", "R_LIBS"]);
    assert_eq!(environment.file.as_deref(), Some("a/run.env"));
    let NodeKind::Activity(activity) = &draft.nodes[0].kind else {
        panic!()
    };
    let own = Activation::Path("/opt/own".to_owned());
    assert_eq!(draft.activation_of(activity), Some(&own));
    let all = Activation::Path("/opt/all".to_owned());
    assert_eq!(environment.activation, Some(all));
    assert_eq!(activity.retry.memory_percent, Some(150));
    assert_eq!(
        activity.retry.on,
        [RetryOn::Failed, RetryOn::OutOfMemory, RetryOn::Exit(75)]
    );
}

#[test]
fn the_file_of_an_environment_lies_where_it_is_used() {
    let text = "xavantes: 1\nname: p\nfiles: [a.sh]\nenvironment: { venv: all.txt }\nbody:\n  sequence:\n    - activity: a\n      \
                run: [a]\n      outputs: { made: made.yaml }\n    - activity: b\n      run: [b]\n      uses: [b.sh]\n      \
                environment: { conda: own.yaml }\n    - activity: c\n      run: [c]\n      inputs: { made.yaml: a.made }\n      \
                environment: { conda: made.yaml }\n    - activity: d\n      run: [d]\n      environment: { venv: all.txt }\n";
    let definition = super::compiled(text).definition;
    let draft = definition.draft();
    assert_eq!(draft.files, ["a.sh", "all.txt", "b.sh", "own.yaml"]);
    assert_eq!(draft.common_files(), ["a.sh", "all.txt"]);
    let told = |node: &model::Node| {
        let activity = node.activity()?;
        let files = draft.files_of(activity).map(|(_, path)| path);
        let files = files.skip(2).collect::<Vec<_>>().join(" ");
        let labels = activity
            .labels
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        Some(format!(
            "{}: {files}; {}",
            node.name,
            labels.collect::<Vec<_>>().join(" ")
        ))
    };
    let told: Vec<String> = draft.nodes.iter().filter_map(told).collect();
    assert_eq!(
        told,
        [
            "a: ; venv=yes",
            "b: b.sh own.yaml; conda=yes",
            "c: ; conda=yes",
            "d: ; venv=yes"
        ]
    );
    // The labels follow from the environments, so an export does not have them.
    let exported = crate::export::yaml(&definition);
    assert!(!exported.contains("labels"), "{exported}");
    assert_eq!(super::compiled(&exported).definition.draft(), draft);
}

#[test]
fn a_container_asks_for_machines_that_can_run_it_and_is_exported() {
    let text = "xavantes: 1\nname: p\ncontainer: /opt/images/a\nbody:\n  sequence:\n    - activity: a\n      run: [a]\n    \
                - activity: b\n      run: [b]\n      container: { image: \"docker.io/x/b:1@sha256:0a\", network: true }\n    \
                - activity: c\n      run: [c]\n      environment: { path: /opt/c }\n";
    let definition = super::compiled(text).definition;
    let draft = definition.draft();
    let told = draft.nodes.iter().filter_map(|node| {
        let activity = node.activity()?;
        let labels = activity.labels.iter().map(|(name, _)| name.as_str());
        let has_network = match draft.activation_of(activity)? {
            model::Activation::Container(container) => container.has_network,
            model::Activation::Path(_)
            | model::Activation::Venv(_)
            | model::Activation::Conda(_) => false,
        };
        let labels = labels.collect::<Vec<_>>().join(" ");
        Some(format!("{}: {labels} {has_network}", node.name))
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told, ["a: bwrap false", "b: podman true", "c:  false"]);
    let exported = crate::export::yaml(&definition);
    assert_eq!(super::compiled(&exported).definition.draft(), draft);
}
