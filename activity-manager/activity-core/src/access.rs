//! Requests of users for files of their processes. Only process managers know the owner of a
//! process; all of them are asked, because a user does not name the process manager.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use wire::attempt::{Access, FromActivity};

use crate::io::Effect;
use crate::manager::ActivityManager;

/// Maximum number of requests that wait for answers; users give up within seconds. The oldest is
/// dropped first.
const ASKED_MAX: usize = 1_024;

/// For each request, the process managers that have not answered.
#[derive(Debug, Default)]
pub(crate) struct Asked(BTreeMap<u32, BTreeSet<u32>>);

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
        if attached.is_empty() {
            return;
        }
        if self.accesses.0.len() >= ASKED_MAX {
            self.accesses.0.pop_first();
        }
        self.accesses.0.insert(number, attached);
    }

    /// One approval is enough; the request is refused when all have refused it.
    pub(crate) fn on_access(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        number: u32,
        is_allowed: bool,
    ) {
        let Some(unanswered) = self.accesses.0.get_mut(&number) else {
            return;
        };
        if unanswered.remove(&from) && (is_allowed || unanswered.is_empty()) {
            self.accesses.0.remove(&number);
            cx.effect(Effect::Access { number, is_allowed });
        }
    }
}
