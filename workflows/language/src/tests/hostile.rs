//! Files that mean harm, or are only large.

use std::fmt::Write;

use proptest::prelude::*;

use super::{WRITER, around, compiled, lines, refused};
use crate::compile;
use crate::limits::{DIAGNOSTICS_MAX, FILE_BYTES_MAX};

#[test]
fn deep_nesting_is_refused() {
    for (text, message) in [
        ("[".repeat(10_000), "nested deeper than 200"),
        ("{a: ".repeat(10_000), "nested deeper than 200"),
        ("- ".repeat(10_000), "nested deeper than 200"),
        (
            (0..10_000)
                .map(|depth| format!("{}a:\n", " ".repeat(depth % 3_000)))
                .collect(),
            "nested deeper than 200",
        ),
    ] {
        let found = lines(&refused(&text));
        assert!(found[0].contains(message), "{found:?}");
    }
    let mut steps = String::new();
    for depth in 0..80 {
        let _ = writeln!(steps, "{}- sequence:", "  ".repeat(depth + 2));
    }
    let _ = writeln!(steps, "{}- empty:", "  ".repeat(82));
    let found = lines(&refused(around(&format!("{WRITER}{steps}"))));
    assert!(
        found[0].ends_with("nested deeper than 64 controllers"),
        "{found:?}"
    );
    let open: String = (0..70)
        .map(|depth| format!("{{ for-each: {{ item: x{depth}, in: [1], do: "))
        .collect();
    let text = format!("    - {open}{{ empty: }}{}", " } }".repeat(70));
    let found = lines(&refused(around(&format!("{WRITER}{text}"))));
    assert!(
        found[0].ends_with("nested deeper than 64 controllers"),
        "{found:?}"
    );
}

#[test]
fn an_alias_bomb_is_refused_where_it_begins() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let last = level - 1;
        let _ = writeln!(
            text,
            "a{level}: &a{level} [*a{last}, *a{last}, *a{last}, *a{last}, *a{last}]"
        );
    }
    let diagnostics = refused(&text);
    let found = lines(&diagnostics);
    assert_eq!(
        found[0],
        "1:5: the anchor `&a0` has no meaning here (write out what is meant at each place)"
    );
    assert_eq!(found.len() + diagnostics.n_more(), 30 + 29 * 5);
}

#[test]
fn a_file_that_is_too_large_is_refused_by_its_limit() {
    let text = vec![b'#'; FILE_BYTES_MAX + 1];
    assert_eq!(
        refused(text).list()[0].message,
        "the file has 134217729 bytes; at most 134217728 (128 MiB) are read"
    );
}

#[test]
fn errors_beyond_a_number_are_only_counted() {
    let steps: String = (0..1_000)
        .map(|n| format!("    - {{ activity: a{n}, rum: [x] }}\n"))
        .collect();
    let diagnostics = refused(around(&format!("{WRITER}{steps}")));
    assert_eq!(diagnostics.list().len(), DIAGNOSTICS_MAX);
    assert!(diagnostics.n_more() > 0);
    let more = format!("p.yaml: {} more\n", diagnostics.n_more());
    assert!(diagnostics.render(false).ends_with(&more));
}

#[test]
fn many_wrong_sources_are_told_soon() {
    let mut steps =
        "    - for-each: { item: x, in: [1], do: { activity: a, run: [a], outputs: { o: o } } }\n"
            .to_owned();
    for n in 0..20_000 {
        let source = ["x", "a[*]", "a[1]", "b[*].o"][n % 4];
        let _ = writeln!(
            steps,
            "    - {{ activity: r{n}, run: [x], inputs: {{ i: \"{source}\" }} }}"
        );
    }
    let diagnostics = refused(around(&format!("{WRITER}{steps}")));
    assert_eq!(diagnostics.n_all(), 20_000);
}

#[test]
fn warnings_take_no_place_of_errors() {
    let variables: String = (0..5_000).map(|n| format!("  v{n}: int\n")).collect();
    let head = "xavantes: 1\nname: p\nbody: { activity: a, run: [a] }\nvariables:\n";
    let diagnostics = refused(format!("{head}{variables}"));
    assert_eq!(lines(&diagnostics)[0], "4:1: 5000 entries; at most 4096");
    assert!(diagnostics.has_errors());
}

