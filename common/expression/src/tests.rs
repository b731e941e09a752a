//! The meaning of expressions, their errors, and that no input causes a panic.

use std::collections::BTreeMap;

use model::{
    Activity, Assignment, Command, Draft, Expression, Input, Join, Link, Node, NodeId, NodeKind,
    Output, OutputSource, Template, Type, Value, Variable,
};
use proptest::prelude::*;

use crate::{
    ExpressionError, Meter, Program, Programs, Scope, Text, check, check_draft, from_json, limits,
    to_json,
};

mod conformance;
mod kinds;
mod lists;
mod texts;

struct Names(BTreeMap<&'static str, Value>);

impl Scope for Names {
    fn variable(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn input(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    fn link(&self, name: &str) -> Option<bool> {
        (name == "a-b").then_some(true)
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn names() -> Names {
    let list = Value::List((1..=3).map(Value::Int).collect());
    let map = BTreeMap::from([
        ("k".to_owned(), Value::Int(7)),
        ("s".to_owned(), text("deep")),
    ]);
    Names(BTreeMap::from([
        ("n", Value::Int(4)),
        ("x", Value::Float(2.5)),
        ("s", text("it's")),
        ("list", list),
        ("words", Value::List(vec![text("a b"), text("c")])),
        ("map", Value::Map(map)),
        ("nothing", Value::Null),
        ("wide", Value::List((0..2_000).map(Value::Int).collect())),
    ]))
}

fn evaluate(source: &str) -> Result<Value, ExpressionError> {
    Program::compile(&Expression(source.to_owned()))?.evaluate(&names(), &mut Meter::new())
}

fn error(source: &str) -> String {
    let error = evaluate(source).unwrap_err();
    let hint = error
        .hint
        .map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{}: {}{hint}", error.offset, error.message)
}

/// Without names, so that the other implementation accepts them too.
const SHARED: &[&str] = &[
    "1 + 2 * 3 - 4 / 2 % 3",
    "-7 / 2",
    "-7 % 3",
    "7 - 3 - 2",
    "2.5 * 2.0 + 1e3",
    ".5 + 1.5E-1",
    "0x10 + 1",
    "-9223372036854775808",
    "'a' + \"b\" + r'\\n' + '''t'q''' + \"\\x41\\u00e9\\101\\n\"",
    "[1, 2] + [3]",
    "[1, 'a', [true, null]][2][0]",
    "{'a': 1, 'b': [2]}.b[0]",
    "{'a': 1}['a'] == 1",
    "1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 4",
    "1 == 1.0",
    "1 < 1.5",
    "'a' < 'b'",
    "[1, 2] == [1, 2] && {'a': 1} != {'a': 2}",
    "1 == '1'",
    "!true || !false",
    "true ? 1 : 2",
    "false ? 1 : true ? 2 : 3",
    "1 in [1, 2]",
    "'a' in {'a': 1}",
    "3 in [1, 2]",
    "false && 1 / 0 == 1",
    "1 / 0 == 1 && false",
    "true || 1 / 0 == 1",
    "1 / 0 == 1 || true",
    "size([1, 2]) + size('héé') + size({'a': 1})",
    "'abc'.size() + [1].size()",
    "int('42') + int(2.9) + int(-2.9)",
    "double(3) / 2.0",
    "double('1.5')",
    "string(1) + string(true) + string(2.5)",
    "bool('true')",
    "'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo')",
    "[1, 2, 3].map(x, x * 2)",
    "[1, 2, 3].map(x, x > 1, x * 2)",
    "[1, 2, 3].filter(x, x % 2 == 1)",
    "[1, 2, 3].all(x, x > 0)",
    "[1, 2, 3].exists(x, x > 2)",
    "[1, 2, 3].exists_one(x, x > 2)",
    "{'b': 1, 'a': 2}.map(name, name + name).size()",
    "{'a': 1, 'b': 2}.filter(name, name > 'a')",
    "{'a': 1}.all(name, name == 'a') && {'a': 1}.exists(name, name == 'a')",
    "[[1], [2, 3]].map(x, x.map(y, y + 1))",
    "[0, 1].exists(x, 1 / x == 1)",
    "[0, 1].all(x, 1 / x == 2)",
    "has({'a': 1}.a) && !has({'a': 1}.b)",
    "{'a': {'b': 1}}.a.b",
    "1.0 / 0.0 > 1e300",
    "1 / 0",
    "1 % 0",
    "9223372036854775807 + 1",
    "-(-9223372036854775808)",
    "1 + 1.0",
    "1 + 'a'",
    "1 < 'a'",
    "[1][1]",
    "[1][-1]",
    "{'a': 1}.b",
    "{'a': 1, 'a': 2}",
    "!1",
    "-'a'",
    "1 ? 2 : 3",
    "true && 1",
    "size(1)",
    "int('x')",
    "1.a",
    "nosuch(1)",
    "(1 + 2",
    "1 +",
    "[1, 2",
    "a..b",
    "'open",
    "1 2",
    "",
    "9223372036854775808",
    "- 5",
    "[1,2,].size()",
    "[1, 2].map(x, [x].map(x, x + 1))",
];

#[test]
fn results_are_those_of_another_implementation() {
    for source in SHARED {
        let other = cel::Program::compile(source)
            .map_err(|error| error.to_string())
            .and_then(|program| {
                program
                    .execute(&cel::Context::default())
                    .map_err(|error| error.to_string())
            })
            .map(|value| value.json().unwrap());
        let ours = evaluate(source);
        match (&ours, &other) {
            (Ok(ours), Ok(other)) => {
                if let Ok(ours) = to_json(ours) {
                    assert_eq!(ours, *other, "{source}");
                }
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("{source}: {ours:?} but {other:?}"),
        }
    }
}

#[test]
fn names_are_read() {
    for (source, value) in [
        ("n * 2 + inputs.n", Value::Int(12)),
        ("map.k + map['k']", Value::Int(14)),
        ("list[n - 3]", Value::Int(2)),
        ("nothing == null", Value::Bool(true)),
        ("links['a-b'] && inputs[\"n\"] == 4", Value::Bool(true)),
        (
            "list.map(n, n + inputs.n).exists(x, x == 7)",
            Value::Bool(true),
        ),
        ("has(map.k) && !has(map.j)", Value::Bool(true)),
    ] {
        assert_eq!(evaluate(source), Ok(value), "{source}");
    }
}

#[test]
fn runtime_errors_name_the_expression_and_the_place() {
    for (source, message) in [
        (
            "list[0] / (n - 4)",
            "8: in `${ list[0] / (n - 4) }`: division by zero",
        ),
        (
            "n + x",
            "2: in `${ n + x }`: `+` cannot take int and float; write `double(...)` around the whole number",
        ),
        (
            "s + n",
            "2: in `${ s + n }`: `+` cannot take string and int; write `string(...)` around what is not text",
        ),
        (
            "nothing + 1",
            "8: in `${ nothing + 1 }`: `+` cannot take nothing and int",
        ),
        ("list[5]", "4: in `${ list[5] }`: no item 5 in a list of 3"),
        (
            "map.absent",
            "4: in `${ map.absent }`: the map has no `absent`",
        ),
        (
            "n.all(k, k == 'k')",
            "2: in `${ n.all(k, k == 'k') }`: a list is wanted here, not int",
        ),
        (
            "9223372036854775807 * n",
            "20: in `${ 9223372036854775807 * n }`: 9223372036854775807 * 4 overflows 64 bits",
        ),
    ] {
        assert_eq!(error(source), message);
    }
    let program = Program::compile(&Expression(" n ".to_owned())).unwrap();
    let message = program
        .evaluate_bool(&names(), &mut Meter::new())
        .unwrap_err()
        .message;
    assert_eq!(message, "in `${ n }`: true or false is wanted, not an int");
}

#[test]
fn compile_errors_have_their_offset() {
    for (source, message) in [
        (
            "a and b",
            "2: `and` where an operator or the end is expected (and is written `&&`)",
        ),
        (
            "a = b",
            "2: `=` has no meaning here (`==` compares; an expression changes nothing)",
        ),
        ("a + ", "4: the expression ends where a value is expected"),
        ("(a + b", "6: the expression ends where `)` is expected"),
        ("f(x)", "0: unknown function `f`"),
        (
            "sise(x)",
            "0: unknown function `sise` (did you mean `size`?)",
        ),
        ("x.size(1)", "2: `size` takes 0 arguments here, not 1"),
        (
            "contains(x, y)",
            "0: `contains` stands after a dot (write `text.contains(x)`)",
        ),
        (
            "1u",
            "0: not a number (there are no unsigned numbers; leave the `u` out)",
        ),
        (
            "b'x'",
            "0: bytes are not part of these expressions; write text",
        ),
        (
            "inputs",
            "6: `inputs` is read as `inputs.NAME` or `inputs[\"NAME\"]`",
        ),
        (
            "l.map(a, l.map(b, l.map(c, 1)))",
            "20: more than 2 comprehensions within each other",
        ),
        ("'abc", "0: text without its closing quote"),
        (
            "'\\q'",
            "1: an escape that does not exist (a backslash itself is written `\\\\`)",
        ),
        ("99999999999999999999", "0: a number that is too large"),
        ("a ? b", "5: the expression ends where `:` is expected"),
        ("é", "0: `é` has no meaning here"),
        (
            "'é' + $x",
            "7: `$` has no meaning here (inside `${...}` names stand without `$`)",
        ),
        (
            "if",
            "0: `if` where a value is expected (a choice is written `condition ? one : other`)",
        ),
    ] {
        assert_eq!(error(source), message);
    }
}

#[test]
fn depth_length_and_time_are_bounded() {
    let deep = |piece: &str| error(&piece.repeat(4_000 / piece.len()));
    assert!(
        deep("(").ends_with("nested deeper than 32"),
        "{}",
        deep("(")
    );
    for piece in ["[", "!", "- ", "a?a:", "f(", "{'a':", "a.map(x,", "a["] {
        let message = deep(piece);
        let bounded = [
            "nested deeper",
            "more than",
            "unknown function",
            "ends where",
        ];
        assert!(
            bounded.iter().any(|part| message.contains(part)),
            "{piece}: {message}"
        );
    }
    assert!(deep("1+").contains("more than 500 words and signs"));
    let chain = ["1"; 240].join("+");
    assert_eq!(evaluate(&chain), Ok(Value::Int(240)));
    let path = format!("map{}", ".k".repeat(200));
    assert!(error(&path).contains("an int has no field `k`"));
    let long = format!("'{}'", "a".repeat(limits::SOURCE_BYTES_MAX));
    assert!(error(&long).contains("at most 4096"));

    assert!(error("wide.map(a, wide.map(b, a + b))").contains("more than 100000 steps"));
    assert!(error("wide.all(a, wide == wide)").contains("more than 100000 steps"));
    assert!(error("wide.map(a, wide)").contains("values of more than 16 MiB"));
    assert!(error("wide.map(a, wide) == [] || true").contains("16 MiB"));
    assert!(error("wide.map(a, wide.map(b, 'a'))").contains("more than 100000 steps"));
}

#[test]
fn expressions_of_one_decision_share_its_bounds() {
    let program = Program::compile(&Expression("wide.map(a, a + n)".to_owned())).unwrap();
    let mut meter = Meter::new();
    let mut n_evaluated = 0;
    let error = loop {
        match program.evaluate(&names(), &mut meter) {
            Ok(_) => n_evaluated += 1,
            Err(error) => break error.to_string(),
        }
    };
    // Each of the 2,000 items takes some ten steps.
    assert!((3..=10).contains(&n_evaluated), "{n_evaluated}");
    assert!(error.contains("more than 100000 steps"), "{error}");
    assert!(meter.steps() > limits::STEPS_MAX);
    let few = program.evaluate(&names(), &mut Meter::up_to(10));
    assert!(few.unwrap_err().to_string().contains("more than 10 steps"));
}

#[test]
fn an_expression_is_compiled_once_wherever_it_stands() {
    let mut programs = Programs::default();
    let sum = Expression("n + 1".to_owned());
    for _ in 0..3 {
        let program = programs.of(&sum).unwrap();
        let value = program.evaluate(&names(), &mut Meter::new());
        assert_eq!(value, Ok(Value::Int(5)));
        let text = programs.text(&Template("a ${n + 1} ${n}".to_owned()));
        let text = text.unwrap().render(&names(), &mut Meter::new());
        assert_eq!(text.unwrap(), "a 5 4");
    }
    assert_eq!(programs.n_compiled(), 2);
    assert!(programs.of(&Expression("n +".to_owned())).is_err());
    // More than are kept: the first ones are compiled again, and nothing else is lost.
    for number in 0..2_000 {
        let long = format!("{number}{}", " ".repeat(2_000));
        programs.of(&Expression(long)).unwrap();
    }
    programs.of(&sum).unwrap();
    assert_eq!(programs.n_compiled(), 2_003);
}

fn render(template: &str) -> Result<String, String> {
    let text = Text::compile(&Template(template.to_owned())).map_err(|error| error.to_string())?;
    text.render(&names(), &mut Meter::new())
        .map_err(|error| error.to_string())
}

#[test]
fn texts_are_put_together() {
    for (template, rendered) in [
        ("", ""),
        ("plain", "plain"),
        ("n=${n}, x=${ x }", "n=4, x=2.5"),
        ("$${n} $$ $n ${n}$", "${n} $$ $n 4$"),
        ("$$${n}", "$${n}"),
        ("${'}' + \"{\"}", "}{"),
        ("${{'a': {'b': n}}.a.b}", "4"),
        ("${list} ${map}", "[1,2,3] {\"k\":7,\"s\":\"deep\"}"),
        (
            "${1.0 / 3.0} ${2.0} ${1e20} ${n == 4}",
            "0.3333333333333333 2 1e20 true",
        ),
        ("é${s}é", "éit'sé"),
    ] {
        assert_eq!(render(template), Ok(rendered.to_owned()), "{template}");
    }
    assert_eq!(render("a ${n"), Err("`${` without its `}`".to_owned()));
    assert_eq!(
        render("${nothing}"),
        Err("in `${ nothing }`: it holds nothing yet".to_owned())
    );
    let error = Text::compile(&Template("é ${ n + }".to_owned())).unwrap_err();
    assert_eq!(error.offset, 10);
}

#[test]
fn words_of_a_shell_and_of_a_list() {
    let text = |template: &str| Text::compile(&Template(template.to_owned())).unwrap();
    let shell =
        text("cat ${words} > ${s}; echo ${n} $${HOME}").render_shell(&names(), &mut Meter::new());
    assert_eq!(
        shell,
        Ok(r"cat 'a b' c > 'it'\''s'; echo 4 ${HOME}".to_owned())
    );
    // `4>out` would redirect file 4.
    for (template, line) in [
        ("echo ${n}>out", "echo 4 >out"),
        ("cat ${n}<in", "cat 4 <in"),
        ("echo a${n}>>out", "echo a4 >>out"),
        ("echo ${list}>out", "echo 1 2 3 >out"),
        ("echo ${words}>out", "echo 'a b' c>out"),
        (
            "echo $(( ${n} + 1 )) $((${n}<5))",
            "echo $(( 4 + 1 )) $((4 <5))",
        ),
        ("echo ${n} >out", "echo 4 >out"),
    ] {
        let rendered = text(template).render_shell(&names(), &mut Meter::new());
        assert_eq!(rendered, Ok(line.to_owned()), "{template}");
    }
    assert_eq!(
        text("${words}").render_words(&names(), &mut Meter::new()),
        Ok(vec!["a b".into(), "c".into()])
    );
    assert_eq!(
        text("-${words}").render_words(&names(), &mut Meter::new()),
        Ok(vec![r#"-["a b","c"]"#.into()])
    );
    assert_eq!(
        text("x ${n}").render_words(&names(), &mut Meter::new()),
        Ok(vec!["x 4".into()])
    );
    assert!(
        text("${'\\x00'}")
            .render_words(&names(), &mut Meter::new())
            .is_err()
    );
    assert!(
        text("${'\\x00'}")
            .render_shell(&names(), &mut Meter::new())
            .is_err()
    );
}

#[test]
fn json_comes_back_as_it_went() {
    let json: serde_json::Value =
        serde_json::from_str(r#"{"a": [1, 2.5, null, true, "x"], "b": 18446744073709551615}"#)
            .unwrap();
    let value = from_json(json.clone());
    let Value::Map(map) = &value else {
        panic!("{value:?}")
    };
    assert_eq!(map["b"], Value::Float(18446744073709551615.0));
    assert_eq!(to_json(&map["a"]).unwrap(), json["a"]);
    assert!(to_json(&Value::Float(f64::NAN)).is_err());
}

fn activity(shell: &str) -> NodeKind {
    NodeKind::Activity(Box::new(Activity {
        env: vec![("X".into(), Template("${inputs.limit + totl}".into()))],
        ..Activity::new(Command::Shell(Template(shell.to_owned())))
    }))
}

#[test]
fn a_definition_is_checked_whole() {
    let node = |name: &str, kind| Node {
        name: name.into(),
        kind,
        join: Join::All,
    };
    let link = |when: &str| Link {
        from: NodeId(1),
        to: NodeId(2),
        when: Some(Expression(when.to_owned())),
    };
    let mut draft = Draft {
        name: "p".into(),
        inputs: vec![Input {
            name: "limit".into(),
            kind: Type::Int,
            default: Some(Value::Int(1)),
            minimum: None,
            maximum: None,
        }],
        variables: vec![Variable {
            of: None,
            name: "total".into(),
            kind: Type::Int,
            initial: Value::Null,
        }],
        outputs: vec![Output {
            name: "o".into(),
            source: OutputSource::Expression(Expression(" limit + 1".into())),
        }],
        nodes: vec![
            node(
                "",
                NodeKind::Parallel {
                    children: vec![NodeId(1), NodeId(2)],
                    links: vec![link("total > ")],
                },
            ),
            node(
                "one",
                activity("echo \"${total}\" ${HOME} $${HOME} '${inputs.limit}' ${total}"),
            ),
            node(
                "two",
                NodeKind::Assign(vec![Assignment {
                    variable: 0,
                    value: Expression("links.one ? 1 : 2".into()),
                }]),
            ),
        ],
        ..Draft::default()
    };
    draft.nodes[2].join = Join::When(Expression("links.ones && inputs.limits > 3".into()));
    let found: Vec<String> = check_draft(&draft)
        .iter()
        .map(|finding| format!("{}@{}", finding.problem, finding.offset))
        .collect();
    let expected = [
        " outputs.o: no variable is called `limit` (write `inputs.limit` for the input)@1",
        "n0 links.0.when: the expression ends where a value is expected@8",
        "n1 run.shell: no variable is called `HOME` (a variable of the shell is written `$NAME` or `$${NAME}`)@18",
        "n1 run.shell: `${total}` stands inside \"...\", but a value is quoted by itself (take the \" away around it, or give it by `env:` and write \"$NAME\")@6",
        "n1 run.shell: `${inputs.limit}` stands inside '...', but a value is quoted by itself (take the ' away around it, or give it by `env:` and write \"$NAME\")@34",
        "n1 env.X: no variable is called `totl` (did you mean `total`?)@17",
        "n2 join: no link comes from `ones` (did you mean `links.one`?)@6",
        "n2 join: no input is called `limits` (did you mean `inputs.limit`?)@21",
        "n2 assign.total: `links` are read in a `join` only@6",
    ];
    assert_eq!(found, expected);

    draft.outputs.clear();
    draft.nodes = vec![node("a", activity("echo ${inputs.limit}"))];
    let definition = draft.check().unwrap();
    let problems = check(&definition);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].place.field, "env.X");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(source in "[\\PC\\n\\t]{0,80}") {
        let _ = evaluate(&source);
        let _ = render(&source);
        let _ = render(&format!("${{{source}}}"));
    }

    #[test]
    fn no_row_of_tokens_makes_it_panic(
        tokens in proptest::collection::vec(
            prop::sample::select(vec![
                "n", "x", "s", "list", "map", "words", "1", "0", "2.5", "'a'", "true", "null", "+",
                "-", "*", "/", "%", "<", "==", "&&", "||", "!", "?", ":", "(", ")", "[", "]", "{",
                "}", ",", ".", "in", ".map(y,", ".all(y,", "size(", "int(", "range(", "lines(", "csv(", "name(", "stem(", "y", ".k", "has(",
                "inputs.n", "links['a-b']", "$", "${",
            ]),
            0..40,
        )
    ) {
        let source = tokens.concat();
        let _ = evaluate(&source);
        let _ = render(&format!("a${{{source}}}b"));
        let mut reached = crate::shell::QuotingState::default();
        reached.pass(&source);
    }

    #[test]
    fn whole_numbers_are_as_in_rust(a in any::<i64>(), b in any::<i64>()) {
        let source = |sign: &str| format!("({a}) {sign} ({b})");
        prop_assert_eq!(evaluate(&source("+")).ok(), a.checked_add(b).map(Value::Int));
        prop_assert_eq!(evaluate(&source("*")).ok(), a.checked_mul(b).map(Value::Int));
        prop_assert_eq!(evaluate(&source("/")).ok(), a.checked_div(b).map(Value::Int));
        prop_assert_eq!(evaluate(&source("<")).ok(), Some(Value::Bool(a < b)));
    }
}
