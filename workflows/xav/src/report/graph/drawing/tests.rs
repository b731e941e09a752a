use super::*;
use crate::report::fixtures::{LOOK, definition, status};

#[test]
fn the_graph_is_drawn_and_told_as_a_table() {
    let report = Report::of(&status(), &definition(), LOOK);
    let section = graph(&report);
    assert_eq!(section.matches("<g class=\"step\"").count(), 5);
    assert_eq!(section.matches("class=\"line\"").count(), 5);
    assert_eq!(section.matches("<button").count(), 5);
    assert!(section.contains("The 5 steps as a list"));
    assert!(section.contains("<title>merge: 1 completed</title>"));
    let (_, merge) = section
        .split_once("data-step=\"4\">merge</button>")
        .unwrap();
    assert!(merge.contains("<td>a1, b0</td>"), "{merge}");
}

#[test]
fn a_long_name_keeps_its_ends() {
    assert_eq!(shortened("short"), "short");
    assert_eq!(
        shortened("a-name-that-is-far-too-long"),
        "a-name-that-i…oo-long".replace("oo-long", "o-long")
    );
}
