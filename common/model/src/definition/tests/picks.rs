//! Inputs that are picked among the outputs of many items.

use super::grow::{edit, expansion, names, output, sources};
use super::*;

fn case(when: Option<&str>, activity: u32, place: Option<&str>) -> PickCase {
    let expression = |text: &str| Expression(text.to_owned());
    PickCase {
        when: when.map(expression),
        source: output(activity),
        place: place.map(expression),
    }
}

fn picks(draft: &mut Draft, reader: u32, cases: Vec<PickCase>) {
    let all = draft.picks.get_or_insert_default();
    all.push(Pick { cases });
    let pick = all.len() as u32 - 1;
    edit(draft, reader, |activity| {
        activity.inputs.push(Staged {
            path: format!("in{pick}"),
            source: Source::Pick(pick),
            gathers: false,
            carried: None,
        });
    });
}

fn makes(draft: &mut Draft, makers: &[u32]) {
    for &maker in makers {
        edit(draft, maker, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out.txt".into(),
            }];
        });
    }
}

/// `s(f(a) f(b))`: `b` picks one of `a`, or one of `b` before it.
fn merging() -> Draft {
    let mut draft = tree("s(f(a) f(b))");
    makes(&mut draft, &[2, 4]);
    let own = case(None, 4, Some("n - 2"));
    picks(
        &mut draft,
        4,
        vec![case(Some("n < 2"), 2, Some("2 * n")), own],
    );
    draft
}

fn picked(picks: &[(u32, u32)]) -> Option<Vec<Picked>> {
    let picks = picks.iter();
    Some(picks.map(|&(case, place)| Picked { case, place }).collect())
}

/// ```text
/// a[0] --> b[0] --> b[2]
/// a[1]
/// a[2] --> b[1]
/// a[3]
/// ```
#[test]
fn each_body_reads_what_was_picked_and_waits_for_no_other_item_of_its_own() {
    let mut definition = merging().check().unwrap();
    definition.expand(&expansion(1, 4, &[]));
    let among = |case: usize| {
        let draft = definition.draft();
        definition.picked_among(Some(NodeId(3)), &draft.pick_cases(0)[case])
    };
    assert_eq!((among(0), among(1)), (Some(NodeId(1)), Some(NodeId(3))));
    let three = Expansion {
        picks: picked(&[(0, 0), (0, 2), (1, 0)]),
        ..expansion(3, 3, &[])
    };
    let before = definition.clone();
    definition.expand(&three);
    assert_eq!(
        names(&definition)[4..],
        ["b[0]", "a[1]", "a[2]", "a[3]", "b[1]", "b[2]"]
    );
    assert_eq!(sources(&definition, 4), [output(2)]);
    assert_eq!(sources(&definition, 8), [output(6)]);
    assert_eq!(sources(&definition, 9), [output(4)]);
    let links: Vec<(u32, u32)> = definition
        .links()
        .iter()
        .map(|(_, one)| (one.from.0, one.to.0))
        .collect();
    assert_eq!(links, [(4, 9)]);
    assert!(
        edges_of(&definition).ends_with("b[0]>b[2]"),
        "{}",
        edges_of(&definition)
    );
    assert_eq!(
        (
            definition.incoming(NodeId(9)),
            definition.outgoing(NodeId(4))
        ),
        (&[0][..], &[0][..])
    );
    // Whoever shares the definition has what it had, and the same events give the same again.
    let mut again = before;
    assert_eq!(sources(&again, 4), [Source::Pick(0)]);
    again.expand(&three);
    assert_eq!(again, definition);
    assert_eq!(again.links(), definition.links());
    // A place beside the list, which no manager records, changes nothing.
    let mut beside = merging().check().unwrap();
    beside.expand(&Expansion {
        picks: picked(&[(7, 0), (0, 9)]),
        ..expansion(3, 2, &[])
    });
    assert_eq!(sources(&beside, 4), [Source::Pick(0)]);
}

