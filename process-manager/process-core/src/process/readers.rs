//! The readers of files, for processes that discard what nobody needs any more.
//!
//! ```text
//!  made --all its readers have completed or were skipped--> unneeded --one of them is made again--> needed
//! ```
//! An activity has read a file for good when its outcome is recorded, and no loop around it has another
//! iteration that reads the same file. One that has faulted may run again in a process that starts from
//! this one, so its inputs stay. All of this follows from the state; processes that keep their files have
//! none of it.

mod repeatable;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::{ActivityId, Caching, NodeId, NodeKind, OutputSource, ResourceId, Source};

use crate::process::Process;
use crate::process::recompute::RecomputationState;
use crate::record::{ActivityPhase, NodeState, Phase};

/// The readers of the outputs of each activity.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Readers {
    of: BTreeMap<ActivityId, Reading>,
    /// Activities of the draft of which one output of the process is the last file...
    last: BTreeSet<NodeId>,
    /// ...or the list of all files, or that publish files.
    all: BTreeSet<NodeId>,
    /// Activities of the draft that a pick names: whether one of their outputs is read, later items may tell
    /// until the process has completed.
    picked: BTreeSet<NodeId>,
    /// Activities of the draft that cannot be made again at any time, so that their files stay.
    once: BTreeSet<NodeId>,
    pub(crate) unneeded: Unneeded,
}

/// The readers of the outputs of one activity.
#[derive(Debug, Default, PartialEq)]
struct Reading {
    /// Those that may still read them.
    left: BTreeSet<ActivityId>,
    past: BTreeSet<ActivityId>,
}

/// Activities whose files were found to be unneeded, in that order, perhaps more than once. The list only
/// grows, so a reader remembers its position; whether one is unneeded still, the state says.
#[derive(Default, PartialEq)]
pub(crate) struct Unneeded(pub(crate) Vec<ActivityId>);

impl fmt::Debug for Unneeded {
    /// Prints no content: a restart builds another list, and the state still counts as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unneeded")
    }
}

impl Process {
    /// Returns true if nobody needs what an activity has made. Files that must not or need not be made
    /// again are never unneeded: those of an activity that runs at most once or whose command reads what
    /// may change, and those that stand for other processes.
    pub(crate) fn is_unneeded(&self, maker: ActivityId) -> bool {
        let Some(readers) = &self.index.readers else {
            return false;
        };
        let Some(declared) = self.definition.activity(maker) else {
            return false;
        };
        let is_made = self.activity(maker).phase == ActivityPhase::Completed
            && self.state.frame.node(maker.node()) == NodeState::Done
            && !self.details(maker).produced.is_empty();
        let reading = readers.of.get(&maker);
        let origin = self.definition.origin(maker.node());
        is_made
            && !readers.once.contains(&origin)
            && !(readers.picked.contains(&origin) && self.phase() != Phase::Completed)
            && declared.cache != Caching::Always
            && reading.is_none_or(|reading| reading.left.is_empty())
            && !self.is_to_be_recomputed(maker)
            && !self.is_output(maker)
            && !self.may_be_carried(maker)
    }

    /// The machines that may have what an activity has made: those of its attempts and of its readers, and
    /// the one with a copy.
    pub(crate) fn places_of_files(&self, maker: ActivityId) -> BTreeSet<ResourceId> {
        let readers = self.index.readers.as_ref();
        let reading = readers.and_then(|readers| readers.of.get(&maker));
        let past = reading.into_iter().flat_map(|reading| &reading.past);
        let mut places: BTreeSet<ResourceId> = self.copy_of(maker).into_iter().collect();
        places.insert(self.holder_of(maker));
        for &activity in past.chain([&maker]) {
            places.extend(self.places_of_attempts(activity));
        }
        places.extend(self.details(maker).read_at.iter().flatten());
        places
    }

    /// The number of the last attempt at an activity.
    pub(crate) fn last_number(&self, activity: ActivityId) -> u32 {
        self.next_number(activity) - 1
    }

    /// Returns true if what an activity makes is an output of the process, as far as is known.
    pub(crate) fn is_output(&self, maker: ActivityId) -> bool {
        let Some(readers) = &self.index.readers else {
            return false;
        };
        let origin = self.definition.origin(maker.node());
        readers.all.contains(&origin)
            || readers.last.contains(&origin)
                && self.definition.last_instance(origin) == maker.node()
    }

    /// Returns true if an outcome may stand for an activity though its files are discarded: nobody outside
    /// of the process gets them.
    pub(crate) fn may_lack(&self, maker: ActivityId) -> bool {
        let origin = self.definition.origin(maker.node());
        let readers = self.index.readers.as_ref();
        readers.is_some_and(|readers| !readers.once.contains(&origin)) && !self.is_output(maker)
    }

    /// Returns true if the outcome of an activity stands that another process has recorded, which may have
    /// discarded its files, and this process has not made them again.
    pub(crate) fn may_be_gone(&self, maker: ActivityId) -> bool {
        let is_made = self
            .recomputation(maker)
            .is_some_and(|one| one.state == RecomputationState::Made);
        self.details(maker).reused.is_some() && !is_made && self.may_lack(maker)
    }

