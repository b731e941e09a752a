//! Owners of processes: what they have used of each group, and the slots that they may still claim.
//!
//! A group manager says what an owner's processes hold, and how many of these slots are held by
//! processes of this manager. The others are others' business; this manager counts its own, so that
//! a claim need not wait for the offer that tells of the one before.

mod figures;

use std::collections::{BTreeMap, BTreeSet};

use model::{GroupId, ProcessId, ResourceId, Span};
use wire::group::{Offer, OwnerUsage, Want, owner_name, used_for_share};

/// The place of an owner in the order of owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// What it has used for its share, in microseconds of a slot: the one with least is next. All are
    /// alike where no group has shares, so that first come is first served.
    pub(super) usage: u64,
    /// True if it may claim no slots: its processes hold up nobody.
    pub(super) is_barred: bool,
}

/// The owners in all groups, by their names ([`owner_name`]).
#[derive(Debug, Default)]
pub(super) struct Owners {
    groups: BTreeMap<GroupId, InGroup>,
    /// The owner of each process that holds slots or has claimed some, and its slots by group.
    by_process: BTreeMap<ProcessId, (String, Vec<Want>)>,
    /// Owners whose limits have left no process a machine since slots became free last.
    in_vain: BTreeSet<String>,
}

/// The owners in one group.
#[derive(Debug, Default)]
struct InGroup {
    is_connected: bool,
    is_fair: bool,
    slots_max: Option<u32>,
    told: BTreeMap<String, OwnerUsage>,
    /// The machines that are offered: those of others count for no limit, so that a process can leave
    /// a machine that it has lost.
    offered: BTreeSet<ResourceId>,
    /// Slots that processes of this manager hold or have claimed, by their owner and machine.
    used: BTreeMap<String, BTreeMap<ResourceId, u64>>,
}

/// The limit of an owner in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) slots_max: u32,
    /// Slots that it holds or has claimed.
    pub(super) held: u64,
}

impl Limit {
    /// Slots that it may still claim.
    pub(super) fn left(self) -> u32 {
        let held = u32::try_from(self.held).unwrap_or(u32::MAX);
        self.slots_max.saturating_sub(held)
    }
}

impl InGroup {
    /// Slots that an owner holds or has claimed.
    fn held(&self, name: &str) -> u64 {
        let own = self.used.get(name).into_iter().flatten();
        let own = own.filter(|(machine, _)| self.offered.contains(machine));
        let own: u64 = own.map(|(_, slots)| slots).sum();
        let told = self.told.get(name);
        let of_others = told.map_or(0, |told| told.held.saturating_sub(told.yours));
        own + u64::from(of_others)
    }

    fn limit(&self, name: &str) -> Option<Limit> {
        let own = self.told.get(name);
        let slots_max = match own {
            Some(own) => own.slots_max,
            None => self.slots_max.filter(|_| name != owner_name(None)),
        };
        let held = self.held(name);
        slots_max.map(|slots_max| Limit { slots_max, held })
    }

    /// The limit of an owner of whom nothing is told, and those of the others that have another one.
    fn limits(&self) -> (Option<u32>, Vec<(String, Option<u32>)>) {
        let told = self.told.iter();
        let others = told.filter(|(_, one)| one.slots_max != self.slots_max);
        let others = others.map(|(name, one)| (name.clone(), one.slots_max));
        (self.slots_max, others.collect())
    }

    /// What an owner has used for its share.
    fn usage(&self, name: &str) -> u64 {
        if !self.is_fair {
            return 0;
        }
        let told = self.told.get(name);
        let used = told.map_or(Span::ZERO, |told| told.usage);
        used_for_share(used, self.held(name), told.map_or(1, |told| told.share))
    }
}

impl Owners {
    /// A group says which machines it has, and how owners share it. Returns true if its limits are others than
    /// before.
    pub(super) fn offer(&mut self, group: GroupId, offer: &Offer) -> bool {
        let at = self.groups.entry(group).or_default();
        let told = offer.owners.as_ref();
        let before = at.limits();
        let offered = offer.resources.iter().map(|one| one.resource);
        at.offered.clear();
        // Without limits nobody asks.
        at.offered.extend(offered.filter(|_| told.is_some()));
        at.is_connected = true;
        at.is_fair = told.is_some_and(|told| told.is_fair);
        at.slots_max = told.and_then(|told| told.slots_max);
        let owners = told.into_iter().flat_map(|told| &told.owners);
        at.told = owners.map(|one| (one.name.clone(), one.clone())).collect();
        before != at.limits()
    }

    /// A group says nothing any more.
    pub(super) fn clear(&mut self, group: GroupId) {
        if let Some(at) = self.groups.get_mut(&group) {
            let used = std::mem::take(&mut at.used);
            *at = InGroup {
                used,
                ..InGroup::default()
            };
        }
    }

