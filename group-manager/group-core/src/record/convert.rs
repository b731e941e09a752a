//! Records from messages, and messages from records.

use std::fmt;

use model::{GroupId, ResourceId};

use super::v1::{Facts, Grant, MachineNumber, Moment};

impl MachineNumber {
    /// The machine that has this number in a group.
    pub const fn of(self, group: GroupId) -> ResourceId {
        ResourceId::new(group, self.0)
    }
}

impl fmt::Display for MachineNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

impl Grant {
    /// The same as process managers are told of it.
    pub(crate) fn of(self, group: GroupId) -> wire::group::Grant {
        let Grant {
            id,
            resource,
            slots,
        } = self;
        wire::group::Grant {
            id,
            resource: resource.of(group),
            slots,
        }
    }
}

impl From<&wire::resource::Facts> for Facts {
    fn from(facts: &wire::resource::Facts) -> Facts {
        let wire::resource::Facts {
            name,
            slots,
            memory,
            power,
            labels,
            bulk,
            is_store,
            // It tells that anew.
            closed: _,
        } = facts;
        Facts {
            name: name.clone(),
            slots: *slots,
            memory: *memory,
            power: *power,
            labels: labels.clone(),
            bulk: bulk.clone(),
            is_store: *is_store,
        }
    }
}

impl From<Facts> for wire::resource::Facts {
    fn from(facts: Facts) -> wire::resource::Facts {
        let Facts {
            name,
            slots,
            memory,
            power,
            labels,
            bulk,
            is_store,
        } = facts;
        wire::resource::Facts {
            name,
            slots,
            memory,
            power,
            labels,
            bulk,
            is_store,
            closed: None,
        }
    }
}

impl From<&wire::admin::Moment> for Moment {
    fn from(moment: &wire::admin::Moment) -> Moment {
        let wire::admin::Moment {
            at,
            power,
            shown,
            others,
            others_expected,
        } = *moment;
        Moment {
            at,
            power,
            shown,
            others,
            others_expected,
        }
    }
}

impl From<&Moment> for wire::admin::Moment {
    fn from(moment: &Moment) -> wire::admin::Moment {
        let Moment {
            at,
            power,
            shown,
            others,
            others_expected,
        } = *moment;
        wire::admin::Moment {
            at,
            power,
            shown,
            others,
            others_expected,
        }
    }
}
