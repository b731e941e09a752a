//! Functions that make lists.

use std::collections::BTreeMap;

use model::{Expression, Value};

use super::{Names, error, evaluate, names, text};
use crate::{Meter, Program};

#[test]
fn lists_are_made_of_numbers_and_texts() {
    let numbers = |numbers: &[i64]| Value::List(numbers.iter().copied().map(Value::Int).collect());
    for (source, expected) in [
        ("range(3)", numbers(&[0, 1, 2])),
        ("range(n - 1, 6)", numbers(&[3, 4, 5])),
        ("range(0, 10, n)", numbers(&[0, 4, 8])),
        ("range(0, 8, n)", numbers(&[0, 4])),
        ("range(5, 0, -2)", numbers(&[5, 3, 1])),
        ("range(3, 3)", numbers(&[])),
        ("range(-4)", numbers(&[])),
        ("range(3, 0)", numbers(&[])),
        (
            "range(9223372036854775800, 9223372036854775807, 4)",
            numbers(&[9223372036854775800, 9223372036854775804]),
        ),
        (
            "range(-9223372036854775808, 9223372036854775807, 9223372036854775807)",
            numbers(&[i64::MIN, -1, i64::MAX - 1]),
        ),
        ("size(range(200000))", Value::Int(200_000)),
        ("range(2).map(i, range(i, i + 2))[1]", numbers(&[1, 2])),
    ] {
        assert_eq!(evaluate(source), Ok(expected), "{source}");
    }
    let texts = |texts: &[&str]| Value::List(texts.iter().map(|part| text(part)).collect());
    assert_eq!(
        evaluate("lines('a\\r\\n\\nb\\n')"),
        Ok(texts(&["a", "", "b"]))
    );
    assert_eq!(evaluate("''.lines()"), Ok(texts(&[])));
    assert_eq!(evaluate("lines('\\n')"), Ok(texts(&[""])));

    let table = |written: &str| evaluate(&format!("csv('{written}')"));
    let row = |fields: &[(&str, &str)]| {
        let fields = fields
            .iter()
            .map(|(name, field)| ((*name).to_owned(), text(field)));
        Value::Map(fields.collect())
    };
    let rows = vec![
        row(&[("name", "a"), ("size", "1")]),
        row(&[("name", "b, \"c\"\n\r\nd"), ("size", "")]),
    ];
    assert_eq!(
        table(r#"name,"size"\r\na,1\r\n"b, ""c""\n\r\nd",\r\n"#),
        Ok(Value::List(rows))
    );
    assert_eq!(
        table(r"\ufeffn\n\n1"),
        Ok(Value::List(vec![row(&[("n", "")]), row(&[("n", "1")])]))
    );
    assert_eq!(table("a,b"), Ok(Value::List(vec![])));
}

#[test]
fn lists_that_cannot_be_made_are_explained() {
    for (source, message) in [
        (
            "range(10000000)",
            "a `range` of 10000000 numbers; at most 200000",
        ),
        (
            "range(-9223372036854775808, 9223372036854775807) == [] || true",
            "a `range` of 18446744073709551615 numbers; at most 200000",
        ),
        (
            "[range(200000), range(200000)]",
            "values of more than 16 MiB",
        ),
        ("range(1, 2, 0)", "a `range` with steps of 0 has no end"),
        ("range(x)", "`range` cannot take float"),
        ("range(1, s)", "`range` cannot take int and string"),
        ("lines(n)", "`lines` cannot take int"),
        ("csv(list)", "`csv` cannot take list"),
        (
            "csv('')",
            "a table without a line with the names of its columns",
        ),
        ("csv('a,,b')", "column 2 of the table has no name"),
        ("csv('a,b,a')", "two columns of the table are called `a`"),
        (
            r#"csv('a,"b\nc"')"#,
            "the name of column 2 goes over several lines",
        ),
        (
            r"csv('a,b\n1,2\n1')",
            "line 3 of the table: fields of 2 columns are wanted, not 1",
        ),
        (
            r#"csv('a\n"x\ny"\nb"c')"#,
            "line 4 of the table has a quote inside a field without quotes",
        ),
        (
            r#"csv('a\n"x"y')"#,
            "line 2 of the table has `y` where a comma or its end is expected",
        ),
        (
            r"csv('a\nx\ry')",
            "line 2 of the table has `\\r` where a comma or its end is expected",
        ),
        (
            r#"csv('a\n"x')"#,
            "line 2 of the table has a quote that is not closed",
        ),
    ] {
        let found = error(source);
        assert!(found.ends_with(message), "{source}: {found}");
    }
    assert_eq!(
        error("range()"),
        "0: `range` takes 1 or 2 or 3 arguments here, not 0"
    );
    assert_eq!(
        error("n.range()"),
        "2: `range` does not stand after a dot (write `range(x)`)"
    );
    // Each row of a table has the names of its columns again.
    let name = "n".repeat(1_000);
    let rows = "\\n1".repeat(700);
    let source = format!("csv('{name}{rows}')");
    assert!(evaluate(&source).is_ok());
    let mut meter = Meter::up_to(10_000_000);
    let program = Program::compile(&Expression(source)).unwrap();
    let mut errors = (0..40).filter_map(|_| program.evaluate(&names(), &mut meter).err());
    assert!(errors.next().unwrap().message.contains("16 MiB"));
}

#[test]
fn files_that_were_given_have_names_and_paths_in_texts_too() {
    let one = |value: Value, source: &str| {
        let names = Names(BTreeMap::from([("file", value)]));
        let program = Program::compile(&Expression(source.to_owned())).unwrap();
        let evaluated = program.evaluate(&names, &mut Meter::default());
        evaluated.map_err(|error| error.to_string())
    };
    let artifact = model::Artifact {
        hash: model::Hash([1; 32]),
        bytes: model::Bytes(9),
        kind: model::ArtifactKind::File,
    };
    let file = |name: &str| Value::Artifact(artifact, Some(name.into()));
    for (name, source, expected) in [
        ("s-7.fastq.gz", "name(file)", "s-7.fastq.gz"),
        ("s-7.fastq.gz", "file.name()", "s-7.fastq.gz"),
        ("s-7.fastq.gz", "stem(file)", "s-7.fastq"),
        ("s-7.fastq.gz", "file.stem().stem()", "s-7"),
        ("s-7.fastq.gz", "stem(file, '.fastq.gz')", "s-7"),
        ("s-7.fastq.gz", "file.stem('.bam')", "s-7.fastq.gz"),
        (".profile", "stem(file)", ".profile"),
        (".gz", "stem(file, '.gz')", ".gz"),
        ("none", "stem(file)", "none"),
        ("x", "name('data/in/s-7.fastq')", "s-7.fastq"),
        ("x", "stem('data/in.d/s-7/')", "s-7"),
    ] {
        let found = one(file(name), source);
        assert_eq!(
            found,
            Ok(Value::Text(expected.to_owned())),
            "{source} of {name}"
        );
    }
    let ends = one(file("a.gz"), "name(file).endsWith('.gz')");
    assert_eq!(ends, Ok(Value::Bool(true)));
    let nameless = one(Value::from(artifact), "name(file)").unwrap_err();
    assert!(nameless.contains("this file has no name"), "{nameless}");
    let wrong = one(Value::Int(3), "stem(file)").unwrap_err();
    assert!(wrong.contains("`stem` cannot take int"), "{wrong}");
    // The name says nothing about the content.
    let equal = one(
        Value::List(vec![file("a"), file("b")]),
        "file[0] == file[1]",
    );
    assert_eq!(equal, Ok(Value::Bool(true)));
}
