//! The kinds of values that are known before an evaluation: what is called wrong faults, and what is
//! not gives what was said.

use model::{Expression, Value};
use proptest::prelude::*;

use super::{evaluate, names};
use crate::infer::{Inference, NameKinds};
use crate::kinds::Kinds;
use crate::{Program, Scope, Severity};

/// The kinds of the values that the tests read.
struct Known;

impl NameKinds for Known {
    fn variable(&self, name: &str) -> Kinds {
        match names().variable(name) {
            Some(Value::Null) | None => Kinds::any(),
            Some(value) => Kinds::of_value(value),
        }
    }

    fn input(&self, name: &str) -> Kinds {
        self.variable(name)
    }

    fn gathered(&self, _: &str) -> Kinds {
        Kinds::any()
    }
}

struct Inferred {
    kinds: Kinds,
    errors: Vec<String>,
    warnings: Vec<String>,
    may_fault: bool,
}

fn inferred(source: &str) -> Option<Inferred> {
    let program = Program::compile(&Expression(source.to_owned())).ok()?;
    let mut inference = Inference::new(&Known);
    let kinds = inference.kinds(program.node());
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    for (severity, error) in inference.found {
        let hint = error
            .hint
            .map_or(String::new(), |hint| format!(" ({hint})"));
        let line = format!("{}: {}{hint}", error.offset, error.message);
        match severity {
            Severity::Error => errors.push(line),
            Severity::Warning => warnings.push(line),
        }
    }
    Some(Inferred {
        kinds,
        errors,
        warnings,
        may_fault: inference.may_fault,
    })
}

#[test]
fn what_is_certain_to_fault_is_found_at_its_place() {
    for (source, expected) in [
        (
            "n / x",
            "2: `/` cannot take int and float (write `double(n)` for the whole number)",
        ),
        (
            "x * 2",
            "2: `*` cannot take float and int (write `double(...)` for the whole number)",
        ),
        (
            "s / 2",
            "2: `/` cannot take string and int (write `int(s)` for the number in the text)",
        ),
        (
            "n + s",
            "2: `+` cannot take int and string (write `string(n)` to join texts, or `int(s)` to add numbers)",
        ),
        (
            "'a' + true",
            "4: `+` cannot take string and bool (write `string(...)` to join texts)",
        ),
        (
            "x % 2.0",
            "2: `%` cannot take float and float (`%` is for whole numbers: write `int(...)` around the float)",
        ),
        (
            "n > s",
            "2: `>` cannot compare int and string (write `int(s)` for the number in the text)",
        ),
        (
            "x < inputs.s",
            "2: `<` cannot compare float and string (write `double(inputs.s)` for the number in the text)",
        ),
        ("list < 3", "5: `<` cannot compare list and int"),
        (
            "n in s",
            "2: nothing can be in a string (whether a text has a part is written `text.contains(part)`)",
        ),
        (
            "!n",
            "1: true or false is wanted, not an int (compare it: `n > 0`)",
        ),
        (
            "s && true",
            "0: true or false is wanted, not a string (compare it: `s == 'yes'`, or write `bool(s)` if the text says true or false)",
        ),
        (
            "true || size(list)",
            "8: true or false is wanted, not an int (compare it: `x > 0`)",
        ),
        (
            "list ? 1 : 2",
            "0: true or false is wanted, not a list (compare its length: `size(list) > 0`)",
        ),
        ("-s", "0: `-` cannot take string"),
        (
            "size(n)",
            "0: `size` cannot take int (it takes string, list, map, file or directory)",
        ),
        (
            "n.contains('1')",
            "2: `contains` cannot take int and string (write `string(n)` before it)",
        ),
        (
            "s.contains(n)",
            "2: `contains` cannot take string and int (value 2 of it is string)",
        ),
        (
            "round(s)",
            "0: `round` cannot take string (write `double(s)` in its place)",
        ),
        (
            "min(n, s)",
            "0: `min` cannot take int and string (all its values are of one kind: whole numbers, floats or texts)",
        ),
        ("range(x)", "0: `range` cannot take float (it takes int)"),
        (
            "s.map(y, y)",
            "2: a list is wanted here, not a string (`lines(text)` and `text.split(',')` make lists)",
        ),
        (
            "map.map(y, y - 1)",
            "13: `-` cannot take string and int (write `int(...)` for the number in the text)",
        ),
        (
            "words.map(y, y * 2)",
            "15: `*` cannot take string and int (write `int(...)` for the number in the text)",
        ),
        (
            "list.filter(y, y)",
            "15: true or false is wanted, not an int (compare it: `x > 0`)",
        ),
        (
            "csv(s).filter(row, row.size > 3)",
            "28: `>` cannot compare string and int (write `int(...)` for the number in the text)",
        ),
        ("s.name", "2: a string has no field `name`"),
        (
            "list['a']",
            "4: a list has no item by string (the items of a list are numbered from 0)",
        ),
        (
            "map[0]",
            "3: a map has no item by int (the values of a map are read by text)",
        ),
        ("has(s.k)", "0: a string has no fields"),
        (
            "{n: 1}",
            "1: the keys of a map are string, not int (write `string(n)`)",
        ),
        (
            "(n > 3 ? n : x) % s",
            "16: `%` cannot take number and string (write `double(s)` for the number in the text)",
        ),
    ] {
        let found = inferred(source).unwrap();
        assert_eq!(found.errors, [expected], "{source}");
    }
}

