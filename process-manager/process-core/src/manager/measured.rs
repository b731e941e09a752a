//! The state of a manager at a moment, for metrics.

use wire::client::Phase;

use super::ProcessManager;
use crate::process::Process;
use crate::stream::State;
use crate::tally::{Measured, PROCESS_PHASES};
impl ProcessManager {
    /// The metrics of this moment. It reads a few numbers of each process.
    pub(crate) fn measured<'a>(&self, states: impl Iterator<Item = &'a State>) -> Measured {
        let parts = &self.parts;
        let (n_trusted, n_suspect, n_leaving) = parts.machines.n_by_state();
        let mut measured = Measured {
            tally: self.counter.tally.clone(),
            market: parts.market.seen(),
            n_trusted,
            n_suspect,
            n_leaving,
            n_watchers: parts.clients.n_watchers() as u64,
            n_templates: self.shared.history.len() as u64,
            ..Measured::default()
        };
        for state in states {
            let place = match state {
                State::Process(process) => {
                    measured.add(process);
                    place(process.phase().into())
                }
                State::Packed(packed) => place(packed.summary().phase),
                State::Held(_) => PROCESS_PHASES.len() - 1,
                State::Empty | State::Manager { .. } => continue,
            };
            measured.processes[place] += 1;
        }
        measured
    }
}

impl Measured {
    fn add(&mut self, process: &Process) {
        if process.phase().has_ended() {
            return;
        }
        let one = process.index.totals;
        let all = &mut self.totals;
        for (all, one) in [
            (&mut all.waiting, one.waiting),
            (&mut all.ready, one.ready),
            (&mut all.running, one.running),
            (&mut all.completed, one.completed),
            (&mut all.faulted, one.faulted),
            (&mut all.skipped, one.skipped),
            (&mut all.reused, one.reused),
            (&mut all.stopped, one.stopped),
        ] {
            *all = all.saturating_add(one);
        }
        self.n_out += process.n_out() as u64;
    }
}

/// The place of a phase among the labels.
fn place(phase: Phase) -> usize {
    match phase {
        Phase::Running => 0,
        Phase::Faulting => 1,
        Phase::Cancelling => 2,
        Phase::Completed => 3,
        Phase::Faulted => 4,
        Phase::Cancelled => 5,
    }
}