#[test]
fn long_lines_are_shown_in_part() {
    let text = format!(
        "xavantes: 1\nname: p\nbody: {{ activity: a, run: [{}], x: 1 }}",
        "\"é\", ".repeat(50_000)
    );
    let rendered = refused(text).render(false);
    assert!(
        rendered.contains("unknown key `x`") && rendered.len() < 2_000,
        "{rendered}"
    );
}

#[test]
fn wide_definitions_are_read() {
    let mut text =
        "xavantes: 1\nname: wide\ninputs: { n: { type: int, default: 3 } }\nbody:\n  parallel:\n"
            .to_owned();
    for n in 1..=5_000 {
        let _ = writeln!(
            text,
            "    - activity: a{n}\n      run: {{ shell: \"seq ${{inputs.n * {n}}} | wc -l\" }}\n      work: {n}ms\n      outputs: {{ o: o.txt }}"
        );
    }
    assert_eq!(compiled(&text).definition.activities().len(), 5_000);
}

const GOOD: &str = "xavantes: 1
name: p
inputs: { limit: { type: int, default: 2 }, corpus: file, texts: list of file }
variables: { total: int }
outputs: { total: \"${ total }\", o: a.o, all: \"c[*].o\" }
body:
  parallel:
    - activity: a
      run: { shell: \"seq ${inputs.limit} | wc -l\" }
      inputs: { c.txt: inputs.corpus }
      outputs: { o: o.txt }
      stdout: { into: total, as: int }
      retry: { attempts: 2, on: [1, lost] }
    - sequence:
        - assign: { total: \"${ total + 1 }\" }
        - activity: b
          join: ${ links.a }
          run: [x, \"${total}\"]
          inputs: { o.txt: a.o }
          work: 1m30s
    - for-each:
        item: text
        index: i
        in: ${ inputs.texts }
        key: ${ string(i) }
        at-most: 3
        do:
          - { activity: c, run: [c, \"${i}\"], inputs: { t: text, o: a.o }, outputs: { o: o } }
          - switch:
              - { case: \"${ i > 3 }\", do: [{ empty: }] }
              - default: { for-each: { item: n, in: [1, 2], parallel: false, do: { empty: } } }
    - { activity: d, run: [d], inputs: { all/: \"c[*].o\" } }
  links:
    - { from: a, to: b }
";

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(diagnostics) = compile("p.yaml", &bytes) {
            let _ = (diagnostics.render(false), diagnostics.reports());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "[ a-z\\n\\t:{}\\[\\]\"'$|>&*!#%@`,?\\\\é-]{0,200}") {
        if let Err(diagnostics) = compile("p.yaml", text.as_bytes()) {
            let _ = (diagnostics.render(false), diagnostics.reports());
        }
    }

    #[test]
    fn no_change_of_a_good_file_makes_it_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<prop::sample::Index>(), "[\\PC\\n]{0,3}"), 1..6)
    ) {
        let mut text: Vec<char> = GOOD.chars().collect();
        for (at, kind, other, put) in changes {
            let (at, other) = (at.index(text.len()), other.index(text.len()));
            match kind {
                0 => { text.remove(at); }
                1 => { text.splice(at..at, put.chars()); }
                2 => text.swap(at, other),
                _ => {
                    let end = (at + 40).min(text.len());
                    let piece: Vec<char> = text[at..end].to_vec();
                    text.splice(other..other, piece);
                }
            }
            if text.is_empty() { break }
        }
        let text: String = text.into_iter().collect();
        if let Err(diagnostics) = compile("p.yaml", text.as_bytes()) {
            prop_assert!(diagnostics.has_errors());
            prop_assert!(diagnostics.render(false).starts_with("error") || diagnostics.render(false).starts_with("warning"));
        }
    }
}

#[test]
fn the_good_file_is_good() {
    let compiled = compile("p.yaml", GOOD.as_bytes());
    // `b` is below a sequence whose first step does not wait for `a`; the link makes it wait.
    assert!(compiled.is_ok(), "{}", compiled.unwrap_err());
}
