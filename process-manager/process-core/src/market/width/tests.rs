use std::collections::BTreeMap;

use model::{Draft, Expression, ForEach, Node};

use super::*;
use crate::tests::bench::{controller, draft, edit, ids, leaf};

fn each(at_most: Option<u32>, body: u32) -> Node {
    controller(NodeKind::ForEach(Box::new(ForEach {
        item: format!("item{body}"),
        index: None,
        items: Expression("[1, 2, 3]".to_owned()),
        key: None,
        at_most,
        complete_when: None,
        children: ids(&[body]),
    })))
}

fn parallel(children: &[u32]) -> Node {
    controller(NodeKind::Parallel {
        children: ids(children),
        links: Vec::new(),
    })
}

fn limited(name: &str, limit: &str, units: u32, cores: u32) -> Node {
    let mut node = leaf(name);
    edit(&mut node, |activity| {
        activity.limits = Some(vec![(limit.to_owned(), units)]);
        activity.cores = cores;
    });
    node
}

fn wide(nodes: Vec<Node>, limits: &[(&str, u32)]) -> Option<u64> {
    let limits: BTreeMap<String, u32> = limits
        .iter()
        .map(|&(name, most)| (name.to_owned(), most))
        .collect();
    let own = limits.iter().map(|(name, &most)| (name.clone(), most));
    let draft = Draft {
        limits: (!limits.is_empty()).then(|| own.collect()),
        ..draft(nodes)
    };
    let definition = draft.check().expect("the definition is right");
    useful(&definition, &|name| limits.get(name).copied())
}

#[test]
fn nothing_bounds_what_has_no_at_most_and_no_named_limit() {
    assert_eq!(
        wide(vec![parallel(&[1, 2]), leaf("a"), leaf("b")], &[]),
        None
    );
    assert_eq!(wide(vec![each(None, 1), leaf("a")], &[]), None);
    // A list that is not known yet, beside one that is held back.
    let both = vec![
        parallel(&[1, 3]),
        each(Some(2), 2),
        leaf("a"),
        each(None, 4),
        leaf("b"),
    ];
    assert_eq!(wide(both, &[]), None);
}

#[test]
fn a_for_each_uses_what_its_body_does_for_as_many_items_as_it_does_at_a_time() {
    assert_eq!(wide(vec![each(Some(2), 1), leaf("a")], &[]), Some(2));
    let body = vec![
        each(Some(3), 1),
        parallel(&[2, 3, 4]),
        leaf("a"),
        leaf("b"),
        leaf("c"),
    ];
    assert_eq!(wide(body, &[]), Some(9));
    let mut chain = vec![
        each(Some(3), 1),
        controller(NodeKind::Sequence(ids(&[2, 3]))),
        leaf("a"),
        leaf("b"),
    ];
    edit(&mut chain[3], |activity| activity.cores = 4);
    assert_eq!(wide(chain, &[]), Some(12));
    // One within another, and one whose lists nobody knows.
    let nested = |at_most| vec![each(Some(3), 1), each(at_most, 2), leaf("a")];
    assert_eq!(wide(nested(Some(2)), &[]), Some(6));
    assert_eq!(wide(nested(None), &[]), None);
}

#[test]
fn a_named_limit_bounds_what_takes_of_it_and_nothing_else() {
    let mut nodes = vec![parallel(&[1, 2, 3, 4, 5])];
    nodes.extend(["a", "b", "c"].map(|name| limited(name, "licence", 1, 2)));
    nodes.extend([leaf("d"), leaf("e")]);
    assert_eq!(wide(nodes.clone(), &[("licence", 2)]), Some(2 * 2 + 2));
    assert_eq!(wide(nodes.clone(), &[("licence", 9)]), Some(3 * 2 + 2));
    // Two units each of three.
    let by_two = vec![
        parallel(&[1, 2]),
        limited("a", "licence", 2, 1),
        limited("b", "licence", 2, 1),
    ];
    assert_eq!(wide(by_two, &[("licence", 3)]), Some(1));
    // In a for-each of which nothing else is known.
    let each = vec![each(None, 1), limited("a", "licence", 1, 1)];
    assert_eq!(wide(each, &[("licence", 4)]), Some(4));
}
