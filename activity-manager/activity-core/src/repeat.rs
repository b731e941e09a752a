//! Repeats of what was not answered: registrations, outcomes, and requests to workers and executor.

use machine::Context;
use model::{AttemptId, Mono, Span};
use wire::executor::{Start, ToExecutor};

use crate::attempt::{Attempt, AttemptState};
use crate::io::Effect;
use crate::manager::{ActivityManager, REGISTER_PERIOD, TICK};

/// Outcomes repeated at one tick; the others follow at the next ones.
const OUTCOMES_REPEATED_MAX: usize = 4_096;
/// Interval at which grants are requested while attempts wait: a message with them may be lost.
const GRANTS_PERIOD: Span = Span::from_secs(5);
/// Silence after which a request to a worker is repeated. Large inputs take their time, and the
/// repeat is only for lost requests.
const WORKER_PERIOD: Span = Span::from_secs(60);
/// Time for which a start may be unanswered while the executor has free cores.
const START_PERIOD: Span = Span::from_secs(3);
/// Interval at which the executor is asked about a running attempt.
const RUNNING_PERIOD: Span = Span::from_secs(30);

impl ActivityManager {
    pub(crate) fn repeat(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let wants_grants =
            self.attempts.n_held_back() > 0 && now.since(self.group.asked) >= GRANTS_PERIOD;
        let is_old = now.since(self.group.asked) >= REGISTER_PERIOD;
        if self.group.is_up && (!self.group.is_known() || wants_grants || is_old) {
            self.register(cx, now);
        }
        let is_due = |attempt: &&Attempt| now.since(attempt.asked) >= TICK;
        let ended = self
            .attempts
            .ended()
            .filter(is_due)
            .take(OUTCOMES_REPEATED_MAX);
        let ended: Vec<(u32, AttemptId)> =
            ended.map(|attempt| (attempt.owner, attempt.id)).collect();
        for (owner, id) in ended {
            self.tell(now, owner, id);
        }
        self.ask_again(cx, now);
    }

    /// Repeats requests that workers and executor have not answered for long.
    pub(crate) fn ask_again(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let slots = u64::from(self.config.slots);
        let has_free = |cores: u32| self.attempts.cores_running() + u64::from(cores) <= slots;
        let mut again = Vec::new();
        for attempt in self.attempts.asked() {
            let silent = now.since(attempt.asked);
            let is_late = match &attempt.state {
                AttemptState::Staging(dispatch) if silent >= WORKER_PERIOD => {
                    cx.effect(self.holders.stage(dispatch));
                    true
                }
                AttemptState::Collecting(collecting) if silent >= WORKER_PERIOD => {
                    cx.effect(collecting.effect(attempt));
                    true
                }
                AttemptState::Queued(_) | AttemptState::Running { .. }
                    if !self.executor.is_ready =>
                {
                    false
                }
                AttemptState::Queued(_) if silent < START_PERIOD => false,
                // It was stopped before the executor had it; the executor answers the stop.
                AttemptState::Queued(_) if attempt.stopping => {
                    self.out.stops.push(attempt.id);
                    true
                }
                AttemptState::Queued(_) if attempt.retracting => {
                    self.out.retracts.push(attempt.id);
                    true
                }
                AttemptState::Queued(Some(start)) if has_free(attempt.cores) => {
                    self.out.starts.push(Start::clone(start));
                    true
                }
                AttemptState::Queued(None) if has_free(attempt.cores) => {
                    cx.effect(Effect::Execute(ToExecutor::Tail(attempt.id)));
                    true
                }
                AttemptState::Running { .. } if silent >= RUNNING_PERIOD => {
                    // A started attempt is not taken back: the answer is its start or its end.
                    self.out.retracts.push(attempt.id);
                    true
                }
                AttemptState::Staging(_)
                | AttemptState::Collecting(_)
                | AttemptState::Queued(_)
                | AttemptState::Running { .. }
                | AttemptState::Waiting(_)
                | AttemptState::Staged(_)
                | AttemptState::Ended(_) => false,
            };
            if is_late {
                again.push(attempt.id);
            }
        }
        for id in again {
            self.attempts.set_asked(id, now);
        }
    }
}
