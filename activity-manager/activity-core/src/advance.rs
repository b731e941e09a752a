//! The progress of attempts that wait: their staging, and their way to the executor.

use machine::Context;
use model::{AttemptId, Mono, Span};
use wire::executor::Start;

use crate::attempt::AttemptState;
use crate::io::{KNOWN_BYTES_MAX, Stream};
use crate::manager::ActivityManager;
use crate::record::Event;
use crate::table::Room;

/// Time for which grants stay valid without a message from the group manager.
const GRANTS_ALONE_MAX: Span = Span::from_secs(3_600);

impl ActivityManager {
    /// Stages attempts and sends them to the executor, as far as there is room.
    pub(crate) fn advance(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        let room = Room {
            slots: self.config.slots,
            prefetch: self.config.prefetch,
        };
        let takes = self.executor.is_ready && !self.watch.is_silent();
        let hands_over = takes && self.attempts.bytes() < KNOWN_BYTES_MAX;
        for process in self.attempts.pending() {
            while let Some(id) = self.attempts.next_to_stage(process, room) {
                self.stage(cx, now, id);
            }
            while hands_over
                && let Some(id) = self.attempts.next_to_hand(process, room)
                && self.may_hand_over(now, id)
            {
                self.hand_over(cx, now, id);
            }
        }
    }

    fn stage(&mut self, cx: &mut Context<'_, Self>, now: Mono, id: AttemptId) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        if let AttemptState::Waiting(dispatch) = attempt.state {
            cx.effect(self.holders.stage(&dispatch));
            attempt.asked = now;
            attempt.state = AttemptState::Staging(dispatch);
        }
        self.attempts.insert(attempt);
    }

    /// Returns true if its process manager answers and the grants of this machine are valid.
    fn may_hand_over(&self, now: Mono, id: AttemptId) -> bool {
        let has_grant =
            self.config.lease.is_none() || now.since(self.group.heard) <= GRANTS_ALONE_MAX;
        let attempt = self.attempts.get(id);
        has_grant && attempt.is_some_and(|attempt| self.may_start(attempt.owner))
    }

    fn hand_over(&mut self, cx: &mut Context<'_, Self>, now: Mono, id: AttemptId) {
        let Some(mut attempt) = self.attempts.remove(id) else {
            return;
        };
        if let AttemptState::Staged(start) = attempt.state {
            if attempt.is_once {
                // The start leaves when this is durable.
                let owner = attempt.owner;
                let starting = Event::Starting { attempt: id, owner };
                cx.record(Stream::Manager, starting);
            }
            self.out.starts.push(Start::clone(&start));
            attempt.asked = now;
            attempt.state = AttemptState::Queued(Some(start));
        }
        self.attempts.insert(attempt);
    }
}
