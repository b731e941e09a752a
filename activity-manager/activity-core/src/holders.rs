//! Addresses of machines that have files, from messages of process managers.

use std::collections::BTreeMap;

use model::ResourceId;
use wire::attempt::{Dispatch, Holder, SOURCES_MAX};

use crate::io::Effect;

/// Number of remembered machines: more than a group has. Messages contain the machines that they
/// need, so a forgotten one is sent again.
const HOLDERS_MAX: usize = 4_096;
/// Bytes of a name with its address.
const HOLDER_BYTES_MAX: usize = 512;

/// Machines that have files, by number. The latest address counts, because a restarted machine may
/// have another one.
#[derive(Debug, Default)]
pub(crate) struct Holders(BTreeMap<ResourceId, Holder>);

impl Holders {
    pub(crate) fn learn(&mut self, told: Vec<Holder>) {
        for holder in told {
            if holder.name.len() + holder.address.len() > HOLDER_BYTES_MAX {
                continue;
            }
            if self.0.len() >= HOLDERS_MAX && !self.0.contains_key(&holder.resource) {
                self.0.pop_first();
            }
            self.0.insert(holder.resource, holder);
        }
    }

    /// The known addresses of machines.
    pub(crate) fn known(&self, holders: &[ResourceId]) -> Vec<Holder> {
        let known = holders.iter().take(SOURCES_MAX);
        let known = known.filter_map(|holder| self.0.get(holder));
        known.cloned().collect()
    }

    /// The effect that stages an attempt, with the addresses of its sources.
    pub(crate) fn stage(&self, dispatch: &Dispatch) -> Effect {
        let sources = dispatch
            .sources
            .iter()
            .map(|sources| (sources.input, self.known(&sources.holders)));
        Effect::Stage {
            attempt: dispatch.attempt,
            inputs: dispatch.inputs.clone(),
            sources: sources.collect(),
            user: dispatch.user.clone(),
            discards: dispatch.discards,
        }
    }
}