#[test]
fn iterations_read_earlier_ones_in_their_order_without_links() {
    let mut draft = tree("s(f(a) w(b))");
    makes(&mut draft, &[2, 4]);
    let earlier = case(None, 4, Some("i - 1"));
    picks(
        &mut draft,
        4,
        vec![case(Some("i == 0"), 2, Some("0")), earlier],
    );
    let mut definition = draft.check().unwrap();
    definition.expand(&expansion(1, 2, &[]));
    for pick in [(0, 0), (1, 0), (1, 1)] {
        definition.expand(&Expansion {
            picks: picked(&[pick]),
            ..expansion(3, 1, &[])
        });
    }
    assert_eq!(sources(&definition, 4), [output(2)]);
    assert_eq!(sources(&definition, 6), [output(4)]);
    assert_eq!(sources(&definition, 7), [output(6)]);
    assert!(definition.links().is_empty());
    // What any iteration may pick is kept.
    assert!(definition.is_gathered(NodeId(3)));
}

#[test]
fn what_is_picked_inside_of_an_item_is_that_of_the_same_item() {
    // f(s(f(a) f(b))): in each item `b` picks one of that item's `a`.
    let mut draft = tree("f(s(f(a) f(b)))");
    makes(&mut draft, &[3]);
    picks(&mut draft, 5, vec![case(None, 3, Some("n"))]);
    let mut definition = draft.check().unwrap();
    definition.expand(&expansion(0, 2, &[]));
    assert_eq!(
        names(&definition),
        ["", "", "", "a[0]", "", "b[0]", "", "", "a[1]", "", "b[1]"]
    );
    definition.expand(&expansion(7, 2, &[]));
    definition.expand(&Expansion {
        picks: picked(&[(0, 1), (0, 0)]),
        ..expansion(9, 2, &[])
    });
    assert_eq!(names(&definition)[11..], ["a[1][1]", "b[1][1]"]);
    assert_eq!(sources(&definition, 10), [output(11)]);
    assert_eq!(sources(&definition, 12), [output(8)]);
}

#[test]
fn a_pick_that_nobody_can_make_is_refused_with_its_place() {
    let problem = |draft: Draft| {
        let problems = draft.check().unwrap_err();
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        shown.join("\n")
    };
    let with = |text: &str, makers: &[u32], reader: u32, cases: Vec<PickCase>| {
        let mut draft = tree(text);
        makes(&mut draft, makers);
        picks(&mut draft, reader, cases);
        problem(draft)
    };
    let one = |activity| vec![case(None, activity, Some("0"))];
    // Not read by whoever has no items.
    let alone = with("s(f(a) b)", &[2], 3, one(2));
    assert!(
        alone.starts_with("n3 inputs.in0: one item's output is read by"),
        "{alone}"
    );
    // Not of what has none.
    let single = with("s(a f(b))", &[1], 3, one(1));
    assert!(single.contains("`a` runs for no item"), "{single}");
    // Not before the items are there.
    let later = with("s(f(b) f(a))", &[4], 2, one(4));
    assert!(
        later.contains("move `for-each` before `for-each`"),
        "{later}"
    );
    let inside = with("f(s(f(a) b))", &[3], 4, one(3));
    assert!(
        inside.contains("before the for-each around `a` begins"),
        "{inside}"
    );
    // Not by two places at once, and not of what it is a part of.
    let nested = with("s(f(f(a)) f(b))", &[3], 5, one(3));
    assert!(nested.contains("in bodies within each other"), "{nested}");
    let around = with("f(s(a f(b)))", &[2], 4, one(2));
    assert!(around.contains("of which this is a part"), "{around}");
    // One of many has a place, and all but the last case a condition.
    let many = with("s(f(a) f(b))", &[2], 4, vec![case(None, 2, None)]);
    assert!(many.contains("one of many files is meant"), "{many}");
    let both = vec![case(None, 2, Some("0")), case(None, 2, Some("1"))];
    let both = with("s(f(a) f(b))", &[2], 4, both);
    assert!(
        both.contains("each source has a condition but the last one"),
        "{both}"
    );
    // A draft of somebody else may have anything.
    let mut twice = merging();
    edit(&mut twice, 4, |activity| {
        let mut again = activity.inputs[0].clone();
        again.path = "again".to_owned();
        activity.inputs.push(again);
    });
    assert!(problem(twice).contains("each pick is that of one input"));
    let mut absent = merging();
    absent.picks = None;
    assert!(problem(absent).contains("there is no such pick"));
    let mut nothing = merging();
    nothing.picks = Some(vec![Pick::default()]);
    assert!(problem(nothing).contains("0 sources to pick from"));
}
