//! Mistakes of different kinds in one file: all are told at once, and none that only follows from
//! another.

use super::{WRITER, around, lines, refused};

fn check(text: &str, expected: &[&str]) {
    assert_eq!(lines(&refused(text)), expected, "{text}");
}

#[test]
fn a_key_that_is_there_twice_does_not_end_the_reading() {
    let text = "\
xavantes: 1
name: p
variables: { v: int }
variables: { w: int }
body:
  parallel:
    - activity: a
      run: [a]
      outputs: { o: o }
      run: [b]
      cores: two
    - activity: b
      inputs: { i: a.o }
      rum: [x]
      activity: c
    - assign: { w: 1, v: 2 }
    - activity: d
      run: [d, \"${ w }\", \"${ u }\"]
  links:
    - { from: a, to: b, from: d }
    - { from: b, to: a }
    - { from: c, to: d }
  links: [{ from: d, to: a }]
";
    check(
        text,
        &[
            "4:1: the key `variables` is there twice",
            "10:7: the key `run` is there twice",
            "11:14: `two` where a whole number is expected (write `2`)",
            "12:7: an activity without `run` (`run`: the command: a list without a shell, or { shell: \"...\" })",
            "14:7: unknown key `rum` (did you mean `run`?)",
            "15:7: the key `activity` is there twice (a second step begins with `- `: write `- activity:`)",
            "18:30: no variable is called `u` (did you mean `v`?)",
            "20:7: these wait for each other in a cycle: a -> b -> a",
            "20:25: the key `from` is there twice",
            "23:3: the key `links` is there twice",
        ],
    );
    let rendered = refused(text).render(false);
    let expected = "\
error: the key `run` is there twice
  --> p.yaml:10:7
   |
10 |       run: [b]
   |       ^^^ first in line 8, column 7
";
    assert!(rendered.contains(expected), "{rendered}");
}

#[test]
fn many_keys_that_are_there_twice_keep_their_first_values() {
    let mut env: String = (0..20).map(|n| format!("V{n}: a, ")).collect();
    env.push_str("V3: \"${ nobody }\", V4: \"${ nobody }\", V3: c");
    check(
        &around(&format!(
            "{WRITER}    - {{ activity: a, run: [a], env: {{ {env} }}, memory: 3 }}"
        )),
        &[
            "9:189: the key `V3` is there twice",
            "9:208: the key `V4` is there twice",
            "9:227: the key `V3` is there twice",
            "9:244: `3` is a size without a unit (sizes are written with a unit: `100B`, `10MB`, `512MiB`, `2.5GiB`)",
        ],
    );
}

#[test]
fn a_tag_does_not_end_the_reading() {
    check(
        &around(&format!(
            "{WRITER}    - {{ activity: !!str a, run: [a], cores: 0 }}"
        )),
        &[
            "9:19: the tag `!!str` has no meaning here (leave it out)",
            "9:45: 0 cores; 1 to 65536",
        ],
    );
}

#[test]
fn a_priority_is_a_whole_number_within_bounds() {
    let activity = |priority: &str| {
        around(&format!(
            "{WRITER}    - {{ activity: a, run: [a], priority: {priority} }}"
        ))
    };
    check(
        &activity("-1001"),
        &["9:42: -1001; a whole number from -1000 to 1000"],
    );
    check(
        &activity("high"),
        &["9:42: `high` where a whole number is expected (write it in digits, as `2`)"],
    );
}

#[test]
fn cycles_are_told_beside_other_mistakes() {
    check(
        &around(&format!(
            "{WRITER}    - parallel:
        - {{ activity: a, run: [a], outputs: {{ o: o }}, memory: 3 }}
        - {{ activity: b, run: [b], cores: 0 }}
        - {{ activity: c, run: [c], inputs: {{ i: a.o }} }}
        - {{ activity: d, run: [d], inputs: {{ i: c.o, j: e.o }} }}
        - {{ activity: e, run: [e], outputs: {{ o: o }} }}
        - {{ activity: f, run: [f] }}
      links:
        - {{ from: a, to: b }}
        - {{ from: b, to: a }}
        - {{ from: e, to: f }}
        - {{ from: f, to: e }}"
        )),
        &[
            "10:63: `3` is a size without a unit (sizes are written with a unit: `100B`, `10MB`, `512MiB`, `2.5GiB`)",
            "11:43: 0 cores; 1 to 65536",
            "13:49: `c` has no output `o` (declare it there: `outputs: { o: PATH }`)",
            "17:11: these wait for each other in a cycle: a -> b -> a",
            "19:11: these wait for each other in a cycle: e -> f -> e",
        ],
    );
}

#[test]
fn an_order_that_a_wrong_link_may_give_is_not_called_wanting() {
    let steps = |links: &str| {
        around(&format!(
            "{WRITER}    - parallel:
        - {{ activity: a, run: [a], outputs: {{ o: o }} }}
        - {{ activity: b, run: [b], inputs: {{ i: a.o }}, join: any }}
      {links}"
        ))
    };
    for (links, expected) in [
        (
            "links: [{ from: a, to: bb }]",
            "12:30: no step is called `bb` (did you mean `b`?)",
        ),
        (
            "links: [{ from: writer, to: b }]",
            "12:23: a link joins two nodes below its own parallel controller",
        ),
        (
            "lniks: [{ from: a, to: b }]",
            "12:7: unknown key `lniks` (did you mean `links`?)",
        ),
        (
            "links: a -> b",
            "12:14: text where a list of links is expected",
        ),
    ] {
        check(&steps(links), &[expected]);
    }
}

#[test]
fn what_is_declared_where_reading_ended_is_not_called_unknown() {
    let text = "\
xavantes: 1
name: p
inputs: { n: integer, m: { tpye: file }, corpus: file }
variables: { v: integer, total: int, w: int }
files: [[table]]
outputs: { o: a.o, t: \"${ v + inputs.n }\" }
body:
  sequence:
    - activity: a
      run: [a, \"${ inputs.n }\"]
      outpust: { o: o }
      stdout: total
    - while: { do: [{ activity: inner, run: [x], outputs: { i: i } }] }
    - activity: b
      run: [b]
      inputs: { x: a.o, y: inner.i, z: inputs.m, u: d.o }
      stdin: { file: z }
    - { activity: c, run: [c], stdin: { file: table }, stdout: { into: v } }
    - { activity: d, run: [d], assign: { w: 1 } }
    - { activity: e, run: [e], outputs: [f] }
    - { activity: g, run: [g], inputs: { f: e.f } }
    - { activity: twin, run: [t], outputs: { one: o } }
    - { activity: twin, run: [t], outputs: { two: o } }
    - { activity: h, run: [h], inputs: { t: twin.two } }
    - sequence: [{ avtivity: x }]
    - parallel: { stpes: [] }
    - assign: { v: 1 }
";
    check(
        text,
        &[
            "3:14: `integer` is not a type (did you mean `int`?)",
            "3:28: unknown key `tpye` (did you mean `type`?)",
            "3:28: an input without `type` (`type`: what it may be)",
            "4:17: `integer` is not a type (did you mean `int`?)",
            "5:9: a list where a path is expected",
            "11:7: unknown key `outpust` (did you mean `outputs`?)",
            "12:15: text where a mapping (a capture) is expected (write `stdout: { into: total }`)",
            "13:7: a while without `do` (`do`: what is done in each iteration)",
            "13:14: a mapping where `${...}` is expected (write `while: ${ ... }`, and `do:` beside it)",
            "19:32: `assign` beside `activity`: a step does one thing (write another step, `- ` before it)",
            "20:41: a list where a mapping (name: path) is expected",
            "23:19: a second node is called `twin` (names are unique in a definition)",
            "25:20: `avtivity` is not a step (did you mean `activity`?)",
            "26:19: unknown key `stpes` (a parallel has `do`, `links`, `name`)",
            "26:19: a parallel without `do` (`do`: steps that may run at the same time)",
        ],
    );
    check(
        "xavantes: 1\nname: p\nbody: { actvity: a }\n",
        &["3:9: `actvity` is not a step (did you mean `activity`?)"],
    );
    check(
        &around(&format!("{WRITER}    - assign: {{ nobody: 1 }}")),
        &["9:17: no variable is called `nobody` (declare it: `variables: { nobody: int }`)"],
    );
}
