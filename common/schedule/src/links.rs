//! Transfer costs between machines, by group.

use std::collections::BTreeMap;

use model::{GroupId, Platform};

/// Latency and bandwidth between the groups of a platform, as dense tables: groups are numbered
/// from 0 by ascending id. One number more, [`Links::outside`], stands for a machine that is not
/// of the platform but holds data.
#[derive(Clone, Debug, PartialEq)]
pub struct Links {
    n_groups: u32,
    latency: Vec<f64>,
    bandwidth: Vec<f64>,
}

impl Links {
    pub(crate) fn new(platform: &Platform, numbers: &BTreeMap<GroupId, u32>) -> Links {
        let network = platform.network();
        let n_groups = numbers.len() as u32;
        let side = n_groups as usize + 1;
        let mut latency = vec![network.between.latency; side * side];
        let mut bandwidth = vec![network.between.bandwidth; side * side];
        for (&from, &row) in numbers {
            for (&to, &column) in numbers {
                let link = network.link(from, to);
                latency[row as usize * side + column as usize] = link.latency;
                bandwidth[row as usize * side + column as usize] = link.bandwidth;
            }
        }
        Links {
            n_groups,
            latency,
            bandwidth,
        }
    }

    /// The number of groups of the platform.
    pub fn n_groups(&self) -> u32 {
        self.n_groups
    }

    /// The number of the group of machines that are not of the platform.
    pub fn outside(&self) -> u32 {
        self.n_groups
    }

    /// Seconds that data takes from a machine of one group to *another* machine of a group; data
    /// 0 costs nothing, not even latency.
    #[inline]
    pub fn seconds(&self, data: f64, from: u32, to: u32) -> f64 {
        if data <= 0.0 {
            return 0.0;
        }
        let place = from as usize * (self.n_groups as usize + 1) + to as usize;
        self.latency[place] + data / self.bandwidth[place]
    }

    /// Seconds before the first byte arrives.
    pub fn latency(&self, from: u32, to: u32) -> f64 {
        self.latency[from as usize * (self.n_groups as usize + 1) + to as usize]
    }

    /// Bytes a second.
    pub fn bandwidth(&self, from: u32, to: u32) -> f64 {
        self.bandwidth[from as usize * (self.n_groups as usize + 1) + to as usize]
    }

    /// The longest that data can take between any two machines.
    pub(crate) fn seconds_max(&self, data: f64) -> f64 {
        let ways = self.latency.iter().zip(&self.bandwidth);
        ways.map(|(latency, bandwidth)| latency + data / bandwidth)
            .fold(0.0, f64::max)
    }
}
