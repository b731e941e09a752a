//! Random groups as in Bittencourt and Madeira's experiments (section 9 of the digest).

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};

use crate::random::Random;

/// The most groups of one such platform.
pub const GROUPS_OF_PAPER_MAX: u32 = 1_000;

/// The cost of messages in the experiments beside that of tasks, both at their best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageCost {
    /// 100 to 500 time units.
    Low,
    /// 500 to 1100, like tasks.
    Medium,
    /// 1100 to 1600.
    High,
}

impl MessageCost {
    /// `low`, `medium` or `high`.
    pub fn named(name: &str) -> Option<MessageCost> {
        match name {
            "low" => Some(MessageCost::Low),
            "medium" => Some(MessageCost::Medium),
            "high" => Some(MessageCost::High),
            _ => None,
        }
    }

    /// The least and the largest message, in time units on the best link.
    pub fn range(self) -> (f64, f64) {
        match self {
            MessageCost::Low => (100.0, 500.0),
            MessageCost::Medium => (500.0, 1_100.0),
            MessageCost::High => (1_100.0, 1_600.0),
        }
    }

    /// The mean message on the best link / the mean task, which takes 800, on the best machine.
    pub fn ratio(self) -> f64 {
        let (least, largest) = self.range();
        0.5 * (least + largest) / 800.0
    }
}

/// Groups of 1 to 5 machines of one slot with powers drawn between 0.68 and 1; `bandwidth` inside
/// groups, half of it between them, no latency. None for 0 groups, for more than
/// [`GROUPS_OF_PAPER_MAX`], and for a bandwidth that is not above 0.
pub fn paper(groups: u32, seed: u64, bandwidth: f64) -> Option<Platform> {
    paper_with(groups, seed, bandwidth, 0.5 * bandwidth)
}

/// The same machines with a bandwidth inside groups and another one between them.
pub fn paper_with(groups: u32, seed: u64, inside: f64, between: f64) -> Option<Platform> {
    if groups > GROUPS_OF_PAPER_MAX {
        return None;
    }
    let mut random = Random::new(seed);
    let mut machines = Vec::new();
    for group in 0..groups {
        for number in 0..1 + random.below(5) {
            machines.push(Resource {
                id: ResourceId::new(GroupId::new(group.into()), machines.len() as u32),
                name: format!("g{group}-m{number}"),
                power: 0.68 + 0.32 * random.unit(),
                slots: 1,
                memory: Bytes(u64::MAX),
                labels: BTreeMap::new(),
            });
        }
    }
    let link = |bandwidth| NetworkLink {
        bandwidth,
        latency: 0.0,
    };
    let mut links = Network::uniform(link(between));
    links.inside = link(inside);
    Platform::new(machines, links).ok()
}
