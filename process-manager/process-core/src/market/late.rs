//! A running attempt that takes longer than expected, for those who ask why it still runs.

use model::{AttemptId, Span, Wall};
use wire::client::Lateness;

use super::Market;
use super::rounds::overdue_after;
use crate::process::Process;
use crate::step::Step;

impl Market {
    /// The time for which an attempt has run that began at this moment, and the expected one; none where it is not
    /// overdue, or nobody has estimated it.
    pub(crate) fn lateness(
        &self,
        step: &Step<'_>,
        known: &Process,
        attempt: AttemptId,
        began: Wall,
    ) -> Option<Lateness> {
        let resource = known.machine_of(attempt)?;
        let expected = self.expected_seconds(step, known, attempt, resource)?;
        let elapsed = step.now.wall.since(began);
        (elapsed > overdue_after(expected)).then_some(Lateness {
            resource,
            elapsed,
            expected: Span::from_seconds_up(expected),
        })
    }
}
