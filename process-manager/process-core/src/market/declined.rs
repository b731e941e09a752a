//! Plans that were to move activities off a machine that is not as fast as planned, and that do not pay: users ask why
//! nothing moves. It is volatile, as what machines have shown is.

use model::ProcessId;
use schedule::rounds::THRESHOLD;

use super::Market;
use crate::record::{Cause, Rescheduled};

impl Market {
    /// The last such plan of a process; none where another one has moved activities since, or its machine is as fast as
    /// was planned again.
    pub(crate) fn declined(&self, id: ProcessId) -> Option<&Rescheduled> {
        let declined = self.demands.get(&id)?.declined.as_deref()?;
        let expected = declined.expected.map(|expected| f64::from(expected) / 1e3);
        let is_as_planned = |expected: f64| {
            let ratio = self.factor(id, declined.resource) / expected;
            (1.0 / (1.0 + THRESHOLD)..=1.0 + THRESHOLD).contains(&ratio)
        };
        let is_over = declined.cause == Cause::Power && expected.is_some_and(is_as_planned);
        (!is_over).then_some(declined)
    }
}
