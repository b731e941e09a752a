//! Machines: the connections to them, their names, their signs of life and their leases.
//!
//! A machine that says nothing for a while is *suspect*: nothing is sent there, attempts that were not
//! sent move, attempts that have not started are taken back. Attempts that may have started wait until
//! the machine's lease has ended for certain, since the machine stops them by itself before that
//! ([`wire::lease`]); then they are lost, and go elsewhere. Without leases all managers are one program,
//! and nobody is ever suspect.
//!
//! A part of the manager: its state is [`Machines`]. It tells its caller when a machine falls silent, is
//! trusted again or is lost; the caller sees to the attempts.

mod attach;
mod lease;
mod retract;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{AttemptId, Epoch, Mono, ResourceId, Span};

use crate::step::Step;

pub(crate) use attach::Told;

/// Questions of one epoch have numbers of their own up to two to this power; an epoch of more asks in
/// the numbers of the next one, which answers of an epoch as long ago as that cannot meet.
const ASKS_BITS: u32 = 16;

/// The machines that this manager has heard of.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    links: BTreeMap<ResourceId, Link>,
    liveness: BTreeMap<ResourceId, Liveness>,
    /// The name in the certificate of each connected machine, where that was seen.
    names: BTreeMap<ResourceId, String>,
    /// The names of machines as they were told last with [`crate::Effect::Registered`].
    registered: BTreeMap<ResourceId, String>,
    /// Connected machines whose names were not believed when they were looked at last.
    doubted: BTreeSet<ResourceId>,
    /// Machines that their groups want emptied.
    leaving: BTreeSet<ResourceId>,
    /// When this epoch began.
    begun: Mono,
    /// When all leases have ended that an earlier epoch has granted.
    earlier_leases_end: Mono,
    n_asked: u32,
}

/// The connection to a machine.
#[derive(Debug, Default)]
struct Link {
    is_up: bool,
    /// The epoch of the activity manager, once it has told its attempts.
    epoch: Option<Epoch>,
    ask: u32,
    parts: BTreeSet<u32>,
    held: BTreeSet<AttemptId>,
}

/// The liveness of a machine: its last message and its lease.
#[derive(Debug, Default)]
struct Liveness {
    /// The time of its last message, or of the first offer that names it.
    heard: Mono,
    /// The longest time that it has made of an answer in this epoch, where it has said: see
    /// [`wire::lease::waited`].
    length: Span,
    /// When every lease that was granted so far has ended for certain.
    until: Mono,
    /// When it is to be given up: a timer is set for that moment.
    due: Mono,
    /// True if it was given more time since then, because this manager itself stood still.
    is_excused: bool,
    is_suspect: bool,
    /// Attempts that it was asked to give back, and has not answered.
    asked_back: BTreeSet<AttemptId>,
    /// Attempts that it may hold for nobody, and has not said that it does not.
    unwanted: BTreeSet<AttemptId>,
}

impl Machines {
    /// This epoch begins; `leased` is the longest lease that earlier epochs have recorded.
    pub(crate) fn begin(&mut self, step: &mut Step<'_>, leased: Option<Span>) {
        self.begun = step.now.mono;
        // No question of this epoch has the number of one of the epochs before: a late answer to that
        // one says nothing about the present.
        self.n_asked = (step.epoch.0 as u32).wrapping_shl(ASKS_BITS);
        self.lease_from(step, leased);
    }

    /// The epoch of a machine's activity manager, where it is connected and has told its attempts.
    pub(crate) fn epoch(&self, resource: ResourceId) -> Option<Epoch> {
        self.links.get(&resource)?.epoch
    }

    /// Returns true if a machine is connected and has listed its attempts, so that it takes
    /// requests.
    pub(crate) fn is_reachable(&self, resource: ResourceId) -> bool {
        let link = self.links.get(&resource);
        link.is_some_and(|link| link.is_up && link.epoch.is_some())
    }

    /// The machines that take requests.
    pub(crate) fn reachable(&self) -> impl Iterator<Item = ResourceId> {
        let links = self.links.iter();
        let reachable = links.filter(|(_, link)| link.is_up && link.epoch.is_some());
        reachable.map(|(&resource, _)| resource)
    }

    /// Returns true if a machine takes work, so that plans may use it.
    pub(crate) fn is_trusted(&self, resource: ResourceId) -> bool {
        !self.leaving.contains(&resource) && !self.is_suspect(resource)
    }

    /// The numbers of machines that take work, are suspect and are draining.
    pub(crate) fn n_by_state(&self) -> (u64, u64, u64) {
        let linked = self.links.iter().filter(|(_, link)| link.is_up);
        let trusted = linked.filter(|&(resource, _)| self.is_trusted(*resource));
        let suspect = self.liveness.values().filter(|one| one.is_suspect);
        let n = (trusted.count(), suspect.count(), self.leaving.len());
        (n.0 as u64, n.1 as u64, n.2 as u64)
    }

    /// Returns true if a machine is draining: its group wants it emptied.
    pub(crate) fn is_leaving(&self, resource: ResourceId) -> bool {
        self.leaving.contains(&resource)
    }

    fn is_suspect(&self, resource: ResourceId) -> bool {
        let liveness = self.liveness.get(&resource);
        liveness.is_some_and(|liveness| liveness.is_suspect)
    }
}
