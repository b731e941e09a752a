//! Bodies that are done for each item of a list: what is read, and what is refused.

use model::{ForEach, NodeId, NodeKind, OutputSource, Source};

use super::{compiled, lines, refused};
use crate::{Compiled, dot, json, tree};

const READS: &str = r#"
xavantes: 1
name: align
inputs: { reads: list of file, genomes: list of string }
outputs: { bams: "align[*].bam", merged: merge.all }
body:
  parallel:
    - name: each-sample
      for-each:
        item: sample
        index: i
        in: ${ inputs.reads }
        key: ${ 's' + string(i) }
        at-most: 8
        do:
          - activity: align
            run: [./align.sh, "${i}"]
            inputs: { in.fastq: sample }
            outputs: { bam: out.bam }
          - for-each:
              item: genome
              in: ${ inputs.genomes }
              do:
                activity: compare
                run: [compare, "${ genome }", "${ i }"]
                inputs: { in.bam: align.bam, in.fastq: sample }
                outputs: { score: score.txt }
          - { activity: best, run: [best], inputs: { scores/: "compare[*].score" } }
    - activity: merge
      run: { shell: cat parts/* scores/* > all }
      inputs: { parts/: "align[*].bam", scores/: "compare[*].score" }
      outputs: { all: all }
    - for-each: { item: n, in: [1, two, "it's", 2.5], parallel: false, do: { empty: } }
"#;

fn each(compiled: &Compiled, node: u32) -> &ForEach {
    let NodeKind::ForEach(each) = &compiled.definition.node(NodeId(node)).kind else {
        panic!("not a for-each");
    };
    each
}

/// The sources of an activity's inputs, and whether each is of all items.
fn staged(compiled: &Compiled, name: &str) -> Vec<(Source, bool)> {
    let nodes = &compiled.definition.draft().nodes;
    let node = nodes.iter().find(|node| node.name == name).unwrap();
    let NodeKind::Activity(activity) = &node.kind else {
        panic!("{node:?}");
    };
    let inputs = activity.inputs.iter();
    inputs
        .map(|staged| (staged.source, staged.gathers))
        .collect()
}

fn output(activity: u32) -> Source {
    Source::Output {
        activity: NodeId(activity),
        output: 0,
    }
}

#[test]
fn bodies_and_their_items_are_read() {
    let compiled = compiled(READS);
    assert_eq!(compiled.warnings.list(), []);
    let outer = each(&compiled, 1);
    assert_eq!(compiled.definition.node(NodeId(1)).name, "each-sample");
    assert_eq!(
        (outer.item.as_str(), outer.index.as_deref()),
        ("sample", Some("i"))
    );
    assert_eq!(outer.items.0.trim(), "inputs.reads");
    assert_eq!(outer.key.as_ref().unwrap().0.trim(), "'s' + string(i)");
    assert_eq!(
        (outer.at_most, &outer.children[..]),
        (Some(8), &[NodeId(2)][..])
    );
    let list = &compiled.definition.node(NodeId(2)).kind;
    assert_eq!(
        *list,
        NodeKind::Sequence(vec![NodeId(3), NodeId(4), NodeId(6)])
    );
    let inner = each(&compiled, 4);
    assert_eq!(
        (inner.index.as_ref(), inner.key.as_ref(), inner.at_most),
        (None, None, None)
    );
    let written = each(&compiled, 8);
    assert_eq!(written.items.0, r#"[1, "two", "it's", 2.5]"#);
    assert_eq!(written.at_most, Some(1));

    let item = (Source::Item(NodeId(2)), false);
    assert_eq!(staged(&compiled, "align"), [item]);
    assert_eq!(staged(&compiled, "compare"), [(output(3), false), item]);
    assert_eq!(staged(&compiled, "best"), [(output(5), true)]);
    assert_eq!(
        staged(&compiled, "merge"),
        [(output(3), true), (output(5), true)]
    );
    let outputs = &compiled.definition.draft().outputs;
    assert_eq!(outputs[0].source, OutputSource::Gathered(output(3)));
    assert_eq!(outputs[1].source, OutputSource::Produced(output(7)));
    // What gathers waits for the for-each.
    let links = compiled.definition.links().iter();
    let links: Vec<_> = links.map(|(_, link)| (link.from, link.to)).collect();
    assert_eq!(links, [(NodeId(1), NodeId(7))]);
}

#[test]
fn the_item_of_the_innermost_for_each_is_meant() {
    let compiled = compiled(
        "xavantes: 1\nname: p\ninputs: { a: list of file, b: list of directory }\nbody:\n  parallel:\n    \
         - for-each: { item: x, in: \"${inputs.a}\", do: { for-each: { item: y, in: \"${inputs.b}\", do: { \
         activity: one, run: [x], inputs: { x: x, y/: y } } } } }\n    \
         - for-each: { item: x, in: \"${inputs.b}\", do: { activity: two, run: [x], inputs: { x/: x } } }\n",
    );
    let item = |body| (Source::Item(NodeId(body)), false);
    assert_eq!(staged(&compiled, "one"), [item(2), item(3)]);
    assert_eq!(staged(&compiled, "two"), [item(5)]);
}

#[test]
fn a_for_each_is_shown() {
    let compiled = compiled(READS);
    assert_eq!(
        tree(&compiled.definition),
        "\
align
└─ parallel
   ├─ each-sample (for-each): sample in inputs.reads, at most 8 at the same time
   │  └─ sequence
   │     ├─ align: ./align.sh ${i}
   │     ├─ for-each: genome in inputs.genomes
   │     │  └─ compare: compare ${ genome } ${ i }
   │     └─ best: best
   ├─ merge: $ cat parts/* scores/* > all  (after each-sample)
   └─ for-each: n in [1, \"two\", \"it's\", 2.5], one after another
      └─ empty
"
    );
    let graph = dot(&compiled.definition);
    assert!(
        graph.contains("label=\"for-each: genome in inputs.genomes\""),
        "{graph}"
    );
    let shown = json(&compiled.definition);
    assert_eq!(shown["outputs"]["bams"], "align[*].bam");
    let steps = &shown["body"]["children"];
    assert_eq!(steps[0]["kind"], "for-each");
    assert_eq!(steps[0]["item"], "sample");
    assert_eq!(steps[0]["in"], "${ inputs.reads }");
    assert_eq!(steps[0]["at_most"], 8);
    let align = &steps[0]["children"][0]["children"][0];
    assert_eq!(align["inputs"]["in.fastq"], "sample");
    assert_eq!(steps[1]["inputs"]["parts/"], "align[*].bam");
}

/// Compiles steps around which inputs and a variable are declared, and compares what is said. The steps
/// begin in line 6.
fn check(steps: &str, expected: &[&str]) {
    let text = format!(
        "xavantes: 1\nname: p\ninputs: {{ reads: list of file, names: list of string, one: file }}\n\
         variables: {{ v: {{ type: json, value: [] }} }}\nbody:\n  sequence:\n{steps}\n"
    );
    assert_eq!(lines(&refused(&text)), expected, "{text}");
}

#[test]
fn the_keys_are_strict() {
    check(
        "    - for-each:\n      item: x\n    - for-each: { itm: x, in: \"${v}\", complete-when: text, do: { activity: a, run: [\"${x}\"] } }\n    \
         - for-each: {}\n    - for-each: { item: x, in: v, do: [] }\n    \
         - for-each: { item: y, in: 5, key: y, parallel: maybe, at-most: few, do: { emty: } }\n    \
         - for-each: [1]",
        &[
            "7:15: nothing where a mapping (a for-each) is expected (`item`, `in` and `do` stand below it, indented deeper)",
            "8:7: unknown key `item` (`item:` belongs below `for-each:`, indented deeper than that)",
            "9:19: unknown key `itm` (did you mean `item`?)",
            "9:19: a for-each without `item` (`item`: the name by which expressions of the body read the item)",
            "9:54: text where a whole number or `${...}` is expected (`complete-when: 3` completes when three items have, and stops the others)",
            "10:17: a for-each without `item` (`item`: the name by which expressions of the body read the item)",
            "10:17: a for-each without `in` (`in`: the list: `${...}`, or its items written out)",
            "10:17: a for-each without `do` (`do`: what is done for each item)",
            "11:32: text where `${...}` or a list is expected (write `${ v }`)",
            "11:39: a list without steps (write `empty:` for nothing)",
            "12:32: a number where `${...}` or a list is expected (`${ range(5) }` is the list of so many numbers)",
            "12:40: `y` where `${...}` is expected (an expression is written `${ ... }`)",
            "12:53: text where `true` or `false` is expected",
            "12:69: `few` where a whole number is expected (write it in digits, as `2`)",
            "12:80: `emty` is not a step (did you mean `empty`?)",
            "13:17: a list where a mapping (a for-each) is expected",
        ],
    );
}

#[test]
fn the_list_and_the_names_are_checked() {
    check(
        "    - for-each: { item: x, in: \"${ inputs.one }\", do: { empty: } }\n    \
         - for-each: { item: x, in: [\"${v}\"], do: { empty: } }\n    \
         - for-each: { item: x, in: \"${ inputs.name }\", key: \"${ x + y }\", do: { empty: } }\n    \
         - for-each: { item: v, index: if, in: [1], at-most: 0, do: { empty: } }\n    \
         - for-each: { item: a-b, index: a-b, in: [1], do: { empty: } }\n    \
         - for-each: { item: x, in: [1], parallel: false, at-most: 2, do: { for-each: { item: x, in: \"${ [x] }\", do: { empty: } } } }",
        &[
            "7:32: `inputs.one` is a file, not a list (declare it as `list of file`)",
            "8:32: an expression inside a list or a mapping (write the whole value as one expression: `${ [a, b] }`)",
            "9:43: no input is called `name` (did you mean `inputs.names`?)",
            "9:65: no variable is called `y` (did you mean `x`?)",
            "10:25: `v` is a variable of the process (give it a name of its own here)",
            "10:35: `if` is a word of expressions",
            "10:57: 0 items at the same time; 1 or more",
            "11:25: `a-b` is not a name that expressions can use (letters, digits and _, not beginning with a digit)",
            "11:37: `a-b` is the name of the item",
            "11:37: `a-b` is not a name that expressions can use (letters, digits and _, not beginning with a digit)",
            "12:63: 2 items at the same time where `parallel` is false (`parallel: false` is one after another: leave one of the two out)",
            "12:90: `x` is an item, or an index, of a body around",
        ],
    );
    check(
        "    - for-each: { item: x, in: [1, 2], complete-when: 3, do: { empty: } }\n    \
         - for-each: { item: x, in: \"${ v }\", complete-when: 0, do: { empty: } }\n    \
         - for-each: { item: x, in: \"${ v }\", complete-when: [1], do: { empty: } }\n    \
         - for-each: { item: x, in: \"${ v }\", complete-when: \"${ x + w }\", do: { empty: } }",
        &[
            "7:55: 3 items of a list of 2 (leave it out to wait for all of them)",
            "8:57: 0 items; 1 to 200000 (leave it out to wait for all of them)",
            "9:57: a list where a whole number or `${...}` is expected (`complete-when: 3` completes when three items have, and stops the others)",
            "10:61: no variable is called `x` (did you mean `v`?)",
            "10:65: no variable is called `w` (did you mean `v`?)",
        ],
    );
    let long = format!(
        "    - for-each: {{ item: x, in: [{}], do: {{ empty: }} }}",
        "abcdefgh, ".repeat(500)
    );
    check(
        &long,
        &[
            "7:32: a list of 6000 bytes; at most 4096 are written out (make it the default of an input, and write `${ inputs.NAME }`)",
        ],
    );
    let numbers = |n: usize| {
        let list = "1, ".repeat(n);
        format!("    - for-each: {{ item: x, in: [{list}], do: {{ empty: }} }}")
    };
    let sound = numbers(249);
    compiled(&format!(
        "xavantes: 1\nname: p\nbody:\n  sequence:\n{sound}\n"
    ));
    check(
        &numbers(250),
        &[
            "7:28: an expression of more than 500 words and signs (a longer list is the default of an input, read as `${ inputs.NAME }`)",
        ],
    );
}

#[test]
fn sources_in_and_around_a_body_are_checked() {
    let each = "    - for-each: { item: x, index: i, in: \"${ inputs.reads }\", do: { activity: a, run: [a], outputs: { o: o, p: p } } }\n";
    check(
        &format!(
            "{each}    - activity: use\n      run: [x]\n      inputs:\n        1: a.o\n        2: \"a[3].o\"\n        3: \"a[*]\"\n        \
             4: \"a[*][*].o\"\n        5: x\n        6: \"a[*].oo\"\n        7: \"b[*].o\"\n        8: \"inputs[*].one\"\n        \
             9: \"a[*].o\"\n        10/: \"use[*].o\"\n        11: a\n        12: \"a[*\"\n      outputs: {{ o: o }}"
        ),
        &[
            "11:12: `a` runs for each item of a for-each, so there are many of its outputs (write `a[*].o` for all of them)",
            "12:12: one item's output is read by an activity in a for-each or a loop (put this one into a for-each, or gather all with `[*]` and take the file in the command)",
            "13:12: `a[*]` where `activity[*].output` is expected (its outputs are `a[*].o`, `a[*].p`)",
            "14:12: `[*]` stands for the items of all for-eachs, within each other too (write it once: `a[*].o`)",
            "15:12: `x` where `activity.output` or `inputs.NAME` is expected (the item `x` is known in its for-each alone)",
            "16:12: `a` has no output `oo` (did you mean `o`?)",
            "17:12: no activity is called `b` (did you mean `a`?)",
            "18:12: the inputs of the process are none of many items (write `inputs.one`)",
            "19:12: the outputs of all items are staged in a directory (write `9/`)",
            "20:14: an activity cannot read its own output",
            "20:14: `use` runs for no item that this does not run for too, so there is one output (write `use.o`)",
            "21:13: `a` where `activity.output` or `inputs.NAME` is expected (its outputs are `a.o`, `a.p`)",
            "22:13: `a[*` where `activity[*].output` or `activity[PLACE].output` is expected (its outputs are `a[0].o`, `a[0].p`)",
        ],
    );
    check(
        "    - for-each: { item: x, index: i, in: \"${ inputs.names }\", do: { activity: a, run: [a, \"${ xx }\"], outputs: { o: o }, \
         inputs: { 1: x, 2: i, 3: x.name, 4: \"b.o\", 5: \"${x}\", 6: y } } }\n    \
         - { activity: b, run: [b, \"${x}\"], outputs: { o: o } }",
        &[
            "7:95: no variable is called `xx` (did you mean `x`?)",
            "7:135: `x` is a string (only a file or a directory can be staged)",
            "7:141: `i` where `activity.output` or `inputs.NAME` is expected (the index is read by \"${ i }\")",
            "7:147: `x` is an item, and no part of an item is a file (write `x` for all of it)",
            "7:158: `b` need not have ended when `for-each` starts (move `b` before `for-each`)",
            "7:168: an expression where `activity.output` or `inputs.NAME` is expected (write `x`)",
            "7:179: `y` where `activity.output` or `inputs.NAME` is expected (did you mean `x`?)",
            "8:34: no variable is called `x` (did you mean `v`?)",
        ],
    );
}

#[test]
fn outputs_of_the_process_are_one_or_of_all_items() {
    let text = "xavantes: 1\nname: p\noutputs: { one: a.o, all: \"b[*].o\", x: x }\nbody:\n  sequence:\n    \
                - for-each: { item: x, in: [1], do: { activity: a, run: [a], outputs: { o: o } } }\n    \
                - { activity: b, run: [b], outputs: { o: o } }\n";
    assert_eq!(
        lines(&refused(text)),
        [
            "3:17: `a` runs for each item of a for-each, so there are many of its outputs (write `a[*].o` for all of them)",
            "3:27: `b` runs for no item that this does not run for too, so there is one output (write `b.o`)",
            "3:40: `x` where `activity.output` or `inputs.NAME` is expected (the item `x` is known in its for-each alone)",
        ]
    );
}

#[test]
fn links_stay_in_their_body() {
    check(
        "    - parallel:\n        - for-each: { item: x, in: [1], do: { activity: a, run: [a] } }\n          name: each\n        \
         - { activity: b, run: [b] }\n      links: [{ from: a, to: b }, { from: each, to: b }]",
        &[
            "11:15: a link does not cross the body of a for-each or a loop (link the controller itself, or two steps of one body by a parallel in it)",
        ],
    );
}

#[test]
fn a_list_of_files_is_staged_as_a_directory_alone() {
    check(
        "    - { activity: a, run: [a], inputs: { reads: inputs.reads } }\n    \
         - { activity: b, run: [b], inputs: { names/: inputs.names } }",
        &[
            "7:49: what is staged here is a directory (write `reads/`)",
            "8:50: input `names` is a list of string (only a file or a directory, or a list of these, can be staged)",
            "8:50: what is staged here is a file (write `names`)",
        ],
    );
    let text = "xavantes: 1\nname: p\ninputs: { reads: list of file }\nbody:\n  { activity: a, run: [a], inputs: { reads/: inputs.reads } }\n";
    assert_eq!(staged(&compiled(text), "a"), [(Source::Input(0), false)]);
}