    /// A process of an owner holds these slots, or has claimed them, and no others.
    pub(super) fn set_used(&mut self, id: ProcessId, owner: Option<&str>, used: &[Want]) {
        if let Some((name, before)) = self.by_process.remove(&id) {
            for want in before {
                self.give_back(&name, want);
            }
        }
        if used.is_empty() {
            return;
        }
        let name = owner_name(owner).to_owned();
        for want in used {
            let at = self.groups.entry(want.resource.group).or_default();
            let of_owner = at.used.entry(name.clone()).or_default();
            *of_owner.entry(want.resource).or_default() += u64::from(want.slots);
        }
        self.by_process.insert(id, (name, used.to_vec()));
    }

    fn give_back(&mut self, name: &str, want: Want) {
        let Some(at) = self.groups.get_mut(&want.resource.group) else {
            return;
        };
        let Some(of_owner) = at.used.get_mut(name) else {
            return;
        };
        if let Some(slots) = of_owner.get_mut(&want.resource) {
            *slots = slots.saturating_sub(u64::from(want.slots));
            if *slots == 0 {
                of_owner.remove(&want.resource);
            }
        }
        if of_owner.is_empty() {
            at.used.remove(name);
        }
    }

    /// The limit of an owner in a group; none if it has none there.
    pub(super) fn limit(&self, group: GroupId, name: &str) -> Option<Limit> {
        self.groups.get(&group)?.limit(name)
    }

    /// Returns true if an owner has a limit in any group.
    pub(super) fn is_limited(&self, name: &str) -> bool {
        self.connected().any(|(_, at)| at.limit(name).is_some())
    }

    /// Returns true if no process of an owner got a machine within its limit since slots became free last.
    pub(super) fn is_in_vain(&self, name: &str) -> bool {
        self.in_vain.contains(name)
    }

    /// The group in which an owner holds as many slots as it may, where it may claim none in any group.
    pub(super) fn at_limit(&self, name: &str) -> Option<(GroupId, Limit)> {
        let mut limits = self.connected().map(|(group, at)| (group, at.limit(name)));
        let first = limits.next()?;
        let is_full = |limit: Option<Limit>| limit.is_some_and(|limit| limit.left() == 0);
        let is_barred = is_full(first.1) && limits.all(|(_, limit)| is_full(limit));
        first.1.filter(|_| is_barred).map(|limit| (first.0, limit))
    }

    /// No process of an owner gets a machine within its limit, until slots become free.
    pub(super) fn bar(&mut self, name: &str) {
        self.in_vain.insert(name.to_owned());
    }

    /// Slots may be free that were not before.
    pub(super) fn retry(&mut self) {
        self.in_vain.clear();
    }

    /// The place of an owner.
    pub(super) fn standing(&self, name: &str) -> Standing {
        let usages = self.connected().map(|(_, at)| at.usage(name));
        Standing {
            usage: usages.fold(0, u64::saturating_add),
            is_barred: self.in_vain.contains(name) || self.at_limit(name).is_some(),
        }
    }

    /// The places of all owners that are not where an owner is who was never heard of.
    pub(super) fn standings(&self) -> BTreeMap<String, Standing> {
        let of_groups = self.connected().flat_map(|(_, at)| {
            let ruled = at.is_fair || at.slots_max.is_some() || !at.told.is_empty();
            at.told.keys().chain(at.used.keys()).filter(move |_| ruled)
        });
        let names: BTreeSet<&String> = of_groups.chain(&self.in_vain).collect();
        let standing = |name: &String| (name.clone(), self.standing(name));
        let all = names.into_iter().map(standing);
        all.filter(|(_, standing)| *standing != Standing::default())
            .collect()
    }

    fn connected(&self) -> impl Iterator<Item = (GroupId, &InGroup)> {
        let groups = self.groups.iter().filter(|(_, at)| at.is_connected);
        groups.map(|(&group, at)| (group, at))
    }
}

#[cfg(test)]
mod tests {
    use model::Bytes;
    use wire::group::Offered;

    use super::*;

    const ONE: GroupId = GroupId::new(1);
    const TWO: GroupId = GroupId::new(2);

    fn want(group: GroupId, slots: u32) -> Want {
        let resource = ResourceId::new(group, 0);
        Want { resource, slots }
    }

    /// An offer of the first machines of both groups.
    fn told(is_fair: bool, owners: &[(&str, u32, u64, u32, u32)]) -> Offer {
        let owner =
            |&(name, share, seconds, held, yours): &(&str, u32, u64, u32, u32)| OwnerUsage {
                name: name.to_owned(),
                share,
                usage: Span::from_secs(seconds),
                held,
                yours,
                slots_max: Some(4),
            };
        let owners = wire::group::Owners {
            is_fair,
            slots_max: Some(4),
            owners: owners.iter().map(owner).collect(),
        };
        let resources = [ONE, TWO].map(|group| Offered {
            resource: ResourceId::new(group, 0),
            name: "m".to_owned(),
            power: 1.0,
            slots: 9,
            free: 9,
            memory: Bytes(1),
            labels: BTreeMap::new(),
            bulk: None,
            yours: 0,
            shown: None,
        });
        Offer {
            resources: resources.into(),
            owners: Some(owners),
            ..Offer::default()
        }
    }

