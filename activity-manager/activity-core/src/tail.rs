//! The output so far of a running attempt, for a client of a process manager.

use machine::Context;
use model::AttemptId;
use wire::attempt::FromActivity;
use wire::executor::{ToExecutor, Written};

use crate::attempt::AttemptState;
use crate::io::Effect;
use crate::manager::ActivityManager;

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
        let is_asked = runs && self.executor.is_ready && self.tails.wait(from, id);
        cx.effect(if is_asked {
            Effect::Execute(ToExecutor::Tail(id))
        } else {
            nothing(from, id)
        });
    }

    /// The executor has answered.
    pub(crate) fn on_output(
        &mut self,
        cx: &mut Context<'_, Self>,
        id: AttemptId,
        written: Option<Written>,
    ) {
        for to in self.tails.take(id) {
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
        for (id, askers) in self.tails.take_all() {
            for to in askers {
                cx.effect(nothing(to, id));
            }
        }
    }
}

fn nothing(to: u32, id: AttemptId) -> Effect {
    Effect::ToProcess(to, FromActivity::Tail(id, None))
}
