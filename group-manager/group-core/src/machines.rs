//! The machines of the group: their facts, their connections, and when each was heard. One that is
//! not heard for a while is suspect and not offered, later lost, until it is heard again.

use std::collections::BTreeMap;

use model::{Epoch, Mono, Span, Wall};
use wire::lease;
use wire::resource::Facts;

use crate::record::MachineNumber;

/// The machines of which anything was heard, but for those that are forgotten.
#[derive(Debug, Default)]
pub(crate) struct Machines {
    by_number: BTreeMap<MachineNumber, Machine>,
    /// When the next one may be silent; none where none is watched.
    check_at: Option<Mono>,
}

/// A machine's description of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its facts.
    pub facts: Facts,
    /// Its connection; none where it cannot be reached, and is not offered.
    pub connection: Option<u32>,
    /// When it spoke last.
    pub seen: Wall,
    /// The connection of it that has ended last, until that is up again: what is late on it changes nothing.
    pub(crate) ended: Option<u32>,
    /// The epoch that has registered last.
    pub(crate) epoch: Epoch,
    /// The value of `seen` that the repository has.
    pub(crate) kept: Wall,
    pub(crate) heard: Heard,
}

/// The times at which machines are looked for that are to be forgotten.
#[derive(Debug, Default)]
pub(crate) struct Forgetting {
    /// The start of this manager.
    pub(crate) began: Mono,
    pub(crate) next: Option<Mono>,
}

/// When a machine was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Heard {
    /// None in this epoch.
    at: Option<Mono>,
    is_silent: bool,
    /// True if it is silent once nothing is heard of it for long enough.
    is_watched: bool,
}

/// The state of a machine, and the reason why it is not offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is heard.
    Reached,
    /// Its connection is there, and nothing has come over it for [`lease::SILENCE`].
    Silent,
    /// Its connection is gone, or it has not come back since this manager started.
    Disconnected,
    /// It was not heard for so long that whatever process managers had there has ended, where their
    /// leases are of the usual length.
    Lost,
}

impl Machine {
    /// True if it can be reached and is heard.
    pub(crate) fn is_there(&self) -> bool {
        self.connection.is_some() && !self.heard.is_silent
    }

    /// True if a registration is late: it comes over a connection that has ended, or from an earlier epoch than that
    /// of the present connection. Without a connection any epoch is taken, since a machine whose disk was lost begins
    /// at the first one again.
    pub(crate) fn is_late(&self, connection: u32, epoch: Epoch) -> bool {
        self.ended == Some(connection) || (self.connection.is_some() && epoch < self.epoch)
    }

    fn standing(&self, now: Mono, length: Span) -> Standing {
        let is_lost = |heard: Mono| now.since(heard) > lease::patience(length);
        match self.heard.at {
            _ if self.is_there() => Standing::Reached,
            Some(heard) if !is_lost(heard) && self.connection.is_some() => Standing::Silent,
            Some(heard) if !is_lost(heard) => Standing::Disconnected,
            Some(_) => Standing::Lost,
            None => Standing::Disconnected,
        }
    }
}

impl Machines {
    /// Puts a machine in the place of what was known of it.
    pub(crate) fn insert(&mut self, resource: MachineNumber, machine: Machine) {
        self.by_number.insert(resource, machine);
    }

    /// Adds a machine of which nothing was heard in this epoch.
    pub(crate) fn insert_unheard(&mut self, resource: MachineNumber, machine: Machine) {
        self.by_number.entry(resource).or_insert(machine);
    }

    /// A connection is up, for the first time or again.
    pub(crate) fn up(&mut self, connection: u32) {
        for machine in self.by_number.values_mut() {
            machine.ended.take_if(|ended| *ended == connection);
        }
    }

    /// A connection has ended. Returns true if a machine had it.
    pub(crate) fn down(&mut self, connection: u32) -> bool {
        for machine in self.by_number.values_mut() {
            if machine.connection == Some(connection) {
                machine.ended = Some(connection);
            }
        }
        self.disconnect(connection, None)
    }

