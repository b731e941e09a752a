//! The end of a daemon in order: its group is told that nothing more is lent, so that process
//! managers take back what has not started; what runs goes on with the executor.

use machine::Context;
use model::Mono;

use crate::attempt::AttemptState;
use crate::io::Effect;
use crate::manager::ActivityManager;

/// How far a manager is with that.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// It stays.
    #[default]
    No,
    /// Something that has not started may be here yet, and is not started any more.
    HandingBack,
    /// Nothing of the kind is here.
    Done,
}

impl ActivityManager {
    pub(crate) fn on_leave(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::HandingBack;
            self.on_lend(cx, now, 0);
        }
    }

    /// Says once that all is handed back.
    pub(crate) fn tell_left(&mut self, cx: &mut Context<'_, Self>) {
        let is_to_start = |state: &AttemptState| match state {
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_) => true,
            AttemptState::Running { .. } | AttemptState::Collecting(_) | AttemptState::Ended(_) => {
                false
            }
        };
        let is_over = || !self.attempts.iter().any(|one| is_to_start(&one.state));
        if self.leaving == Leaving::HandingBack && is_over() {
            self.leaving = Leaving::Done;
            cx.effect(Effect::Left);
        }
    }
}
