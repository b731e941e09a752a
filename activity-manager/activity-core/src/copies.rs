//! Copies of outputs from other machines. The process manager repeats each request, so nothing is
//! remembered about a copy but the processes whose copies must stay.

use machine::Context;
use model::ProcessId;
use wire::attempt::{COPIES_MAX, Checked, Copied, Copy, FromActivity, Holder};

use crate::io::Effect;
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
        for one in copies.into_iter().take(COPIES_MAX) {
            let Copy {
                copied,
                holders,
                is_needed,
                number,
            } = one;
            let is_kept = is_needed && self.kept.note(from, copied.process);
            cx.effect(Effect::Copy {
                to: from,
                sources: self.holders.known(&holders),
                stays: is_kept || self.attempts.has_grant(copied.process),
                copied,
                number,
            });
        }
    }

    pub(crate) fn on_copied(&mut self, cx: &mut Context<'_, Self>, to: u32, copied: Copied) {
        let link = self.process_managers.get(&to);
        // It asks again when it attaches again.
        if link.is_some_and(|link| link.is_attached) {
            let message = FromActivity::Copied(vec![copied]);
            cx.effect(Effect::ToProcess(to, message));
        }
    }

    /// A process manager asks whether files are unchanged.
    pub(crate) fn on_check(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        copies: Vec<Copy>,
        holders: Vec<Holder>,
    ) {
        self.holders.learn(holders);
        for Copy {
            copied, holders, ..
        } in copies.into_iter().take(COPIES_MAX)
        {
            let sources = self.holders.known(&holders);
            cx.effect(Effect::Check {
                to: from,
                copied,
                sources,
            });
        }
    }

    pub(crate) fn on_checked(&mut self, cx: &mut Context<'_, Self>, to: u32, checked: Checked) {
        let link = self.process_managers.get(&to);
        // It asks again when it attaches again.
        if link.is_some_and(|link| link.is_attached) {
            let message = FromActivity::Checked(vec![checked]);
            cx.effect(Effect::ToProcess(to, message));
        }
    }

    /// A process manager names its processes that still need copies here.
    pub(crate) fn keep_for(&mut self, cx: &mut Context<'_, Self>, from: u32, wanted: &[ProcessId]) {
        let gone = self.kept.retain(from, wanted);
        self.release(cx, gone);
    }

    /// Releases the files of processes, except those with a grant here or with copies that must
    /// stay.
    pub(crate) fn release(&self, cx: &mut Context<'_, Self>, processes: Vec<ProcessId>) {
        for process in processes {
            if !self.attempts.has_grant(process) && !self.kept.has(process) {
                cx.effect(Effect::Unneeded(process));
            }
        }
    }
}
