//! Bounds the work for processes in one step of the manager, so that no process stalls it.
//!
//! The unit of all work without a bound of its own is the step of an expression
//! ([`expression::Meter`]); a millisecond has some twenty thousand. A process gets a slice of
//! steps. Work beyond it waits for a turn, in a queue of processes, and between two rounds of turns
//! the manager takes its other inputs. A process outside the queue never waits for it: its slice
//! comes from steps that are reserved for such processes.

use model::{ProcessId, Span};

use crate::budget::Slice;
use crate::parts::Parts;
use crate::step::Step;
use crate::timer::Timer;

impl Parts {
    /// The slice of work that a process gets at this moment.
    pub(crate) fn slice(&mut self, step: &mut Step<'_>, id: ProcessId) -> Slice {
        self.turns.slice(step.now, id)
    }

    /// Counts what was done for a process; where its slice is used up, the rest waits for its turn.
    pub(crate) fn end_slice(&mut self, step: &mut Step<'_>, id: ProcessId, slice: &Slice) {
        self.turns.count(id, slice);
        if slice.is_used_up() {
            self.turns.wait(id);
            step.timers.set_once(Timer::Turns, step.now.mono + Span(1));
        }
    }

    /// Goes on with the processes that wait for their turns, one after another.
    pub(crate) fn take_turns(&mut self, step: &mut Step<'_>) {
        while let Some(id) = self.turns.next(step.now) {
            self.progress(step, id);
        }
        if self.turns.has_waiting() {
            step.timers.set_once(Timer::Turns, step.now.mono + Span(1));
        }
    }
}
