use model::{ActivityId, Expansion};

use super::*;
use crate::render::tests::two;

/// `first`, and `align` for so many items: the status of a process of it.
fn many(n_items: u32) -> (Definition, Vec<ActivityStatus>) {
    let file = "xavantes: 1\nname: many\nbody:\n  sequence:\n    - { activity: first, run: [a] }\n    \
                - for-each: { item: n, in: \"${ range(2000) }\", do: { activity: align, run: [b] } }\n";
    let compiled = language::compile("many.yaml", file.as_bytes()).unwrap();
    let mut definition = compiled.definition;
    definition.expand(&Expansion {
        each: NodeId(2),
        n_items,
        ..Expansion::default()
    });
    let one = two().1.activities[0].clone();
    let activities = definition.activities().iter();
    let activities = activities.map(|&activity| ActivityStatus {
        activity,
        ..one.clone()
    });
    let activities = activities.collect();
    (definition, activities)
}

fn names<'a>(definition: &'a Definition, folded: &Folded<'_>) -> Vec<&'a str> {
    let shown = folded.shown.iter();
    shown
        .map(|one| definition.node(one.activity.node()).name.as_str())
        .collect()
}

#[test]
fn items_are_counted_and_those_that_failed_or_run_are_named() {
    let (definition, mut activities) = many(2_000);
    activities[8].phase = ActivityPhase::Faulted;
    activities[1_999].phase = ActivityPhase::Running;
    let folded = fold(&activities, &definition, false);
    assert_eq!(
        names(&definition, &folded),
        ["first", "align[7]", "align[1998]"]
    );
    assert_eq!(
        folded.lines,
        ["align: 2000 items: 1998 completed, 1 faulted, 1 running\n"]
    );
    assert_eq!(folded.n_hidden, 0);
}

#[test]
fn of_many_that_failed_some_are_named() {
    let (definition, mut activities) = many(2_000);
    for one in &mut activities[1..] {
        one.phase = ActivityPhase::Faulted;
    }
    let folded = fold(&activities, &definition, false);
    assert_eq!(folded.shown.len(), 1 + ITEMS_SHOWN_MAX);
    assert_eq!(folded.lines, ["align: 2000 items: 2000 faulted\n"]);
}

#[test]
fn few_are_all_shown_and_so_are_all_that_are_wanted() {
    let (definition, activities) = many(50);
    assert_eq!(fold(&activities, &definition, false).shown.len(), 51);
    let (definition, activities) = many(2_000);
    let folded = fold(&activities, &definition, true);
    assert_eq!((folded.shown.len(), folded.lines.len()), (2_001, 0));
    let last = folded.shown.last().map(|one| one.activity);
    assert_eq!(last, activities.last().map(|one| one.activity));
    assert_ne!(last, Some(ActivityId(0)));
}
