//! Order from data: what reads an output waits for its producer.

use model::{Definition, NodeKind};

use super::{compiled, lines, refused};
use crate::export::yaml;

/// The links of each parallel controller, as `from>to`.
fn links(definition: &Definition) -> Vec<String> {
    let name = |id| definition.node(id).label();
    let of_each = definition.nodes().map(|node| match &node.kind {
        NodeKind::Parallel { links, .. } => links.iter(),
        NodeKind::Sequence(_)
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => [].iter(),
    });
    let shown = of_each.flatten();
    shown
        .map(|link| format!("{}>{}", name(link.from), name(link.to)))
        .collect()
}

fn body(steps: &str) -> String {
    format!("xavantes: 1\nname: data\nbody:\n{steps}")
}

#[test]
fn a_file_orders_its_reader_after_its_producer() {
    let text = body(
        "  parallel:
    - { activity: last, run: [x], inputs: { a: left.o, b: right.o, again: right.p } }
    - { activity: left, run: [x], inputs: { f: first.o }, outputs: { o: o } }
    - { activity: right, run: [x], inputs: { f: first.o }, outputs: { o: o, p: p } }
    - { activity: first, run: [x], outputs: { o: o } }
",
    );
    let definition = compiled(&text).definition;
    let expected = ["left>last", "right>last", "first>left", "first>right"];
    assert_eq!(links(&definition), expected);
    // The exported text says the order.
    assert_eq!(links(&compiled(&yaml(&definition)).definition), expected);
}

#[test]
fn the_lowest_parallel_above_both_has_the_link() {
    let text = body(
        "  sequence:
    - parallel:
        name: outer
        do:
          - sequence:
              - { activity: a, run: [x], outputs: { o: o } }
              - { activity: b, run: [x], inputs: { i: a.o } }
          - parallel:
              name: inner
              do:
                - { activity: c, run: [x], inputs: { i: a.o }, outputs: { o: o } }
                - { activity: d, run: [x], inputs: { i: c.o } }
    - { activity: e, run: [x], inputs: { i: c.o } }
",
    );
    let definition = compiled(&text).definition;
    assert_eq!(links(&definition), ["a>c", "c>d"]);
    let holders: Vec<&str> = definition
        .links()
        .iter()
        .map(|(holder, _)| definition.node(*holder).label())
        .collect();
    assert_eq!(holders, ["outer", "inner"]);
}

#[test]
fn what_is_ordered_already_gets_no_link() {
    for order in [
        "[{ from: a, to: b }]",
        "[{ from: a, to: m }, { from: m, to: b }]",
        "[{ from: a, to: last }]",
        "[{ from: both, to: b }]",
    ] {
        let text = body(&format!(
            "  parallel:
    - sequence:
        name: both
        do:
          - {{ activity: a, run: [x], outputs: {{ o: o }} }}
          - {{ activity: m, run: [x] }}
    - sequence:
        name: last
        do:
          - {{ activity: b, run: [x], inputs: {{ i: a.o }} }}
  links: {order}
"
        ));
        let definition = compiled(&text).definition;
        assert_eq!(
            definition.links().len(),
            order.matches("from").count(),
            "{order}"
        );
    }
}

#[test]
fn a_cycle_of_data_is_told_at_an_input_with_its_path() {
    let text = body(
        "  parallel:
    - { activity: a, run: [x], inputs: { i: c.o }, outputs: { o: o } }
    - { activity: b, run: [x], inputs: { i: a.o }, outputs: { o: o } }
    - { activity: c, run: [x], inputs: { other: b.o }, outputs: { o: o } }
",
    );
    assert_eq!(
        lines(&refused(&text)),
        ["5:45: these wait for each other in a cycle: a -> b -> c -> a"]
    );
    let mixed = body(
        "  parallel:
    - { activity: a, run: [x], outputs: { o: o } }
    - { activity: b, run: [x], inputs: { i: a.o } }
  links: [{ from: b, to: a }]
",
    );
    assert_eq!(
        lines(&refused(&mixed)),
        ["7:11: these wait for each other in a cycle: a -> b -> a"]
    );
}

#[test]
fn branches_of_one_if_are_not_ordered() {
    let text = body(
        "  if: ${ true }
  then: { activity: a, run: [x], outputs: { o: o } }
  else: { activity: b, run: [x], inputs: { i: a.o } }
",
    );
    assert_eq!(
        lines(&refused(&text)),
        ["6:47: `a` and `b` are in different branches of one `if`, so they never both run"]
    );
}
