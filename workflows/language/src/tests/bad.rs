//! Definitions that are refused: each mistake with its position, its message and a suggestion.

use super::{WRITER, around, lines, refused};

/// Compiles steps and compares what is said.
fn check(steps: &str, expected: &[&str]) {
    let text = around(&format!("{WRITER}{steps}"));
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

#[test]
fn a_diagnostic_looks_like_this() {
    let text = around(&format!(
        "{WRITER}    - activity: find\n      run: {{ shell: \"seq ${{ inputs.limt }}\" }}\n      inputz: {{ a: b }}"
    ));
    let expected = "\
error: no input is called `limt`
  --> p.yaml:10:36
   |
10 |       run: { shell: \"seq ${ inputs.limt }\" }
   |                                    ^^^^
   |
   = help: did you mean `inputs.limit`?

error: unknown key `inputz`
  --> p.yaml:11:7
   |
11 |       inputz: { a: b }
   |       ^^^^^^
   |
   = help: did you mean `inputs`?
";
    assert_eq!(refused(&text).render(false), expected);
    assert!(refused(&text).render(true).contains("\u{1b}["));
    let reports = serde_json::to_value(refused(&text).reports()).unwrap();
    assert_eq!(
        reports[1],
        serde_json::json!({
            "file": "p.yaml", "line": 11, "column": 7, "severity": "error",
            "message": "unknown key `inputz`", "hint": "did you mean `inputs`?",
        })
    );
}

#[test]
fn a_body_beside_its_loop_is_led_below_it_and_the_name_of_an_output_to_its_activity() {
    let text = "\
xavantes: 1
name: p
outputs: { report: report.txt }
body:
  sequence:
    - for-each: { item: x, in: [1] }
      activity: a
      run: [a]
    - activity: b
      run: [b]
      while: ${ true }
    - { activity: sum, run: [c], outputs: { report: r.txt } }
";
    let expected = [
        "3:20: no activity is called `report` (the output of `sum` is `sum.report`)",
        "7:7: `activity` beside `for-each`: a step does one thing (the `activity` goes below `do:` of the step with `for-each:`)",
        "11:7: `while` beside `activity`: a step does one thing (the `activity` goes below `do:` of the step with `while:`)",
    ];
    assert_eq!(lines(&refused(text)), expected);
}

#[test]
fn a_cycle_and_a_warning_look_like_this() {
    let text = "\
xavantes: 1
name: p
variables: { v: int }
body:
  parallel:
    - { activity: a, run: [a] }
    - { activity: b, run: [b] }
  links: [{ from: a, to: b }, { from: b, to: a }]
";
    let expected = "\
warning: nothing is ever written to the variable `v`
 --> p.yaml:3:14
  |
3 | variables: { v: int }
  |              ^

error: these wait for each other in a cycle: a -> b -> a
 --> p.yaml:8:11
  |
8 |   links: [{ from: a, to: b }, { from: b, to: a }]
  |           ^^^^^^^^^^^^^^^^^^
";
    assert_eq!(refused(text).render(false), expected);
}

#[test]
fn no_copies_beside_controllers_that_keep_one_are_refused() {
    let text = "\
xavantes: 1
name: t
copies: 0
data: controllers
body: { activity: a, run: [a] }
";
    let expected = "3:9: 0 copies, but `data: controllers` keeps one of each output (leave `copies` out; with `data: \
                    direct` there are none)";
    assert_eq!(lines(&refused(text)), [expected]);
    super::compiled(&text.replace("controllers", "direct"));
}

#[test]
fn the_head_is_strict() {
    let text = "\
xavantes: 2
name: Bad Name
copies: 2
inputs:
  a-b: int
  n: integer
  m: { type: int, default: x, min: 2 }
  f: { type: int, default: 1, minimum: 2 }
variables: { if: int, v: { type: bool, value: 1 } }
outputs: { o: \"${ v } and\", p: nobody.out, q: v }
files: [../up, /root, a, a]
data: controlers
keep-intermediates: maybe
on-fault: carry on
policy: statik
body: { activity: a, run: [a] }
";
    let expected = [
        "1:11: version `2` of the language; this program reads 1 (write `xavantes: 1`)",
        "2:7: `Bad Name` is not a process name (a lower-case letter, then a-z, 0-9 and -)",
        "3:9: 2 copies; at most 1 can be kept",
        "5:3: `a-b` is not a name that expressions can use (letters, digits and _, not beginning with a digit)",
        "6:6: `integer` is not a type (did you mean `int`?)",
        "7:28: the default is a string, not an int",
        "7:31: unknown key `min` (an input has `type`, `default`, `minimum`, `maximum`)",
        "8:28: 1 is less than 2",
        "9:14: `if` is a word of expressions",
        "9:14: nothing is ever written to the variable `if`",
        "9:23: the value is an int, not a bool",
        "10:15: `${ v } and` where `${...}` or activity.output is expected (an expression is written `${ ... }`)",
        "10:32: no activity is called `nobody`",
        "10:47: `v` where `activity.output` or `inputs.NAME` is expected (the variable is read by \"${ v }\")",
        "11:9: a path that leaves the directory: `../up` (paths lie in the activity's own directory)",
        "11:16: an absolute path: `/root` (paths lie in the activity's own directory)",
        "11:26: `a` is listed twice",
        "12:7: `controlers` where `direct` or `controllers` is expected (did you mean `controllers`?)",
        "13:21: text where `true` or `false` is expected",
        "14:11: `carry on` where `finish`, `stop` or `continue` is expected",
        "15:9: `statik` where `xavantes`, `static`, `adaptive` or `rounds:T` with T from 1 to 1000 is expected (did you mean `static`?)",
    ];
    assert_eq!(lines(&refused(text)), expected);
}

#[test]
fn steps_are_strict() {
    check(
        "    - while: { do: [] }\n    - acitvity: x\n    - run: [x]\n    - text\n    - {}\n    - [1]\n    \
         - { activity: a, run: [a], assign: { total: 1 } }\n    - empty: 3\n    - parallel: []",
        &[
            "9:7: a while without `do` (`do`: what is done in each iteration)",
            "9:14: a mapping where `${...}` is expected (write `while: ${ ... }`, and `do:` beside it)",
            "10:7: `acitvity` is not a step (did you mean `activity`?)",
            "11:7: a step that does not say what it is (begin it with one of `sequence`, `parallel`, `if`, `switch`, `for-each`, `while`, `repeat-until`, `activity`, `assign`, `empty`)",
            "12:7: text where a step is expected (a step is a mapping with one of `sequence`, `parallel`, `if`, `switch`, `for-each`, `while`, `repeat-until`, `activity`, `assign`, `empty`)",
            "13:7: an empty mapping where a step is expected (a step is a mapping with one of `sequence`, `parallel`, `if`, `switch`, `for-each`, `while`, `repeat-until`, `activity`, `assign`, `empty`)",
            "14:7: a list where a step is expected (write `sequence:` (one after another) or `parallel:` before the list)",
            "15:32: `assign` beside `activity`: a step does one thing (write another step, `- ` before it)",
            "16:14: an empty step with something in it (write `empty:`)",
            "17:7: a parallel without children (write `empty:` for a step that does nothing)",
        ],
    );
}

#[test]
fn branches_are_strict() {
    check(
        "    - if: total > 3\n      then: [1]\n    - if: ${ totl > 3 }\n      elif:\n        - if: ${ total > 2 }\n          \
         then: { empty: }\n        - if: ${ total > limit }\n          then: { empty: }\n          do: 1\n        - text\n      \
         else: { acitvity: a }",
        &[
            "9:11: `total > 3` where `${...}` is expected (an expression is written `${ ... }`)",
            "10:14: a number where a step is expected (a step is a mapping with one of `sequence`, `parallel`, `if`, `switch`, `for-each`, `while`, `repeat-until`, `activity`, `assign`, `empty`)",
            "11:7: an if without `then` (`then`: what is done where it is true)",
            "11:14: no variable is called `totl` (did you mean `total`?)",
            "15:26: no variable is called `limit` (write `inputs.limit` for the input)",
            "17:11: unknown key `do` (a branch has `if`, `then`)",
            "18:11: text where a mapping (a branch) is expected",
            "19:15: `acitvity` is not a step (did you mean `activity`?)",
        ],
    );
    check(
        "    - if: ${ total > 3 }\n      then: { empty: }\n      elif: { if: \"${ true }\", then: { empty: } }\n    - elif: []\n    \
         - else: { empty: }\n    - if: ${ true }\n      activity: a\n      run: [a]\n    - activity: b\n      run: [b]\n      \
         if: ${ true }\n    - { if: \"${ true }\", then: { empty: }, elif: [] }",
        &[
            "11:13: a mapping where a list of branches is expected (write `- ` before each `if` below `elif:`)",
            "12:7: `elif` without its `if` (it is a key of the step that begins with `if:`, without `- ` before it)",
            "13:7: `else` without its `if` (it is a key of the step that begins with `if:`, without `- ` before it)",
            "15:7: `activity` beside `if`: a step does one thing (the `activity` goes below `then:` of the step with `if:`)",
            "19:7: `if` beside `activity`: a step does one thing (the `activity` goes below `then:` of the step with `if:`)",
            "20:50: an `elif` without branches (leave it out)",
        ],
    );
}

#[test]
fn cases_are_strict() {
    check(
        "    - switch:\n        - case: ${ totl > 3 }\n          do: [{ acitvity: a }]\n        - default: { empty: }\n        \
         - cas: ${ total > 1 }\n          do: { empty: }\n        - case: ${ total > limit }\n          do: []\n        - text\n    \
         - switch: total\n    - switch: []\n    - switch: [{ default: { empty: } }]\n    - case: ${ total > 2 }\n      do: 1\n    \
         - name: again\n      switch: [{ case: \"${}\", do: { empty: } }]\n    - { name: again, switch: [{ case: a, default: b }] }",
        &[
            "10:20: no variable is called `totl` (did you mean `total`?)",
            "11:18: `acitvity` is not a step (did you mean `activity`?)",
            "12:11: a case behind `default` would never be done",
            "13:11: unknown key `cas` (did you mean `case`?)",
            "13:11: a case without `case` (`case`: the condition)",
            "15:28: no variable is called `limit` (write `inputs.limit` for the input)",
            "16:15: a list without steps (write `empty:` for nothing)",
            "17:11: text where a mapping (a case) is expected",
            "18:15: text where a list of cases is expected (write `switch:` and below it `- case: ${ value == 1 }` with its `do:`)",
            "19:15: a switch without cases (write `empty:` for nothing)",
            "20:18: a switch with nothing but `default` (write the steps themselves, without `switch`)",
            "21:7: `case` without its `switch` (it begins an item of the list below `switch:`)",
            "24:24: an empty expression",
            "25:15: a second node is called `again` (names are unique in a definition)",
            "25:33: unknown key `case` (the last case has `default`)",
            "25:42: a switch with nothing but `default` (write the steps themselves, without `switch`)",
            "25:51: text where a step is expected (a step is a mapping with one of `sequence`, `parallel`, `if`, `switch`, `for-each`, `while`, `repeat-until`, `activity`, `assign`, `empty`)",
        ],
    );
}

#[test]
fn branches_are_apart() {
    check(
        "    - name: choice\n      if: ${ total > 3 }\n      then: { activity: a, run: [a], outputs: { o: o } }\n      \
         else: { activity: b, run: [b], inputs: { i: a.o } }\n    - name: choice\n      if: \"${}\"\n      then: { empty: }",
        &[
            "12:51: `a` and `b` are in different branches of one `if`, so they never both run",
            "13:13: a second node is called `choice` (names are unique in a definition)",
            "14:11: an empty expression",
        ],
    );
    check(
        "    - parallel:\n        - if: ${ links.a }\n          then: { activity: a, run: [a] }\n          \
         else: { activity: b, run: [b] }\n      links:\n        - { from: a, to: b }",
        &[
            "10:24: `links` are read in a `join` only",
            "14:11: `a` and `b` are in different branches of one `if`, so they never both run",
        ],
    );
}

#[test]
fn activities_are_strict() {
    check(
        "    - activity: a\n      run: echo hello\n      cores: two\n      memory: 512\n      work: 3\n      \
         timeout: ${ total }\n      retry: 3\n      stdout: total\n      gpu: 1\n      replicas: 2\n      cache: always\n      \
         stderr: { into: totl, as: string }",
        &[
            "10:12: text where a command is expected (write a list, `[program, argument]`, or `{ shell: \"...\" }`)",
            "11:14: `two` where a whole number is expected (write `2`)",
            "12:15: `512` is a size without a unit (sizes are written with a unit: `100B`, `10MB`, `512MiB`, `2.5GiB`)",
            "13:13: `3` is a duration without a unit (durations are written with a unit: `500ms`, `30s`, `2m`, `1h30m`, `1d`)",
            "14:16: an expression where a duration is expected (this must be written out; expressions here come later)",
            "15:14: a number where a mapping (a retry) is expected (write `retry: { attempts: 3 }`)",
            "16:15: text where a mapping (a capture) is expected (write `stdout: { into: total }`)",
            "17:7: `gpu` is part of the language, but this version does not run it",
            "18:17: an activity that is not repeatable cannot have replicas (its attempts run at the same time: write `repeatable: true` if that does no harm)",
            "19:14: text where `true` or `false` is expected",
            "20:23: no variable is called `totl` (did you mean `total`?)",
            "20:33: `string` is not a kind of value (did you mean `text`?)",
        ],
    );
    check(
        "    - activity: a\n      cores: 0\n      outputs: { o: /abs, p: a/../b }\n    - activity: a\n      run: []\n      retry: { attempts: 0, on: [300, never] }",
        &[
            "9:7: an activity without `run` (`run`: the command: a list without a shell, or { shell: \"...\" })",
            "10:14: 0 cores; 1 to 65536",
            "11:21: an absolute path: `/abs` (paths lie in the activity's own directory)",
            "11:30: a path that leaves the directory: `a/../b` (paths lie in the activity's own directory)",
            "12:17: a second node is called `a` (names are unique in a definition)",
            "13:7: no command",
            "14:26: 0 attempts; 1 to 1000",
            "14:34: a number where an exit status is expected (exit statuses are 0 to 255; `exit` stands for any but 0)",
            "14:39: `never` is no end of an attempt (exit statuses are 0 to 255; other ends are `exit`, `timeout`, `out-of-memory`, `lost`)",
        ],
    );
}

#[test]
fn references_are_checked() {
    check(
        "    - activity: make\n      run: [x]\n      outputs: { found: f.txt, d: d/ }\n    - activity: use\n      run: [x]\n      \
         inputs: { a: mak.found, b: make.foud, c: inputs.korpus, d: make, e: \"${x}\", f: inputs.limit, g: make.d, h: use.o }\n      outputs: { o: o }",
        &[
            "14:20: no activity is called `mak` (did you mean `make`?)",
            "14:34: `make` has no output `foud` (did you mean `found`?)",
            "14:48: the process has no input `korpus` (did you mean `corpus`?)",
            "14:66: `make` where `activity.output` or `inputs.NAME` is expected (its outputs are `make.found`, `make.d`)",
            "14:75: an expression where `activity.output` or `inputs.NAME` is expected (a file is named, not computed)",
            "14:86: input `limit` is an int (only a file or a directory, or a list of these, can be staged)",
            "14:103: what is staged here is a directory (write `g/`)",
            "14:114: an activity cannot read its own output",
        ],
    );
    check(
        "    - sequence:\n        - { activity: b, run: [b], inputs: { i: a.o } }\n        - { activity: a, run: [a], outputs: { o: o } }",
        &["10:49: `a` need not have ended when `b` starts (move `a` before `b`)"],
    );
}

#[test]
fn links_are_checked() {
    let children = "    - parallel:\n        - { activity: a, run: [a] }\n        - { activity: b, run: [b], join: any }\n        - { activity: c, run: [c] }\n";
    check(
        &format!(
            "{children}      links: [{{ from: a, to: bb }}, {{ from: a }}, {{ from: writer, to: a }}, {{ from: a, to: b, when: total }}]"
        ),
        &[
            "13:30: no step is called `bb` (did you mean `b`?)",
            "13:38: a link without `to` (`to`: the step that waits for it)",
            "13:57: a link joins two nodes below its own parallel controller",
            "13:98: `total` where `${...}` is expected (an expression is written `${ ... }`)",
        ],
    );
    check(
        &format!(
            "{children}      links:\n        - {{ from: a, to: b }}\n        - {{ from: b, to: c }}\n        - {{ from: c, to: a }}"
        ),
        &["14:11: these wait for each other in a cycle: b -> c -> a -> b"],
    );
    check(
        &format!("{children}      links: [{{ from: writer, to: a }}, {{ from: a, to: a }}]"),
        &[
            "11:42: no link ends here, so there is nothing to join",
            "13:23: a link joins two nodes below its own parallel controller",
            "13:40: `a` waits for itself",
        ],
    );
}

#[test]
fn expressions_are_shown_at_their_place() {
    check(
        "    - assign: { total: \"${ totl + 1 }\", nobody: 1 }\n    - assign:\n        total: ${ 1 + }\n    - activity: a\n      run: [echo, 'it''s ${ absent }', \"\\u00e9 \\\" ${ inputs.x }\"]\n    - activity: b\n      run:\n        shell: |\n          set -e\n            echo '${total}' ${HOME}\n          echo ${total",
        &[
            "9:28: no variable is called `totl` (did you mean `total`?)",
            "9:41: no variable is called `nobody` (declare it: `variables: { nobody: int }`)",
            "11:23: the expression ends where a value is expected",
            "13:29: no variable is called `absent`",
            "13:61: no input is called `x`",
            "18:19: `${total}` stands inside '...', but a value is quoted by itself (take the ' away around it, or give it by `env:` and write \"$NAME\")",
            "18:31: no variable is called `HOME` (a variable of the shell is written `$NAME` or `$${NAME}`)",
            "19:16: `${` without its `}` (`$${` stands for `${` itself)",
        ],
    );
    check(
        "    - activity: b\n      run:\n        shell: >\n          set -e;\n          echo ${HOME}",
        &[
            "13:18: no variable is called `HOME` (a variable of the shell is written `$NAME` or `$${NAME}`)",
        ],
    );
}

#[test]
fn expressions_without_quotes_in_brackets_are_explained() {
    check(
        "    - assign: { total: ${ total } }",
        &["9:24: inside { } and [ ] an expression is put in quotes (write \"${ ... }\")"],
    );
    check(
        "    - { activity: a, run: [echo, ${total}] }",
        &["9:34: inside { } and [ ] an expression is put in quotes (write \"${ ... }\")"],
    );
}

#[test]
fn slips_of_yaml_are_explained() {
    for (steps, expected) in [
        (
            "\t- empty:",
            "9:1: a tab where the line's depth is told by blanks (indent with spaces)",
        ),
        (
            "    - activity: a\n      run: [a",
            "10:12: a `[` that is not closed (write `]` at the end of what it holds)",
        ),
        (
            "    - activity: \"a\n",
            "9:17: a quote that is not closed (text on several lines is indented deeper than its key)",
        ),
        (
            "    - activity: a\n      run: { shell: \"\\d\" }",
            "10:21: an escape that does not exist (inside \"...\" a backslash is written `\\\\`; inside '...' it stands for itself)",
        ),
        (
            "    - activity: a: b",
            "9:18: a second `:` where one value is expected (text with `: ` in it is put in quotes)",
        ),
        (
            "    - activity: a\n      activity: b\n      run: [a]",
            "10:7: the key `activity` is there twice (a second step begins with `- `: write `- activity:`)",
        ),
        (
            "    - empty:\n---\na: b",
            "10:1: a second document; one file holds one definition",
        ),
        (
            "    - &x empty:",
            "9:7: the anchor `&x` has no meaning here (write out what is meant at each place)",
        ),
        (
            "    - { activity: a, run: [*x] }",
            "9:28: the alias `*x` has no meaning here (write out what is meant; text that begins with `*` is put in quotes)",
        ),
        (
            "    - { activity: !!str a, run: [a] }",
            "9:19: the tag `!!str` has no meaning here (leave it out)",
        ),
        (
            "    - { [a]: b }",
            "9:9: a list where the name of a key is expected (text with `{` or `[` at its beginning is put in quotes)",
        ),
    ] {
        let found = lines(&refused(around(&format!("{WRITER}{steps}"))));
        assert_eq!(found, [expected], "{steps}");
    }
}

#[test]
fn files_that_are_no_definitions_are_refused() {
    for (bytes, message) in [
        (&b""[..], "the file holds no definition"),
        (b"# nothing\n", "the file holds no definition"),
        (
            b"a\xffb",
            "not a text file: byte 1 (line 1) is 0xff, which is not UTF-8",
        ),
        (
            b"\x7fELF\x02\x01",
            "not a text file: byte 4 (line 1) is the control character 0x02",
        ),
        (b"\xff\xfea\0", "the file is UTF-16 text"),
    ] {
        let diagnostics = refused(bytes);
        assert_eq!(diagnostics.list()[0].message, message);
        assert!(
            diagnostics
                .render(false)
                .starts_with(&format!("error: p.yaml: {message}"))
        );
    }
    let text = refused("just text");
    assert_eq!(
        lines(&text),
        ["1:1: text where a mapping (a process) is expected"]
    );
    let list = refused("[1, 2]");
    assert_eq!(
        lines(&list),
        ["1:1: a list where a mapping (a process) is expected"]
    );
    let wanting = refused("xavantes: 1\n");
    assert_eq!(
        lines(&wanting),
        [
            "1:1: a process without `name` (`name`: the process's name: a lower-case letter, then a-z, 0-9 and -)",
            "1:1: a process without `body` (`body`: what is done)",
        ]
    );
}

#[test]
fn environments_retries_and_limits_are_strict() {
    let text = "xavantes: 1\nname: p\nenv: { A: '${ no }', 'B=': 1 }\npass: [C, C, A]\nenv-file: ../x\n\
                environment: { path: opt }\nlimits: { l: 0, m: 2 }\nbody:\n  sequence:\n    - activity: a\n      run: [a]\n      \
                environment: { PATH: x }\n      uses-limit: { m: 3 }\n      retry: { attempts: 2, on: [timeuot, exit], memory: 2x }\n    \
                - activity: b\n      run: [b]\n      environment: { venv: x/ }\n      uses-limit: m\n      repeatable: true\n      \
                retry: { attempts: 2, on: [75], memory: x1.01 }\n";
    let expected = [
        "3:15: no variable is called `no`",
        "3:22: not a name of an environment variable",
        "4:11: `C` is listed twice",
        "4:14: `A` is in `env` too, which counts (leave one of the two out)",
        "5:11: a path that leaves the directory: `../x` (paths lie in the activity's own directory)",
        "6:22: `opt` is not an absolute path (it is looked for on the machine where the command runs: begin it with `/`)",
        "7:14: 0; 1 to 1000000",
        "12:20: variables where an environment, `{ path: DIR }`, is expected (variables of the environment are `env: { NAME: text }`)",
        "13:24: 3 of `m`, of which there are 2 (it could never run: take fewer, or raise the limit in `limits`)",
        "14:34: `timeuot` is no end of an attempt (did you mean `timeout`?)",
        "14:58: `2x` where a factor is expected (`x2` is twice as much as the try before had)",
        "14:58: memory grows after `out-of-memory`, which is not in `on` (add `out-of-memory` to `on`, or leave `memory` out)",
        "17:28: a directory, not a file",
        "19:19: an activity that takes of a limit cannot be repeatable (two attempts could run at the same time, and both would need it)",
        "20:47: memory grows after `out-of-memory`, which is not in `on` (add `out-of-memory` to `on`, or leave `memory` out)",
    ];
    assert_eq!(lines(&refused(text)), expected, "{text}");
}

#[test]
fn replicas_want_an_activity_that_may_run_several_times_at_once() {
    let text = "xavantes: 1\nname: p\nlimits: { l: 1 }\npolicy: rounds:1001\nbody:\n\
                - { activity: a, run: [a], replicas: 2 }\n\
                - { activity: b, run: [b], repeatable: true, replicas: 5 }\n\
                - { activity: c, run: [c], repeatable: true, replicas: 1 }\n\
                - { activity: d, run: [d], replicas: 2, uses-limit: l }\n\
                - { activity: e, run: [e], replicas: 2, at-most-once: true }\n\
                - { activity: f, run: [f], repeatable: true, replicas: two }\n";
    let expected = [
        "4:9: `rounds:1001` where `xavantes`, `static`, `adaptive` or `rounds:T` with T from 1 to 1000 is expected",
        "6:38: an activity that is not repeatable cannot have replicas (its attempts run at the same time: write `repeatable: true` if that does no harm)",
        "7:56: 5 replicas; 2 to 4 (one attempt at a time is what is done without `replicas`)",
        "8:56: 1 replicas; 2 to 4 (one attempt at a time is what is done without `replicas`)",
        "9:38: an activity that takes of a limit cannot have replicas (several attempts run at the same time, and each would need it)",
        "10:28: an activity that is never run twice cannot have replicas",
        "11:56: `two` where a whole number is expected (write `2`)",
    ];
    assert_eq!(lines(&refused(text)), expected, "{text}");
}

#[test]
fn the_file_of_an_environment_is_refused_once_at_its_place() {
    let said =
        "a path that leaves the directory: `../x` (paths lie in the activity's own directory)";
    let body = "body: { activity: a, run: [a] }";
    let common = format!("xavantes: 1\nname: p\nenvironment: {{ venv: ../x }}\n{body}\n");
    assert_eq!(lines(&refused(&common)), [format!("3:22: {said}")]);
    let own =
        "xavantes: 1\nname: p\nbody:\n  activity: a\n  run: [a]\n  environment: { venv: ../x }\n";
    assert_eq!(lines(&refused(own)), [format!("6:24: {said}")]);
}

#[test]
fn a_container_is_a_directory_or_an_image_and_stands_alone() {
    let refused_at = |lines_of_it: &str| {
        let text =
            format!("xavantes: 1\nname: p\nbody:\n  activity: a\n  run: [a]\n{lines_of_it}\n");
        lines(&refused(&text))
    };
    let hint = "a directory on the machine, as `/opt/images/alpine`, or the name of an image for podman, as \
                `docker.io/library/alpine:3.20`";
    let no_image = |at: &str, image: &str| format!("{at}: `{image}` is no image ({hint})");
    for (said, expected) in [
        ("  container: ./x", no_image("6:14", "./x")),
        ("  container: --privileged", no_image("6:14", "--privileged")),
        ("  container: { image: a b }", no_image("6:3", "a b")),
        (
            "  container: { network: true }",
            "6:16: a container without `image` (`image`: a directory on the machines with a root file system, or the name of an image for podman)".to_owned(),
        ),
        (
            "  environment: { path: /x }\n  container: /y",
            "7:14: `container` beside `environment`: a command runs with one of them (the image of a container has its own software: leave one of the two out)".to_owned(),
        ),
    ] {
        assert_eq!(refused_at(said), [expected], "{said}");
    }
}

#[test]
fn an_environment_is_made_of_one_file() {
    let refused_at = |environment: &str| {
        let text = format!(
            "xavantes: 1\nname: p\nbody:\n  activity: a\n  run: [a]\n  environment: {environment}\n"
        );
        lines(&refused(&text))
    };
    for (environment, expected) in [
        (
            "{}",
            "6:16: an environment that says nothing (`path: DIR`, `venv: FILE` or `conda: FILE`)",
        ),
        (
            "{ venv: a.txt, conda: b.yaml }",
            "6:38: `conda` beside `venv`: an environment is one of them (leave one of the two out)",
        ),
        (
            "{ conda: b.txt }",
            "6:25: `b.txt` is no file for conda (its name ends with `.yaml` or `.yml`)",
        ),
        (
            "{ veenv: a.txt }",
            "6:18: unknown key `veenv` (did you mean `venv`?)",
        ),
    ] {
        assert_eq!(refused_at(environment), [expected], "{environment}");
    }
}

#[test]
fn parameters_are_numbers_of_the_rule_that_has_them() {
    let body = "body: { activity: a, run: [a] }\n";
    let text = |head: &str| format!("xavantes: 1\nname: p\n{head}{body}");
    let wanted = "a number from 0 to 100 with at most three decimals is expected";
    for (head, expected) in [
        (
            "policy: static\nthreshold: 0.2\n",
            "4:12: there is no threshold in this policy; `rounds:T` and `adaptive` have it"
                .to_owned(),
        ),
        (
            "policy: rounds:4\nthreshold: 0.2\nreward: 0.1\n",
            "5:9: there is no reward in this policy; `adaptive` alone has it".to_owned(),
        ),
        (
            "policy: adaptive\nreward: -0.1\n",
            format!("4:9: -0.1 where {wanted}"),
        ),
        (
            "policy: adaptive\nthreshold: 0.0001\n",
            format!("4:12: 0.0001 where {wanted}"),
        ),
        (
            "policy: adaptive\nthreshold: 10%\n",
            format!("4:12: text where {wanted}"),
        ),
    ] {
        assert_eq!(lines(&refused(text(head))), [expected], "{head}");
    }
    for head in [
        "threshold: 0.2\nreward: 0.1\n",
        "policy: adaptive\nthreshold: 0\nreward: 100\n",
    ] {
        assert!(
            crate::compile("p.yaml", text(head).as_bytes()).is_ok(),
            "{head}"
        );
    }
}
