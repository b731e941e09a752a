//! Processes that have ended are packed, once nothing is to be done for them, and large ones go to a shelf.

use std::collections::BTreeSet;

use model::ProcessId;

use crate::limits;
use crate::parts::Parts;
use crate::process::Process;
use crate::step::Step;
use crate::stream::{State, Stream};
use crate::timer::Timer;

impl Parts {
    /// Packs processes that have ended, and those that were read since, but for those whose outcomes a
    /// process that runs looks up. The rest follows in further steps.
    pub(crate) fn pack_ended(&mut self, step: &mut Step<'_>) {
        let bases = self.bases(step);
        let loose = step.cx.states().filter_map(|(_, state)| match state {
            State::Process(process) if process.is_settled() => Some(&**process),
            State::Packed(packed) if packed.is_open() => Some(packed.process()),
            State::Process(_)
            | State::Packed(_)
            | State::Held(_)
            | State::Empty
            | State::Manager { .. } => None,
        });
        let mut loose = loose.filter(|process| !bases.contains(&process.id()));
        let mut n_nodes = 0;
        let chosen = loose.by_ref().take_while(|process| {
            let has_room = n_nodes < limits::PACKED_A_STEP;
            n_nodes += process.state.activities.len();
            has_room
        });
        let chosen: Vec<ProcessId> = chosen.map(Process::id).collect();
        drop(loose);
        for id in chosen {
            step.cx.pack(Stream::Process(id), step.shelf);
        }
        if n_nodes >= limits::PACKED_A_STEP {
            step.timers.set(Timer::Pack, step.now.mono);
        }
    }

    /// Processes whose outcomes others look up that have not ended.
    fn bases(&self, step: &Step<'_>) -> BTreeSet<ProcessId> {
        let open = self.attempts.processes();
        open.filter_map(|id| step.cx.process(id)?.base).collect()
    }
}
