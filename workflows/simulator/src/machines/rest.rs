//! The rest of machines: nothing is left to be done or told there.

use std::collections::BTreeSet;

use model::ProcessId;

use super::{Machine, Machines};

impl Machines {
    /// Attempts at executors, and those of which machines are still to be told, beside attempts of processes that
    /// nobody knows any more.
    pub(crate) fn what_goes_on(&self, lost: &BTreeSet<ProcessId>) -> Option<String> {
        let mut machines = self.list.iter();
        if let Some(at) = machines.position(|machine| machine.executor.has_any_but(lost)) {
            return Some(format!("the executor of machine {at} holds attempts"));
        }
        // One that has started a moment ago is still to be told what became of what it began before.
        let asks = |machine: &Machine| {
            let state = machine.host.state(activity_core::Stream::Manager);
            let starting = state.into_iter().flat_map(|state| state.starting.keys());
            machine.host.is_up()
                && starting
                    .map(|one| one.process)
                    .any(|id| !lost.contains(&id))
        };
        let at = self.list.iter().position(asks)?;
        Some(format!(
            "machine {at} does not know what became of an attempt"
        ))
    }
}
