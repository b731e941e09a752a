use model::{Fault, FaultName};
use wire::client::Status;

use super::super::figures::Look;
use super::super::fixtures::{LOOK, compiled, definition, status, untouched};
use super::*;

const BAD: &str = "</script><img src=x onerror=alert(1)>\"'&\u{1b}[0m";

fn page_of(status: &Status, look: Look) -> String {
    let report = Report::of(status, &definition(), look);
    let subject = Subject {
        values: "",
        summary: &status.summary,
        directory: "/s",
        waiting_for: status.waiting_for.as_deref(),
        now: look.now,
        nonce: "0123456789abcdef",
    };
    page(&subject, &report)
}

/// The text between two marks.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

#[test]
fn the_page_loads_nothing() {
    let page = page_of(&status(), LOOK);
    for mark in [
        "http:", "https:", "//cdn", "@import", "url(", "src=", "fetch(", "XMLHttp", "import(",
    ] {
        assert!(!page.contains(mark), "{mark}");
    }
    assert_eq!(page.matches("href=").count(), 1);
    assert!(page.contains("href=\"data:,\""));
    assert!(page.contains("default-src 'none'"));
    // Each style and script that may run carries the number of this page.
    assert_eq!(page.matches("<style").count(), 1);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("nonce=\"0123456789abcdef\"").count(), 2);
    assert!(!page.contains(" style="));
}

#[test]
fn nothing_that_a_user_gives_is_markup() {
    let mut status = status();
    status.summary.name = BAD.to_owned();
    status.summary.origin = format!("/x/{BAD}");
    status.waiting_for = Some(BAD.to_owned());
    status.machines[0].1 = BAD.to_owned();
    status.activities[3].attempts[0].end = Some(BAD.to_owned());
    let mut fault =
        Fault::new(FaultName::Thrown(BAD.to_owned()), BAD).of(status.activities[2].activity);
    fault.command = vec![BAD.to_owned()];
    fault.directory = Some(BAD.to_owned());
    fault.stderr_tail = format!("{BAD}\n{BAD}");
    status.faults.push(fault);
    let page = page_of(&status, LOOK);
    assert!(!page.contains("<img"), "{page}");
    assert!(!page.contains('\u{1b}'));
    // The data, the script, and nothing that ends either early.
    assert_eq!(page.matches("</script").count(), 2);
    let data = between(&page, "id=\"data\">", "</script>");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let name = data["machines"][0]["name"].as_str().unwrap();
    assert_eq!(name, BAD.replace('\u{1b}', "\\u{1b}"));
}

#[test]
fn the_numbers_that_everybody_looks_for_stand_on_top() {
    let page = page_of(&status(), LOOK);
    let tiles = between(&page, "<dl class=\"tiles\">\n", "</dl>");
    let told: Vec<String> = tiles
        .lines()
        .map(|line| {
            let mut text = line.to_owned();
            for tag in [
                "<div>", "<dt>", "</dt>", "<dd>", "<small>", "</small>", "</dd>", "</div>",
            ] {
                text = text.replace(tag, if tag == "<dd>" { ": " } else { "" });
            }
            text
        })
        .collect();
    assert_eq!(
        told,
        [
            "Took: 1.0s planned 700ms",
            "Activities: 5 all completed",
            "CPU time: 709ms while commands ran for 1.4s",
            "Speedup: 1.4 × as fast as one after another",
            "Utilisation: 71 % of 2 slots on 1 machine",
            "Longest chain: 865ms of dependencies; more slots make it no shorter",
            "Tries that failed: 1 of 6",
        ]
    );
}

#[test]
fn a_process_that_has_not_begun_has_a_page() {
    let page = page_of(&untouched(&definition()), LOOK);
    assert!(page.contains("Nothing is planned yet and nothing has run."));
    assert!(page.contains("<span class=\"badge odd\">interrupted</span>"));
    assert!(!page.contains("<canvas"));
}

#[test]
fn what_a_page_refers_to_is_there() {
    let page = page_of(&status(), LOOK);
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    for attribute in ["aria-labelledby=\"", "aria-describedby=\""] {
        for rest in page.split(attribute).skip(1) {
            let wanted = rest.split('"').next().unwrap();
            assert!(ids.contains(&wanted), "{wanted}");
        }
    }
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), ids.len(), "{ids:?}");
}

#[test]
fn ten_thousand_activities_are_less_than_two_megabytes() {
    let steps: String = (0..10_000)
        .map(|n| format!("    - {{ activity: mProjection_ID{n:07}, run: [a] }}\n"))
        .collect();
    let definition = compiled(&format!(
        "xavantes: 1\nname: many\nbody:\n  parallel:\n{steps}"
    ));
    let mut status = untouched(&definition);
    status.generation = model::Generation(1);
    for (one, n) in status.activities.iter_mut().zip(0_u64..) {
        let start = n / 2 * 100;
        one.phase = wire::client::ActivityPhase::Completed;
        one.attempts = vec![super::super::fixtures::attempt(
            one.activity,
            1,
            start,
            start + 99,
        )];
        one.planned = Some(wire::client::Planned {
            resource: model::ResourceId::local(1),
            slot: (n % 2) as u32,
            start: Span::from_millis(start),
            finish: Span::from_millis(start + 100),
        });
    }
    let report = Report::of(&status, &definition, LOOK);
    let subject = Subject {
        values: "",
        summary: &status.summary,
        directory: "/s",
        waiting_for: None,
        now: LOOK.now,
        nonce: "0",
    };
    let bytes = page(&subject, &report).len();
    assert!(bytes < 2_000_000, "{bytes}");
}
