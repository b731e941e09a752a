//! Where files are that this machine may lack, as process managers have told.

use std::collections::BTreeMap;

use model::ResourceId;
use wire::attempt::{Dispatch, Holder, SOURCES_MAX};

use crate::io::Effect;

/// Machines remembered: more than a group has. Those that a message needs stand in it, so one that
/// was forgotten is told again.
const HOLDERS_MAX: usize = 4_096;
/// Bytes of a name with its address.
const HOLDER_BYTES_MAX: usize = 512;

/// Machines that have files, by number. The last word about each counts: a machine that starts
/// again may be found elsewhere.
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

    /// Where these machines are, as far as that was told.
    pub(crate) fn known(&self, holders: &[ResourceId]) -> Vec<Holder> {
        let known = holders.iter().take(SOURCES_MAX);
        let known = known.filter_map(|holder| self.0.get(holder));
        known.cloned().collect()
    }

    /// What makes an attempt ready, with the way to what it may need.
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
        }
    }
}
