//! Outcomes whose process manager stays away. They are kept for it as long as the files of processes are;
//! then nobody could use them any more, and a process manager that returns all the same is told that the
//! attempts are not here, and makes them again.
//!
//! Outcomes of attempts that must never run twice stay: without them they would.

use machine::Context;
use model::{AttemptId, Mono, Now, Span, Wall};
use wire::attempt::Outcome;

use crate::attempt::AttemptState;
use crate::manager::ActivityManager;

/// Time for which a process manager must be away in any case. One that is there attaches within seconds
/// of this manager's start, before which nothing is known of it.
const AWAY_MIN: Span = Span::from_secs(3_600);

impl ActivityManager {
    /// Forgets outcomes that nobody has fetched for too long.
    pub(crate) fn forget_orphans(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let Some(kept) = self.config.outcomes_kept else {
            return;
        };
        let is_old = |outcome: &Outcome, away: Span| {
            let end = outcome.started + outcome.wall;
            let is_long_ago = outcome.started > Wall(0) && now.wall.since(end) >= kept;
            away >= kept || (away >= AWAY_MIN && is_long_ago)
        };
        let ended = self.attempts.ended().filter(|attempt| !attempt.is_once);
        let old = ended.filter(|attempt| match &attempt.state {
            AttemptState::Ended(outcome) => {
                let away = self.away_since(attempt.owner);
                away.is_some_and(|since| is_old(outcome, now.mono.since(since)))
            }
            AttemptState::Waiting(_)
            | AttemptState::Staging(_)
            | AttemptState::Staged(_)
            | AttemptState::Queued(_)
            | AttemptState::Running { .. }
            | AttemptState::Collecting(_) => false,
        });
        let old: Vec<AttemptId> = old.map(|attempt| attempt.id).collect();
        for id in old {
            self.forget(cx, id);
        }
    }

    /// Since when a process manager is not attached; none while it is.
    fn away_since(&self, number: u32) -> Option<Mono> {
        match self.process_managers.get(&number) {
            Some(link) if link.is_attached => None,
            Some(link) => Some(link.away_since.max(self.began)),
            None => Some(self.began),
        }
    }
}
