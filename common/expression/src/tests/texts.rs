//! Functions of texts and of numbers.

use model::Value;

use super::{error, evaluate, text};

fn texts(texts: &[&str]) -> Value {
    Value::List(texts.iter().map(|part| text(part)).collect())
}

#[test]
fn texts_are_taken_apart_and_put_together() {
    for (source, expected) in [
        ("'a,b,,c'.split(',')", texts(&["a", "b", "", "c"])),
        ("'a, b, c'.split(', ', 2)", texts(&["a", "b, c"])),
        ("'a,b'.split(',', 0)", texts(&[])),
        ("'a,b'.split(',', 1)", texts(&["a,b"])),
        ("'a,b'.split(',', -1)", texts(&["a", "b"])),
        ("'aéb'.split('')", texts(&["a", "é", "b"])),
        ("'aéb'.split('', 2)", texts(&["a", "éb"])),
        ("''.split('')", texts(&[])),
        ("''.split(',')", texts(&[""])),
        ("'abc'.split('x')", texts(&["abc"])),
        ("['a', 'b'].join()", text("ab")),
        ("['a', 'b'].join(', ')", text("a, b")),
        ("[].join(',')", text("")),
        ("[1, 2.5, true, 'x'].join('-')", text("1-2.5-true-x")),
        ("'a.b.c'.split('.').join('/')", text("a/b/c")),
        (
            "range(3).map(i, 'r' + string(i)).join(' ')",
            text("r0 r1 r2"),
        ),
    ] {
        assert_eq!(evaluate(source), Ok(expected), "{source}");
    }
    for (source, expected) in [
        ("['a', null].join()", "`join` cannot take nothing, item 1"),
        ("'a'.split(1)", "`split` cannot take string and int"),
        ("[1].join(2)", "`join` cannot take list and int"),
    ] {
        let why = error(source);
        assert!(why.ends_with(&format!(": {expected}")), "{source}: {why}");
    }
}

#[test]
fn parts_of_texts_are_replaced_and_letters_changed() {
    for (source, expected) in [
        ("'a.b.c'.replace('.', '-')", "a-b-c"),
        ("'a.b.c'.replace('.', '-', 1)", "a-b.c"),
        ("'a.b.c'.replace('.', '-', 0)", "a.b.c"),
        ("'a.b.c'.replace('.', '-', -1)", "a-b-c"),
        ("'ab'.replace('', '.')", ".a.b."),
        ("'aaa'.replace('aa', 'b')", "ba"),
        ("'Straße ÄÖ'.lower()", "straße äö"),
        ("upper('straße')", "STRASSE"),
        ("'  a b\\n'.trim()", "a b"),
        ("trim('\\t')", ""),
    ] {
        assert_eq!(evaluate(source), Ok(text(expected)), "{source}");
    }
    assert!(error("lower(1)").ends_with(": `lower` cannot take int"));
}

#[test]
fn values_are_written_into_a_template() {
    for (source, expected) in [
        ("'run-%03d.txt'.format([7])", "run-007.txt"),
        ("'%d %s %s'.format([-3, 'x', 2.5])", "-3 x 2.5"),
        ("'%05d|%-4d|%4d'.format([-42, 7, 7])", "-0042|7   |   7"),
        (
            "'%.2f %f %8.1f'.format([2.675, 1, -0.25])",
            "2.67 1.000000     -0.2",
        ),
        ("'%.1e'.format([12345])", "1.2e4"),
        ("'%x %X %o %b'.format([255, 255, 8, -5])", "ff FF 10 -101"),
        ("'%s'.format([[1, {'a': null}]])", "[1,{\"a\":null}]"),
        (
            "'%-5s|%5s|%.2s'.format(['ab', 'é', 'abc'])",
            "ab   |    é|ab",
        ),
        ("'100%%'.format([])", "100%"),
        ("'%05f'.format([1.0 / 0.0])", "  inf"),
    ] {
        let expected = match source.contains("/ 0.0") {
            true => evaluate(source).map(|_| text(expected)),
            false => Ok(text(expected)),
        };
        assert_eq!(evaluate(source), expected, "{source}");
    }
    for (source, expected) in [
        (
            "'%d'.format([])",
            "`format` has 0 values, and more are wanted",
        ),
        ("'%d'.format([1, 2])", "`format` has 2 values, and takes 1"),
        (
            "'%d'.format(['x'])",
            "value 0 of `format`: %d takes a whole number, not a string",
        ),
        (
            "'%f'.format(['x'])",
            "value 0 of `format`: %f takes a number, not a string",
        ),
        (
            "'%q'.format([1])",
            "`%q` in a `format`; there are s, d, f, e, x, X, o, b and %",
        ),
        (
            "'a%'.format([1])",
            "`%` in a `format`; there are s, d, f, e, x, X, o, b and %",
        ),
        (
            "'%1000d'.format([1])",
            "a width of 1000 in a `format`; at most 100",
        ),
    ] {
        let why = error(source);
        assert!(why.ends_with(&format!(": {expected}")), "{source}: {why}");
    }
}

#[test]
fn numbers_are_rounded_and_compared() {
    let float = Value::Float;
    for (source, expected) in [
        ("floor(-2.5)", float(-3.0)),
        ("ceil(-2.5)", float(-2.0)),
        ("round(2.5)", float(3.0)),
        ("round(-2.5)", float(-3.0)),
        ("round(2.44, 1)", float(2.4)),
        ("round(1234.5678, 2)", float(1234.57)),
        ("round(7)", Value::Int(7)),
        ("int(floor(7.9))", Value::Int(7)),
        ("abs(-3)", Value::Int(3)),
        ("abs(-0.5)", float(0.5)),
        ("min(3, 1, 2)", Value::Int(1)),
        ("max([0.5, 2.5])", float(2.5)),
        ("max(['a', 'b'])", text("b")),
        ("min(5)", Value::Int(5)),
    ] {
        assert_eq!(evaluate(source), Ok(expected), "{source}");
    }
    for (source, expected) in [
        ("floor('1')", "`floor` cannot take string"),
        ("round(1.5, 16)", "16 digits behind the point; from 0 to 15"),
        ("max([])", "an empty list has no least and no greatest item"),
        ("min(1, 2.0)", "float and int have no order"),
        ("max(true)", "bool has no order"),
    ] {
        let why = error(source);
        assert!(why.ends_with(&format!(": {expected}")), "{source}: {why}");
    }
}

#[test]
fn a_short_text_makes_no_long_one_without_paying() {
    // Each doubles the text some times: the budget ends it before the memory does.
    let many = "range(20000).map(i, 'x').join('')";
    for source in [
        format!("{many}.replace('x', {many})"),
        format!("[{many}].map(t, t.split('').join({many}))"),
        format!("{many}.replace('', {many})"),
    ] {
        let why = error(&source);
        assert!(
            why.contains("steps") || why.contains("MiB"),
            "{source}: {why}"
        );
    }
}
