//! Indexes over the state of a process: queues and counts, rebuilt after a restart.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use model::{
    Activity, ActivityId, AttemptId, Definition, Entry, NodeId, NodeKind, ResourceId, Span, Value,
    Wall,
};
use wire::client::{CONTROLLERS_SHOWN_MAX, Totals};

use crate::process::Process;
use crate::process::drafted::Drafted;
use crate::process::folding::Folds;
use crate::process::readers::Readers;
use crate::process::ready::{ReadyQueue, Turn};
use crate::process::slots::NeededSlots;
use crate::record::{ActivityPhase, Expanded};

/// Indexes over the state of a process, all derived from it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Index {
    /// Ready activities, by planned machine and in the order in which they are sent; under `None` if
    /// there is no plan.
    pub(crate) ready: BTreeMap<Option<ResourceId>, ReadyQueue>,
    /// Attempts that are out, with their machines. An activity may have several.
    out: BTreeMap<(ActivityId, u32), ResourceId>,
    /// The same, by machine.
    out_at: BTreeMap<ResourceId, BTreeSet<(ActivityId, u32)>>,
    /// Activities that wait before another attempt, with the time of that.
    pub(crate) backoffs: BTreeSet<(Wall, ActivityId)>,
    /// Activities that are out and that nobody waits for.
    pub(super) abandoned: BTreeSet<ActivityId>,
    pub(crate) totals: Totals,
    /// Bytes of the values of all variables.
    pub(crate) variables_bytes: usize,
    /// Bytes of all items of for-each controllers, and of their names.
    pub(crate) items_bytes: usize,
    /// The expansion of each for-each, by its place in the state.
    pub(super) expanded: BTreeMap<NodeId, usize>,
    /// Activities below each controller that have ended.
    pub(crate) n_ended: Vec<u32>,
    /// Activities below each controller.
    pub(crate) n_all: Vec<u32>,
    /// Activities by those of the draft.
    pub(crate) drafted: Drafted,
    /// The controllers that watchers are shown: those nearest the root, in the order of a breadth-first
    /// walk.
    pub(crate) shown: Vec<NodeId>,
    pub(crate) fresh: Fresh,
    /// Activities whose outputs need a copy that is not recorded yet.
    pub(crate) uncopied: BTreeSet<ActivityId>,
    /// Activities whose outputs have, or had, a copy on another machine.
    pub(crate) copied: BTreeSet<ActivityId>,
    /// Activities that were recomputed, or are to be.
    pub(crate) recomputations: BTreeSet<ActivityId>,
    /// The readers of files, where those that nobody needs any more are discarded.
    pub(crate) readers: Option<Box<Readers>>,
    /// Outputs of all activities.
    pub(crate) n_produced: usize,
    /// Iterations of which nothing is kept but that they have ended.
    pub(super) folds: Folds,
    /// The slots that the rest of the plan needs.
    pub(crate) slots: NeededSlots,
    /// The most cores that an activity wants.
    cores_max: u32,
}

/// Activities that may be cache hits, in the order in which they became ready. The list only grows
/// and names each activity once, so a reader remembers its position and never repeats a lookup.
#[derive(Default, PartialEq)]
pub(crate) struct Fresh(pub(crate) Vec<ActivityId>);

impl fmt::Debug for Fresh {
    /// Prints no content: a restart builds another list, and the state still counts as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fresh")
    }
}

impl Index {
    /// Controllers of which it is known how much is folded below them.
    #[cfg(test)]
    pub(crate) fn folds_known(&self) -> usize {
        self.folds.n_known()
    }

    /// An attempt is sent to a machine.
    pub(super) fn send(&mut self, attempt: (ActivityId, u32), resource: ResourceId) {
        self.out.insert(attempt, resource);
        self.out_at.entry(resource).or_default().insert(attempt);
    }

    /// An attempt has ended. Returns its machine, where it was out.
    pub(super) fn end(&mut self, attempt: (ActivityId, u32)) -> Option<ResourceId> {
        let resource = self.out.remove(&attempt)?;
        if let Some(out) = self.out_at.get_mut(&resource) {
            out.remove(&attempt);
            if out.is_empty() {
                self.out_at.remove(&resource);
            }
        }
        Some(resource)
    }
}

/// Attempts that are out: sent to a machine, and their ends not recorded.
impl Process {
    /// Returns true if this attempt is out.
    pub fn is_out(&self, attempt: AttemptId) -> bool {
        self.machine_of(attempt).is_some()
    }

    /// The machine that an attempt was sent to, while it is out.
    pub(crate) fn machine_of(&self, attempt: AttemptId) -> Option<ResourceId> {
        let key = (attempt.activity, attempt.number);
        self.index.out.get(&key).copied()
    }

