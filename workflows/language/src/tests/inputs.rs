//! Inputs of processes and of activities.

use super::{lines, refused};

#[test]
fn bounds_are_those_of_numbers_and_leave_some() {
    let of = |kind: &str| {
        format!(
            "a bound of {kind} (only numbers have `minimum` and `maximum`: `int`, `float`, or `json`)"
        )
    };
    let text = "\
xavantes: 1
name: t
inputs:
  s: { type: string, minimum: 1 }
  l: { type: list of int, maximum: 3 }
  n: { type: int, minimum: 10, maximum: 5 }
  x: { type: float, minimum: 0.5, maximum: 0.5 }
body: { activity: a, run: [a] }
";
    let expected = [
        format!("4:31: {}", of("a string")),
        format!("5:36: {}", of("a list of int")),
        "6:41: no number is at least 10 and at most 5 (`minimum` is the smaller one of the two)"
            .to_owned(),
    ];
    assert_eq!(lines(&refused(text)), expected);
}
