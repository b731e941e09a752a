//! Copies of what other machines have produced. The process manager asks until it is answered, so
//! nothing is remembered of them here.

use machine::Context;
use wire::attempt::{COPIES_MAX, Copied, Copy, FromActivity, Holder};

use crate::boundary::Effect;
use crate::manager::ActivityManager;

impl ActivityManager {
    pub(crate) fn on_copy(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        copies: Vec<Copy>,
        holders: Vec<Holder>,
    ) {
        self.holders.learn(holders);
        for Copy { copied, holders } in copies.into_iter().take(COPIES_MAX) {
            let has_leave = self.attempts.leave(copied.process) > 0;
            cx.effect(Effect::Copy {
                to: from,
                sources: self.holders.known(&holders),
                has_leave,
                copied,
            });
        }
    }

    pub(crate) fn on_copied(&mut self, cx: &mut Context<'_, Self>, to: u32, copied: Copied) {
        let link = self.process_managers.get(&to);
        // One that attaches again asks again.
        if link.is_some_and(|link| link.is_attached) {
            let message = FromActivity::Copied(vec![copied]);
            cx.effect(Effect::ToProcess(to, message));
        }
    }
}
