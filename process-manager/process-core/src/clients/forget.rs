//! Deletion of processes that have ended. Their owners ask for it; a long-lived manager also
//! deletes a process by itself once its retention time is over.

use model::{ProcessId, Span, Wall};
use wire::client::Answer;

use super::Clients;
use crate::limits;
use crate::step::Step;
use crate::stream::{State, Stream};
use crate::timer::Timer;

/// The interval between two searches for processes over their retention time. It is also the
/// shortest time for which a process is kept, so that a client that waits for its end can read its
/// outputs.
const PERIOD: Span = Span::from_secs(60);

/// The shortest time for which a process is kept if there are too many: its outputs may not be
/// fetched yet.
const GRACE: Span = Span::from_secs(3_600);

/// Processes that are forgotten in one search: a journal each. The next search follows in a second.
const AT_ONCE_MAX: usize = 100;

/// A process that has ended and may be forgotten.
struct Over {
    closed: Wall,
    id: ProcessId,
    n_nodes: usize,
    is_late: bool,
}

impl Clients {
    /// Forgets a process. The answer leaves when its journal is gone. The error is the answer that says
    /// why it cannot be forgotten.
    pub(super) fn forget(&mut self, step: &mut Step<'_>, id: ProcessId) -> Result<(), Answer> {
        let (has_ended, is_released) = match step.cx.state(Stream::Process(id)) {
            Some(State::Process(known)) => (known.phase().has_ended(), known.state.is_released),
            Some(State::Packed(_)) => (true, true),
            // Nothing of it is run.
            Some(State::Held(held)) => (true, held.is_released()),
            Some(State::Empty | State::Manager { .. }) | None => return Err(Answer::Unknown(id)),
        };
        if !has_ended {
            return Err(Answer::Refused(vec![format!(
                "process {id} has not ended: cancel it first, or wait"
            )]));
        }
        if !is_released {
            return Err(Answer::Refused(vec![format!(
                "process {id} has just ended and its machines are being given back: try again in a \
                 moment"
            )]));
        }
        // A late repeat of its submission must not run it again; and within one batch of events its
        // stream must take no further event.
        if self.forgotten.len() == limits::FORGOTTEN_MAX {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back(id);
        step.cx.forget(Stream::Process(id));
        Ok(())
    }

    /// Begins the searches for processes over their retention time, if this manager forgets by
    /// itself.
    pub(crate) fn watch_time(&self, step: &mut Step<'_>) {
        if step.config.keep.is_some() {
            step.timers.set(Timer::Forget, step.now.mono + PERIOD);
        }
    }

    /// Forgets processes that are over their retention time, and those that ended first if there
    /// are too many. Returns them.
    pub(crate) fn forget_over(&mut self, step: &mut Step<'_>) -> Vec<ProcessId> {
        let Some(keep) = step.config.keep else {
            return Vec::new();
        };
        let over = step.cx.states().filter_map(|(_, state)| match state {
            State::Process(known) if known.state.is_released => over(
                step,
                known.id(),
                (known.state.closed?, known.keep),
                known.state.activities.len(),
            ),
            State::Packed(packed) => {
                let summary = packed.summary();
                over(
                    step,
                    summary.process,
                    (summary.ended?, summary.keep),
                    packed.n_nodes(),
                )
            }
            State::Process(_) => None,
            // A version that understands it may still serve it to its owner.
            State::Held(_) | State::Empty | State::Manager { .. } => None,
        });
        let (late, mut kept): (Vec<Over>, Vec<Over>) = over.partition(|one| one.is_late);
        kept.sort_unstable_by_key(|one| (one.closed, one.id));
        let mut n_processes = kept.len();
        let mut n_nodes: usize = kept.iter().map(|one| one.n_nodes).sum();
        let too_many = kept.iter().take_while(|one| {
            let is_over =
                n_processes > keep.processes_max as usize || n_nodes > keep.activities_max as usize;
            let may_go = n_processes > 1 && step.now.wall.since(one.closed) >= GRACE;
            n_processes -= 1;
            n_nodes -= one.n_nodes;
            is_over && may_go
        });
        let chosen = late.iter().chain(too_many).map(|one| one.id);
        let mut chosen: Vec<ProcessId> = chosen.take(AT_ONCE_MAX).collect();
        let is_all = chosen.len() < AT_ONCE_MAX;
        chosen.retain(|&id| self.forget(step, id).is_ok());
        let next = if is_all { PERIOD } else { limits::REPEAT };
        step.timers.set(Timer::Forget, step.now.mono + next);
        chosen
    }
}

/// The time for which a process is kept after its end; none if it is only forgotten on request.
pub(super) fn kept_for(step: &Step<'_>, said: Option<Span>) -> Option<Span> {
    let most = step.config.keep.map(|keep| keep.time);
    [said, most].into_iter().flatten().min()
}

/// The data for retention of a process that holds no slots, where it ended at least a minute ago.
fn over(
    step: &Step<'_>,
    id: ProcessId,
    (closed, keep): (Wall, Option<Span>),
    n_nodes: usize,
) -> Option<Over> {
    let since = step.now.wall.since(closed);
    let is_late = kept_for(step, keep).is_some_and(|keep| since >= keep);
    (since >= PERIOD).then_some(Over {
        closed,
        id,
        n_nodes,
        is_late,
    })
}
