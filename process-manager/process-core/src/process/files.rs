//! Files of a process: their producers, the machines that have them, missing copies.

use std::collections::BTreeSet;

use model::{ActivityId, Artifact, Hash, OutputSource, ResourceId, Source, Value};

use crate::process::Process;
use crate::process::activity::ActivityState;
use crate::process::index::has_ended;
use crate::record::ActivityPhase;

/// The activity that produces a file.
pub(crate) fn maker(source: Option<Source>) -> Option<ActivityId> {
    match source {
        Some(Source::Output { activity, .. }) => Some(ActivityId(activity.0)),
        Some(Source::Input(_) | Source::Item(_) | Source::Pick(_)) | None => None,
    }
}

impl Process {
    /// The machine that keeps a copy of a file.
    pub(crate) fn copy(&self, source: Option<Source>) -> Option<ResourceId> {
        maker(source).and_then(|maker| self.copy_of(maker))
    }

    /// The machine that is recorded to have a file.
    pub(crate) fn holder(&self, source: Option<Source>) -> Option<ResourceId> {
        match source {
            Some(Source::Output { activity, .. }) => Some(self.holder_of(ActivityId(activity.0))),
            Some(Source::Input(_) | Source::Item(_) | Source::Pick(_)) | None => self.store,
        }
    }
}

impl Process {
    /// The machine that keeps a copy of an activity's outputs.
    pub(crate) fn copy_of(&self, activity: ActivityId) -> Option<ResourceId> {
        self.details(activity).copy
    }

    /// The machines that have an activity's outputs, without a lost one: the holder, if that is not
    /// the machine that made them, and the machine with the copy.
    pub(crate) fn kept_by(&self, activity: ActivityId) -> (Option<ResourceId>, Option<ResourceId>) {
        let holder = self.details(activity).holder;
        let copy = self.copy_of(activity);
        match self.details(activity).lost_holder {
            Some(lost) if copy == Some(lost) => (holder, None),
            Some(_) => (copy, None),
            None => (holder, copy),
        }
    }

    /// An activity has produced files, for the first time or again.
    pub(crate) fn note_produced(&mut self, activity: ActivityId) {
        let details = self.activity_mut(activity).details_mut();
        details.copy = None;
        details.holder = None;
        details.lost_holder = None;
        self.index.copied.remove(&activity);
        self.note_uncopied(activity);
    }

    /// Notes an activity whose outputs need a copy that is not recorded yet.
    pub(crate) fn note_uncopied(&mut self, activity: ActivityId) {
        let is_wanted = self.definition.draft().keeps_copies()
            && self.activity(activity).phase == ActivityPhase::Completed
            && (self.details(activity).copy.is_none()
                || self.details(activity).lost_holder.is_some())
            && self.produced_by(activity).next().is_some()
            && !self.is_unneeded(activity)
            && !self.may_be_gone(activity);
        if is_wanted {
            self.index.uncopied.insert(activity);
        } else if self.index.readers.is_some() {
            self.index.uncopied.remove(&activity);
        }
    }

    /// A machine keeps a copy.
    pub(crate) fn keep_copy(&mut self, activity: ActivityId, resource: ResourceId) {
        self.index.uncopied.remove(&activity);
        self.index.copied.insert(activity);
        let details = self.activity_mut(activity).details_mut();
        details.lost_holder = None;
        details.copy = Some(resource);
        self.activity_mut(activity).pack();
    }

    /// The artifacts of an activity, in the order of its outputs.
    pub(crate) fn produced_by(&self, activity: ActivityId) -> impl Iterator<Item = Artifact> {
        let produced = self.details(activity).produced.clone();
        produced.into_iter()
    }

    /// One output of an activity.
    pub(crate) fn output_of(&self, activity: ActivityId, output: u32) -> Option<Artifact> {
        let produced = &self.details(activity).produced;
        produced.get(output as usize).copied()
    }

    /// The outputs of all activities.
    pub(crate) fn all_produced(&self) -> impl Iterator<Item = Artifact> {
        let details = self.state.activities.iter().map(ActivityState::details);
        details.flat_map(|details| details.produced.clone())
    }
}

impl Process {
    /// The activities whose outputs are still needed and lose one of their two copies with this
    /// machine. An activity that has already lost one of them does not count again.
    pub(crate) fn under_replicated_by(&self, lost: ResourceId) -> Vec<ActivityId> {
        // Most processes want no copies, and most machines keep none.
        if self.index.copied.is_empty() {
            return Vec::new();
        }
        let needed = self.needed().into_iter();
        let under_replicated = needed.filter(|&activity| self.has_pair_with(activity, lost));
        under_replicated.collect()
    }

