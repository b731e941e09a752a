use model::{Expansion, NodeId};

use super::*;
use crate::render::tests::two;

/// `first`, and `align` for each of two items with `sort` for each of three in it.
fn nested() -> (Definition, Status) {
    let file = "xavantes: 1\nname: nested\nbody:\n  sequence:\n    - { activity: first, run: [a] }\n    \
                - for-each:\n        item: n\n        in: [1, 2]\n        do:\n          - { activity: align, run: [b] }\n          \
                - for-each: { item: m, in: [1, 2, 3], do: { activity: align2, run: [c] } }\n";
    let compiled = language::compile("nested.yaml", file.as_bytes()).unwrap();
    let mut definition = compiled.definition;
    for n_items in [2, 3, 3] {
        let open = (0..definition.n_nodes() as u32).map(NodeId).find(|&node| {
            definition.as_written(node).keyword() == "for-each" && !definition.is_expanded(node)
        });
        definition.expand(&Expansion {
            each: open.unwrap(),
            n_items,
            ..Expansion::default()
        });
    }
    let mut status = two().1;
    let one = status.activities[0].clone();
    status.activities = (definition.in_order().into_iter())
        .map(|activity| ActivityStatus {
            activity,
            ..one.clone()
        })
        .collect();
    (definition, status)
}

fn names(definition: &Definition, all: &[&ActivityStatus]) -> Vec<String> {
    let names = all.iter();
    names
        .map(|one| definition.name_of(one.activity.node()))
        .collect()
}

#[test]
fn a_name_is_that_of_one_or_of_all_items_or_of_those_within_an_item() {
    let (definition, status) = nested();
    let named = |name: &str| names(&definition, &named(name, &status, &definition).unwrap());
    assert_eq!(named("first"), ["first"]);
    assert_eq!(named("align"), ["align[0]", "align[1]"]);
    assert_eq!(named("align[1]"), ["align[1]"]);
    assert_eq!(named("align2").len(), 6);
    assert_eq!(
        named("align2[1]"),
        ["align2[1][0]", "align2[1][1]", "align2[1][2]"]
    );
    assert_eq!(named("align2[1][2]"), ["align2[1][2]"]);
}

#[test]
fn a_name_of_nothing_is_refused_with_what_was_probably_meant() {
    let (definition, status) = nested();
    for wrong in ["algin", "align[", "align2[1", "align[7]"] {
        let failure = named(wrong, &status, &definition).unwrap_err();
        assert!(failure.message.contains("has no activity"), "{wrong}");
    }
}

#[test]
fn activities_are_chosen_by_name_and_by_where_they_are() {
    let (definition, mut status) = nested();
    status.activities[1].phase = ActivityPhase::Faulted;
    status.activities[4].phase = ActivityPhase::Faulted;
    status.activities[2].phase = ActivityPhase::Backoff;
    let chosen = |of, only| {
        let choice = Choice { of, only };
        names(&definition, &choice.among(&status, &definition).unwrap())
    };
    assert_eq!(
        chosen(None, Some(Only::Faulted)),
        ["align[0]", "align2[0][2]"]
    );
    assert_eq!(
        chosen(Some("align2"), Some(Only::Faulted)),
        ["align2[0][2]"]
    );
    assert_eq!(chosen(None, Some(Only::Running)), ["align2[0][0]"]);
    assert_eq!(chosen(Some("first"), Some(Only::Faulted)).len(), 0);
    assert_eq!(chosen(None, None).len(), 9);
}

#[test]
fn pages_have_all_once_and_no_page_is_beyond_the_last() {
    for n in [0, 1, PAGE - 1, PAGE, PAGE + 1, 10 * PAGE] {
        let all: Vec<usize> = (0..n).collect();
        let n_pages = page(&all, None).unwrap().n_pages;
        let mut seen: Vec<usize> = Vec::new();
        for number in 1..=n_pages as u32 {
            let page = page(&all, Some(number)).unwrap();
            assert!(page.shown.len() <= PAGE);
            seen.extend(page.shown);
        }
        assert_eq!(seen, all);
        let failure = page(&all, Some(n_pages as u32 + 1)).unwrap_err();
        assert!(failure.message.contains("there is no page"));
    }
    assert_eq!(page(&[0; PAGE + 1], Some(2)).unwrap().shown, [0]);
}

#[test]
fn items_that_failed_come_first() {
    let (definition, mut status) = nested();
    status.activities[8].phase = ActivityPhase::Faulted;
    status.activities[5].phase = ActivityPhase::Waiting;
    let all = by_interest(status.activities.iter().collect());
    assert_eq!(
        names(&definition, &all)[..3],
        ["align2[1][2]", "align[1]", "first"]
    );
}
