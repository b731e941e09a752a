//! The durable state of one process. Only `apply` changes it.
//!
//! Definition, inputs and files come from its founding event and never change; everything else is
//! [`ProcessState`], which a snapshot holds with its chapters.

mod abandoned;
pub(crate) mod activities;
pub(crate) mod activity;
mod apply;
pub(crate) mod chapters;
pub(crate) mod controllers;
pub(crate) mod details;
pub(crate) mod drafted;
pub(crate) mod files;
pub(crate) mod folding;
pub(crate) mod index;
pub(crate) mod items;
pub(crate) mod moved;
pub(crate) mod packed;
pub(crate) mod plan;
pub(crate) mod race;
pub(crate) mod readers;
pub(crate) mod ready;
pub(crate) mod recompute;
pub(crate) mod slots;
pub(crate) mod variables;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use minicbor::{Decode, Encode};
use model::limits::CORES_MAX;
use model::{
    ActivityId, Artifact, Definition, Fault, GroupId, Identity, NodeId, OnFault, Plan, ProcessId,
    ResourceId, Span, SubmitKey, Value, Wall,
};
use wire::client::{Summary, Totals};

use crate::process::activities::Activities;
use crate::process::activity::ActivityState;
use crate::process::chapters::Changed;
use crate::process::details::Details;
use crate::process::index::Index;
use crate::process::moved::Moves;
use crate::process::race::Rival;
use crate::record;
use crate::record::{CacheKey, ENTRY_BYTES, Expanded, Founded, Holding, Phase, SEMANTICS};
use crate::tree::{Frame, Transition};

/// One process.
#[derive(Debug)]
pub struct Process {
    pub(crate) key: SubmitKey,
    pub(crate) definition: Definition,
    pub(crate) inputs: Vec<Value>,
    pub(crate) files: Vec<Artifact>,
    pub(crate) origin: String,
    pub(crate) submitted: Wall,
    pub(crate) base: Option<ProcessId>,
    pub(crate) on_fault: OnFault,
    pub(crate) keep: Option<Span>,
    /// Its owner; none if it was submitted on the manager's own machine.
    pub(crate) owner: Option<String>,
    pub(crate) store: Option<ResourceId>,
    /// Variables of the environment that came with its submission.
    pub(crate) environment: Option<Vec<(String, String)>>,
    pub(crate) state: ProcessState,
    pub(crate) index: Index,
    pub(crate) changed: Changed,
}

/// The state of a process, as its events have made it: a snapshot holds it.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct ProcessState {
    #[n(0)]
    pub(crate) phase: Phase,
    #[n(1)]
    pub(crate) closed: Option<Wall>,
    #[n(2)]
    pub(crate) frame: Frame,
    /// By node; controllers have an entry that is never used.
    #[n(3)]
    pub(crate) activities: Activities,
    #[n(4)]
    pub(crate) variables: Vec<Value>,
    #[n(5)]
    pub(crate) outputs: Vec<(String, Value)>,
    #[n(6)]
    pub(crate) faults: Vec<Fault>,
    #[n(7)]
    pub(crate) plan: Plan,
    #[n(8)]
    pub(crate) planned: Option<Span>,
    #[n(9)]
    pub(crate) machines: Vec<(ResourceId, String)>,
    #[n(10)]
    pub(crate) holdings: BTreeMap<GroupId, Holding>,
    #[n(11)]
    pub(crate) is_released: bool,
    /// Run time of the attempts that ended well, by which the rest is estimated.
    #[n(12)]
    pub(crate) seen_wall: Span,
    #[n(13)]
    pub(crate) n_seen: u32,
    #[n(14)]
    pub(crate) captured_bytes: u64,
    /// When the first plan was put in force, from which the times of all plans count; none where
    /// nobody has recorded it.
    #[n(15)]
    pub(crate) planned_from: Option<Wall>,
    /// The items of each for-each, in the order in which they were known.
    #[cbor(n(16), default)]
    pub(crate) expanded: Vec<Expanded>,
    /// The variables of bodies that something was written to, by the root of the body and the place of the
    /// variable.
    #[cbor(n(17), default)]
    pub(crate) of_bodies: BTreeMap<(NodeId, u32), Value>,
    /// The plans that moved activities because of slow machines; none where there were none.
    #[n(18)]
    pub(crate) moves: Option<Moves>,
    /// Activities that were folded and for which another outcome stood; none where there are none.
    #[n(19)]
    pub(crate) n_reused_folded: Option<u32>,
    /// The slots of the machines that plans have named; none where nobody has recorded any.
    #[n(20)]
    pub(crate) machine_slots: Option<BTreeMap<ResourceId, u32>>,
    /// Attempts that are out beside those that the states of their activities name, by activity and number; none
    /// where there are none.
    #[n(21)]
    pub(crate) rivals: Option<BTreeMap<(ActivityId, u32), Rival>>,
}

