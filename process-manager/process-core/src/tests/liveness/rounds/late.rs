//! Running activities that take longer than expected are told to those who ask.

use wire::client::{Lateness, Reason};

use super::*;

/// The lateness of the only activity of a process, whose machine stands still after 0.3 s, when it has run for so
/// many milliseconds.
fn after(millis: u64, work: Option<Work>) -> Option<Lateness> {
    let mut draft = wide(1, 1_000);
    edit(&mut draft.nodes[1], |activity| activity.work = work);
    let stalls = |_, at: Span| f64::from(at < Span::from_millis(300));
    let mut play = Play::new(draft, 1_000, stalls);
    while play.passed < Span::from_millis(millis) {
        play.step();
    }
    let reasons = play.stage.why(ActivityId(1));
    match &reasons[..] {
        [] => None,
        [Reason::Late(late)] => Some(*late),
        more => panic!("{more:?}"),
    }
}

#[test]
fn what_is_overdue_says_how_long_it_was_expected_to_run() {
    let second = Some(Work(1_000_000));
    // A tenth of a second late, it would be so by chance.
    assert_eq!(after(1_400, second), None);
    let late = after(4_000, second).expect("it is late");
    assert_eq!(late.expected, Span::from_secs(1));
    assert!(late.elapsed >= Span::from_millis(3_900), "{late:?}");
}

#[test]
fn what_nobody_has_estimated_is_never_late() {
    assert_eq!(after(60_000, None), None);
}
