//! The output so far of a running attempt, for a client of a process manager.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use model::AttemptId;
use wire::attempt::FromActivity;
use wire::executor::{ToExecutor, Written};

use crate::attempt::AttemptState;
use crate::io::Effect;
use crate::manager::ActivityManager;

/// Maximum number of attempts whose output is requested at once. People look at one or two; further
/// requests get no output and are repeated.
const TAILS_MAX: usize = 1_024;

/// The process managers that wait for the executor's answer, by attempt.
#[derive(Debug, Default)]
pub(crate) struct TailRequests(BTreeMap<AttemptId, BTreeSet<u32>>);

impl ActivityManager {
    /// A process manager requests the output of an attempt.
    pub(crate) fn on_tail_request(&mut self, cx: &mut Context<'_, Self>, from: u32, id: AttemptId) {
        let runs = self.attempts.get(id).is_some_and(|attempt| {
            // The state of an attempt from an earlier epoch is known to the executor alone.
            matches!(
                attempt.state,
                AttemptState::Running { .. } | AttemptState::Queued(None)
            )
        });
        let has_room = self.tails.0.contains_key(&id) || self.tails.0.len() < TAILS_MAX;
        if !runs || !has_room || !self.executor.is_ready {
            cx.effect(nothing(from, id));
            return;
        }
        self.tails.0.entry(id).or_default().insert(from);
        cx.effect(Effect::Execute(ToExecutor::Tail(id)));
    }

    /// The executor has answered.
    pub(crate) fn on_output(
        &mut self,
        cx: &mut Context<'_, Self>,
        id: AttemptId,
        written: Option<Written>,
    ) {
        for to in self.tails.0.remove(&id).unwrap_or_default() {
            cx.effect(match &written {
                Some(written) => Effect::Tail {
                    to,
                    attempt: id,
                    written: Box::new(written.clone()),
                },
                None => nothing(to, id),
            });
        }
    }

    /// The executor will not answer any more.
    pub(crate) fn end_tails(&mut self, cx: &mut Context<'_, Self>) {
        for (id, askers) in std::mem::take(&mut self.tails.0) {
            for to in askers {
                cx.effect(nothing(to, id));
            }
        }
    }
}

fn nothing(to: u32, id: AttemptId) -> Effect {
    Effect::ToProcess(to, FromActivity::Tail(id, None))
}
