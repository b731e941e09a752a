//! The process managers that are there.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use model::{Epoch, Mono};

/// Process managers known at once. Those beyond are not answered.
const PROCESS_MANAGERS_MAX: usize = 1_024;

/// Process managers by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ProcessLinks(BTreeMap<u32, ProcessLink>);

#[derive(Debug, Default)]
struct ProcessLink {
    /// The last of its epochs that was heard of.
    epoch: Epoch,
    is_attached: bool,
    /// Since when it is not attached; none before it was in this epoch.
    away_since: Option<Mono>,
    /// True if its certificate was revoked in this connection.
    is_barred: bool,
    /// Grants of its processes that were ended in this epoch.
    n_revoked: u64,
}

/// The presence of a process manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is there.
    Attached,
    /// It is away since then; without a time, it was never there in this epoch.
    Away(Option<Mono>),
    /// It is away, and cannot come back with the certificate that it had.
    Barred,
}

/// The epoch of a message, beside those of the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Met {
    /// It is later than all before.
    Later,
    /// It is the same as before.
    Present,
    /// It comes late, from an earlier epoch; or from one process manager too many.
    Ignored,
}

impl ProcessLinks {
    /// Compares the epoch of a message with the ones before.
    pub(crate) fn meet(&mut self, number: u32, epoch: Epoch) -> Met {
        let n_known = self.0.len();
        if !self.0.contains_key(&number) && n_known >= PROCESS_MANAGERS_MAX {
            return Met::Ignored;
        }
        let link = self.0.entry(number).or_default();
        match epoch.cmp(&link.epoch) {
            Ordering::Less => Met::Ignored,
            Ordering::Equal => Met::Present,
            Ordering::Greater => {
                link.epoch = epoch;
                Met::Later
            }
        }
    }

    /// A process manager is there.
    pub(crate) fn attach(&mut self, number: u32) {
        if let Some(link) = self.0.get_mut(&number) {
            link.is_attached = true;
        }
    }

    /// A process manager is connected: its certificate is valid.
    pub(crate) fn admit(&mut self, number: u32) {
        if let Some(link) = self.0.get_mut(&number) {
            link.is_barred = false;
        }
    }

    /// The certificate of a process manager is revoked.
    pub(crate) fn bar(&mut self, number: u32) {
        if self.0.contains_key(&number) || self.0.len() < PROCESS_MANAGERS_MAX {
            self.0.entry(number).or_default().is_barred = true;
        }
    }

    pub(crate) fn detach(&mut self, number: u32, now: Mono) {
        if let Some(link) = self.0.get_mut(&number)
            && std::mem::take(&mut link.is_attached)
        {
            link.away_since = Some(now);
        }
    }

    /// The presence of a process manager.
    pub(crate) fn presence(&self, number: u32) -> Presence {
        match self.0.get(&number) {
            Some(link) if link.is_attached => Presence::Attached,
            Some(link) if link.is_barred => Presence::Barred,
            Some(link) => Presence::Away(link.away_since),
            None => Presence::Away(None),
        }
    }

    /// Grants of a process manager's processes that were ended in this epoch.
    pub(crate) fn n_revoked(&self, number: u32) -> u64 {
        self.0.get(&number).map_or(0, |link| link.n_revoked)
    }

    pub(crate) fn count_revoked(&mut self, number: u32) {
        if let Some(link) = self.0.get_mut(&number) {
            link.n_revoked += 1;
        }
    }

    pub(crate) fn any_attached(&self) -> bool {
        self.0.values().any(|link| link.is_attached)
    }

    pub(crate) fn attached(&self) -> impl Iterator<Item = u32> {
        self.0
            .iter()
            .filter(|(_, link)| link.is_attached)
            .map(|(&number, _)| number)
    }
}
