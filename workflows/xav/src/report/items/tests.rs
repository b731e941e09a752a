use model::{Expansion, ResourceId};
use wire::client::{ActivityPhase, ActivityStatus, Planned};

use super::super::figures::Report;
use super::super::fixtures::{LOOK, attempt, compiled, untouched};
use super::super::page::{Subject, page};
use super::*;

/// `first`, and a body of `align` and `sort` for so many items, all of which have run but the last.
fn many(n_items: u32) -> (Definition, Status) {
    let mut definition = compiled(
        "xavantes: 1\nname: many\nbody:\n  sequence:\n    - { activity: first, run: [a] }\n    \
         - for-each: { item: n, in: \"${ range(200000) }\", do: [{ activity: align, run: [b] }, { activity: sort, run: [c] }] }\n",
    );
    let each = (0..definition.draft().nodes.len())
        .map(|place| NodeId(place as u32))
        .find(|&node| definition.as_written(node).keyword() == "for-each");
    definition.expand(&Expansion {
        each: each.unwrap(),
        n_items,
        ..Expansion::default()
    });
    let mut status = untouched(&definition);
    // The order of a process manager: that of the tree.
    let order = definition.in_order().into_iter().zip(status.activities);
    status.activities = order
        .map(|(activity, one)| ActivityStatus { activity, ..one })
        .collect();
    status.generation = model::Generation(1);
    let last = status.activities.len() - 2;
    for (place, one) in status.activities.iter_mut().enumerate() {
        let start = place as u64 / 2 * 100;
        one.planned = Some(Planned {
            resource: ResourceId::local(1),
            slot: (place % 2) as u32,
            start: Span::from_millis(start),
            finish: Span::from_millis(start + 100),
        });
        if place < last {
            let length = 50 + place as u64 % 40;
            one.phase = ActivityPhase::Completed;
            one.attempts = vec![attempt(one.activity, 1, start, start + length)];
        }
    }
    status.activities[3].phase = ActivityPhase::Faulted;
    (definition, status)
}

#[test]
fn all_items_of_an_activity_are_one_row_and_one_lane() {
    let (definition, status) = many(1_000);
    let report = Report::of(&status, &definition, LOOK);
    let folded = &report.folded;
    let names: Vec<&str> = folded.items.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["align", "sort"]);
    let [align, sort] = &folded.items[..] else {
        panic!("two activities");
    };
    assert_eq!((align.counts.all, sort.counts.all), (1_000, 1_000));
    let ended = align.counts.completed + sort.counts.completed;
    assert_eq!(
        (ended, align.counts.faulted + sort.counts.faulted),
        (1_997, 1)
    );
    assert_eq!(align.n_ended + sort.n_ended, 1_998);
    assert!(align.shortest < align.mean().unwrap());
    assert!(align.mean().unwrap() < align.longest);
    assert!(!align.line.is_empty());
    assert_eq!(folded.of[0], None);
    assert_eq!(folded.of.iter().flatten().count(), 2_000);
}

#[test]
fn items_share_colours_controllers_and_paths() {
    let (definition, status) = many(1_000);
    let report = Report::of(&status, &definition, LOOK);
    assert_eq!(report.groups.labels, ["first", "align", "sort"]);
    assert_eq!(report.shares[1].n_activities, 1_000);
    let tree: Vec<String> = (report.controllers.shown.iter())
        .map(|one| format!("{} {}", one.label, one.counts.all))
        .collect();
    assert_eq!(tree, ["many 2001", "for-each 2000", "sequence 2000"]);
    assert_eq!(report.controllers.paths, ["", "", "for-each/sequence"]);
    assert!(report.activities.iter().any(|row| row.name == "sort[999]"));
    let colours: Vec<usize> = report.groups.of[..5].to_vec();
    assert_eq!(colours, [0, 1, 2, 1, 2]);
}

#[test]
fn few_items_are_not_folded() {
    let (definition, status) = many(9);
    let report = Report::of(&status, &definition, LOOK);
    assert!(report.folded.items.is_empty());
}

#[test]
fn a_hundred_thousand_items_are_less_than_twelve_megabytes() {
    let (definition, status) = many(50_000);
    let report = Report::of(&status, &definition, LOOK);
    let subject = Subject {
        values: "",
        summary: &status.summary,
        directory: "/s",
        waiting_for: None,
        now: LOOK.now,
        nonce: "0",
    };
    let page = page(&subject, &report);
    assert!(page.contains("100,001 activities"));
    assert!(page.len() < 12_000_000, "{}", page.len());
}
