//! The numbers under which machines may connect. A machine names its number itself, and its
//! certificate has its name; the group assigns numbers to names.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{GroupId, ResourceId};

/// The names of machines by their numbers.
#[derive(Debug, Default)]
pub(crate) struct MachineNumbers(Mutex<BTreeMap<ResourceId, Named>>);

/// The number is another machine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OtherMachine;

#[derive(Debug)]
struct Named {
    name: String,
    /// True if the group, or a recorded process, has assigned the number. Otherwise a machine of
    /// this name was the first to claim it.
    is_registered: bool,
}

impl MachineNumbers {
    /// Records that a machine of `group` claims a number of that group, which must be its own, or
    /// unassigned. The first
    /// machine with such a claim keeps others from the number until the group assigns it; nothing
    /// is sent to it before. Returns the unassigned number that it claimed earlier and loses
    /// thereby; an error if it may not connect.
    pub(crate) fn claim(
        &self,
        group: GroupId,
        resource: ResourceId,
        name: &str,
    ) -> Result<Option<ResourceId>, OtherMachine> {
        if resource.group != group {
            return Err(OtherMachine);
        }
        let mut numbers = self.lock();
        if let Some(named) = numbers.get(&resource) {
            return match named.name == name {
                true => Ok(None),
                false => Err(OtherMachine),
            };
        }
        // One claim at a time for each name, so that there are no more of them than machines.
        let is_earlier = |(one, named): &(&ResourceId, &Named)| {
            one.group == group && !named.is_registered && named.name == name
        };
        let earlier = numbers.iter().find(is_earlier);
        let earlier = earlier.map(|(&number, _)| number);
        if let Some(earlier) = earlier {
            numbers.remove(&earlier);
        }
        let named = Named {
            name: name.to_owned(),
            is_registered: false,
        };
        numbers.insert(resource, named);
        Ok(earlier)
    }

    /// Assigns a number to a name. Returns true if a machine of another name may be connected under
    /// it.
    pub(crate) fn register(&self, resource: ResourceId, name: &str) -> bool {
        let named = Named {
            name: name.to_owned(),
            is_registered: true,
        };
        let before = self.lock().insert(resource, named);
        before.is_some_and(|before| before.name != name)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ResourceId, Named>> {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId::LOCAL;
    const NUMBER: ResourceId = ResourceId::local(3);

    #[test]
    fn a_number_is_the_machines_that_its_group_gave_it_to() {
        let numbers = MachineNumbers::default();
        assert!(!numbers.register(NUMBER, "am1"));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am1"), Ok(None));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am2"), Err(OtherMachine));
        // A group that has lost its numbers assigns others.
        assert!(numbers.register(NUMBER, "am2"));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am2"), Ok(None));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am1"), Err(OtherMachine));
    }

    #[test]
    fn a_number_claimed_before_the_group_assigned_it_goes_to_its_owner() {
        let numbers = MachineNumbers::default();
        assert_eq!(numbers.claim(GROUP, NUMBER, "eve"), Ok(None));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am1"), Err(OtherMachine));
        assert!(numbers.register(NUMBER, "am1"));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am1"), Ok(None));
        assert_eq!(numbers.claim(GROUP, NUMBER, "eve"), Err(OtherMachine));
        assert!(!numbers.register(NUMBER, "am1"));
    }

    #[test]
    fn a_machine_that_claims_several_numbers_keeps_the_last() {
        let numbers = MachineNumbers::default();
        assert_eq!(numbers.claim(GROUP, ResourceId::local(7), "eve"), Ok(None));
        assert_eq!(
            numbers.claim(GROUP, ResourceId::local(8), "eve"),
            Ok(Some(ResourceId::local(7)))
        );
        assert_eq!(numbers.claim(GROUP, ResourceId::local(7), "am1"), Ok(None));
    }

    #[test]
    fn a_machine_has_no_number_of_another_group() {
        let (other, numbers) = (GroupId::new(7), MachineNumbers::default());
        assert!(!numbers.register(NUMBER, "am1"));
        assert_eq!(numbers.claim(other, NUMBER, "am1"), Err(OtherMachine));
        let theirs = ResourceId::new(other, NUMBER.number);
        assert_eq!(numbers.claim(GROUP, theirs, "am1"), Err(OtherMachine));
        assert_eq!(numbers.claim(other, theirs, "am1"), Ok(None));
        assert_eq!(numbers.claim(GROUP, NUMBER, "am1"), Ok(None));
    }
}
