//! Files: the machines that have them, copies on other machines, checks, losses.
//!
//! A part of the manager: its state is [`Files`]. It asks machines for copies and checks, records copies
//! and losses, and reads from other parts only which machines are there. It tells its caller which cache
//! lookups to repeat, which processes have lost files, and which machines to wait for.

mod check;
mod checks;
mod copies;
mod copying;
mod discards;
mod loss;
mod passing;
mod sources;
mod stores;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{ActivityId, ProcessId, ResourceId};
use wire::group::Offer;

use crate::process::Process;
use crate::step::Step;
use crate::timer::Timer;

use self::check::Checks;
use self::copying::Copying;
use self::discards::Discarding;
use self::passing::Passing;
use self::stores::Stores;

pub(crate) use self::check::Finding;

/// The files of all processes, and the machines that serve files to others.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Machines that serve files to others, with their addresses.
    stores: Stores,
    /// Processes that have not given back all their slots.
    open: BTreeMap<ProcessId, Open>,
    /// Requests to machines to keep copies, by process.
    copying: BTreeMap<ProcessId, Copying>,
    /// Requests to machines to delete files, by process.
    discarding: BTreeMap<ProcessId, Discarding>,
    /// By machine, the processes that still hold slots and for which it keeps copies or was asked
    /// to.
    keeping: BTreeMap<ResourceId, BTreeSet<ProcessId>>,
}

/// The files of a process that has not given back all its slots.
#[derive(Debug, Default)]
struct Open {
    /// The moment at which a copy of an activity's outputs was recorded (see [`Stores`]).
    copied: BTreeMap<ActivityId, u64>,
    /// Checks that recorded files are still intact.
    checks: Checks,
    /// Files on their way through the machines of controllers.
    passing: Passing,
}

impl Files {
    /// Takes up a process that was founded in this epoch or an earlier one.
    pub(crate) fn begin(&mut self, process: &Process, is_new: bool) {
        let mut open = Open::default();
        if !is_new {
            open.checks = Checks::of_outputs(process);
        }
        self.open.insert(process.id(), open);
    }

    /// Nothing is held for a process any more: its copies need not stay.
    pub(crate) fn end(&mut self, id: ProcessId) {
        self.open.remove(&id);
        self.end_discards(id);
        self.keeping.retain(|_, kept| {
            kept.remove(&id);
            !kept.is_empty()
        });
    }

    /// A process is forgotten: no copy of its files is asked for any more.
    pub(crate) fn forget(&mut self, step: &mut Step<'_>, id: ProcessId) {
        self.copying.remove(&id);
        self.discarding.remove(&id);
        step.timers.cancel(Timer::Copy(id));
        step.timers.cancel(Timer::Discard(id));
    }

    /// A group offers its machines: takes in their addresses.
    pub(crate) fn learn(&mut self, offer: &Offer) {
        self.stores.learn(offer);
    }

    /// Returns true if all machines share one store, so that no file needs to be fetched.
    pub(crate) fn is_shared(&self) -> bool {
        self.stores.is_shared()
    }
}
