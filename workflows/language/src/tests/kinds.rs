//! Values of kinds that do not fit are told before anything runs, at their places, and nothing else is.

use model::Value;

use super::{compiled, lines, refused};

fn definition(steps: &str, outputs: &str) -> String {
    format!(
        "xavantes: 1\nname: p\n\
         inputs: {{ limit: int, rate: float, who: string, genome: file, reads: list of file, data: json }}\n\
         variables: {{ total: int, share: float, note: string, rows: list of string, x: {{ type: float, value: 1.0 }} }}\n\
         outputs: {{ {outputs} }}\nbody:\n  sequence:\n\
         {WRITERS}{steps}\n"
    )
}

/// What writes all variables, so that the lines below begin at line 12.
const WRITERS: &str = "    - { activity: count, run: [echo, 1], stdout: { into: total, as: int } }\n    \
                       - { activity: part, run: [echo, 1], stdout: { into: share, as: float } }\n    \
                       - { activity: say, run: [echo, 1], stdout: { into: note } }\n    \
                       - { activity: list, run: [echo, 1], stdout: { into: rows, as: lines } }\n";

/// The errors of some steps.
#[track_caller]
fn check(steps: &str, expected: &[&str]) {
    let text = definition(steps, "");
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

/// The warnings of some steps, which are sound otherwise.
#[track_caller]
fn warned(steps: &str, expected: &[&str]) {
    let text = definition(steps, "");
    assert_eq!(lines(&compiled(&text).warnings), expected, "{text}");
}

#[test]
fn a_type_error_looks_like_this() {
    let text = definition("    - assign: { total: \"${ total / share }\" }", "");
    let expected = "\
error: `/` cannot take int and float
  --> p.yaml:12:34
   |
12 |     - assign: { total: \"${ total / share }\" }
   |                                  ^
   |
   = help: write `double(total)` for the whole number
";
    assert_eq!(refused(&text).render(false), expected);
}

#[test]
fn what_is_captured_fits_its_variable() {
    let capture = |into: &str| format!("    - {{ activity: a, run: [a], stdout: {{ {into} }} }}");
    for (into, expected) in [
        (
            "into: total",
            "12:48: text is captured into `total`, which is declared as int (write `as: int` beside `into: total`)",
        ),
        (
            "into: total, as: float",
            "12:48: a float is captured into `total`, which is declared as int (write `as: int` beside `into: total`, or declare `total: float`)",
        ),
        (
            "into: note, as: lines",
            "12:48: a list of lines is captured into `note`, which is declared as string (declare `note: list of string`, or leave `as: lines` out)",
        ),
        (
            "into: rows",
            "12:48: text is captured into `rows`, which is declared as list of string (write `as: lines` beside `into: rows`)",
        ),
        (
            "into: share",
            "12:48: text is captured into `share`, which is declared as float (write `as: float` beside `into: share`)",
        ),
    ] {
        check(&capture(into), &[expected]);
    }
    for into in [
        "into: share, as: int",
        "into: total, as: json",
        "into: note, as: json",
    ] {
        warned(&capture(into), &[]);
    }
}

#[test]
fn conditions_are_true_or_false() {
    check(
        "    - if: ${ total }\n      then: { empty: }\n      elif: [{ if: \"${ note }\", then: { empty: } }]\n    \
         - while: ${ limit(3) }\n      do: [{ empty: }]\n    - repeat-until: ${ total - 1 }\n      do: [{ empty: }]\n    \
         - switch: [{ case: \"${ size(rows) }\", do: { empty: } }]\n    - parallel: [{ activity: a, run: [a] }, { activity: b, run: [b] }]\n      \
         links: [{ from: a, to: b, when: \"${ total }\" }]",
        &[
            "12:14: true or false is wanted, not an int (compare it: `total > 0`)",
            "14:24: true or false is wanted, not a string (compare it: `note == 'yes'`, or write `bool(note)` if the text says true or false)",
            "15:17: unknown function `limit`",
            "17:24: true or false is wanted, not an int (compare it: `x > 0`)",
            "19:28: true or false is wanted, not an int (compare it: `x > 0`)",
            "21:43: true or false is wanted, not an int (compare it: `total > 0`)",
        ],
    );
}

#[test]
fn values_fit_what_they_are_written_to() {
    check(
        "    - assign: { total: \"${ note }\", share: \"${ note }\", note: \"${ total }\", rows: \"${ note }\" }\n    \
         - assign: { total: 1.5, note: [a], share: text }",
        &[
            "12:28: a string for the variable `total`, which is declared as int (write `int(note)`)",
            "12:48: a string for the variable `share`, which is declared as float (write `double(note)`)",
            "12:67: an int for the variable `note`, which is declared as string (write `string(total)`)",
            "12:87: a string for the variable `rows`, which is declared as list of string (write `lines(note)` or `note.split(',')`)",
            "13:24: a float for the variable `total`, which is declared as int (write `int(...)` for the number without what is behind its point, or declare a float)",
            "13:29: a list for the variable `note`, which is declared as string (write `list.join(', ')`)",
            "13:47: a string for the variable `share`, which is declared as float (write `double(...)`)",
        ],
    );
}

#[test]
fn files_are_laid_out_and_are_no_text() {
    check(
        "    - { activity: a, run: [cat, \"${ inputs.genome }\"] }\n    \
         - { activity: b, run: { shell: \"cat ${ inputs.genome } > x\" }, env: { G: \"${ inputs.genome }\" } }\n    \
         - for-each: { item: read, in: \"${ inputs.reads }\", do: { activity: c, run: [cat, \"${ read }\"] } }",
        &[
            "12:37: `inputs.genome` is a file, not text (lay it out with `inputs: { genome: inputs.genome }`, and write `genome`)",
            "13:44: `inputs.genome` is a file, not text (lay it out with `inputs: { genome: inputs.genome }`, and write `genome`)",
            "13:82: `inputs.genome` is a file, not text (lay it out with `inputs: { genome: inputs.genome }`, and write `genome`)",
            "14:90: `read` is a file, not text (lay it out with `inputs: { read: read }`, and write `read`)",
        ],
    );
    warned(
        "    - { activity: a, run: [cat, \"${ inputs.reads }\", \"${ name(inputs.genome) }\"] }",
        &[
            "12:37: `inputs.reads` is a list of files, not words of a command (lay them out with `inputs: { files/: inputs.reads }`, and write `files/*` in a shell line)",
        ],
    );
}

#[test]
fn items_have_the_kinds_of_their_lists() {
    check(
        "    - for-each: { item: n, in: [1, 2], key: \"${ [n] }\", do: { activity: a, run: [a, \"${ n + 'x' }\"] } }\n    \
         - for-each: { item: row, index: i, in: \"${ csv(note) }\", complete-when: \"${ note }\", do: { activity: b, run: [a, \"${ row.size > i }\"] } }\n    \
         - for-each: { item: r, in: \"${ rows }\", do: { for-each: { item: q, in: \"${ r }\", do: { empty: } } } }\n    \
         - for-each: { item: r, in: \"${ total }\", do: { empty: } }",
        &[
            "12:49: text or a whole number is wanted, not a list",
            "12:91: `+` cannot take int and string (write `string(n)` to join texts, or `int(...)` to add numbers)",
            "13:81: a whole number is wanted, not a string (write `int(note)`)",
            "13:131: `>` cannot compare string and int (write `int(row.size)` for the number in the text)",
            "14:80: a list is wanted, not a string (`lines(r)` or `r.split(',')` makes a list of a text)",
            "15:32: `total` is an int, not a list (declare it as `list of int`)",
        ],
    );
}

#[test]
fn outputs_are_checked_before_the_work() {
    let text = definition(
        "    - empty:",
        "a: \"${ total / 2.0 }\", b: \"${ nobody + 1 }\", c: \"${ rows + note }\"",
    );
    assert_eq!(
        lines(&refused(&text)),
        [
            "5:25: `/` cannot take int and float (write `double(total)` for the whole number)",
            "5:42: no variable is called `nobody`",
            "5:69: `+` cannot take list and string",
        ]
    );
    let text = "xavantes: 1\nname: p\nvariables: { v: int, w: int }\noutputs: { v: \"${ v }\" }\nbody: { assign: { w: 1 } }\n";
    assert_eq!(
        lines(&refused(text)),
        [
            "3:14: nothing is ever written to the variable `v`",
            "4:19: an output of the variable `v`, to which nothing is ever written (write it by `stdout: { into: v }` of an activity or by `assign`, or give it a `value`)",
        ]
    );
}

#[test]
fn what_is_written_says_more_than_the_type() {
    warned("    - assign: { x: \"${ inputs.rate / 2.0 }\" }", &[]);
    warned(
        "    - assign: { note: \"${ inputs.data.name + 'x' }\", total: \"${ inputs.data }\" }",
        &[],
    );
    // A chain of assignments that is longer than the passes over them.
    let chain = "    - assign: { y0: \"${ y1 }\" }\n";
    let chain: String = (1..8).fold(chain.to_owned(), |all, n| {
        format!("{all}    - assign: {{ y{n}: \"${{ y{} }}\" }}\n", n + 1)
    });
    let declared: String = (0..=8).map(|n| format!("y{n}: json, ")).collect();
    let text = definition(
        &format!("{chain}    - assign: {{ y8: 1, total: \"${{ y0 / 2 }}\" }}"),
        "",
    );
    compiled(&text.replace("variables: { ", &format!("variables: {{ {declared}")));
}

#[test]
fn what_is_declared_as_a_float_is_one() {
    let float_and_int = |at: &str, sign: &str| {
        format!(
            "{at}: `{sign}` cannot take float and int (write `double(...)` for the whole number)"
        )
    };
    // A whole number that is written to it becomes a float.
    check(
        "    - assign: { x: \"${ x / 2 }\" }\n    - assign: { x: 3 }",
        &[&float_and_int("12:26", "/")],
    );
    check(
        "    - assign: { x: \"${ inputs.rate * 2 }\" }",
        &[&float_and_int("12:36", "*")],
    );
    let text = "xavantes: 1\nname: p\n\
                inputs: { rates: { type: list of float, default: [1, 2.5] }, rate: { type: float, default: 3 } }\n\
                variables: { factor: { type: float, value: 1 } }\n\
                outputs: { a: \"${ factor / 4.0 }\", b: \"${ inputs.rates.map(rate, rate / 2.0) }\" }\n\
                body: { empty: }\n";
    let sound = compiled(text);
    let draft = sound.definition.draft();
    let floats = Value::List(vec![Value::Float(1.0), Value::Float(2.5)]);
    assert_eq!(draft.inputs[0].default, Some(floats));
    assert_eq!(draft.inputs[1].default, Some(Value::Float(3.0)));
    assert_eq!(draft.variables[0].initial, Value::Float(1.0));
    let text = text.replace("/ 4.0", "/ 4").replace("/ 2.0", "/ 2");
    assert_eq!(
        lines(&refused(&text)),
        [float_and_int("5:26", "/"), float_and_int("5:69", "/")]
    );
}

#[test]
fn what_is_never_equal_is_warned_of() {
    warned(
        "    - if: ${ total == '3' }\n      then: { empty: }",
        &[
            "12:20: an int and a string are never equal (write `int(...)` for the number in the text)",
        ],
    );
}

#[test]
fn two_steps_that_write_a_variable_in_no_order_are_warned_of() {
    let steps = "    - parallel:
        - { activity: a, run: [a], stdout: { into: note } }
        - sequence:
            - { activity: b, run: [b] }
            - assign: { note: done }
            - assign: { note: again }";
    let text = definition(steps, "");
    let warnings = compiled(&text).warnings;
    let expected = "\
warning: two steps may write the variable `note` at the same time: the last one counts
  --> p.yaml:16:31
   |
16 |             - assign: { note: done }
   |                               ^^^^
   |
  ::: p.yaml:13:52
   |
13 |         - { activity: a, run: [a], stdout: { into: note } }
   |                                                    ---- the other one writes here
   |
   = help: order them by a link or a sequence, or give each a variable of its own
";
    assert_eq!(warnings.render(false), expected);
    let report = serde_json::to_value(&warnings.reports()[0]).unwrap();
    assert_eq!(
        report["also"],
        serde_json::json!({ "line": 13, "column": 52, "label": "the other one writes here" })
    );
    for links in [
        "[{ from: a, to: b }]",
        "[{ from: a, to: b, when: \"${ total > 1 }\" }]",
    ] {
        warned(&format!("{steps}\n      links: {links}"), &[]);
    }
    let branches = "    - if: ${ total > 1 }\n      then: { assign: { note: a } }\n      else: { assign: { note: b } }";
    warned(branches, &[]);
}