    /// Takes a connection from all machines but one. Returns true if one had it.
    pub(crate) fn disconnect(&mut self, connection: u32, except: Option<MachineNumber>) -> bool {
        let mut had_it = false;
        for (&resource, machine) in &mut self.by_number {
            if machine.connection == Some(connection) && Some(resource) != except {
                machine.connection = None;
                had_it = true;
            }
        }
        had_it
    }

    /// A machine has given a sign of life over its connection. Returns true if it was silent.
    pub(crate) fn on_alive(&mut self, now: model::Now, connection: u32, is_watching: bool) -> bool {
        let mut machines = self.by_number.iter_mut();
        let found = machines.find(|(_, machine)| machine.connection == Some(connection));
        let Some((&resource, machine)) = found else {
            return false;
        };
        machine.seen = now.wall;
        self.hear(now.mono, resource, is_watching)
    }

    /// Notes that a machine is heard, and watches it from here on. Returns true if it was silent.
    pub(crate) fn hear(&mut self, now: Mono, resource: MachineNumber, is_watching: bool) -> bool {
        let Some(machine) = self.by_number.get_mut(&resource) else {
            return false;
        };
        let heard = &mut machine.heard;
        heard.at = Some(now);
        let was_silent = std::mem::take(&mut heard.is_silent);
        if is_watching && !std::mem::replace(&mut heard.is_watched, true) {
            self.check_at(now + lease::SILENCE);
        }
        was_silent
    }

    /// Finds the machines that are silent. Returns true if one is from here on.
    pub(crate) fn check(&mut self, now: Mono) -> bool {
        if self.check_at.is_none_or(|at| at > now) {
            return false;
        }
        let mut is_one_silent = false;
        let mut next: Option<Mono> = None;
        let machines = self
            .by_number
            .values_mut()
            .map(|machine| &mut machine.heard);
        for heard in machines.filter(|heard| heard.is_watched) {
            let due = heard.at.map_or(now, |heard| heard + lease::SILENCE);
            if due > now {
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            heard.is_watched = false;
            heard.is_silent = true;
            is_one_silent = true;
        }
        self.check_at = next;
        is_one_silent
    }

    /// Has machines checked at this time, if not before. Each check is of all of them, and most are heard
    /// again before their own time has come: hundreds of machines take a check a second.
    fn check_at(&mut self, at: Mono) {
        self.check_at = Some(self.check_at.map_or(at, |before| before.min(at)));
    }

    /// When a machine was heard last in this epoch.
    pub(crate) fn heard(&self, resource: MachineNumber) -> Option<Mono> {
        self.by_number.get(&resource)?.heard.at
    }

    /// The machine at the other end of a connection.
    pub(crate) fn at(&self, connection: u32) -> Option<(MachineNumber, &Machine)> {
        let mut machines = self.iter();
        machines.find(|(_, machine)| machine.connection == Some(connection))
    }

    /// When [`Machines::check`] is due.
    pub(crate) fn due(&self) -> Option<Mono> {
        self.check_at
    }

    pub(crate) fn get(&self, resource: MachineNumber) -> Option<&Machine> {
        self.by_number.get(&resource)
    }

    /// Knows nothing of a machine any more.
    pub(crate) fn remove(&mut self, resource: MachineNumber) -> Option<Machine> {
        self.by_number.remove(&resource)
    }

    /// The number of machines that are known.
    pub(crate) fn n_known(&self) -> usize {
        self.by_number.len()
    }

    /// All machines in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MachineNumber, &Machine)> {
        self.by_number
            .iter()
            .map(|(&resource, machine)| (resource, machine))
    }

    pub(crate) fn standing(
        &self,
        resource: MachineNumber,
        now: Mono,
        length: Span,
    ) -> Option<Standing> {
        Some(self.by_number.get(&resource)?.standing(now, length))
    }
}
