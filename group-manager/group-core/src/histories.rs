//! The powers of machines and their past, by machine.

use std::collections::{BTreeMap, VecDeque};

use model::{Mono, Wall};
use wire::admin::Moment;

use crate::io::Record;
use crate::record::MachineNumber;
use crate::shown::ShownPower;

/// The beginning of the keys of histories in the repository.
const KEY: &str = "history/";

/// The powers of machines, and their past.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    pub(crate) by_number: BTreeMap<MachineNumber, History>,
    /// When the next moment of each machine is kept.
    pub(crate) next: Option<Mono>,
}

/// The power of one machine, and the moments of its past, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) shown: ShownPower,
    pub(crate) moments: VecDeque<Moment>,
}

impl Histories {
    /// When the next moments are kept.
    pub(crate) fn due(&self) -> Option<Mono> {
        self.next
    }

    /// Thousandths of its power that a machine has by what it has shown; none where that is as measured.
    pub(crate) fn shown(&self, number: MachineNumber, slots: u32, now: Wall) -> Option<u32> {
        self.by_number.get(&number)?.shown.per_mille(slots, now)
    }

    /// Returns true if something of a machine's past is known.
    pub(crate) fn has_past(&self, number: MachineNumber) -> bool {
        let history = self.by_number.get(&number);
        history.is_some_and(|history| !history.moments.is_empty())
    }

    /// Forgets a machine. Returns true if the repository has something of its past.
    pub(crate) fn remove(&mut self, number: MachineNumber) -> bool {
        let history = self.by_number.remove(&number);
        history.is_some_and(|history| !history.moments.is_empty())
    }
}

/// True if a record is a machine's history.
pub(crate) fn is_history(record: &Record) -> bool {
    record.key.starts_with(KEY.as_bytes())
}

/// The key of a machine's history.
pub(crate) fn key(name: &str) -> Vec<u8> {
    format!("{KEY}{name}").into_bytes()
}
