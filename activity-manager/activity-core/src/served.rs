//! The processes that are served here: those with a grant for the machine, and those with a known
//! attempt.

use std::collections::BTreeSet;

use machine::Context;
use model::ProcessId;

use crate::io::Effect;
use crate::manager::ActivityManager;

impl ActivityManager {
    /// Reports which of these processes are not served.
    pub(crate) fn on_served(&self, cx: &mut Context<'_, Self>, mut ids: Vec<ProcessId>) {
        let known: BTreeSet<ProcessId> = self.attempts.iter().map(|one| one.id.process).collect();
        ids.retain(|id| !self.attempts.has_grant(*id) && !known.contains(id));
        cx.effect(Effect::Unserved(ids));
    }
}
