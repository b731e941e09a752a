//! What the Common Expression Language asks of what this language has of it, and where the two differ.

use std::collections::BTreeMap;

use super::evaluate;
use crate::{from_json, to_json};

/// What an expression comes to.
#[derive(Debug, PartialEq)]
enum Answer {
    Gives(serde_json::Value),
    Faults,
}

#[test]
fn every_case_of_cel_has_the_answer_of_cel_or_the_one_that_is_told() {
    let cases: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(include_str!("cel.json")).unwrap();
    let groups = cases.iter().filter(|(name, _)| *name != "about");
    let cases: Vec<&serde_json::Value> = groups
        .flat_map(|(_, group)| group.as_array().unwrap())
        .collect();
    assert!(cases.len() > 100);
    let mut wrong = Vec::new();
    for case in cases {
        let cel = expected(case, ("gives", "faults")).expect("each case says what CEL does");
        let here = expected(case, ("here_gives", "here_faults"));
        assert_eq!(here.is_some(), case.get("because").is_some(), "{case}");
        assert_ne!(here.as_ref(), Some(&cel), "it does not differ: {case}");
        let source = case.get("here").unwrap_or(&case["cel"]);
        let found = match evaluate(source.as_str().unwrap()) {
            Ok(value) => Answer::Gives(to_json(&value).unwrap()),
            Err(_) => Answer::Faults,
        };
        if found != here.unwrap_or(cel) {
            wrong.push(format!("{case}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn expected(case: &serde_json::Value, (gives, faults): (&str, &str)) -> Option<Answer> {
    match (case.get(gives), case.get(faults)) {
        (Some(value), None) => Some(Answer::Gives(to_json(&from_json(value.clone())).unwrap())),
        (None, Some(_)) => Some(Answer::Faults),
        (None, None) => None,
        (Some(_), Some(_)) => panic!("two answers: {case}"),
    }
}