impl Process {
    /// The name of its owner, where it has one.
    pub(crate) fn user(&self) -> Option<String> {
        let identity: Identity = self.owner.as_deref()?.parse().ok()?;
        Some(identity.label())
    }

    /// The name of an activity, where the definition as it was submitted has none: it runs for an item.
    pub(crate) fn grown_name(&self, activity: ActivityId) -> Option<String> {
        let name = self.definition.name_of(activity.node());
        let is_grown = name != self.definition.plain_name(activity.node());
        is_grown.then(|| name.clone())
    }

    /// The process that a founding event begins. Nothing is checked that was accepted before: the
    /// error says why this version does not understand it.
    pub(crate) fn found(founded: &Founded) -> Result<Process, String> {
        if founded.semantics > SEMANTICS {
            let number = founded.semantics;
            return Err(format!(
                "its semantics are number {number}, and this version knows those up to {SEMANTICS}"
            ));
        }
        let definition = founded.draft.definition()?;
        let n_nodes = definition.n_nodes();
        let variables = definition
            .draft()
            .variables
            .iter()
            .map(|variable| variable.initial.clone())
            .collect();
        let state = ProcessState {
            frame: Frame::new(&definition),
            activities: Activities::new(n_nodes),
            variables,
            ..ProcessState::default()
        };
        let mut process = Process {
            key: founded.key,
            definition,
            inputs: founded.inputs.clone(),
            files: founded.files.clone(),
            origin: founded.origin.clone(),
            submitted: founded.at,
            base: founded.base,
            on_fault: founded.on_fault,
            keep: founded.keep,
            owner: founded.owner.clone(),
            store: founded.store,
            environment: founded.environment.clone(),
            changed: Changed::all_but(&state, &BTreeSet::new()),
            state,
            index: Index::default(),
        };
        process.rebuild_index();
        process.follow(&founded.flow);
        Ok(process)
    }

    /// Its name.
    pub fn id(&self) -> ProcessId {
        self.key.process()
    }

    /// The process whose recorded outcomes stand here too.
    pub fn base(&self) -> Option<ProcessId> {
        self.base
    }

    /// Its phase.
    pub fn phase(&self) -> Phase {
        self.state.phase
    }

    /// Its definition.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Its activities' states, by node.
    pub fn activity(&self, activity: ActivityId) -> &ActivityState {
        self.state.activities.at(activity.node().index())
    }

    pub(crate) fn activity_mut(&mut self, activity: ActivityId) -> &mut ActivityState {
        let index = activity.node().index();
        self.changed.add_node(index);
        self.state.activities.at_mut(index)
    }

