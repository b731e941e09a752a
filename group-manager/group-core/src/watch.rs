//! Whether machines are there: one that says nothing for a while is suspect and not offered, later
//! lost, until it is heard again.

use std::collections::BTreeSet;

use model::{Mono, ResourceId};
use wire::lease;

use crate::manager::{GroupManager, Machine};

/// Whether a machine is there, and why it is not offered.
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

/// When a machine was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Heard {
    /// None in this life.
    at: Option<Mono>,
    is_silent: bool,
    /// Whether it is in [`Watch`].
    is_watched: bool,
}

/// When each machine is looked at next.
#[derive(Debug, Default)]
pub(crate) struct Watch(BTreeSet<(Mono, ResourceId)>);

impl Watch {
    pub(crate) fn due(&self) -> Option<Mono> {
        self.0.first().map(|&(at, _)| at)
    }
}

impl Machine {
    /// Whether it can be reached and is heard.
    pub(crate) fn is_there(&self) -> bool {
        self.connection.is_some() && !self.heard.is_silent
    }
}

impl GroupManager {
    /// Whether a machine is there; none where nobody ever heard of it.
    pub fn standing(&self, resource: ResourceId, now: Mono) -> Option<Standing> {
        let machine = self.machines.get(&resource)?;
        let length = self.config.lease.unwrap_or(lease::LENGTH);
        let is_lost = |heard: Mono| now.since(heard) > lease::patience(length);
        Some(match machine.heard.at {
            _ if machine.is_there() => Standing::Reached,
            Some(heard) if !is_lost(heard) && machine.connection.is_some() => Standing::Silent,
            Some(heard) if !is_lost(heard) => Standing::Disconnected,
            Some(_) => Standing::Lost,
            None => Standing::Disconnected,
        })
    }

    /// A machine has given a sign of life.
    pub(crate) fn on_alive(&mut self, now: model::Now, connection: u32) {
        let mut machines = self.machines.iter_mut();
        let found = machines.find(|(_, machine)| machine.connection == Some(connection));
        if let Some((&resource, machine)) = found {
            machine.seen = now.wall;
            self.hear(now.mono, resource);
        }
    }

    pub(crate) fn hear(&mut self, now: Mono, resource: ResourceId) {
        let is_watching = self.config.lease.is_some();
        let Some(machine) = self.machines.get_mut(&resource) else {
            return;
        };
        let heard = &mut machine.heard;
        heard.at = Some(now);
        if std::mem::take(&mut heard.is_silent) {
            self.has_changed = true;
        }
        if is_watching && !std::mem::replace(&mut heard.is_watched, true) {
            self.watch.0.insert((now + lease::SILENCE, resource));
        }
    }

    /// Looks at those whose time has come.
    pub(crate) fn look_who_is_silent(&mut self, now: Mono) {
        while let Some(&(at, resource)) = self.watch.0.first()
            && at <= now
        {
            self.watch.0.pop_first();
            let Some(machine) = self.machines.get_mut(&resource) else {
                continue;
            };
            let heard = &mut machine.heard;
            let due = heard.at.map_or(now, |heard| heard + lease::SILENCE);
            if due > now {
                self.watch.0.insert((due, resource));
                continue;
            }
            heard.is_watched = false;
            heard.is_silent = true;
            self.has_changed = true;
        }
    }
}
