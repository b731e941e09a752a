//! Open claims for slots, by process and by group.

use std::collections::{BTreeMap, BTreeSet};

use model::{Epoch, GroupId, ProcessId};
use wire::group::{ToGroup, Want};

use crate::limits;

/// A claim that a group manager has not answered.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) number: u32,
    /// None where its plan was given up: it only asks what was granted under its number.
    pub(crate) wants: Vec<Want>,
    /// True if the plan of its process needs none of it, but only attempts beside others ([`super::replicas`]).
    pub(crate) is_spare: bool,
    /// The owner of its process.
    owner: Option<String>,
    pub(crate) n_repeats: u32,
    /// Repeats after which its plan is given up where other groups offer machines.
    n_repeats_max: u32,
}

/// All claims that are not answered.
#[derive(Debug, Default)]
pub(super) struct Claims {
    by_process: BTreeMap<ProcessId, BTreeMap<GroupId, Claim>>,
    by_group: BTreeMap<GroupId, AtGroup>,
    /// Claims that want slots.
    n_wanting: usize,
}

/// The claims to one group.
#[derive(Debug, Default)]
struct AtGroup {
    processes: BTreeSet<ProcessId>,
    n_overdue: usize,
}

impl Claim {
    pub(crate) fn new(number: u32, owner: Option<String>) -> Claim {
        Claim {
            number,
            wants: Vec::new(),
            is_spare: false,
            owner,
            n_repeats: 0,
            n_repeats_max: limits::CLAIM_REPEATS_MAX,
        }
    }

    /// Returns true if the claim was repeated already, so that others are planned without this
    /// group.
    pub(crate) fn is_overdue(&self) -> bool {
        self.n_repeats > 0
    }

    /// Returns true if it was repeated so often that another plan is better than to wait.
    fn is_in_vain(&self) -> bool {
        self.n_repeats >= self.n_repeats_max
    }

    /// A claim for slots that no plan needs. No process waits for it, so it is given up as soon as it is overdue.
    pub(crate) fn spare(number: u32, owner: Option<String>) -> Claim {
        Claim {
            is_spare: true,
            n_repeats_max: 1,
            ..Claim::new(number, owner)
        }
    }

    /// Returns true if a plan waits for its slots.
    pub(crate) fn is_needed(&self) -> bool {
        !self.wants.is_empty() && !self.is_spare
    }

    pub(crate) fn message(&self, process: ProcessId, epoch: Epoch) -> ToGroup {
        ToGroup::Claim {
            number: self.number,
            process,
            wants: self.wants.clone(),
            epoch,
            owner: self.owner.clone(),
        }
    }
}

impl Claims {
    /// Processes with claims that are not answered.
    pub(super) fn n_processes(&self) -> usize {
        self.by_process.len()
    }

    /// A claim is sent. One that is sent while the group has not answered another yields to a plan
    /// without this group as soon as it is overdue: its process was planned on a guess that the group
    /// answers.
    pub(super) fn add(&mut self, id: ProcessId, group: GroupId, mut claim: Claim) {
        let at = self.by_group.entry(group).or_default();
        if !at.processes.is_empty() {
            claim.n_repeats_max = 1;
        }
        at.processes.insert(id);
        self.n_wanting += usize::from(!claim.wants.is_empty());
        self.by_process.entry(id).or_default().insert(group, claim);
    }

    /// The claim of a process to a group is open no more.
    pub(super) fn remove(&mut self, id: ProcessId, group: GroupId) -> Option<Claim> {
        let claims = self.by_process.get_mut(&id)?;
        let claim = claims.remove(&group)?;
        if claims.is_empty() {
            self.by_process.remove(&id);
        }
        self.n_wanting -= usize::from(!claim.wants.is_empty());
        if let Some(at) = self.by_group.get_mut(&group) {
            at.processes.remove(&id);
            at.n_overdue -= usize::from(claim.is_overdue());
            if at.processes.is_empty() {
                self.by_group.remove(&group);
            }
        }
        Some(claim)
    }

    /// Nobody waits for the claims of a process any more.
    pub(super) fn remove_all(&mut self, id: ProcessId) {
        let groups: Vec<GroupId> = self.of(id).map(|(group, _)| group).collect();
        for group in groups {
            self.remove(id, group);
        }
    }

    /// The claims of a process are sent again.
    pub(super) fn repeat(&mut self, id: ProcessId) {
        for (group, claim) in self.by_process.get_mut(&id).into_iter().flatten() {
            let was_overdue = claim.is_overdue();
            claim.n_repeats = claim.n_repeats.saturating_add(1);
            if let Some(at) = self.by_group.get_mut(group) {
                at.n_overdue += usize::from(!was_overdue);
            }
        }
    }

    /// A group cannot be reached: its answers are not waited for.
    pub(super) fn give_up(&mut self, group: GroupId) {
        let Some(at) = self.by_group.get_mut(&group) else {
            return;
        };
        for id in &at.processes {
            let claims = self.by_process.get_mut(id);
            if let Some(claim) = claims.and_then(|claims| claims.get_mut(&group)) {
                claim.n_repeats = claim.n_repeats.max(claim.n_repeats_max);
            }
        }
        at.n_overdue = at.processes.len();
    }

    /// The claim of a process to a group becomes a question with the same number.
    pub(super) fn withdraw(&mut self, id: ProcessId, group: GroupId) {
        let claims = self.by_process.get_mut(&id);
        if let Some(claim) = claims.and_then(|claims| claims.get_mut(&group)) {
            self.n_wanting -= usize::from(!claim.wants.is_empty());
            claim.wants.clear();
        }
    }

    pub(super) fn get(&self, id: ProcessId, group: GroupId) -> Option<&Claim> {
        self.by_process.get(&id)?.get(&group)
    }

    /// The claims of a process.
    pub(super) fn of(&self, id: ProcessId) -> impl Iterator<Item = (GroupId, &Claim)> {
        let claims = self.by_process.get(&id).into_iter().flatten();
        claims.map(|(&group, claim)| (group, claim))
    }

    /// The claims to a group.
    pub(super) fn to(&self, group: GroupId) -> impl Iterator<Item = (ProcessId, &Claim)> {
        let ids = self.by_group.get(&group).into_iter();
        let ids = ids.flat_map(|at| at.processes.iter().copied());
        ids.filter_map(move |id| Some((id, self.get(id, group)?)))
    }

    /// The groups whose answers a process has waited for so long that another plan is better.
    pub(super) fn in_vain(&self, id: ProcessId) -> Vec<GroupId> {
        let claims = self.of(id).filter(|(_, claim)| claim.is_in_vain());
        claims.map(|(group, _)| group).collect()
    }

    /// Returns true if a process must wait for an answer before it can be planned.
    pub(super) fn holds_back(&self, id: ProcessId) -> bool {
        self.of(id).any(|(_, claim)| !claim.is_overdue())
    }

    /// Returns true if a claim to a group is overdue: a process that can do without its machines does
    /// not wait for them.
    pub(super) fn is_silent(&self, group: GroupId) -> bool {
        let at = self.by_group.get(&group);
        at.is_some_and(|at| at.n_overdue > 0)
    }

    /// Returns true if as many claims for slots are open as may be.
    pub(super) fn is_full(&self) -> bool {
        self.n_wanting >= limits::CLAIMS_OPEN_MAX
    }
}
