//! Slips of the hand in a file: the message tells the place of the slip and what to write.

use super::{WRITER, around, compiled, lines, refused};

/// Compiles steps and compares what is said.
#[track_caller]
fn check(steps: &str, expected: &[&str]) {
    let text = around(&format!("{WRITER}{steps}"));
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

#[test]
fn a_list_item_without_its_dash() {
    check(
        "    - activity: a\n      run: [a]\n    activity: b\n      run: [b]",
        &[
            "11:5: a line without `- ` where the next item of a list is expected (each step of a list begins with `- `: write `- activity:`)",
        ],
    );
    check(
        "    - activity: a\n    run: [a]",
        &[
            "10:5: a line without `- ` where the next item of a list is expected (if it belongs to the item in line 9, begin it in column 7; if it is an item of its own, write `- ` before it)",
        ],
    );
    check(
        "    - activity: a\n      run: [a]\n      activity: b\n      run: [b]",
        &[
            "11:7: the key `activity` is there twice (a second step begins with `- `: write `- activity:`)",
            "12:7: the key `run` is there twice",
        ],
    );
    check(
        "    - parallel:\n        activity: a\n        run: [a]",
        &[
            "10:9: `activity` where a list of steps is expected (write `- activity:`: each step of a list begins with `- `)",
        ],
    );
}

#[test]
fn a_bracket_that_is_not_closed() {
    check(
        "    - activity: a\n      run: [a, b\n    - activity: b\n      run: [b]",
        &[
            "10:12: a `[` that is not closed (write `]` at the end of what it holds, in line 10 or below)",
        ],
    );
    check(
        "    - activity: a\n      run: { shell: \"a\"\n      outputs: { o: o }",
        &[
            "10:12: a `{` that is not closed (write `}` at the end of what it holds, in line 10 or below)",
        ],
    );
}

#[test]
fn blanks_and_quotes_of_typography() {
    check(
        "    - activity:\u{a0}a\n      run: [a]",
        &[
            "9:16: a no-break space, which is a letter here, where a space is expected (type the space again: it came with a copied text)",
        ],
    );
    check(
        "    - activity: a\n\u{a0}\u{a0}\u{a0}\u{a0}  run: [a]",
        &[
            "9:7: an activity without `run` (`run`: the command: a list without a shell, or { shell: \"...\" })",
            "10:1: unknown key `\u{a0}\u{a0}\u{a0}\u{a0}  run` (there is a no-break space in it: type the spaces again)",
        ],
    );
    check(
        "    - { activity: a, run: [a, \"${ \u{201c}a\u{201d} }\"] }",
        &["9:35: `\u{201c}` has no meaning here (text stands in plain quotes: '...' or \"...\")"],
    );
    let text = around(&format!(
        "{WRITER}    - activity: a\n      run: {{ shell: \u{201c}echo hi\u{201d} }}"
    ));
    assert_eq!(
        lines(&compiled(&text).warnings),
        [
            "10:21: `\u{201c}` is a letter of the text here, not a quote (write \" or ' in its place: it came with a copied text)"
        ]
    );
}

#[test]
fn wrong_indentation() {
    check(
        "    - activity: a\n       run: [a]",
        &[
            "10:8: `run` is indented deeper than line 9, which has its value already (begin it in column 7, as `activity` above)",
        ],
    );
    check(
        "    - activity: a\n      run: [a]\n   - activity: b\n      run: [b]",
        &[
            "11:4: this item does not begin where the others of its list do (begin it in column 5, as the one in line 9)",
        ],
    );
    let text = "xavantes: 1\nname: p\nbody:\nsequence:\n  - { activity: a, run: [a] }\n";
    assert_eq!(
        lines(&refused(text)),
        [
            "3:5: nothing where a step is expected (it stands on the lines below, indented deeper than the key)",
            "4:1: unknown key `sequence` (`sequence:` belongs below `body:`, indented deeper than that)",
        ]
    );
}

#[test]
fn a_name_that_two_steps_have() {
    let text = around(&format!(
        "{WRITER}    - {{ activity: a, run: [a] }}\n    - {{ activity: a, run: [b] }}"
    ));
    let expected = "\
error: a second node is called `a`
  --> p.yaml:10:19
   |
10 |     - { activity: a, run: [b] }
   |                   ^
   |
  ::: p.yaml:9:19
   |
 9 |     - { activity: a, run: [a] }
   |                   - the first one is here
   |
   = help: names are unique in a definition
";
    assert_eq!(refused(&text).render(false), expected);
}

#[test]
fn keys_of_other_languages() {
    let activity = |key: &str| format!("    - {{ activity: a, run: [a], {key} }}");
    let links = "whoever reads a file of another activity waits for it; else put both into a `parallel` and order them by its `links: [{ from: A, to: B }]`, or into a `sequence`";
    for key in ["depends_on", "needs", "dependsOn"] {
        let expected = format!("9:32: unknown key `{key}` ({links})");
        check(&activity(&format!("{key}: [writer]")), &[&expected]);
    }
    for (key, instead) in [
        (
            "when: true",
            "unknown key `when` (put the step below `if: ${ ... }` and `then:`, or give a link of the `parallel` around it a `when`: `links: [{ from: A, to: B, when: \"${ ... }\" }]`)",
        ),
        (
            "threads: 4",
            "unknown key `threads` (the CPUs that it uses are `cores: 2`)",
        ),
        (
            "retries: 4",
            "unknown key `retries` (further attempts are `retry: { attempts: 3 }`)",
        ),
        (
            "outputz: {}",
            "unknown key `outputz` (did you mean `outputs`?)",
        ),
    ] {
        check(&activity(key), &[&format!("9:32: {instead}")]);
    }
}

#[test]
fn numbers_that_are_words() {
    let activity = |key: &str| format!("    - {{ activity: a, run: [a], {key} }}");
    for (key, expected) in [
        (
            "cores: two",
            "9:39: `two` where a whole number is expected (write `2`)",
        ),
        (
            "cores: many",
            "9:39: `many` where a whole number is expected (write it in digits, as `2`)",
        ),
        (
            "cores: 2.5",
            "9:39: `2.5` where a whole number is expected (without a point: it is a whole number)",
        ),
        (
            "cores: 2GiB",
            "9:39: `2GiB` where a whole number is expected (without a unit: write `2`)",
        ),
    ] {
        check(&activity(key), &[expected]);
    }
}

#[test]
fn equal_mistakes_of_a_line_are_folded() {
    let text = around(&format!(
        "{WRITER}    - {{ activity: a, run: [a, \"${{ u }}\", \"${{ v }}\", \"${{ u }}\", \"${{ u }}\"] }}"
    ));
    let expected = "\
error: no variable is called `u` (3 times in this line)
 --> p.yaml:9:35
  |
9 |     - { activity: a, run: [a, \"${ u }\", \"${ v }\", \"${ u }\", \"${ u }\"] }
  |                                   ^                   ^         ^

error: no variable is called `v`
 --> p.yaml:9:45
  |
9 |     - { activity: a, run: [a, \"${ u }\", \"${ v }\", \"${ u }\", \"${ u }\"] }
  |                                             ^
";
    let diagnostics = refused(&text);
    assert_eq!(diagnostics.render(false), expected);
    // Programs read each of them.
    assert_eq!(diagnostics.reports().len(), 4);
}

#[test]
fn a_value_in_a_document_of_a_shell_line_is_refused() {
    let text = "\
xavantes: 1
name: t
inputs: { who: string }
body:
  activity: a
  run:
    shell: |
      cat <<END
      don't
      END
      echo ${ inputs.who }
      cat <<END
      name: ${ inputs.who }
      END
";
    let expected = "13:13: `${inputs.who}` stands in a document of `<<`, where its quotes would be seen (give it by \
                    `env:` and write $NAME in the document, with no quotes around the word behind `<<`)";
    assert_eq!(lines(&refused(text)), [expected]);
}