    /// Returns true if another iteration of a loop may read what an activity has made in this one.
    fn may_be_carried(&self, maker: ActivityId) -> bool {
        if !self.definition.is_carried(maker) {
            return false;
        }
        let mut around = self.definition.enclosing(maker.node());
        let body = around.next();
        body.is_some_and(|one| self.may_go_on(one.each, one.body))
    }

    /// Returns true if a body is the last one of a loop that has not ended.
    fn may_go_on(&self, each: NodeId, body: NodeId) -> bool {
        let node = self.definition.node(each);
        let is_loop = matches!(node.kind, NodeKind::Repeat(_));
        is_loop && node.children().last() == Some(&body) && !self.is_over(each)
    }

    fn is_over(&self, node: NodeId) -> bool {
        match self.state.frame.node(node) {
            NodeState::Done | NodeState::Skipped => true,
            NodeState::Idle | NodeState::Enabled | NodeState::Running | NodeState::Broken => false,
        }
    }

    /// Returns true if an activity has read the outputs of another one for good.
    fn has_read(&self, reader: ActivityId, maker: ActivityId) -> bool {
        // One that has lost a race reads until it is stopped.
        let is_left = self.is_to_be_recomputed(reader) || self.rivals(reader).next().is_some();
        if !self.is_over(reader.node()) || is_left {
            return false;
        }
        let definition = &self.definition;
        let is_around_both = |each: NodeId| {
            let mut around = definition.enclosing(maker.node());
            around.any(|one| one.each == each)
        };
        let mut around = definition.enclosing(reader.node());
        // Another iteration reads the same file if that was made outside of the loop.
        !around.any(|one| self.may_go_on(one.each, one.body) && !is_around_both(one.each))
    }

    /// Takes in all readers, after a snapshot was read.
    pub(super) fn rebuild_readers(&mut self) {
        if !self.definition.drops_intermediates() {
            return;
        }
        let once = repeatable::once(self.definition.draft());
        let mut readers = Readers {
            once,
            ..Readers::default()
        };
        for output in &self.definition.draft().outputs {
            match output.source {
                OutputSource::Produced(Source::Output { activity, .. }) => {
                    readers.last.insert(activity);
                }
                OutputSource::Gathered(Source::Output { activity, .. }) => {
                    readers.all.insert(activity);
                }
                OutputSource::Produced(Source::Pick(pick)) => {
                    let cases = self.definition.draft().pick_cases(pick).iter();
                    readers
                        .all
                        .extend(cases.filter_map(|case| match case.source {
                            Source::Output { activity, .. } => Some(activity),
                            Source::Input(_) | Source::Item(_) | Source::Pick(_) => None,
                        }));
                }
                OutputSource::Produced(_)
                | OutputSource::Gathered(_)
                | OutputSource::Expression(_) => {}
            }
        }
        let picks = self.definition.draft().picks.iter().flatten();
        for case in picks.flat_map(|pick| &pick.cases) {
            if let Source::Output { activity, .. } = case.source {
                readers.picked.insert(activity);
            }
        }
        let published = self.definition.draft().published().iter();
        // Published files are fetched when the process has ended, of each item and iteration.
        readers
            .all
            .extend(published.filter_map(|publish| publish.of.activity()));
        self.index.readers = Some(Box::new(readers));
        let definition = self.definition.clone();
        for &reader in definition.activities() {
            if !self.is_folded(reader) {
                self.note_reader(reader);
            }
        }
        for &maker in definition.activities() {
            self.note_unneeded(maker);
        }
    }

    /// The last expansion has added nodes beyond these many, and has changed what `across` read.
    pub(super) fn note_new_readers(&mut self, n_before: usize, across: &[ActivityId]) {
        if self.index.readers.is_none() {
            return;
        }
        let definition = self.definition.clone();
        let activities = definition.activities();
        let first = activities.partition_point(|activity| activity.node().index() < n_before);
        for &reader in activities[first..].iter().chain(across) {
            self.note_reader(reader);
        }
    }

    fn note_reader(&mut self, reader: ActivityId) {
        let makers: BTreeSet<ActivityId> = self.makers(reader).collect();
        for maker in makers {
            if self.is_folded(maker) {
                continue;
            }
            let has_read = self.has_read(reader, maker);
            let Some(readers) = &mut self.index.readers else {
                return;
            };
            let reading = readers.of.entry(maker).or_default();
            match has_read {
                true => reading.past.insert(reader),
                false => reading.left.insert(reader),
            };
        }
    }

    /// An activity is folded: it reads no more, and nobody reads what it has made. The machines that may have
    /// what it has read are still to be known.
    pub(super) fn forget_reader(&mut self, activity: ActivityId) {
        if self.index.readers.is_none() {
            return;
        }
        let makers: BTreeSet<ActivityId> = self.makers(activity).collect();
        let places = self.places_of_attempts(activity);
        for maker in makers {
            if self.is_folded(maker) {
                continue;
            }
            let details = self.activity_mut(maker).details_mut();
            let read_at = details.read_at.get_or_insert_default();
            read_at.extend(&places);
            self.activity_mut(maker).pack();
        }
        self.forget_readers(&[activity]);
        if let Some(readers) = &mut self.index.readers {
            readers.of.remove(&activity);
        }
    }