#[test]
fn one_fault_is_told_once_and_nothing_is_said_of_what_is_not_known() {
    for (source, n_errors) in [
        ("(n + s) * s - list", 1),
        ("nothing + 1", 0),
        ("nothing.k[3].map(y, y + 's')", 0),
        ("[].map(y, y + 1 + 's')", 0),
        ("[].map(y, y.k + 1)", 0),
        ("[1, 'a'].map(y, y + 1)", 0),
        ("(n > 1 ? n : s) + 1", 0),
        ("map.k + 1", 0),
        ("nothing == 1 || nothing == 'a'", 0),
        ("min(words) + 1", 1),
        ("min(list) + 1", 0),
        ("csv(s).map(row, int(row.size))", 0),
        ("name(s) + stem('a.b')", 0),
        ("null == n", 0),
        ("null + n", 1),
    ] {
        let found = inferred(source).unwrap();
        assert_eq!(found.errors.len(), n_errors, "{source}: {:?}", found.errors);
        assert_eq!(found.warnings, [] as [&str; 0], "{source}");
    }
}

#[test]
fn values_of_different_kinds_are_never_equal() {
    for (source, expected) in [
        (
            "n == '4'",
            "2: an int and a string are never equal (write `int(...)` for the number in the text)",
        ),
        (
            "s != 3",
            "2: a string and an int are always unequal (write `int(s)` for the number in the text)",
        ),
        ("list == n", "5: a list and an int are never equal"),
    ] {
        let found = inferred(source).unwrap();
        assert_eq!(found.warnings, [expected], "{source}");
        assert!(found.errors.is_empty(), "{source}");
    }
    for source in ["n == x", "n == 4.0", "map.k == 'a'", "s == null"] {
        assert!(inferred(source).unwrap().warnings.is_empty(), "{source}");
    }
}

/// Faults that depend on values, not on their kinds.
const OF_VALUES: &[&str] = &[
    "overflows",
    "division by zero",
    "no item ",
    "the map has no ",
    "is not a whole number",
    "is not a number",
    "is no whole number of 64 bits",
    "is neither true nor false",
    "an empty list has no least",
    "digits behind the point",
    "steps of 0",
    "numbers; at most",
    "is twice in a map",
    "of the table",
    "a table without",
    "more steps",
    "more than",
    "too much",
];

/// Expressions whose operands are all evaluated.
fn strict() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "n", "x", "s", "list", "words", "map", "nothing", "0", "3", "2.5", "'7'", "'b'", "true",
        "[]", "[1, 'a']", "null", "map.k", "list[1]", "inputs.n",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let operator = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "<", ">=", "==", "!=", "in",
        ]);
        let function = prop::sample::select(vec![
            "size", "int", "double", "string", "bool", "range", "lines", "floor", "abs", "min", "lower",
            "!", "-", "round", "csv",
        ]);
        let method = prop::sample::select(vec!["contains", "split", "join", "startsWith", "format"]);
        prop_oneof![
            3 => (inner.clone(), operator, inner.clone()).prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            2 => (function, inner.clone()).prop_map(|(name, a)| format!("{name}({a})")),
            1 => (inner.clone(), method, inner.clone()).prop_map(|(a, name, b)| format!("({a}).{name}({b})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("max({a}, {b})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("[{a}, {b}]")),
        ]
    })
}

/// Expressions of which parts may never be evaluated.
fn lazy() -> impl Strategy<Value = String> {
    strict().prop_recursive(2, 8, 3, |inner| {
        let each = prop::sample::select(vec!["map", "filter", "all", "exists", "exists_one"]);
        let both = prop::sample::select(vec!["&&", "||"]);
        prop_oneof![
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), both, inner.clone())
                .prop_map(|(a, sign, b)| format!("({a} {sign} {b})")),
            (inner.clone(), each, inner.clone())
                .prop_map(|(a, name, b)| format!("({a}).{name}(y, y == {b})")),
            inner.clone().prop_map(|a| format!("({a}).map(y, y + y)")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{'k': {a}, 'l': {b}}}.k")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_called_wrong_faults(source in strict()) {
        let Some(found) = inferred(&source) else { return Ok(()) };
        if !found.errors.is_empty() {
            let value = evaluate(&source);
            prop_assert!(value.is_err(), "{} gives {:?}: {:?}", source, value, found.errors);
        }
    }

    #[test]
    fn a_value_has_one_of_the_kinds_that_were_inferred(source in lazy()) {
        let Some(found) = inferred(&source) else { return Ok(()) };
        if let (Ok(value), true) = (evaluate(&source), found.errors.is_empty()) {
            prop_assert!(found.kinds.admit(&value), "{} gives {:?}, not {:?}", source, value, found.kinds);
        }
    }

    #[test]
    fn where_the_kinds_are_known_only_values_fault(source in lazy()) {
        let Some(found) = inferred(&source) else { return Ok(()) };
        if let (Err(error), true, false) = (evaluate(&source), found.errors.is_empty(), found.may_fault) {
            let is_of_values = OF_VALUES.iter().any(|part| error.message.contains(part));
            prop_assert!(is_of_values, "{} faults: {}", source, error.message);
        }
    }

    #[test]
    fn values_that_are_called_unequal_are(source in strict()) {
        let Some(found) = inferred(&format!("({source}) == n")) else { return Ok(()) };
        let is_last = found.warnings.iter().any(|line| line.ends_with("and an int are never equal"));
        if is_last && found.errors.is_empty() && let Ok(value) = evaluate(&format!("({source}) == n")) {
            prop_assert_eq!(value, Value::Bool(false));
        }
    }
}
