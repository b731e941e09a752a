//! The machines of controllers, where data passes these on its way (`data: controllers`).
//!
//! A controller lies on the machine of one activity, which follows from the tree alone: a sequence beside
//! its first activity, every other controller beside the activity in front of it in its sequence (section
//! 10.1 of the digest of Bittencourt and Madeira's paper). There a fork has its data already, and no
//! record has to say where a controller is. The planner counts on the same places.

use std::collections::BTreeMap;

use model::{ActivityId, DataMode, Definition, NodeId, NodeKind, ResourceId};
use schedule::Controllers;

use crate::process::Process;
use crate::record::ActivityPhase;

impl Process {
    /// Returns true if files go from activity to activity through the machines of controllers.
    pub(crate) fn passes_controllers(&self) -> bool {
        self.definition.draft().data == DataMode::Controllers
    }

    /// The controller of an activity; none where it is the root itself.
    pub(crate) fn controller_of(&self, activity: ActivityId) -> Option<NodeId> {
        self.definition.parent(activity.node())
    }

    /// The machine that a controller lies on, as far as activities have run or are planned.
    pub(crate) fn machine_of_controller(&self, controller: NodeId) -> Option<ResourceId> {
        let activity = beside(&self.definition, controller)?;
        let state = self.activity(activity);
        match state.phase {
            ActivityPhase::Completed if !self.is_folded(activity) => Some(self.holder_of(activity)),
            ActivityPhase::Sent => Some(state.resource),
            ActivityPhase::Completed
            | ActivityPhase::Waiting
            | ActivityPhase::Ready
            | ActivityPhase::Backoff
            | ActivityPhase::Faulted
            | ActivityPhase::Skipped
            | ActivityPhase::Stopped => {
                let entry = self.state.plan.entry(activity);
                entry.map(|entry| entry.resource)
            }
        }
    }

    /// The controllers that data passes from one activity to another: those above the first one up to
    /// the lowest that is above both, and down to the one of the other.
    pub(crate) fn controllers_between(&self, from: ActivityId, to: ActivityId) -> Vec<NodeId> {
        let upwards = |activity: ActivityId| {
            let above = |node: &NodeId| self.definition.parent(*node);
            std::iter::successors(self.controller_of(activity), above)
        };
        let down: Vec<NodeId> = upwards(to).collect();
        let mut way = Vec::new();
        for controller in upwards(from) {
            way.push(controller);
            if let Some(shared) = down.iter().position(|one| *one == controller) {
                way.extend(down[..shared].iter().rev());
                break;
            }
        }
        way
    }

    /// The controllers for the planner, where data passes them.
    pub(crate) fn planned_controllers(&self) -> Option<Controllers> {
        if !self.passes_controllers() {
            return None;
        }
        let definition = &self.definition;
        // By node, the place of each controller among those that have a node below them.
        let mut places = BTreeMap::new();
        let mut controllers = Controllers::default();
        for number in 0..definition.n_nodes() as u32 {
            let node = NodeId(number);
            if definition.children(node).is_empty() {
                continue;
            }
            let above = definition.parent(node);
            let above = above.and_then(|above| places.get(&above).copied());
            places.insert(node, controllers.parents.len() as u32);
            controllers.parents.push(above);
            controllers.beside.push(beside(definition, node));
        }
        for &activity in definition.activities() {
            let own = self.controller_of(activity);
            if let Some(&place) = own.and_then(|own| places.get(&own)) {
                controllers.of.insert(activity, place);
            }
        }
        // A process of one activity has no controller.
        (!controllers.parents.is_empty()).then_some(controllers)
    }
}

/// The activity beside which a controller lies; none where there is no activity below it.
fn beside(definition: &Definition, controller: NodeId) -> Option<ActivityId> {
    let in_front = match &definition.node(controller).kind {
        NodeKind::Sequence(_) => None,
        NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Activity(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => in_front(definition, controller),
    };
    in_front.or_else(|| first_below(definition, controller))
}

/// The activity in front of a controller in its sequence: the nearest one that is no part of another
/// controller.
fn in_front(definition: &Definition, controller: NodeId) -> Option<ActivityId> {
    let around = definition.parent(controller)?;
    let NodeKind::Sequence(children) = &definition.node(around).kind else {
        return None;
    };
    let before = children.iter().take_while(|&&child| child != controller);
    let is_activity = |child: &&NodeId| definition.node(**child).activity().is_some();
    let last = before.filter(is_activity).last();
    last.map(|child| ActivityId(child.0))
}

/// The first activity below a node, or that node itself; of a controller with bodies, in the first of
/// them.
fn first_below(definition: &Definition, node: NodeId) -> Option<ActivityId> {
    if definition.node(node).activity().is_some() {
        return Some(ActivityId(node.0));
    }
    let mut children = definition.children(node).iter();
    children.find_map(|&child| first_below(definition, child))
}

#[cfg(test)]
mod tests;
