//! The machines that a plan may use, and what lies between them.

mod power;

use std::collections::BTreeMap;

use thiserror::Error;

use crate::{Bytes, GroupId, ResourceId};

pub use power::{PowerStep, PowerSteps, PowerStepsError};

/// A machine under an activity manager, as a planner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its group and its number there.
    pub id: ResourceId,
    /// Its name, for people.
    pub name: String,
    /// Reference seconds of work that one core does in a second, at the start: a planner does not
    /// know the future.
    pub power: f64,
    /// Slots: activities of one core that may run at the same time.
    pub slots: u32,
    /// Memory for activities.
    pub memory: Bytes,
    /// Properties of the machine, by name.
    pub labels: BTreeMap<String, String>,
}

/// One way between machines: inside a group or between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkLink {
    /// Bytes a second (or the unit of the graph's data a unit of time).
    pub bandwidth: f64,
    /// Seconds before the first byte arrives.
    pub latency: f64,
}

/// The links between machines. Inside one machine data costs nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Between machines of one group, where nothing else is said.
    pub inside: NetworkLink,
    /// Between machines of different groups, where nothing else is said.
    pub between: NetworkLink,
    /// Inside particular groups.
    pub inside_of: BTreeMap<GroupId, NetworkLink>,
    /// Between particular groups; the lower group comes first in the key.
    pub between_pairs: BTreeMap<(GroupId, GroupId), NetworkLink>,
    /// The ways of particular machines to all others, which data takes beside the link between the groups.
    pub ways: BTreeMap<ResourceId, NetworkLink>,
}

impl NetworkLink {
    /// The link and another one, one after the other: data passes through the narrower one.
    pub fn and(self, other: NetworkLink) -> NetworkLink {
        NetworkLink {
            bandwidth: self.bandwidth.min(other.bandwidth),
            latency: self.latency + other.latency,
        }
    }
}

impl Network {
    /// The same link everywhere.
    pub fn uniform(link: NetworkLink) -> Network {
        Network {
            inside: link,
            between: link,
            inside_of: BTreeMap::new(),
            between_pairs: BTreeMap::new(),
            ways: BTreeMap::new(),
        }
    }

    /// The way from a machine of group `from` to another machine of group `to`.
    pub fn link(&self, from: GroupId, to: GroupId) -> NetworkLink {
        if from == to {
            return self.inside_of.get(&from).copied().unwrap_or(self.inside);
        }
        let pair = (from.min(to), from.max(to));
        self.between_pairs
            .get(&pair)
            .copied()
            .unwrap_or(self.between)
    }
}

/// Machines and their network, checked: at least one machine, ids unique, every power, bandwidth
/// and latency a number that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    resources: Vec<Resource>,
    network: Network,
    /// Of machines whose power changes.
    power_steps: BTreeMap<ResourceId, PowerSteps>,
}

/// Why machines and links are not a platform.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlatformError {
    /// Nothing to run on.
    #[error("a platform needs at least one machine")]
    Empty,
    /// Two machines of one number.
    #[error("machine {0} is listed twice")]
    Twice(ResourceId),
    /// A power that is not a positive number.
    #[error("machine {name} has power {power}; a power is a number above 0")]
    Power {
        /// The machine.
        name: String,
        /// The given value.
        power: f64,
    },
    /// Changes of power of a machine that is not there, or that has another power at the start.
    #[error("the powers over time of machine {0} are not those of a machine of the platform")]
    PowerSteps(ResourceId),
    /// A machine on which nothing can run.
    #[error("machine {0} has no slots")]
    Slots(String),
    /// A bandwidth or latency that is not a number that makes sense.
    #[error(
        "a link has bandwidth {bandwidth} and latency {latency}; the bandwidth is a number above 0, the latency 0 or more"
    )]
    Link {
        /// The given value.
        bandwidth: f64,
        /// The given value.
        latency: f64,
    },
}

impl Platform {
    /// Checks and keeps machines and links; the order of the machines is the order of indexes in
    /// tie-breaks.
    pub fn new(resources: Vec<Resource>, network: Network) -> Result<Platform, PlatformError> {
        if resources.is_empty() {
            return Err(PlatformError::Empty);
        }
        let mut seen = std::collections::BTreeSet::new();
        for resource in &resources {
            if !seen.insert(resource.id) {
                return Err(PlatformError::Twice(resource.id));
            }
            if !(resource.power.is_finite() && resource.power > 0.0) {
                let name = resource.name.clone();
                return Err(PlatformError::Power {
                    name,
                    power: resource.power,
                });
            }
            if resource.slots == 0 {
                return Err(PlatformError::Slots(resource.name.clone()));
            }
        }
        let links = [network.inside, network.between]
            .into_iter()
            .chain(network.inside_of.values().copied())
            .chain(network.between_pairs.values().copied())
            .chain(network.ways.values().copied());
        for NetworkLink { bandwidth, latency } in links {
            let sound = bandwidth > 0.0 && latency.is_finite() && latency >= 0.0;
            if !sound {
                return Err(PlatformError::Link { bandwidth, latency });
            }
        }
        Ok(Platform {
            resources,
            network,
            power_steps: BTreeMap::new(),
        })
    }

    /// The same machines, some of which change their power. Planners do not look at it: whoever
    /// imitates a run does.
    pub fn with_power_steps(
        mut self,
        steps: BTreeMap<ResourceId, PowerSteps>,
    ) -> Result<Platform, PlatformError> {
        let powers = self.resources.iter().map(|one| (one.id, one.power));
        let powers: BTreeMap<ResourceId, f64> = powers.collect();
        for (&id, steps) in &steps {
            if powers.get(&id) != Some(&steps.at_start()) {
                return Err(PlatformError::PowerSteps(id));
            }
        }
        self.power_steps = steps;
        Ok(self)
    }

    /// The machines, in the order of their indexes.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The powers of a machine over time, if they change.
    pub fn power_steps(&self, id: ResourceId) -> Option<&PowerSteps> {
        self.power_steps.get(&id)
    }

    /// The network between them.
    pub fn network(&self) -> &Network {
        &self.network
    }
}