    /// All attempts that are out, with their machines.
    pub(crate) fn out(&self) -> impl Iterator<Item = (ResourceId, AttemptId)> {
        let out = self.index.out.iter();
        out.map(|(&key, &resource)| (resource, self.attempt(key)))
    }

    /// The number of attempts that are out.
    pub(crate) fn n_out(&self) -> usize {
        self.index.out.len()
    }

    /// The attempts that are out at a machine.
    pub(crate) fn out_at(&self, resource: ResourceId) -> impl Iterator<Item = AttemptId> {
        let out = self.index.out_at.get(&resource).into_iter().flatten();
        out.map(|&key| self.attempt(key))
    }

    /// The number of attempts that are out at a machine.
    pub(crate) fn n_out_at(&self, resource: ResourceId) -> usize {
        self.index.out_at.get(&resource).map_or(0, BTreeSet::len)
    }

    /// The machines that attempts are out at.
    pub(crate) fn busy_machines(&self) -> impl Iterator<Item = ResourceId> {
        self.index.out_at.keys().copied()
    }

    pub(super) fn attempt(&self, (activity, number): (ActivityId, u32)) -> AttemptId {
        AttemptId {
            process: self.id(),
            activity,
            number,
        }
    }
}

impl Process {
    pub(crate) fn set_phase(&mut self, activity: ActivityId, phase: ActivityPhase) {
        let was_left = self.is_left(activity);
        let state = self.activity_mut(activity);
        let before = state.phase;
        state.phase = phase;
        let number = state.number;
        if before == ActivityPhase::Ready {
            self.unqueue(activity);
        }
        if before == ActivityPhase::Sent {
            self.index.end((activity, number));
            self.index.abandoned.remove(&activity);
        }
        let totals = &mut self.index.totals;
        *count(totals, before) -= 1;
        *count(totals, phase) += 1;
        totals.stopped -= u32::from(before == ActivityPhase::Stopped);
        totals.stopped += u32::from(phase == ActivityPhase::Stopped);
        if phase == ActivityPhase::Ready {
            self.queue(activity);
            self.note_fresh(activity);
        }
        if has_ended(phase) && !has_ended(before) {
            self.count_ended(activity.node());
            let origin = self.definition.origin(activity.node());
            self.index.drafted.end(origin);
        }
        self.note_left(activity, was_left);
    }

    fn note_fresh(&mut self, activity: ActivityId) {
        let may_be_recalled = self.base.is_some()
            || self
                .definition
                .activity_as_written(activity)
                .is_some_and(Activity::may_be_recalled);
        if may_be_recalled && self.activity(activity).number == 0 {
            self.index.fresh.0.push(activity);
        }
    }

    fn count_ended(&mut self, node: NodeId) {
        let mut at = self.definition.parent(node);
        while let Some(controller) = at {
            self.index.n_ended[controller.index()] += 1;
            at = self.definition.parent(controller);
        }
    }

    /// The planned machine of an activity, and its turn there.
    fn turn(&self, activity: ActivityId) -> (Option<ResourceId>, Turn) {
        let (resource, start) = match self.state.plan.entry(activity) {
            Some(entry) => (Some(entry.resource), entry.start),
            None => (None, Span::ZERO),
        };
        let declared = self.definition().activity_as_written(activity);
        let priority = declared.and_then(|declared| declared.priority);
        let turn = Turn::new(priority.unwrap_or_default(), start, activity);
        (resource, turn)
    }

    pub(crate) fn queue(&mut self, activity: ActivityId) {
        let (resource, turn) = self.turn(activity);
        let declared = self.definition.activity_as_written(activity);
        let limits = declared.map_or(&[][..], |declared| declared.used_limits());
        let queue = self.index.ready.entry(resource).or_default();
        queue.insert(limits, turn);
    }

    /// Returns true if an activity is ready that the plan in force does not know.
    pub(crate) fn is_unplanned(&self) -> bool {
        self.state.plan.generation.0 > 0 && self.index.ready.contains_key(&None)
    }

    fn unqueue(&mut self, activity: ActivityId) {
        let (resource, turn) = self.turn(activity);
        if let Some(queue) = self.index.ready.get_mut(&resource) {
            let declared = self.definition.activity_as_written(activity);
            queue.remove(
                declared.map_or(&[][..], |declared| declared.used_limits()),
                &turn,
            );
            if queue.is_empty() {
                self.index.ready.remove(&resource);
            }
        }
    }

