//! The shares and limits of owners as they are told to users.

use std::cmp::Reverse;

use wire::client::{GroupShares, OWNERS_TOLD_MAX, OwnerShare};

use super::{InGroup, Owners};

impl Owners {
    /// The shares and limits in the groups that have any, for an owner of this name.
    pub(in crate::market) fn shares(&self, name: &str) -> Vec<GroupShares> {
        let groups = self.connected();
        let ruled = groups.filter(|(_, at)| at.is_fair || at.limit(name).is_some());
        let told = ruled.map(|(group, at)| {
            let mut others: Vec<&String> = at.told.keys().filter(|other| *other != name).collect();
            others.sort_by_key(|&other| (at.usage(other), Reverse(at.held(other)), other));
            let n_more = others.len().saturating_sub(OWNERS_TOLD_MAX);
            others.truncate(OWNERS_TOLD_MAX);
            GroupShares {
                group,
                is_fair: at.is_fair,
                own: at.share(name),
                others: others.into_iter().map(|other| at.share(other)).collect(),
                n_more: u32::try_from(n_more).unwrap_or(u32::MAX),
            }
        });
        told.collect()
    }
}

impl InGroup {
    fn share(&self, name: &str) -> OwnerShare {
        let told = self.told.get(name);
        OwnerShare {
            name: name.to_owned(),
            share: told.map_or(1, |told| told.share),
            used: told.map(|told| told.usage).unwrap_or_default(),
            held: u32::try_from(self.held(name)).unwrap_or(u32::MAX),
            slots_max: self.limit(name).map(|limit| limit.slots_max),
        }
    }
}
