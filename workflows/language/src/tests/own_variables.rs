//! Variables of bodies: what is read, and what is refused.

use model::NodeId;

use super::{compiled, lines, refused};
use crate::export::yaml;
use crate::json;

const SCORES: &str = r#"
xavantes: 1
name: scores
inputs: { reads: list of file }
outputs: { scores: "${ align-all[*].score }", best: "${ best }" }
variables: { best: json }
body:
  sequence:
    - name: each-read
      for-each:
        item: read
        in: ${ inputs.reads }
        variables: { score: int, tries: { type: int, value: 0 } }
        do:
          - activity: align-all
            run: [./align.sh]
            inputs: { in.fastq: read }
            stdout: { into: score, as: int }
          - while: ${ i < 3 }
            index: i
            variables: { error: float }
            do:
              - { activity: refine, run: [refine, "${ score }"], stdout: { into: error, as: float } }
              - assign: { tries: "${ tries + 1 }" }
          - { activity: note, run: [echo, "${ size(refine[*].error) }"] }
    - assign: { best: "${ each-read[*].tries }" }
"#;

#[test]
fn variables_of_bodies_are_read_and_written_again() {
    let compiled = compiled(SCORES);
    assert_eq!(compiled.warnings.list(), []);
    let draft = compiled.definition.draft();
    let owners: Vec<(&str, Option<NodeId>)> = draft
        .variables
        .iter()
        .map(|variable| (variable.name.as_str(), variable.of))
        .collect();
    let (each, repeat) = (Some(NodeId(1)), Some(NodeId(4)));
    assert_eq!(
        owners,
        [
            ("best", None),
            ("score", each),
            ("tries", each),
            ("error", repeat)
        ]
    );
    let again = super::compiled(&yaml(&compiled.definition));
    assert_eq!(again.definition.draft(), draft);
    let shown = json(&compiled.definition);
    assert_eq!(shown["variables"].as_object().unwrap().len(), 1);
}

/// The problems of a process with these steps, from line 6 on, and these outputs.
fn check(outputs: &str, steps: &str, expected: &[&str]) {
    let text = format!(
        "xavantes: 1\nname: p\nvariables: {{ v: {{ type: int, value: 1 }} }}\noutputs: {{ {outputs} }}\nbody:\n  sequence:\n{steps}\n"
    );
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

#[test]
fn what_is_read_or_written_outside_is_refused() {
    let body = "    - for-each: { item: x, in: [1], variables: { own: int }, do: { activity: a, run: [a], stdout: { into: own, as: int } } }";
    check(
        "one: \"${ own }\", two: \"${ b[*].own }\", three: \"${ a[*].v }\", four: \"${ a[*].owm }\", five: \"${ a[*].own }\"",
        &format!(
            "{body}\n    - {{ activity: b, run: [b], stdout: {{ into: own, as: int }} }}\n    - assign: {{ own: 3 }}"
        ),
        &[
            "4:21: `own` is a variable of a body, and is read outside of it (write `a[*].own` for the values of all items)",
            "4:38: `b` is no step of the body that has `own` (write `a[*].own`)",
            "4:62: `v` is a variable of the process, so there is one of it (write `v`)",
            "4:83: no body has a variable `owm` (did you mean `a[*].own`?)",
            "8:32: `own` is a variable of a body that this does not lie in (declare it under `variables:` of the process)",
            "9:7: `own` is a variable of a body that this does not lie in (declare it under `variables:` of the process)",
        ],
    );
    check(
        "",
        "    - for-each: { item: x, in: [1], variables: { v: int, x: text, y: int }, do: { activity: a, run: [a, \"${ a[*].y }\"], stdout: { into: y, as: int } } }\n    \
         - for-each: { item: x, in: [1], key: \"${ string(y) }\", variables: [y], do: { empty: } }",
        &[
            "7:53: variable `v` is declared twice",
            "7:61: `text` is not a type (did you mean `string`?)",
            "7:109: `a[*].y` is read inside of the body that has `y` (write `y` for that of the same item)",
            "8:53: `y` is a variable of a body, and is read outside of it (write `a[*].y` for the values of all items)",
            "8:71: a list where a mapping (name: type) is expected",
        ],
    );
}
