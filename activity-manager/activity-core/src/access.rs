//! Requests of users for files of their processes. Only process managers know the owner of a
//! process; all of them are asked, because a user does not name the process manager.

use std::collections::BTreeSet;

use machine::Context;
use wire::attempt::{Access, FromActivity};

use crate::io::Effect;
use crate::manager::ActivityManager;

impl ActivityManager {
    pub(crate) fn ask_access(&mut self, cx: &mut Context<'_, Self>, number: u32, access: &Access) {
        let attached = self.process_managers.iter();
        let attached = attached.filter(|(_, link)| link.is_attached);
        let attached: BTreeSet<u32> = attached.map(|(&manager, _)| manager).collect();
        for &manager in &attached {
            let access = access.clone();
            let message = FromActivity::Access { number, access };
            cx.effect(Effect::ToProcess(manager, message));
        }
        self.accesses.wait(number, attached);
    }

    pub(crate) fn on_access(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        number: u32,
        is_allowed: bool,
    ) {
        if self.accesses.answer(from, number, is_allowed) {
            cx.effect(Effect::Access { number, is_allowed });
        }
    }
}
