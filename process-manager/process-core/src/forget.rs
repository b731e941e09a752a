//! Forgetting: nothing is left of a process that has ended. Whoever may asks for it; a manager that
//! serves for long forgets by itself what has been kept for its time.

use machine::Context;
use model::{Now, ProcessId, Span};
use wire::client::Answer;

use crate::alphabet::Stream;
use crate::manager::{ProcessManager, State, Timer, limits, process};
use crate::process::Process;

/// How often it is looked for what is over its time, and for how long at least a process is kept,
/// so that whoever waits for its end can read its outputs.
const PERIOD: Span = Span::from_secs(60);
/// Processes that are forgotten at one look: a journal each. The next look follows in a second.
const AT_ONCE_MAX: usize = 100;

impl ProcessManager {
    /// Forgets a process. The answer leaves when its journal is gone.
    pub(crate) fn forget(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) -> Answer {
        let Some(known) = process(cx, id) else {
            return Answer::Unknown(id);
        };
        if !known.phase().has_ended() {
            return Answer::Refused(vec![format!(
                "process {id} has not ended: cancel it first, or wait"
            )]);
        }
        if !known.course.is_released {
            return Answer::Refused(vec![format!(
                "process {id} has just ended and its machines are being given back: try again in a \
                 moment"
            )]);
        }
        self.recorded.forget(id);
        self.end_copies(id);
        // A late repeat of its submission must not run it again; and within one batch of events
        // nothing may be recorded of it any more.
        if self.forgotten.len() == limits::FORGOTTEN_MAX {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back(id);
        cx.forget(Stream::Process(id));
        Answer::Forgotten(id)
    }

    /// How long a process is kept after its end; none where that is for whoever asks.
    pub(crate) fn kept_for(&self, said: Option<Span>) -> Option<Span> {
        let all = [said, self.config.keep];
        all.into_iter().flatten().min()
    }

    /// Begins to look for what is over its time, where that is for this manager.
    pub(crate) fn watch_time(&mut self, now: Now) {
        if self.config.keep.is_some() {
            self.arm(Timer::Forget, now.mono + PERIOD);
        }
    }

    /// Forgets what is over its time.
    pub(crate) fn forget_over(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let is_over = |known: &Process| {
            let keep = self.kept_for(known.keep);
            let ended = known.course.closed.filter(|_| known.course.is_released);
            ended
                .zip(keep)
                .is_some_and(|(at, keep)| now.wall.since(at) >= keep.max(PERIOD))
        };
        let over = cx.states().iter().filter_map(|(_, state)| match state {
            State::Process(known) if is_over(known) => Some(known.id()),
            State::Process(_) | State::Empty | State::Manager { .. } => None,
        });
        let over: Vec<ProcessId> = over.take(AT_ONCE_MAX).collect();
        let is_all = over.len() < AT_ONCE_MAX;
        for id in over {
            self.forget(cx, id);
        }
        let next = if is_all { PERIOD } else { limits::REPEAT };
        self.arm(Timer::Forget, now.mono + next);
    }
}
