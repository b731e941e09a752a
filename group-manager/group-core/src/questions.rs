//! Questions to machines about processes whose manager is away.

use std::collections::{BTreeMap, BTreeSet};

use model::{Epoch, Mono, ProcessId};
use wire::resource::QuestionId;

use crate::record::MachineNumber;

/// When holdings end, and the questions to machines.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    /// When this epoch began.
    pub(crate) began: Mono,
    /// When it is time to look for holdings that end; none while nobody can be away.
    pub(crate) next: Option<Mono>,
    pub(crate) n_asked: u64,
    /// The open question to each machine.
    pub(crate) open: BTreeMap<MachineNumber, Question>,
    /// The number of the last question to each machine that is closed.
    pub(crate) closed: BTreeMap<MachineNumber, u64>,
}

/// A question to a machine.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) number: u64,
    pub(crate) processes: BTreeSet<ProcessId>,
}

impl Endings {
    /// An epoch begins: all process managers are away from now on.
    pub(crate) fn begin(&mut self, now: Mono) {
        self.began = now;
        self.look_at(now);
    }

    /// Holdings may end, at this moment or later.
    pub(crate) fn look_at(&mut self, at: Mono) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// The last question to a machine that is closed.
    pub(crate) fn closed(&self, epoch: Epoch, machine: MachineNumber) -> QuestionId {
        let number = self.closed.get(&machine).copied().unwrap_or_default();
        QuestionId { epoch, number }
    }
}
