//! The times of messages while controllers and links are as they are. What is the same for all of them is found once, and
//! again when a controller or a link changes.

use super::setting::{Setting, Way, hop_seconds};

/// The ways of messages, for one process.
#[derive(Default)]
pub(super) struct Routes {
    /// By edge: its way through controllers; none in direct mode.
    ways: Vec<Way>,
    /// The controllers and the factors of links that they were found for.
    controllers: Vec<u32>,
    links: Vec<f64>,
    /// True if links are known to be slower or faster than the platform says.
    has_other_links: bool,
}

impl Routes {
    /// Finds the ways by way of these controllers, over links of these factors.
    pub(super) fn find(&mut self, setting: &Setting, controllers: &[u32], links: &[f64]) {
        if self.links == links && self.controllers == controllers {
            return;
        }
        setting.find_ways(controllers, links, &mut self.ways);
        self.has_other_links = links
            .iter()
            .any(|&factor| factor.to_bits() != 1f64.to_bits());
        self.controllers.clear();
        self.controllers.extend_from_slice(controllers);
        self.links.clear();
        self.links.extend_from_slice(links);
    }

    /// The way of an edge through controllers; none in direct mode.
    #[inline]
    pub(super) fn way(&self, edge: u32) -> Option<&Way> {
        self.ways.get(edge as usize)
    }

    /// Seconds of the data of an edge from a machine to a machine.
    #[inline]
    pub(super) fn seconds(&self, setting: &Setting, edge: u32, from: u32, to: u32) -> f64 {
        match self.way(edge) {
            None => self.hop(setting, edge, from, to),
            Some(way) => {
                let before = self.hop(setting, edge, from, way.first);
                before + way.seconds + self.hop(setting, edge, way.last, to)
            }
        }
    }

    /// Seconds of the data of an edge from a machine straight to a machine.
    #[inline]
    pub(super) fn hop(&self, setting: &Setting, edge: u32, from: u32, to: u32) -> f64 {
        match self.has_other_links {
            false => setting.problem().transfer(edge, from, to),
            true => hop_seconds(setting.problem(), edge, [from, to], &self.links),
        }
    }

    /// The factor of a hop between two machines; none if all are 1.
    #[inline]
    pub(super) fn factor(&self, one: u32, other: u32) -> Option<f64> {
        if !self.has_other_links {
            return None;
        }
        let factor = |host: u32| self.links.get(host as usize).copied().unwrap_or(1.0);
        Some(factor(one).min(factor(other)))
    }
}
