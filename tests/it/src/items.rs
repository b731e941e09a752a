//! A process of many items as its user sees it: pages of status, lists of logs, reasons and the report.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Items, of which two fail.
const ITEMS: usize = 250;
const FAULTY: [usize; 2] = [7, 203];

const DEFINITION: &str = "\
xavantes: 1
name: many
body:
  sequence:
    - activity: first
      run: ['true']
    - for-each:
        item: n
        in: ${ range(250) }
        do:
          activity: align
          run: { shell: 'echo said ${ n }; [ ${ n } -ne 7 ] && [ ${ n } -ne 203 ] || { echo bad ${ n } >&2; exit 3; }' }
";

/// A user whose newest process ran all items.
fn ran() -> Sandbox {
    let sandbox = Sandbox::new();
    let file = sandbox.file("many.yaml", DEFINITION);
    sandbox
        .xav(&["run", &file, "--quiet", "--keep-going"])
        .expect(1);
    sandbox
}

fn names(status: &Value) -> Vec<&str> {
    let list = status["activity_list"].as_array().unwrap().iter();
    list.map(|one| one["activity"].as_str().unwrap()).collect()
}

#[test]
fn the_status_of_many_items_is_read_by_name_by_state_and_by_page() {
    let sandbox = ran();
    let folded = sandbox.xav(&["status"]).expect(0);
    let folded = folded
        .shows("align: 250 items: 248 completed, 2 faulted")
        .shows("align[203]");
    assert!(!folded.stdout.contains("align[8]"), "{}", folded.stdout);

    let page = sandbox.xav(&["status", "--of", "align", "--page", "3"]);
    let page = page.expect(0);
    let page = page.shows("page 3 of 3, 250 activities of align\n");
    let rows = page
        .stdout
        .lines()
        .filter(|line| line.starts_with("align["));
    let rows: Vec<&str> = rows
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    let expected: Vec<String> = (200..ITEMS).map(|n| format!("align[{n}]")).collect();
    assert_eq!(rows, expected);
    sandbox
        .xav(&["status", "--of", "align"])
        .expect(0)
        .shows("align[99]")
        .shows("page 1 of 3, 250 activities of align; --page 2 shows the next\n");
    sandbox
        .xav(&["status", "--of", "align", "--page", "4"])
        .expect(2)
        .says("there is no page 4: 250 activities are on 3 pages");

    let failed = sandbox.xav(&["status", "--only", "failed"]).expect(0);
    failed.shows("2 activities that are faulted\n");
    let failed = sandbox.json(&["status", "--only", "faulted", "--json"]);
    assert_eq!(names(&failed), FAULTY.map(|n| format!("align[{n}]")));
    let one = sandbox.json(&["status", "--of", "align[12]", "--json"]);
    assert_eq!(names(&one), ["align[12]"]);
    let all = sandbox.json(&["status", "--of", "align", "--json"]);
    assert_eq!(names(&all).len(), ITEMS);
    let page = sandbox.json(&["status", "--of", "align", "--page", "2", "--json"]);
    assert_eq!(names(&page).len(), 100);
    sandbox
        .xav(&["status", "--of", "aling"])
        .expect(2)
        .says("many has no activity aling");
    sandbox
        .xav(&["status", "--of", "first", "--only", "faulted"])
        .expect(0)
        .shows("0 activities of first that are faulted\n");
}

#[test]
fn logs_of_many_items_are_a_list_with_those_first_that_failed() {
    let sandbox = ran();
    let list = sandbox.xav(&["logs", "align"]).expect(0);
    let rows = list
        .stdout
        .lines()
        .filter(|line| line.starts_with("align["));
    let rows: Vec<&str> = rows.collect();
    assert_eq!(rows.len(), 100, "{}", list.stdout);
    let words = |row: &str| {
        row.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(rows[0]), ["align[7]", "faulted", "3", "7", "6"]);
    assert_eq!(words(rows[1]), ["align[203]", "faulted", "3", "9", "8"]);
    assert_eq!(words(rows[2]), ["align[0]", "completed", "0", "7", "0"]);
    list.shows("and 150 more\n250 items: 248 completed, 2 faulted, of many\n")
        .says("'align[7]' prints what one of them wrote");
    let one = sandbox.xav(&["logs", "align[7]", "--stderr"]).expect(0);
    assert_eq!(one.stdout, "bad 7\n");
    let all = sandbox
        .xav(&["logs", "align", "--all", "--stdout"])
        .expect(0);
    let said = all.stdout.lines().filter(|line| line.starts_with("said "));
    assert_eq!(said.count(), ITEMS);
    let documents = sandbox.json(&["logs", "align", "--json"]);
    assert_eq!(documents.as_array().unwrap().len(), ITEMS);
}

#[test]
fn the_reasons_of_many_items_are_one_of_each_state() {
    let sandbox = ran();
    let why = sandbox.xav(&["why", "align"]).expect(0);
    let why = why
        .shows("align: 250 items: 248 completed, 2 faulted\n")
        .shows("align[7] failed")
        .shows("bad 7");
    assert!(!why.stdout.contains("align[203]"), "{}", why.stdout);
    let why = sandbox.json(&["why", "align", "--json"]);
    assert_eq!(why["items"], ITEMS);
    assert_eq!(why["states"], json!({ "completed": 248, "faulted": 2 }));
    assert_eq!(why["explained"].as_array().unwrap().len(), 1);
    assert_eq!(why["explained"][0]["activity"], "align[7]");
}

#[test]
fn the_report_has_a_row_and_a_lane_for_all_items_of_an_activity() {
    let sandbox = ran();
    let page = sandbox.xav(&["report", "--out", "-"]).expect(0).stdout;
    let data = crate::report::data(&page);
    assert_eq!(data["items"].as_array().unwrap().len(), 1);
    assert_eq!(data["items"][0]["name"], "align");
    assert!(!data["items"][0]["times"].as_array().unwrap().is_empty());
    assert_eq!(data["groups"], json!(["first", "align"]));
    assert_eq!(data["paths"], json!(["", "", "for-each"]));
    let of = data["activities"]["items"].as_array().unwrap();
    assert_eq!((of[0].as_i64(), of.len()), (Some(-1), ITEMS + 1));
    assert!(page.contains("data-items=\"0\">align</button>"));
}
