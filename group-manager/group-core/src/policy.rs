//! The rules of a group for processes and their owners.

use std::collections::BTreeMap;

use model::{Span, Tuning};
use wire::group::owner_name;

/// The usual time in which what an owner has used counts half: long against a working day, so that who
/// has used the group for days yields to others for days.
pub const HALF_LIFE: Span = Span::from_secs(7 * 86_400);

/// How the owners of processes share the slots of a group, and how processes are planned again there. Owners are known
/// by their names: [`owner_name`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The shares of owners, those of all others being 1; none where first come is first served.
    pub shares: Option<BTreeMap<String, u32>>,
    /// The time in which what an owner has used counts half.
    pub half_life: Span,
    /// Slots that the processes of an owner may hold at once; none if there is no limit.
    pub slots_max: Option<u32>,
    /// The same for owners with limits of their own.
    pub slots_max_of: BTreeMap<String, u32>,
    /// The rule by which processes that name none are planned again while they run; none where process managers have
    /// theirs.
    pub rescheduling: Option<model::Policy>,
    /// The parameters of the published rules, for processes that name none.
    pub tuning: Tuning,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            shares: None,
            half_life: HALF_LIFE,
            slots_max: None,
            slots_max_of: BTreeMap::new(),
            rescheduling: None,
            tuning: Tuning::default(),
        }
    }
}

impl Policy {
    /// Returns true if slots are shared by what owners have used.
    pub(crate) fn is_fair(&self) -> bool {
        self.shares.is_some()
    }

    /// Returns true if there is any rule for owners.
    pub(crate) fn is_any(&self) -> bool {
        self.is_fair() || self.slots_max.is_some() || !self.slots_max_of.is_empty()
    }

    /// The share of an owner.
    pub(crate) fn share(&self, name: &str) -> u32 {
        let shares = self.shares.as_ref();
        let share = shares.and_then(|shares| shares.get(name));
        share.copied().unwrap_or(1).max(1)
    }

    /// Slots that the processes of an owner may hold at once. Those without an owner were submitted by
    /// who runs their process manager, and have no limit.
    pub(crate) fn slots_max(&self, name: &str) -> Option<u32> {
        if name == owner_name(None) {
            return None;
        }
        self.slots_max_of.get(name).copied().or(self.slots_max)
    }
}