    pub(crate) fn is_under_replicated_by(&self, activity: ActivityId, lost: ResourceId) -> bool {
        self.has_pair_with(activity, lost) && self.needed().contains(&activity)
    }

    pub(crate) fn has_pair_with(&self, activity: ActivityId, lost: ResourceId) -> bool {
        let (holder, copy) = (self.holder_of(activity), self.copy_of(activity));
        let is_new = self.details(activity).lost_holder.is_none();
        is_new && copy.is_some_and(|copy| [holder, copy].contains(&lost))
    }

    /// Activities whose files may still be read: by an activity that has not ended or is
    /// recomputed, or as outputs of the process.
    pub(crate) fn needed(&self) -> BTreeSet<ActivityId> {
        let mut needed = BTreeSet::new();
        if !self.definition.draft().keeps_copies() {
            return needed;
        }
        for &consumer in self.definition.activities() {
            if !has_ended(self.activity(consumer).phase) || self.is_to_be_recomputed(consumer) {
                needed.extend(self.makers(consumer));
            }
        }
        needed.extend(self.sources_of_outputs());
        needed
    }

    /// A machine is lost.
    pub(crate) fn lose_machine(&mut self, lost: ResourceId, activities: &[ActivityId]) {
        for &activity in activities {
            if self.is_folded(activity) {
                continue;
            }
            self.activity_mut(activity).details_mut().lost_holder = Some(lost);
            self.note_uncopied(activity);
        }
    }

    /// The machines that have an activity's outputs, the best first: a lost machine comes after one
    /// that is not lost.
    pub(crate) fn sources_of(
        &self,
        activity: ActivityId,
        is_lost: impl Fn(ResourceId) -> bool,
    ) -> Vec<ResourceId> {
        let lost_holder = self.details(activity).lost_holder;
        let mut sources = vec![self.holder_of(activity)];
        sources.extend(self.copy_of(activity));
        sources.sort_by_key(|one| (is_lost(*one), Some(*one) == lost_holder));
        sources
    }
}

impl Process {
    /// The activities that have completed and made files that are outputs of the process.
    pub(crate) fn makers_of_outputs(&self) -> Vec<ActivityId> {
        let mut makers: Vec<ActivityId> = self
            .sources_of_outputs()
            .filter(|&maker| self.activity(maker).phase == ActivityPhase::Completed)
            .collect();
        makers.sort_unstable();
        makers.dedup();
        makers
    }

    /// The activities whose files are outputs of the process.
    fn sources_of_outputs(&self) -> impl Iterator<Item = ActivityId> {
        let outputs = self.definition.draft().outputs.iter();
        let sources = outputs.flat_map(|output| match output.source {
            OutputSource::Produced(Source::Output { activity, .. }) => {
                vec![self.definition.last_instance(activity)]
            }
            OutputSource::Gathered(Source::Output { activity, .. }) => {
                self.definition.instances(activity)
            }
            // Which one it is, the end tells.
            OutputSource::Produced(Source::Pick(pick)) => self.picked_makers(pick),
            OutputSource::Produced(_) | OutputSource::Gathered(_) | OutputSource::Expression(_) => {
                Vec::new()
            }
        });
        sources.map(|activity| ActivityId(activity.0))
    }

    pub(crate) fn recomputes_outputs(&self) -> bool {
        let mut makers = self.makers_of_outputs().into_iter();
        makers.any(|maker| self.is_to_be_recomputed(maker))
    }

    /// Returns true if a process was given this file or directory, or has made it.
    pub(crate) fn has_artifact(&self, hash: Hash) -> bool {
        let values = self
            .inputs
            .iter()
            .chain(self.state.outputs.iter().map(|(_, value)| value));
        let is_it = |artifact: &Artifact| artifact.hash == hash;
        // The files that were made come last: they are the most, and machines ask of uploaded ones again and again.
        self.files.iter().any(is_it)
            || values.into_iter().any(|value| holds(value, hash))
            || self.all_produced().any(|one| is_it(&one))
    }
}

fn holds(value: &Value, hash: Hash) -> bool {
    match value {
        Value::Artifact(artifact, _) => artifact.hash == hash,
        Value::List(items) => items.iter().any(|item| holds(item, hash)),
        Value::Map(items) => items.values().any(|item| holds(item, hash)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => false,
    }
}
