//! The progress of attempts that wait: their staging, and their way to the executor.

use machine::Context;
use model::{AttemptId, Mono, ProcessId, Span};
use wire::executor::Start;

use crate::attempt::{Attempt, AttemptState};
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
            memory: self.config.memory,
        };
        let takes = self.executor.is_ready && !self.watch.is_silent();
        let hands_over = takes && self.attempts.bytes() < KNOWN_BYTES_MAX;
        let pending = self.attempts.pending();
        for &process in &pending {
            while let Some(id) = self.attempts.next_to_stage(process, room) {
                self.stage(cx, now, id);
            }
        }
        while hands_over && self.hand_over_next(cx, now, &pending, room) {}
    }

    /// Sends the attempts to the executor that say nothing of memory, and then one that does. Returns
    /// true if there was one, after which others of its process may follow.
    fn hand_over_next(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Mono,
        processes: &[ProcessId],
        room: Room,
    ) -> bool {
        for &process in processes {
            while let Some(attempt) = self.attempts.next_to_hand(process, room)
                && self.may_hand_over(now, attempt)
            {
                self.hand_over(cx, now, attempt.id);
            }
        }
        let may_go = |attempt: &Attempt| self.may_hand_over(now, attempt);
        let next = self.attempts.next_with_memory(processes, room, may_go);
        if let Some(id) = next {
            self.hand_over(cx, now, id);
        }
        next.is_some()
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
    fn may_hand_over(&self, now: Mono, attempt: &Attempt) -> bool {
        let has_grant =
            self.config.lease.is_none() || now.since(self.group.heard) <= GRANTS_ALONE_MAX;
        has_grant && self.may_start(attempt.owner)
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
