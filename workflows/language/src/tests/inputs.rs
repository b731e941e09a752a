//! Inputs of processes and of activities.

use super::{compiled, lines, refused};

#[test]
fn bounds_are_those_of_numbers_and_leave_some() {
    let of = |kind: &str| {
        format!(
            "a bound of {kind} (only numbers have `minimum` and `maximum`: `int`, `float`, or `json`)"
        )
    };
    let text = "\
xavantes: 1
name: t
inputs:
  s: { type: string, minimum: 1 }
  l: { type: list of int, maximum: 3 }
  n: { type: int, minimum: 10, maximum: 5 }
  x: { type: float, minimum: 0.5, maximum: 0.5 }
body: { activity: a, run: [a] }
";
    let expected = [
        format!("4:31: {}", of("a string")),
        format!("5:36: {}", of("a list of int")),
        "6:41: no number is at least 10 and at most 5 (`minimum` is the smaller one of the two)"
            .to_owned(),
    ];
    assert_eq!(lines(&refused(text)), expected);
}

#[test]
fn no_input_lies_below_a_file_beside_the_definition_or_above_one() {
    let text = |files: &str, path: &str, source: &str| {
        format!(
            "xavantes: 1\nname: t\ninputs: {{ f: file, d: directory }}\nfiles: [{files}]\nbody:\n  \
             activity: a\n  run: [a]\n  uses: [own/x]\n  inputs: {{ {path}: inputs.{source} }}\n"
        )
    };
    let is_file = |file: &str| {
        format!(
            "`{file}` of `files` or `uses` is a file, and no directory (stage it under another path)"
        )
    };
    let lies_below = |file: &str| {
        format!(
            "`{file}` of `files` or `uses` lies below it, so it cannot be a file (stage it under another path)"
        )
    };
    for (files, path, source, expected) in [
        ("data", "data/x.txt", "f", is_file("data")),
        ("data", "data/x/y/", "d", is_file("data")),
        ("b", "own/x/y", "f", is_file("own/x")),
        ("data/x.txt", "data", "f", lies_below("data/x.txt")),
        ("b", "own", "f", lies_below("own/x")),
    ] {
        let refused = refused(text(files, path, source));
        // The place is that of the source.
        let at = 15 + path.len();
        assert_eq!(lines(&refused), [format!("9:{at}: {expected}")]);
    }
    for (files, path, source) in [
        ("data/x.txt", "data/y.txt", "f"),
        ("data/x.txt", "data/", "d"),
        // The input stands in its place.
        ("data/x.txt", "data/x.txt", "f"),
        ("data-x", "data", "f"),
    ] {
        compiled(&text(files, path, source));
    }
}
