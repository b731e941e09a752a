use model::Wall;
use wire::client::Route;

use super::*;

/// A machine that was expected to have all of its power and has 48 % of it.
pub(crate) fn slow() -> Rescheduled {
    Rescheduled {
        at: Wall(1_000_000_400_000),
        resource: ResourceId::local(2),
        per_mille: 480,
        n_moved: 14,
        before: Span::from_secs(42),
        after: Span::from_secs(30),
        is_link: false,
        expected: Some(1_000),
        round: None,
        routes: vec![Route {
            from: ResourceId::local(2),
            to: ResourceId::local(1),
            n: 14,
        }],
    }
}

/// A plan that was not taken.
pub(crate) fn in_vain() -> Rescheduled {
    Rescheduled {
        n_moved: 0,
        after: Span::from_millis(41_700),
        routes: Vec::new(),
        ..slow()
    }
}

#[test]
fn a_plan_that_was_not_taken_tells_what_it_would_have_gained() {
    let none = Rescheduled {
        after: Span::from_secs(43),
        ..in_vain()
    };
    let told = [in_vain(), none].map(|one| declined(&one, &machine));
    let words = "am-2 is 2.1 times slower than expected; nothing moves, since the best plan ends";
    assert_eq!(
        told,
        [
            format!("{words} only 300ms earlier"),
            format!("{words} no earlier")
        ]
    );
}

fn machine(id: ResourceId) -> String {
    format!("am-{}", id.number)
}

fn told(one: &Rescheduled) -> String {
    line(one, &machine)
}

#[test]
fn a_line_has_the_reason_what_moves_and_the_effect() {
    assert_eq!(
        told(&slow()),
        "am-2 is 2.1 times slower than expected: 14 activities move to am-1, the end comes 12.0s earlier"
    );
    let route = |to, n| Route {
        from: ResourceId::local(2),
        to: ResourceId::local(to),
        n,
    };
    let link = Rescheduled {
        is_link: true,
        per_mille: 50,
        n_moved: 1,
        routes: vec![route(3, 1)],
        ..slow()
    };
    assert_eq!(
        told(&link),
        "the links of am-2 are 20 times slower than expected: 1 activity moves to am-3, the end comes 12.0s earlier"
    );
    let faster = Rescheduled {
        per_mille: 1_000,
        expected: Some(250),
        n_moved: 9,
        after: Span::from_secs(42),
        routes: vec![route(1, 2), route(3, 7)],
        ..slow()
    };
    assert_eq!(
        told(&faster),
        "am-2 is 4.0 times faster than expected: 9 activities move to am-3 and am-1, the end stays the same"
    );
    let many = Rescheduled {
        routes: (3..8).map(|to| route(to, 2)).collect(),
        ..slow()
    };
    assert!(
        told(&many).contains("14 activities move to 5 machines, "),
        "{}",
        told(&many)
    );
    assert_eq!(
        routes(&many, &machine).last().map(String::as_str),
        Some("4 more")
    );
}

#[test]
fn a_plan_of_an_earlier_version_tells_what_was_recorded() {
    let old = Rescheduled {
        expected: None,
        routes: Vec::new(),
        after: Span::from_secs(45),
        ..slow()
    };
    assert_eq!(
        told(&old),
        "am-2 is at 48 % of its power: 14 activities move, the end comes 3.0s later"
    );
    assert_eq!(routes(&old, &machine), ["14"]);
    let order = Rescheduled { n_moved: 0, ..old };
    assert!(told(&order).contains(": what is planned gets another order, "));
    assert!(routes(&order, &machine).is_empty());
}
