//! The orderly end of a daemon: its group is told that it lends no slots, so that process managers
//! take back attempts that have not started; running commands go on with the executor.

use machine::Context;
use model::Mono;

use crate::attempt::AttemptState;
use crate::io::Effect;
use crate::manager::ActivityManager;
use crate::parts::leaving::Leaving;

impl ActivityManager {
    pub(crate) fn on_leave(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if self.leaving == Leaving::No {
            self.leaving = Leaving::HandingBack;
            self.on_lend(cx, now, 0, None);
        }
    }

    /// Reports once that no such attempt is left.
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