    /// Notes what the details of an activity say, after a snapshot was read.
    fn note_details(&mut self, activity: ActivityId) {
        let details = self.details(activity);
        let is_copied = details.copy.is_some() || details.holder.is_some();
        let backoff = details.backoff;
        let (is_recomputed, is_reused) =
            (details.recomputation.is_some(), details.reused.is_some());
        self.index.n_produced += details.produced.len();
        self.index.totals.reused += u32::from(is_reused);
        self.index
            .backoffs
            .extend(backoff.map(|until| (until, activity)));
        if is_copied {
            self.index.copied.insert(activity);
        }
        if is_recomputed {
            self.index.recomputations.insert(activity);
        }
    }

    pub(crate) fn rebuild_index(&mut self) {
        let n_nodes = self.definition.n_nodes();
        let n_zero = vec![0; n_nodes];
        let activities = self.definition.activities().iter();
        let cores_max = activities.map(|&activity| self.cores(activity)).max();
        self.index = Index {
            cores_max: cores_max.unwrap_or(1),
            n_ended: n_zero.clone(),
            n_all: n_zero,
            drafted: Drafted::with_nodes(self.definition.draft().nodes.len()),
            shown: shown(&self.definition),
            ..Index::default()
        };
        let variables = self.state.variables.iter();
        let of_bodies = self.state.of_bodies.values();
        self.index.variables_bytes = variables.chain(of_bodies).map(Value::size).sum();
        for &activity in self.definition.clone().activities() {
            let state = self.activity(activity);
            let (phase, number, resource) = (state.phase, state.number, state.resource);
            self.note_details(activity);
            *count(&mut self.index.totals, phase) += 1;
            self.index.totals.stopped += u32::from(phase == ActivityPhase::Stopped);
            match phase {
                ActivityPhase::Ready => {
                    self.queue(activity);
                    self.note_fresh(activity);
                }
                ActivityPhase::Sent => {
                    self.index.send((activity, number), resource);
                    self.note_abandoned(activity);
                }
                ActivityPhase::Waiting
                | ActivityPhase::Backoff
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Skipped
                | ActivityPhase::Stopped => {}
            }
            if let Some((number, resource)) = self.recomputation_out(activity) {
                self.index.send((activity, number), resource);
            }
            let origin = self.definition.origin(activity.node());
            self.index.drafted.add(origin);
            if has_ended(phase) {
                self.count_ended(activity.node());
                self.index.drafted.end(origin);
            }
            self.note_uncopied(activity);
            self.count_all(activity.node());
        }
        for (at, expanded) in self.state.expanded.iter().enumerate() {
            self.index.items_bytes += expanded.size();
            self.index.expanded.insert(expanded.node, at);
        }
        self.rebuild_races();
        self.count_needed_slots();
        self.rebuild_readers();
        self.rebuild_folds();
    }

    fn count_all(&mut self, node: NodeId) {
        let mut at = self.definition.parent(node);
        while let Some(controller) = at {
            self.index.n_all[controller.index()] += 1;
            at = self.definition.parent(controller);
        }
    }

    /// Takes in the nodes beyond these many, which an expansion has added: the last one, or a part of it.
    pub(super) fn note_expanded(&mut self, expanded: &Expanded, n_before: usize) {
        let n_nodes = self.definition.n_nodes();
        self.index.n_ended.resize(n_nodes, 0);
        self.index.n_all.resize(n_nodes, 0);
        let definition = self.definition.clone();
        let activities = definition.activities();
        let first = activities.partition_point(|activity| activity.node().index() < n_before);
        for activity in &activities[first..] {
            self.index.totals.waiting += 1;
            let origin = definition.origin(activity.node());
            self.index.drafted.add(origin);
            self.count_all(activity.node());
        }
        self.index.items_bytes += expanded.size();
        let at = self.state.expanded.len() - 1;
        self.index.expanded.insert(expanded.node, at);
    }
}

/// The slots that the rest of the plan needs.
impl Process {
    /// Slots of a machine that are needed there: for the entries that are left, for attempts that are out,
    /// and for unwanted ones that may run there still. Attempts may run side by side that the plan has in
    /// a row, and some are out where the plan has no place for them.
    pub(crate) fn slots_needed(
        &self,
        resource: ResourceId,
        unwanted: impl Iterator<Item = AttemptId>,
    ) -> u32 {
        let planned = self.index.slots.of(resource);
        let mut beside = self.all_cores(unwanted);
        let mut out = beside;
        for attempt in self.out_at(resource) {
            let state = self.activity(attempt.activity);
            let entry = self.state.plan.entry(attempt.activity);
            let is_planned = entry.is_some_and(|entry| entry.resource == resource)
                && state.phase == ActivityPhase::Sent
                && state.number == attempt.number;
            let cores = self.cores(attempt.activity);
            out = out.saturating_add(cores);
            if !is_planned {
                beside = beside.saturating_add(cores);
            }
        }
        out.max(planned.saturating_add(beside))
    }

