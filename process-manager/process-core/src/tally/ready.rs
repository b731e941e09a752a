//! The moments at which activities became ready, until they start.

use std::collections::BTreeMap;

use model::{ActivityId, Mono, NodeId, ProcessId};

use crate::record::{Flow, NodeState};

/// Nodes whose moment is kept, with some 50 bytes each. Those that become ready while so many wait are not
/// measured.
const READY_MAX: usize = 65_536;

/// The moments at which activities became ready. Controllers that run are among them.
#[derive(Clone, Debug, Default)]
pub(super) struct Ready(BTreeMap<(ProcessId, NodeId), Mono>);

impl Ready {
    /// Controllers have moved on.
    pub(super) fn follow(&mut self, id: ProcessId, flow: &Flow, now: Mono) {
        for (node, state) in flow.nodes() {
            if state == NodeState::Running {
                if self.0.len() < READY_MAX {
                    self.0.insert((id, node), now);
                }
            } else if state.has_ended() {
                self.0.remove(&(id, node));
            }
        }
    }

    /// An activity is ready once more.
    pub(super) fn add(&mut self, id: ProcessId, activity: ActivityId, now: Mono) {
        if self.0.len() < READY_MAX {
            self.0.insert((id, activity.node()), now);
        }
    }

    /// An activity has started. Returns the moment at which it became ready, where that is known.
    pub(super) fn take(&mut self, id: ProcessId, activity: ActivityId) -> Option<Mono> {
        self.0.remove(&(id, activity.node()))
    }

    /// A process has ended.
    pub(super) fn end(&mut self, id: ProcessId) {
        let all = (id, NodeId(0))..=(id, NodeId(u32::MAX));
        let left: Vec<NodeId> = self.0.range(all).map(|(&(_, node), _)| node).collect();
        for node in left {
            self.0.remove(&(id, node));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
