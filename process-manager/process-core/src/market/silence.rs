//! Group managers that do not answer: processes that wait for one say so.

use model::ProcessId;

use super::{Demand, Market, Stage};
use crate::limits;
use crate::step::Step;
use crate::timer::Timer;

/// Why no group offers anything.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// True if none has for [`limits::SILENT_FOR`].
    is_long: bool,
    /// True if the group has revoked the certificate of this manager.
    is_barred: bool,
}

impl Market {
    /// An offer is expected where there is none.
    pub(crate) fn expect_offer(&mut self, step: &mut Step<'_>) {
        if self.is_without_offers() && !self.silence.is_long {
            let due = step.now.mono + limits::SILENT_FOR;
            step.timers.set_once(Timer::Silent, due);
        }
    }

    /// No offer has come for long.
    pub(crate) fn note_silence(&mut self, step: &mut Step<'_>) {
        if self.is_without_offers() {
            self.silence.is_long = true;
            self.tell_those_that_wait(step);
        }
    }

    /// An offer has come.
    pub(super) fn end_silence(&mut self, step: &mut Step<'_>) {
        step.timers.cancel(Timer::Silent);
        if std::mem::take(&mut self.silence.is_long) {
            self.tell_those_that_wait(step);
        }
    }

    /// The group has revoked the certificate of this manager, or lets it in again.
    pub(crate) fn set_barred(&mut self, step: &mut Step<'_>, is_barred: bool) {
        if self.silence.is_barred != is_barred {
            self.silence.is_barred = is_barred;
            self.tell_those_that_wait(step);
        }
    }

    /// The group manager that a process waits for, in words; none where it waits for none that does not answer.
    pub(super) fn waits_for_silent(&self, demand: &Demand) -> Option<String> {
        if !demand.waits_for_slots() || !self.is_without_offers() {
            return None;
        }
        let why = match (self.silence.is_barred, self.silence.is_long) {
            (true, _) => "has revoked the certificate of the process manager",
            (false, true) => "does not answer",
            (false, false) => return None,
        };
        Some(format!("the group manager, which {why}"))
    }

    fn is_without_offers(&self) -> bool {
        self.offers().next().is_none()
    }

    fn tell_those_that_wait(&self, step: &mut Step<'_>) {
        let waiting = self.demands.iter();
        let waiting = waiting.filter(|(_, demand)| demand.waits_for_slots());
        let waiting: Vec<ProcessId> = waiting.map(|(&id, _)| id).collect();
        waiting.into_iter().for_each(|id| step.marks.mark(id));
    }
}

impl Demand {
    /// True if nothing can be done for it without a group manager.
    fn waits_for_slots(&self) -> bool {
        match self.stage {
            Stage::Wanting | Stage::Claiming { .. } => true,
            Stage::Settled | Stage::Planning { .. } | Stage::Retracting { .. } => false,
        }
    }
}
