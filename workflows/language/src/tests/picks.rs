//! One item's file: what is read, and what is refused.

use model::{NodeId, OutputSource, Source};

use super::{compiled, lines, refused};
use crate::export::yaml;
use crate::json;

const READS: &str = r#"
xavantes: 1
name: tree
inputs: { texts: list of file, n: { type: int, default: 2 } }
outputs: { all: "merge[inputs.n].all" }
body:
  - for-each:
      item: text
      in: ${ inputs.texts }
      do: { activity: sort, run: [sort], inputs: { in.txt: text }, outputs: { all: all.txt } }
  - activity: header
    run: [head]
    outputs: { all: all.txt }
  - for-each:
      item: m
      index: i
      in: ${ range(3) }
      do:
        activity: merge
        run: [merge]
        inputs:
          a.txt: "sort[[0, 1][m % 2]].all"
          b.txt:
            if: ${ m == 0 }
            then: header.all
            else: { if: "${ m == 1 }", then: "sort[1].all", else: "merge[i - 2].all" }
        outputs: { all: all.txt }
"#;

#[test]
fn one_item_is_picked_by_its_place() {
    let compiled = compiled(READS);
    assert_eq!(compiled.warnings.list(), []);
    let draft = compiled.definition.draft();
    let cases = |pick: u32| {
        let cases = draft.pick_cases(pick).iter();
        let shown = cases.map(|case| {
            let text =
                |one: &Option<model::Expression>| one.as_ref().map(|one| one.0.trim().to_owned());
            let Source::Output { activity, .. } = case.source else {
                panic!("{:?}", case.source);
            };
            (text(&case.when), activity.0, text(&case.place))
        });
        shown.collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(cases(0), [(None, 5, text("inputs.n"))]);
    assert_eq!(
        draft.outputs[0].source,
        OutputSource::Produced(Source::Pick(0))
    );
    assert_eq!(cases(1), [(None, 2, text("[0, 1][m % 2]"))]);
    let chosen = [
        (text("m == 0"), 3, None),
        (text("m == 1"), 2, text("1")),
        (None, 5, text("i - 2")),
    ];
    assert_eq!(cases(2), chosen);
    let sites = compiled.definition.pick_sites(NodeId(4));
    assert_eq!(
        sites.iter().map(|site| site.pick).collect::<Vec<_>>(),
        [1, 2]
    );
    let shown = json(&compiled.definition);
    assert_eq!(shown["outputs"]["all"], "merge[inputs.n].all");
    // The export is the same definition again.
    let written = yaml(&compiled.definition);
    let again = super::compiled(&written);
    assert_eq!(again.definition.draft().picks, draft.picks, "{written}");
}

/// Compiles a reader with these inputs and compares what is said. They stand from column 40 of line 13.
fn check(inputs: &str, expected: &[&str]) {
    let text = format!(
        "xavantes: 1\nname: p\ninputs: {{ n: int, texts: list of file }}\nvariables: {{ v: {{ type: int, value: 0 }} }}\n\
         body:\n  - {{ activity: alone, run: [a], outputs: {{ o: o, d: d/ }} }}\n  - for-each:\n      item: x\n      in: [1, 2, 3]\n      \
         do: {{ activity: s, run: [s], outputs: {{ o: o, d: d/ }} }}\n  - for-each: {{ item: y, index: i, in: [1, 2], do: {{ \
         for-each: {{ item: z, in: [1], do: {{ activity: deep, run: [d], outputs: {{ o: o }} }} }} }} }}\n  - for-each: {{ item: y, index: i, \
         in: [1, 2], do:\n      {{ activity: m, run: [m], inputs: {{ {inputs} }}, outputs: {{ o: o }} }} }}\n"
    );
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

#[test]
fn what_cannot_be_picked_is_said_where_it_stands() {
    check(
        "a: \"s[i\", b: \"s[].o\", c: \"nobody[0].o\", d: \"s[0].oo\", e: \"inputs.texts[0]\"",
        &[
            "13:45: `s[i` where `activity[*].output` or `activity[PLACE].output` is expected (its outputs are `s[0].o`, `s[0].d`)",
            "13:55: `s[].o` where `activity[*].output` or `activity[PLACE].output` is expected (its outputs are `s[0].o`, `s[0].d`)",
            "13:67: no activity is called `nobody`",
            "13:85: `s` has no output `oo` (did you mean `o`?)",
            "13:99: `inputs.texts[0]` where `activity.output` or `inputs.NAME` is expected (a file of a list is the item of a for-each over `inputs.texts`)",
        ],
    );
    check(
        "a: \"s[${ i }].o\", b: { if: \"${ true }\", then: \"s[*].o\", else: alone.o }",
        &[
            "13:45: an expression where `activity.output` or `inputs.NAME` is expected (in the brackets an expression stands by itself: `activity[2 * i].output`)",
            "13:88: outputs of many items where one source is expected (let an activity gather them, and name its output)",
        ],
    );
    check(
        "a: { if: \"${ true }\", then: alone.o }, b: { if: \"${ true }\", then: alone.o, els: alone.o }",
        &[
            "13:47: a file that is chosen without `else` (`else`: its source where the condition is false, or another choice)",
            "13:86: a file that is chosen without `else` (`else`: its source where the condition is false, or another choice)",
            "13:118: unknown key `els` (did you mean `else`?)",
        ],
    );
    check(
        "a: { first: \"s[0].o\", then: m.o }",
        &[
            "13:54: one item's output where what a loop carries is expected (write `{ if: \"${ i == 0 }\", then: ..., else: \"activity[i - 1].output\" }`, where `i` is the `index` of the loop)",
        ],
    );
    check(
        "a: \"s[v].o\", b: \"s[w].o\", c: \"s[1.5].o\", d: { if: \"${ i }\", then: \"s[0].o\", else: \"s[y > 1].o\" }",
        &[
            "13:48: `v` is a variable, and which item is read is known before (inputs, items and indexes can be read here; a variable may be the list of the for-each)",
            "13:61: no variable is called `w` (did you mean `y`?)",
            "13:74: a whole number is wanted, not a float (write `int(...)`)",
            "13:96: true or false is wanted, not an int (compare it: `i > 0`)",
            "13:127: a whole number is wanted, not a bool",
        ],
    );
    check(
        "a: \"alone[0].o\", b: \"deep[0].o\", c: \"s[0].d\", d/: \"s[0].o\", e: { if: \"${ true }\", then: s.o, else: \"s[0].o\" }",
        &[
            "13:45: `alone` runs for no item, so there is one of its outputs (leave the brackets out)",
            "13:62: `deep` lies in bodies within each other, and one place picks one item of one list (name an activity whose for-each lies beside a step around this)",
            "13:78: what is staged here is a directory (write `c/`)",
            "13:92: what is staged here is a file (write `d`)",
            "13:130: one of many files is meant, and none is named (write the place of its item in brackets: `activity[0].output`)",
        ],
    );
    // Lists and places that follow from the definition alone are looked at before anything runs.
    check(
        "a: \"s[y + 1].o\", b: \"s[-1].o\", c: \"s[inputs.n].o\", d: { if: \"${ i == 0 }\", then: \"s[0].o\", else: \"m[i].o\" }",
        &[
            "13:45: item 1: `[y + 1]` is item 3, and there are 3, counted from 0",
            "13:62: item 0: `[-1]` is item -1, and there are 3, counted from 0",
            "13:93: item 1: `[i]` is item 1, and item 1 can read those before it alone",
        ],
    );
}
