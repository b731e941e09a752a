//! Plans as they are recorded: the first one whole, later ones by their difference.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{ActivityId, Entry, Generation, Plan, ResourceId, Span, Wall};

use super::{ENTRY_BYTES, Event};

/// Activities of a plan that take as much of a journal as one entry.
const PLANNED_OF_ENTRY: usize = ENTRY_BYTES / 40;

impl Event {
    /// The plan that is in force with this event, after the plan before; none where it is no plan.
    pub fn plan(&self, before: &Plan) -> Option<Plan> {
        if let Event::Replanned(replanned) = self {
            return Some(replanned.plan(before));
        }
        let Event::Planned(planned) = self else {
            return None;
        };
        Some(planned.plan.clone())
    }
}

/// The first plan of a process.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Planned {
    /// The plan.
    #[n(0)]
    pub plan: Plan,
    /// The machines known when it was made, with their names.
    #[n(1)]
    pub machines: Vec<(ResourceId, String)>,
    /// True if its times rest on works that were given or learned.
    #[n(2)]
    pub is_estimate: bool,
    /// When it was put in force: the times of this plan and of all later ones count from here.
    #[n(3)]
    pub at: Option<Wall>,
    /// The duration with the bodies that were expected beyond those in the plan; none where it is the plan's.
    #[n(4)]
    pub expected: Option<Span>,
    /// The slots of each of `machines`, in their order; none where nobody has recorded them.
    #[n(5)]
    pub slots: Option<Vec<u32>>,
}

/// The difference between a plan and the one before.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Replanned {
    /// The generation of the new plan.
    #[n(0)]
    pub generation: Generation,
    /// Its lower bound of the makespan.
    #[n(1)]
    pub bound: Span,
    /// Entries that the plan before does not have as they are, in the order of the activities.
    #[n(2)]
    pub entries: Vec<Entry>,
    /// Activities that have no entry any more.
    #[n(3)]
    pub removed: Vec<ActivityId>,
    /// Machines that no plan before has named with its slots, with their names.
    #[n(4)]
    pub machines: Vec<(ResourceId, String)>,
    /// True if its times rest on works that were given or learned.
    #[n(5)]
    pub is_estimate: bool,
    /// The reason, where a machine is not as fast as was planned.
    #[n(6)]
    pub why: Option<Box<Rescheduled>>,
    /// The slots of each of `machines`, in their order; none where nobody has recorded them.
    #[n(7)]
    pub slots: Option<Vec<u32>>,
}

/// The reason of a plan that moves activities because a machine is not as fast as was planned.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rescheduled {
    /// The moment at which it was decided.
    #[n(0)]
    pub at: Wall,
    /// The machine.
    #[n(1)]
    pub resource: ResourceId,
    /// Thousandths of its nominal power that it has shown, or of the speed of its links that was planned with.
    #[n(2)]
    pub per_mille: u32,
    /// Activities that get another machine.
    #[n(3)]
    pub n_moved: u32,
    /// The time that the rest would have taken with everything where it was...
    #[n(4)]
    pub before: Span,
    /// ...and that it takes by the new plan.
    #[n(5)]
    pub after: Span,
    /// The thing that is not as planned.
    #[cbor(n(6), default)]
    pub cause: Cause,
    /// What the plan before counted on, as `per_mille` counts; none where nobody has recorded it.
    #[n(7)]
    pub expected: Option<u32>,
    /// The round of the machine at whose end it was judged, of a process that has rounds.
    #[n(8)]
    pub round: Option<u32>,
    /// The places that activities left and got. No event has them: they follow from its plan and the one before.
    #[n(9)]
    pub routes: Option<Vec<Route>>,
}

/// Activities that got another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Route {
    /// The machine that they had.
    #[n(0)]
    pub from: ResourceId,
    /// The machine that they got.
    #[n(1)]
    pub to: ResourceId,
    /// The number of them.
    #[n(2)]
    pub n: u32,
}

/// The property of a machine that is not as planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub enum Cause {
    /// The time that activities take there.
    #[default]
    #[n(0)]
    Power,
    /// The time that files take to it or from it.
    #[n(1)]
    Link,
}

impl Planned {
    /// Entries of a journal that it takes beside one, about.
    pub(crate) fn weight(&self) -> usize {
        (self.plan.entries.len() + self.machines.len()) / PLANNED_OF_ENTRY
    }
}

impl Replanned {
    /// Entries of a journal that it takes beside one, about.
    pub(crate) fn weight(&self) -> usize {
        let n_listed = self.entries.len() + self.removed.len() + self.machines.len();
        n_listed / PLANNED_OF_ENTRY
    }

    /// The difference of `plan` to the plan before.
    pub(crate) fn new(
        before: &Plan,
        plan: &Plan,
        machines: Vec<(ResourceId, String)>,
        is_estimate: bool,
    ) -> Replanned {
        let is_new = |entry: &&Entry| before.entry(entry.activity) != Some(entry);
        let old = before.entries.iter().map(|entry| entry.activity);
        Replanned {
            generation: plan.generation,
            bound: plan.bound,
            entries: plan.entries.iter().filter(is_new).copied().collect(),
            removed: old.filter(|&one| plan.entry(one).is_none()).collect(),
            machines,
            is_estimate,
            why: None,
            slots: None,
        }
    }

    /// The new plan.
    pub(crate) fn plan(&self, before: &Plan) -> Plan {
        let all = before.entries.iter().chain(&self.entries);
        let mut entries: BTreeMap<_, _> = all.map(|entry| (entry.activity, *entry)).collect();
        for activity in &self.removed {
            entries.remove(activity);
        }
        Plan {
            generation: self.generation,
            entries: entries.into_values().collect(),
            bound: self.bound,
        }
    }
}