    /// The machines of the attempts at an activity.
    fn places_of_attempts(&self, activity: ActivityId) -> BTreeSet<ResourceId> {
        let state = self.activity(activity);
        let details = state.details();
        let last = (state.number > 0).then_some(state.resource);
        let earlier = details.earlier.iter().map(|one| one.resource);
        let recomputation = details.recomputation.as_deref();
        let again = recomputation.map(|one| one.resource);
        let rivals = self.rivals(activity).map(|(_, rival)| rival.resource);
        let before = last.into_iter().chain(earlier);
        before.chain(again).chain(rivals).collect()
    }

    /// What these activities read is about to change. Returns the activities that they have read from.
    pub(super) fn forget_readers(&mut self, gone: &[ActivityId]) -> BTreeSet<ActivityId> {
        let mut all = BTreeSet::new();
        for reader in gone {
            let makers: BTreeSet<ActivityId> = self.makers(*reader).collect();
            let Some(readers) = &mut self.index.readers else {
                return all;
            };
            all.extend(&makers);
            for maker in makers {
                if let Some(reading) = readers.of.get_mut(&maker) {
                    reading.left.remove(reader);
                    reading.past.remove(reader);
                    if reading == &Reading::default() {
                        readers.of.remove(&maker);
                    }
                }
            }
        }
        all
    }

    /// Returns true if what an activity makes in the last iteration of a loop may be needed for longer than
    /// that of earlier ones: by the next iteration, or as an output.
    fn may_be_left_behind(&self, maker: ActivityId) -> bool {
        let origin = self.definition.origin(maker.node());
        let readers = self.index.readers.as_ref();
        readers.is_some_and(|readers| readers.last.contains(&origin))
            || self.definition.is_carried(maker)
    }

    /// An activity may have read its inputs for good, or is to read them again. O(its inputs).
    pub(super) fn note_reads(&mut self, reader: ActivityId) {
        if self.index.readers.is_none() {
            return;
        }
        let makers: BTreeSet<ActivityId> = self.makers(reader).collect();
        for maker in makers {
            let has_read = self.has_read(reader, maker);
            let readers = self.index.readers.as_mut();
            let Some(reading) = readers.and_then(|readers| readers.of.get_mut(&maker)) else {
                continue;
            };
            let (from, to) = match has_read {
                true => (&mut reading.left, &mut reading.past),
                false => (&mut reading.past, &mut reading.left),
            };
            if from.remove(&reader) {
                to.insert(reader);
                self.note_unneeded(maker);
            }
        }
    }

    /// What an activity has made may be unneeded, or is needed again.
    pub(super) fn note_unneeded(&mut self, maker: ActivityId) {
        if self.index.readers.is_none() {
            return;
        }
        if !self.is_unneeded(maker) {
            return self.note_uncopied(maker);
        }
        // Files that go need no copy.
        self.note_uncopied(maker);
        if let Some(readers) = &mut self.index.readers {
            readers.unneeded.0.push(maker);
        }
    }

    /// The process has completed: no later item picks a file.
    pub(super) fn note_completed(&mut self) {
        let readers = self.index.readers.as_ref();
        if readers.is_none_or(|readers| readers.picked.is_empty()) {
            return;
        }
        let definition = self.definition.clone();
        for &maker in definition.activities() {
            let readers = self.index.readers.as_ref();
            let origin = definition.origin(maker.node());
            if readers.is_some_and(|readers| readers.picked.contains(&origin)) {
                self.note_unneeded(maker);
            }
        }
    }

    /// A node has completed or was skipped.
    pub(super) fn note_over(&mut self, node: NodeId) {
        if self.index.readers.is_none() {
            return;
        }
        let definition = self.definition.clone();
        match &definition.node(node).kind {
            NodeKind::Activity(_) => {
                self.note_reads(ActivityId(node.0));
                self.note_unneeded(ActivityId(node.0));
            }
            NodeKind::Repeat(repeat) => self.note_left_behind(repeat.children.last().copied()),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => {}
        }
    }

    /// The body of a loop will have none after it, or has one.
    pub(super) fn note_left_behind(&mut self, body: Option<NodeId>) {
        if self.index.readers.is_none() {
            return;
        }
        let definition = self.definition.clone();
        let mut open: Vec<NodeId> = body.into_iter().collect();
        while let Some(node) = open.pop() {
            let node_of = definition.node(node);
            if matches!(node_of.kind, NodeKind::Activity(_)) {
                let activity = ActivityId(node.0);
                self.note_reads(activity);
                if self.may_be_left_behind(activity) {
                    self.note_unneeded(activity);
                }
            }
            open.extend(node_of.children());
        }
    }
}
