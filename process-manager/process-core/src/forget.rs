//! Forgetting: nothing is left of a process that has ended. Whoever may asks for it; a manager that
//! serves for long forgets by itself what has been kept for its time.

use machine::Context;
use model::{Now, ProcessId, Span, Wall};
use wire::client::Answer;

use crate::held::held;
use crate::io::Stream;
use crate::manager::{ProcessManager, State, Timer, limits, process};
use crate::process::Process;

/// How often it is looked for what is over its time, and for how long at least a process is kept,
/// so that whoever waits for its end can read its outputs.
const PERIOD: Span = Span::from_secs(60);
/// For how long at least a process is kept where it is one too many: nobody may have fetched what it
/// has made.
const GRACE: Span = Span::from_secs(3_600);
/// Processes that are forgotten at one look: a journal each. The next look follows in a second.
const AT_ONCE_MAX: usize = 100;

/// What a manager that serves for long keeps of processes that have ended: each is in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// For how long after its end a process is kept, at most: its submission may say less.
    pub time: Span,
    /// So many processes; beyond them the one that ended first is forgotten first, but none within an
    /// hour of its end, and never the last one.
    pub processes_max: u32,
    /// So many activities and controllers of them together, in the same way.
    pub activities_max: u32,
}

/// A process that has ended and may be forgotten.
struct Over {
    closed: Wall,
    id: ProcessId,
    n_nodes: usize,
    is_late: bool,
}

impl ProcessManager {
    /// Forgets a process. The answer leaves when its journal is gone.
    pub(crate) fn forget(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) -> Answer {
        let (has_ended, is_released) = match (process(cx, id), held(cx, id)) {
            (Some(known), _) => (known.phase().has_ended(), known.course.is_released),
            // Nothing of it is run.
            (None, Some(held)) => (true, held.is_released()),
            (None, None) => return Answer::Unknown(id),
        };
        if !has_ended {
            return Answer::Refused(vec![format!(
                "process {id} has not ended: cancel it first, or wait"
            )]);
        }
        if !is_released {
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
        let most = self.config.keep.map(|keep| keep.time);
        [said, most].into_iter().flatten().min()
    }

    /// Begins to look for what is over its time, where that is for this manager.
    pub(crate) fn watch_time(&mut self, now: Now) {
        if self.config.keep.is_some() {
            self.arm(Timer::Forget, now.mono + PERIOD);
        }
    }

    /// Forgets what is over its time, and what ended first where more is kept than should be.
    pub(crate) fn forget_over(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let Some(keep) = self.config.keep else { return };
        let over = cx.states().iter().filter_map(|(_, state)| match state {
            State::Process(known) => self.over(known, now),
            // Somebody may look for it with a version that understands it.
            State::Held(_) | State::Empty | State::Manager { .. } => None,
        });
        let (late, mut kept): (Vec<Over>, Vec<Over>) = over.partition(|one| one.is_late);
        kept.sort_unstable_by_key(|one| (one.closed, one.id));
        let mut n_processes = kept.len();
        let mut n_nodes: usize = kept.iter().map(|one| one.n_nodes).sum();
        let too_many = kept.iter().take_while(|one| {
            let is_over =
                n_processes > keep.processes_max as usize || n_nodes > keep.activities_max as usize;
            let may_go = n_processes > 1 && now.wall.since(one.closed) >= GRACE;
            n_processes -= 1;
            n_nodes -= one.n_nodes;
            is_over && may_go
        });
        let chosen = late.iter().chain(too_many).map(|one| one.id);
        let chosen: Vec<ProcessId> = chosen.take(AT_ONCE_MAX).collect();
        let is_all = chosen.len() < AT_ONCE_MAX;
        for id in chosen {
            self.forget(cx, id);
        }
        let next = if is_all { PERIOD } else { limits::REPEAT };
        self.arm(Timer::Forget, now.mono + next);
    }

    /// What there is to know of a process that has ended and whose end nobody waits for any more.
    fn over(&self, known: &Process, now: Now) -> Option<Over> {
        let closed = known.course.closed.filter(|_| known.course.is_released)?;
        let since = now.wall.since(closed);
        let is_late = self.kept_for(known.keep).is_some_and(|keep| since >= keep);
        (since >= PERIOD).then(|| Over {
            closed,
            id: known.id(),
            n_nodes: known.course.activities.len(),
            is_late,
        })
    }
}
