//! Loops: what is read, and what is refused.

use model::{NodeId, NodeKind, Repeat, Source, Test};

use super::{compiled, lines, refused};
use crate::{Compiled, dot, json, tree};

const RELAX: &str = r#"
xavantes: 1
name: relax
inputs: { start: file, most: { type: int, default: 50 } }
variables: { residual: { type: float, value: 1.0 }, tries: { type: int, value: 0 } }
outputs: { grid: sweep.grid, all: "sweep[*].grid" }
body:
  sequence:
    - while: ${ residual > 0.001 && i < inputs.most }
      name: until-small
      index: i
      max-iterations: 100
      do:
        - activity: sweep
          run: [./sweep.sh, "${ i }"]
          inputs:
            grid.txt: { first: inputs.start, then: sweep.grid }
            hint.txt: { first: inputs.start, then: measure.hint }
          outputs: { grid: new.txt }
        - activity: measure
          run: [./measure.sh]
          inputs: { grid.txt: sweep.grid }
          outputs: { hint: hint.txt }
          stdout: { into: residual, as: float }
    - activity: draw
      run: [./draw.sh]
      inputs: { grid.txt: sweep.grid, steps/: "sweep[*].grid" }
    - repeat-until: ${ tries >= 3 }
      do: { assign: { tries: "${ tries + 1 }" } }
"#;

fn repeat(compiled: &Compiled, node: u32) -> &Repeat {
    let NodeKind::Repeat(repeat) = &compiled.definition.node(NodeId(node)).kind else {
        panic!("not a loop");
    };
    repeat
}

fn output(activity: u32) -> Source {
    Source::Output {
        activity: NodeId(activity),
        output: 0,
    }
}

#[test]
fn loops_and_what_they_carry_are_read() {
    let compiled = compiled(RELAX);
    assert_eq!(compiled.warnings.list(), []);
    let first = repeat(&compiled, 1);
    assert_eq!(compiled.definition.node(NodeId(1)).name, "until-small");
    assert_eq!(
        (first.test, first.index.as_deref()),
        (Test::While, Some("i"))
    );
    assert_eq!(
        first.condition.0.trim(),
        "residual > 0.001 && i < inputs.most"
    );
    assert_eq!(
        (first.max_iterations, first.iterations_max()),
        (Some(100), 100)
    );
    let second = repeat(&compiled, 6);
    assert_eq!(
        (second.test, second.iterations_max()),
        (Test::Until, 10_000)
    );
    let NodeKind::Activity(sweep) = &compiled.definition.node(NodeId(3)).kind else {
        panic!("an activity");
    };
    let carried: Vec<_> = sweep
        .inputs
        .iter()
        .map(|one| (one.source, one.carried))
        .collect();
    let start = Source::Input(0);
    assert_eq!(
        carried,
        [(start, Some(output(3))), (start, Some(output(4)))]
    );
}

#[test]
fn a_loop_is_shown() {
    let compiled = compiled(RELAX);
    let shown = tree(&compiled.definition);
    assert!(
        shown.contains(
            "until-small (while): residual > 0.001 && i < inputs.most, at most 100 times"
        ),
        "{shown}"
    );
    assert!(
        shown.contains("repeat-until: tries >= 3, at most 10000 times"),
        "{shown}"
    );
    assert!(dot(&compiled.definition).contains("at most 100 times"));
    let json = json(&compiled.definition).to_string();
    assert!(json.contains(r#""max_iterations":100"#), "{json}");
    assert!(json.contains(r#""kind":"repeat-until""#), "{json}");
}

/// Checks what is said of the steps of a body, which begin in line 8.
fn check(steps: &str, expected: &[&str]) {
    let text = format!(
        "xavantes: 1\nname: p\ninputs: {{ one: file, n: int }}\nvariables: {{ v: int }}\nbody:\n  sequence:\n    \
         - {{ activity: a, run: [a], outputs: {{ o: o, d: d/ }}, stdout: {{ into: v, as: int }} }}\n{steps}"
    );
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

#[test]
fn the_keys_of_a_loop_are_strict() {
    check(
        "    - while: v > 3\n      do: { empty: }\n    - repeat-until: ${ v > n }\n      do: { empty: }\n    \
         - while: ${ v > 3 }\n      index: v\n      max-iterations: 0\n      do: { empty: }\n    \
         - while: ${ i > 3 }\n      do: []\n    - repeat-until: ${ true }\n      index: i\n      max-iterations: 1000000\n      \
         do: { while: \"${ i < 3 }\", index: i, do: { empty: } }",
        &[
            "8:14: `v > 3` where `${...}` is expected (an expression is written `${ ... }`)",
            "10:28: no variable is called `n` (write `inputs.n` for the input)",
            "13:14: `v` is a variable of the process (give it a name of its own here)",
            "14:23: 0 iterations; 1 to 200000",
            "16:17: no variable is called `i` (did you mean `v`?)",
            "17:11: a list without steps (write `empty:` for nothing)",
            "20:23: 1000000 iterations; 1 to 200000",
            "21:41: `i` is an item, or an index, of a body around",
        ],
    );
}

#[test]
fn what_a_loop_carries_is_checked() {
    check(
        "    - while: ${ v > 3 }\n      do:\n        - activity: b\n          run: [b]\n          inputs:\n            \
         x: { first: a.o, then: b.o }\n            y: { first: a.o, then: c.o }\n            \
         z: { first: a.o, then: a.o }\n            w: { first: a.o, then: inputs.one }\n            \
         u: { first: a.o }\n            t: { first: \"c[*].o\", then: b.o }\n            s: { first: a.d, then: b.o }\n          \
         outputs: { o: o }\n        - for-each: { item: k, in: [1], do: { activity: c, run: [c], outputs: { o: o } } }\n    \
         - { activity: e, run: [e], inputs: { x: { first: a.o, then: b.o }, y: c.o, z: b.o } }",
        &[
            "14:36: no loop around both carries this from one iteration to the next (name an output of an activity in the body of the loop, not in another body inside it)",
            "15:36: no loop around both carries this from one iteration to the next (name an output of an activity in the body of the loop, not in another body inside it)",
            "16:36: no loop around both carries this from one iteration to the next (name an output of an activity in the body of the loop, not in another body inside it)",
            "17:18: a file that a loop carries without `then` (`then`: an output of the iteration before, in all others)",
            "18:25: outputs of many items where one source is expected (let an activity gather them, and name its output)",
            "19:13: what is staged here is a directory (write `s/`)",
            "22:65: no loop around both carries this from one iteration to the next (name an output of an activity in the body of the loop, not in another body inside it)",
            "22:75: `c` runs for each item of a for-each, so there are many of its outputs (write `c[*].o` for all of them)",
        ],
    );
}
