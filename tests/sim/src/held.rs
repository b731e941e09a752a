//! The slots that processes hold, as the disks of the group managers say.

use std::collections::BTreeMap;

use group_core::Event;
use group_core::record::Grant;
use model::{GroupId, ProcessId, ResourceId};

/// Slots above zero, by machine and process.
#[derive(Clone, Debug, Default)]
pub struct Held(BTreeMap<(ResourceId, ProcessId), u32>);

impl Held {
    /// The slots that a process holds on a machine.
    pub fn slots(&self, process: ProcessId, resource: ResourceId) -> u32 {
        let held = self.0.get(&(resource, process));
        held.copied().unwrap_or_default()
    }

    /// The processes that hold slots of a machine, with these.
    pub fn at(&self, resource: ResourceId) -> impl Iterator<Item = (ProcessId, u32)> {
        let first = (resource, ProcessId(0));
        let held = self.0.range(first..);
        let held = held.take_while(move |((at, _), _)| *at == resource);
        held.map(|(&(_, process), &slots)| (process, slots))
    }

    /// The machines of a group of which a process holds slots, with these.
    pub fn of(
        &self,
        process: ProcessId,
        group: GroupId,
    ) -> impl Iterator<Item = (ResourceId, u32)> {
        let held = self.all();
        let held = held.filter(move |&(holder, at, _)| holder == process && at.group == group);
        held.map(|(_, at, slots)| (at, slots))
    }

    /// All that is held.
    pub fn all(&self) -> impl Iterator<Item = (ProcessId, ResourceId, u32)> {
        let held = self.0.iter();
        held.map(|(&(resource, process), &slots)| (process, resource, slots))
    }

    /// The slots that processes hold after an event.
    #[must_use]
    pub fn after(&self, group: GroupId, event: &Event) -> Held {
        let mut held = self.clone();
        held.update(group, event);
        held
    }

    /// Takes an event into account.
    pub fn update(&mut self, group: GroupId, event: &Event) {
        match event {
            Event::Granted {
                process, grants, ..
            } => self.add(group, *process, grants),
            Event::Returned {
                process, grants, ..
            } => {
                self.remove(group, *process);
                self.add(group, *process, grants);
            }
            Event::Released { process, .. } => self.remove(group, *process),
            Event::Revoked {
                process, resource, ..
            } => {
                self.0.remove(&(resource.of(group), *process));
            }
            Event::Epoch(_)
            | Event::Named { .. }
            | Event::Drained { .. }
            | Event::Forgotten { .. }
            | Event::GivenUp { .. }
            | Event::Charged { .. } => {}
        }
    }

    fn add(&mut self, group: GroupId, process: ProcessId, grants: &[Grant]) {
        for grant in grants.iter().filter(|grant| grant.slots > 0) {
            let at = (grant.resource.of(group), process);
            *self.0.entry(at).or_default() += grant.slots;
        }
    }

    fn remove(&mut self, group: GroupId, process: ProcessId) {
        self.0
            .retain(|&(at, holder), _| holder != process || at.group != group);
    }
}