    /// The cores of attempts together.
    pub(crate) fn all_cores(&self, attempts: impl Iterator<Item = AttemptId>) -> u32 {
        let cores = attempts.map(|attempt| self.cores(attempt.activity));
        cores.fold(0, u32::saturating_add)
    }

    /// Returns true if an activity wants no more cores than its process holds slots on a machine. A
    /// machine would wait for ever with one that wants more.
    pub(crate) fn fits_grants(&self, activity: ActivityId, resource: ResourceId) -> bool {
        self.cores(activity) <= self.granted(resource)
    }

    /// Returns true if a ready activity is planned onto a machine where its process holds fewer slots than
    /// it wants cores: it was out when its slots were revoked, and the plan made since counts on what it
    /// was sent with.
    pub(crate) fn has_too_wide(&self, resource: ResourceId) -> bool {
        let granted = self.granted(resource);
        let may_have = granted < self.index.cores_max.min(self.index.slots.of(resource));
        let ready = self.index.ready.get(&Some(resource)).filter(|_| may_have);
        let mut ready = ready.into_iter().flat_map(ReadyQueue::activities);
        ready.any(|activity| self.cores(activity) > granted)
    }

    /// Returns true if an activity has not ended, or is to be made again.
    pub(super) fn is_left(&self, activity: ActivityId) -> bool {
        !has_ended(self.activity(activity).phase) || self.is_to_be_recomputed(activity)
    }

    /// Takes in another entry of the plan.
    pub(super) fn note_entry(&mut self, entry: Entry) {
        if self.is_left(entry.activity) {
            let cores = self.cores(entry.activity);
            self.index.slots.add(entry, cores);
        }
    }

    /// Takes in whether an activity is left, after a change.
    pub(super) fn note_left(&mut self, activity: ActivityId, was_left: bool) {
        let is_left = self.is_left(activity);
        if is_left == was_left {
            return;
        }
        let Some(&entry) = self.state.plan.entry(activity) else {
            return;
        };
        let cores = self.cores(activity);
        match is_left {
            true => self.index.slots.add(entry, cores),
            false => self.index.slots.remove(entry, cores),
        }
    }

    /// Counts anew, for another plan.
    pub(super) fn count_needed_slots(&mut self) {
        let mut slots = NeededSlots::default();
        for &entry in &self.state.plan.entries {
            let cores = self.cores(entry.activity);
            if self.is_left(entry.activity) {
                slots.add(entry, cores);
            }
        }
        self.index.slots = slots;
    }

    pub(crate) fn cores(&self, activity: ActivityId) -> u32 {
        let declared = self.definition.activity_as_written(activity);
        declared.map_or(1, |activity| activity.cores)
    }
}

fn shown(definition: &Definition) -> Vec<NodeId> {
    let mut shown = Vec::new();
    let mut open = VecDeque::from([NodeId(0)]);
    while let Some(node) = open.pop_front() {
        if shown.len() == CONTROLLERS_SHOWN_MAX {
            break;
        }
        match &definition.node(node).kind {
            NodeKind::Sequence(children)
            | NodeKind::Parallel { children, .. }
            | NodeKind::If { children, .. } => {
                shown.push(node);
                let room = CONTROLLERS_SHOWN_MAX * 4;
                let n_more = room.saturating_sub(open.len());
                let is_controller = |child: &&NodeId| !definition.children(**child).is_empty();
                open.extend(children.iter().filter(is_controller).take(n_more));
            }
            // Its body is one of many, and there may be more later.
            NodeKind::ForEach(_) | NodeKind::Repeat(_) => shown.push(node),
            NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => {}
        }
    }
    shown
}

pub(crate) fn has_ended(phase: ActivityPhase) -> bool {
    match phase {
        ActivityPhase::Completed
        | ActivityPhase::Faulted
        | ActivityPhase::Skipped
        | ActivityPhase::Stopped => true,
        ActivityPhase::Waiting
        | ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Backoff => false,
    }
}

/// Returns true for an activity of which an attempt is still to be sent.
pub(crate) fn is_unsent(phase: ActivityPhase) -> bool {
    phase != ActivityPhase::Sent && !has_ended(phase)
}

fn count(totals: &mut Totals, phase: ActivityPhase) -> &mut u32 {
    match phase {
        ActivityPhase::Waiting => &mut totals.waiting,
        ActivityPhase::Ready | ActivityPhase::Backoff => &mut totals.ready,
        ActivityPhase::Sent => &mut totals.running,
        ActivityPhase::Completed => &mut totals.completed,
        ActivityPhase::Faulted => &mut totals.faulted,
        ActivityPhase::Skipped | ActivityPhase::Stopped => &mut totals.skipped,
    }
}
