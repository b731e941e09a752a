//! Process managers that are lost for good.

use std::collections::BTreeSet;

use model::ProcessId;

use crate::client::Client;
use crate::observe::{Observer, Seen};
use crate::sim::{Node, Sim};

impl Sim {
    /// A process manager is lost for good, with its disk.
    pub(crate) fn lose_manager(
        &mut self,
        manager: usize,
        observer: &mut dyn Observer,
    ) -> Result<(), String> {
        self.note(&[17], || format!("process manager {manager} is lost"));
        self.lost.insert(manager);
        observer.see(self.at, &Seen::ManagerLost(manager))?;
        if self.processes[manager].is_up() {
            self.dies(Node::Process(manager), observer)?;
        }
        self.rest_if_done();
        Ok(())
    }

    pub(crate) fn is_lost(&self, node: Node) -> bool {
        matches!(node, Node::Process(manager) if self.lost.contains(&manager))
    }

    /// The processes that only lost process managers know.
    pub(crate) fn processes_of_lost(&self) -> BTreeSet<ProcessId> {
        let lost = self.clients.iter();
        let lost = lost.filter(|client| self.lost.contains(&client.manager));
        lost.map(Client::process).collect()
    }

    /// A process of a lost process manager that holds slots.
    pub(crate) fn held_by_lost(&self) -> Option<ProcessId> {
        let lost = self.processes_of_lost();
        let mut states = self
            .groups
            .iter()
            .filter_map(|group| group.state(group_core::Stream::Manager));
        states.find_map(|state| {
            let mut holders = state.holdings().map(|(process, _)| process);
            holders.find(|process| lost.contains(process))
        })
    }
}
