//! Files that a process does not need any more. The process manager repeats each request until it is
//! answered, so nothing is remembered here.

use std::collections::BTreeSet;

use machine::Context;
use model::{Artifact, AttemptId};
use wire::attempt::{COPIES_MAX, Discard, FromActivity};

use crate::attempt::AttemptState;
use crate::io::Effect;
use crate::manager::ActivityManager;

impl ActivityManager {
    /// Has files deleted, but for those that an attempt is still to be given: these are asked for again.
    pub(crate) fn on_discard(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        mut discards: Vec<Discard>,
    ) {
        let wanted = self.wanted_inputs();
        discards.truncate(COPIES_MAX);
        discards.retain(|one| !one.artifacts.iter().any(|file| wanted.contains(file)));
        if !discards.is_empty() {
            cx.effect(Effect::Discard { to: from, discards });
        }
    }

    pub(crate) fn on_discarded(&mut self, cx: &mut Context<'_, Self>, to: u32, made_by: AttemptId) {
        let link = self.process_managers.get(&to);
        // It asks again when it attaches again.
        if link.is_some_and(|link| link.is_attached) {
            let message = FromActivity::Discarded(vec![made_by]);
            cx.effect(Effect::ToProcess(to, message));
        }
    }

    /// The inputs of attempts that are not in their directories yet.
    fn wanted_inputs(&self) -> BTreeSet<Artifact> {
        let dispatches = self
            .attempts
            .iter()
            .filter_map(|attempt| match &attempt.state {
                AttemptState::Waiting(dispatch) | AttemptState::Staging(dispatch) => Some(dispatch),
                AttemptState::Staged(_)
                | AttemptState::Queued(_)
                | AttemptState::Running { .. }
                | AttemptState::Collecting(_)
                | AttemptState::Ended(_) => None,
            });
        let inputs = dispatches.flat_map(|dispatch| &dispatch.inputs);
        inputs.map(|(_, artifact)| *artifact).collect()
    }
}
