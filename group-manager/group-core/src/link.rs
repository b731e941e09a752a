//! The process managers that are there.

use std::collections::BTreeMap;

use model::Epoch;

/// Process managers known at once. Those beyond are not answered.
const PROCESS_MANAGERS_MAX: usize = 1_024;

/// Process managers by their numbers.
#[derive(Debug, Default)]
pub(crate) struct ProcessLinks(BTreeMap<u32, ProcessLink>);

#[derive(Debug)]
struct ProcessLink {
    /// The last of its epochs that has attached.
    epoch: Epoch,
    is_attached: bool,
}

impl ProcessLinks {
    /// True if the sender is to be answered: a late message of an earlier epoch is not.
    pub(crate) fn attach(&mut self, number: u32, epoch: Epoch) -> bool {
        let n_known = self.0.len();
        if !self.0.contains_key(&number) && n_known >= PROCESS_MANAGERS_MAX {
            return false;
        }
        let link = self.0.entry(number).or_insert(ProcessLink {
            epoch,
            is_attached: false,
        });
        if epoch < link.epoch {
            return false;
        }
        *link = ProcessLink {
            epoch,
            is_attached: true,
        };
        true
    }

    pub(crate) fn detach(&mut self, number: u32) {
        if let Some(link) = self.0.get_mut(&number) {
            link.is_attached = false;
        }
    }

    pub(crate) fn any_attached(&self) -> bool {
        self.0.values().any(|link| link.is_attached)
    }

    pub(crate) fn attached(&self) -> impl Iterator<Item = u32> {
        self.0
            .iter()
            .filter(|(_, link)| link.is_attached)
            .map(|(&number, _)| number)
    }
}