    fn seconds(owners: &Owners, name: &str) -> u64 {
        owners.standing(name).usage / 1_000_000
    }

    #[test]
    fn usage_counts_for_the_share_with_the_slots_that_are_held() {
        let mut owners = Owners::default();
        owners.offer(
            ONE,
            &told(true, &[("ana", 2, 100, 3, 1), ("ben", 1, 60, 0, 0)]),
        );
        // Of Ana's slots 2 are held by another process manager's processes.
        assert_eq!((seconds(&owners, "ana"), seconds(&owners, "ben")), (60, 60));
        let ana = Some("xav://grid/lab/user/ana");
        owners.set_used(ProcessId(1), ana, &[want(ONE, 1), want(ONE, 1)]);
        assert_eq!(seconds(&owners, "ana"), 70);
        owners.offer(TWO, &told(true, &[("ana", 1, 5, 0, 0)]));
        assert_eq!(seconds(&owners, "ana"), 75);
        owners.set_used(ProcessId(1), ana, &[]);
        owners.clear(TWO);
        assert_eq!(seconds(&owners, "ana"), 60);
        // Without shares all are alike.
        owners.offer(ONE, &told(false, &[("ana", 2, 100, 3, 1)]));
        assert_eq!(owners.standing("ana"), Standing::default());
    }

    #[test]
    fn shares_are_told_with_the_owner_who_has_used_least_first() {
        let mut owners = Owners::default();
        let all = [
            ("ana", 2, 100, 3, 1),
            ("ben", 1, 60, 1, 0),
            ("eve", 4, 80, 0, 0),
        ];
        owners.offer(ONE, &told(true, &all));
        owners.offer(TWO, &Offer::default());
        let share = |name: &str, share, seconds, held| wire::client::OwnerShare {
            name: name.to_owned(),
            share,
            used: Span::from_secs(seconds),
            held,
            slots_max: Some(4),
        };
        let [shares] = &owners.shares("ana")[..] else {
            panic!("one group has shares")
        };
        assert_eq!(
            (shares.group, shares.is_fair, shares.n_more),
            (ONE, true, 0)
        );
        // Of her slots one is of a process of this manager that gave it back meanwhile.
        assert_eq!(shares.own, share("ana", 2, 100, 2));
        assert_eq!(
            shares.others,
            [share("eve", 4, 80, 0), share("ben", 1, 60, 1)]
        );
        // Somebody who was never heard of has a share too.
        assert_eq!(owners.shares("new")[0].own, share("new", 1, 0, 0));
        owners.offer(ONE, &Offer::default());
        assert!(owners.shares("ana").is_empty());
        let most = 3 + u32::try_from(wire::client::OWNERS_TOLD_MAX).unwrap();
        let names: Vec<String> = (0..most).map(|number| format!("u{number:03}")).collect();
        let many: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), 1, 1, 0, 0))
            .collect();
        owners.offer(ONE, &told(true, &many));
        assert_eq!(owners.shares("u000")[0].n_more, 2);
    }

    #[test]
    fn an_owner_is_barred_where_it_may_claim_nothing_in_any_group() {
        let mut owners = Owners::default();
        let ana = Some("xav://grid/lab/user/ana");
        owners.offer(ONE, &told(false, &[("ana", 1, 0, 3, 0)]));
        assert_eq!(owners.limit(ONE, "ana").map(Limit::left), Some(1));
        assert_eq!(owners.limit(ONE, "new").map(Limit::left), Some(4));
        assert_eq!(owners.limit(ONE, "-"), None);
        assert!(!owners.standing("ana").is_barred);
        owners.set_used(ProcessId(1), ana, &[want(ONE, 1)]);
        let limit = Limit {
            slots_max: 4,
            held: 4,
        };
        assert_eq!(owners.at_limit("ana"), Some((ONE, limit)));
        assert!(owners.standings()["ana"].is_barred);
        owners.offer(TWO, &Offer::default());
        assert!(!owners.standing("ana").is_barred);
        assert!(owners.standings().is_empty());
        // Slots of a machine that is gone count for no limit.
        owners.clear(TWO);
        let mut without = told(false, &[]);
        without.resources.clear();
        owners.offer(ONE, &without);
        assert_eq!(owners.limit(ONE, "ana").map(Limit::left), Some(4));
        assert!(owners.standings().is_empty());
        owners.bar("ana");
        assert!(owners.standings()["ana"].is_barred);
        owners.retry();
        assert!(owners.standings().is_empty());
    }
}
