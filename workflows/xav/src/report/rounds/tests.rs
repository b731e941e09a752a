use model::ResourceId;
use wire::client::Route;

use super::super::fixtures::{LOOK, SUBMITTED, definition, status};
use super::*;
use crate::moves::tests::{in_vain, slow};

/// The process of the fixtures on two machines, `b0` on the second one, where a plan moved activities after 400 ms.
fn moved() -> Status {
    let mut status = status();
    status
        .machines
        .push((ResourceId::local(2), "am-<2>".to_owned()));
    let elsewhere = &mut status.activities[3];
    elsewhere.planned.as_mut().unwrap().resource = ResourceId::local(2);
    elsewhere.attempts[0].resource = ResourceId::local(2);
    status.rescheduled = vec![Rescheduled {
        at: SUBMITTED + Span::from_millis(400),
        before: Span::from_millis(900),
        after: Span::from_millis(500),
        round: Some(2),
        ..slow()
    }];
    status.n_rescheduled = 18;
    status
}

fn report(status: &Status) -> Report {
    Report::of(status, &definition(), LOOK)
}

/// The cells of the rows of a page's tables.
fn cells(page: &str) -> Vec<Vec<String>> {
    let rows = page.lines().filter(|line| line.starts_with("<tr>"));
    let bare = |cell: &str| {
        let (_, text) = cell.rsplit_once('>').unwrap_or(("", cell));
        text.to_owned()
    };
    rows.map(|row| {
        let ends = row.replace("</th>", "</td>");
        let cells = ends.split("</td>").map(bare);
        cells.filter(|cell| !cell.is_empty()).collect()
    })
    .collect()
}

#[test]
fn what_machines_took_is_told_by_round_and_in_the_whole_run() {
    let parts = report(&moved()).rounds.parts;
    let ms = |millis: u64| millis * 1_000;
    let told: Vec<_> = parts
        .iter()
        .map(|part| (part.round, part.machine, part.n, part.planned, part.real))
        .collect();
    assert_eq!(
        told,
        [
            // split and a0; then a1 and merge, and b0 elsewhere. The failed try of a1 counts for nothing.
            (Some(1), 0, 2, ms(300), ms(320)),
            (Some(2), 0, 2, ms(400), ms(380)),
            (Some(2), 1, 1, ms(400), ms(665)),
            (None, 0, 4, ms(700), ms(700)),
            (None, 1, 1, ms(400), ms(665)),
        ]
    );
    assert_eq!((parts[0].from, parts[0].to), (0, ms(400)));
    assert_eq!((parts[1].from, parts[1].to), (ms(400), ms(1_000)));
}

#[test]
fn a_judgement_has_its_reason_and_its_effect() {
    let page = rounds(&report(&moved()));
    let rows = cells(&page);
    assert_eq!(
        rows[0],
        [
            "400ms",
            "am-&lt;2&gt;, round 2",
            "100 % of its power",
            "48 % of its power",
            "am-&lt;2&gt; is 2.1 times slower than expected",
            "14 from am-&lt;2&gt; to host",
            "1.3s",
            "900ms",
            "400ms earlier",
        ],
        "{page}"
    );
    assert!(page.contains("And 17 more plans before those"), "{page}");
    assert!(page.contains("whole run"), "{page}");
}

#[test]
fn what_was_planned_elsewhere_is_counted_apart() {
    let mut status = moved();
    status.activities[3].planned.as_mut().unwrap().resource = ResourceId::local(1);
    let parts = report(&status).rounds.parts;
    let there = parts.iter().find(|part| part.machine == 1).unwrap();
    assert_eq!(
        (there.n, there.n_planned, there.planned, there.real),
        (1, 0, 0, 0)
    );
}

#[test]
fn a_process_without_judgements_has_a_row_for_each_machine_where_there_are_several() {
    let alone = status();
    assert_eq!(rounds(&report(&alone)), "");
    let mut several = moved();
    several.rescheduled.clear();
    several.n_rescheduled = 0;
    let page = rounds(&report(&several));
    assert!(
        page.contains("No machine was so much slower or faster than planned"),
        "{page}"
    );
    assert_eq!(cells(&page).len(), 2, "{page}");
    // Times of a plan that nobody could estimate mean nothing.
    several.planned = None;
    assert_eq!(rounds(&report(&several)), "");
}

#[test]
fn rows_are_bounded_and_the_rest_is_counted() {
    let mut status = moved();
    status.rescheduled[0].routes = vec![Route {
        from: ResourceId::local(2),
        to: ResourceId::local(1),
        n: 12,
    }];
    let mut report = report(&status);
    let part = |machine| Part {
        round: None,
        from: 0,
        to: 1,
        machine,
        n: 1,
        n_planned: 1,
        planned: 1,
        real: 1,
    };
    report.rounds.parts = (0..100_000).map(|n| part(n % 2)).collect();
    let page = rounds(&report);
    assert_eq!(cells(&page).len(), 1 + ROWS_MAX);
    assert!(
        page.contains("And 99,800 more rows"),
        "{}",
        &page[page.len() - 300..]
    );
    assert!(
        page.contains("12 from am-&lt;2&gt; to host, 2 more"),
        "{page}"
    );
    assert!(page.len() < 60_000, "{}", page.len());
}

#[test]
fn a_plan_that_was_not_taken_is_told_while_the_process_runs() {
    let mut status = moved();
    status.rescheduled.clear();
    status.n_rescheduled = 0;
    let in_vain = Rescheduled {
        at: SUBMITTED + Span::from_millis(400),
        ..in_vain()
    };
    let mut report = report(&status);
    let nothing = "No machine was so much slower";
    assert!(rounds(&report).contains(nothing));
    report.rounds.tell_declined(&status, &in_vain);
    let page = rounds(&report);
    let told = "<p>At 400ms: am-&lt;2&gt; is 2.1 times slower than expected; nothing moves, since the best plan ends only \
        300ms earlier.</p>";
    assert!(page.contains(told), "{page}");
    assert!(!page.contains(nothing), "{page}");
}