    /// The details of an activity.
    pub(crate) fn details(&self, activity: ActivityId) -> Cow<'_, Details> {
        self.activity(activity).details()
    }

    /// Activities that were sent or reused, with their cache keys.
    pub(crate) fn cache_keys(&self) -> impl Iterator<Item = (ActivityId, CacheKey)> {
        let activities = self.definition.activities().iter();
        activities.filter_map(|&one| Some((one, self.details(one).cache_key?)))
    }

    pub(crate) fn set_produced(&mut self, activity: ActivityId, outputs: &[Artifact]) {
        let produced = &mut self.activity_mut(activity).details_mut().produced;
        let n_before = std::mem::replace(produced, outputs.to_vec()).len();
        self.index.n_produced = self.index.n_produced + outputs.len() - n_before;
    }

    /// The process in a line.
    pub fn summary(&self) -> Summary {
        Summary {
            process: self.id(),
            name: self.definition.name().to_owned(),
            origin: self.origin.clone(),
            phase: self.phase().into(),
            submitted: self.submitted,
            ended: self.state.closed,
            totals: self.totals(),
            base: self.base,
            keep: self.keep,
            owner: self.owner.clone(),
            held: None,
        }
    }

    /// The number of activities in each phase.
    pub fn totals(&self) -> Totals {
        self.index.totals
    }

    /// Slots that are held on a machine.
    pub(crate) fn granted(&self, resource: ResourceId) -> u32 {
        let slots = self
            .grants()
            .filter(|grant| grant.resource == resource)
            .map(|grant| grant.slots);
        // A group that grants more than any machine has does no harm by it.
        slots.fold(0, u32::saturating_add).min(CORES_MAX)
    }

    /// Entries of a snapshot, about, without chapters that have not changed.
    pub(crate) fn weight(&self) -> usize {
        let values = self.index.variables_bytes / ENTRY_BYTES;
        self.state.variables.len() + values + self.changed.weight()
    }

    /// Returns true if the name of this machine is recorded.
    pub(crate) fn names_machine(&self, resource: ResourceId) -> bool {
        let mut machines = self.state.machines.iter();
        machines.any(|(known, _)| *known == resource)
    }

    /// Returns true if a plan has named this machine with its slots.
    pub(crate) fn has_slots_of(&self, resource: ResourceId) -> bool {
        let known = self.state.machine_slots.as_ref();
        known.is_some_and(|known| known.contains_key(&resource))
    }

    /// The slots of the machines that plans have named.
    pub(crate) fn slots_of_machines(&self) -> Vec<(ResourceId, u32)> {
        let known = self.state.machine_slots.iter().flatten();
        known.map(|(&resource, &slots)| (resource, slots)).collect()
    }

    /// Returns true if a fault ends only the activities that depend on it.
    pub(crate) fn goes_on(&self) -> bool {
        self.on_fault == OnFault::Continue && self.state.phase == Phase::Running
    }

    /// Returns true if it has faulted and what runs goes on to its end.
    pub(crate) fn finishes(&self) -> bool {
        self.on_fault == OnFault::Finish && self.state.phase == Phase::Faulting
    }

    /// A transition of the controllers from their current states. It makes no moves while the
    /// process is ending.
    pub(crate) fn transition(&self) -> Transition<'_> {
        let is_running = self.state.phase == Phase::Running;
        Transition::new(&self.definition, &self.state.frame, is_running)
    }

    /// All grants that it has, in the order of their groups.
    pub(crate) fn grants(&self) -> impl Iterator<Item = &record::Grant> {
        let holdings = self.state.holdings.values();
        holdings.flat_map(|holding| &holding.grants)
    }

    /// The number of its last claim that a group manager has answered, or of a later return; 0 where
    /// there was none.
    pub(crate) fn claim_number(&self, group: GroupId) -> u32 {
        let holding = self.state.holdings.get(&group);
        holding.map_or(0, |holding| holding.number)
    }

    /// The number of its next claim or return. The last one is used again and again: no process claims so often, and
    /// a group manager that says so of itself must not end this one.
    pub(crate) fn next_claim_number(&self, group: GroupId) -> u32 {
        self.claim_number(group).saturating_add(1)
    }
}
