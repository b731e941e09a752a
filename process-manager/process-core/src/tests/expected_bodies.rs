//! Processes whose loops and lists are as long as those of the run before.

use std::cell::Cell;
use std::rc::Rc;

use model::{Span, SubmitKey, Test};
use wire::client::HistoryPage;

use super::*;

const SECOND: SubmitKey = SubmitKey(78);

/// The time that each attempt takes on the bench.
const EACH: u64 = 5;

/// The first plan of the second of two runs: its makespan, and the duration that is expected.
fn second_planned(
    draft: &Draft,
    script: impl FnMut(&Dispatch) -> Option<(End, i32, String)> + 'static,
) -> (Span, Option<Span>) {
    let mut bench = Bench::new(script);
    bench.submit(draft.clone());
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    bench.submit_as(submission(SECOND, draft.clone()));
    let of_second = bench.events.iter();
    let mut of_second =
        of_second.filter(|(stream, _)| *stream == Stream::Process(SECOND.process()));
    let planned = of_second.find_map(|(_, event)| {
        let Event::Planned(planned) = event else {
            return None;
        };
        Some((planned.plan.makespan(), planned.expected))
    });
    planned.expect("it is planned")
}

fn times(makespan: Span, part: f64) -> Option<Span> {
    Some(Span::from_seconds_up(makespan.seconds() * part))
}

#[test]
fn a_loop_is_expected_to_have_as_many_iterations_as_before() {
    let draft = repeat::process(Test::While, "left > 0");
    let (makespan, expected) = second_planned(&draft, repeat::count_down);
    // a, b, c and d are planned, and b and c come three times.
    assert_eq!(makespan, Span(4 * EACH));
    assert_eq!(expected, times(makespan, 8.0 / 4.0));
}

#[test]
fn a_loop_that_did_not_run_is_expected_not_to() {
    let mut draft = repeat::process(Test::While, "left > 9");
    // Nobody reads a file of it, which would be missing.
    edit(&mut draft.nodes[6], |activity| activity.inputs.clear());
    draft.outputs.clear();
    let (makespan, expected) = second_planned(&draft, repeat::count_down);
    // a and d alone: nobody knows what b and c would take, which are planned as those two.
    assert_eq!(makespan, Span(4 * EACH));
    let expected = expected.expect("it differs from the plan").0;
    assert!((2 * EACH..=2 * EACH + 1).contains(&expected), "{expected}");
}

#[test]
fn a_list_that_is_made_later_is_expected_to_be_as_long_as_before() {
    let draft = for_each::process("found", None);
    let (makespan, expected) = second_planned(&draft, for_each::lines);
    // Three items of two activities each on two slots, beside a and d.
    assert_eq!(expected, times(makespan, 5.0 / 4.0));
    let one_by_one = for_each::process("found", Some(1));
    let (makespan, expected) = second_planned(&one_by_one, for_each::lines);
    assert_eq!(expected, times(makespan, 8.0 / 4.0));
}

#[test]
fn iterations_to_come_count_in_the_time_left() {
    let holds = Rc::new(Cell::new(false));
    let theirs = Rc::clone(&holds);
    let mut bench = Bench::new(move |dispatch| {
        let is_held = theirs.get() && dispatch.command[0] == "b";
        repeat::count_down(dispatch).filter(|_| !is_held)
    });
    let draft = repeat::process(Test::While, "left > 0");
    bench.submit(draft.clone());
    holds.set(true);
    bench.submit_as(submission(SECOND, draft));
    let Answer::Status(status) = bench.answer(Request::Status(SECOND.process())) else {
        panic!("it runs")
    };
    // a has ended; b and c come three times, and d.
    let left = status.left.expect("a plan is made").0;
    assert!((6 * EACH..=8 * EACH).contains(&left), "{left}");
}

#[test]
fn numbers_of_bodies_are_records_beside_those_of_activities() {
    let mut bench = Bench::new(for_each::lines);
    bench.submit(for_each::process("found", None));
    let asked = bench.answer(Request::History {
        definition: None,
        after: None,
    });
    let Answer::History(page) = asked else {
        panic!("a page: {asked:?}")
    };
    let HistoryPage { records, has_more } = *page;
    let names: Vec<(&str, u8)> = records
        .iter()
        .map(|one| (one.key.activity.as_str(), one.key.class))
        .collect();
    assert!(
        !has_more && names.contains(&("for-each b", 255)),
        "{names:?}"
    );
    let forgotten = records.len();
    assert_eq!(
        names
            .iter()
            .filter(|(name, _)| ["a", "d"].contains(name))
            .count(),
        2
    );
    bench.give(Input::Request(
        ClientId(5),
        Caller::Local,
        1,
        Request::ForgetHistory(None),
    ));
    assert!(forgotten > 4);
    let again = bench.answer(Request::History {
        definition: None,
        after: None,
    });
    assert_eq!(again, Answer::History(Box::default()));
}
