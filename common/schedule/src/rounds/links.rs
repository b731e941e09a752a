//! The bandwidth of links as transfers have shown it.

use super::engine::{Command, Rounds};
use crate::order::less;

/// The newest transfers of a machine that are looked at: a machine is as fast as the fastest of them,
/// since the other end or a competitor may have slowed the rest.
const TRANSFERS: usize = 4;

/// The evidence about the links of one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Links {
    /// Factors of the platform's bandwidth that the newest transfers had; 0 where there is none yet.
    newest: [f64; TRANSFERS],
    next: usize,
    /// The factor that the last plan was asked for with.
    planned: f64,
}

impl Default for Links {
    fn default() -> Links {
        Links {
            newest: [0.0; TRANSFERS],
            next: 0,
            planned: 1.0,
        }
    }
}

impl Links {
    /// Takes in the factor of a transfer, and tells what is believed from now on.
    fn took(&mut self, factor: f64) -> f64 {
        self.newest[self.next] = factor;
        self.next = (self.next + 1) % TRANSFERS;
        self.newest.iter().copied().fold(0.0, f64::max)
    }
}

impl Rounds {
    /// Learns from a transfer, and asks for a plan if links are others than planned with.
    pub(super) fn transferred(
        &mut self,
        edge: u32,
        hosts: [u32; 2],
        seconds: f64,
        commands: &mut Vec<Command>,
    ) {
        let Some(change_least) = self.policy.link_change_least else {
            return;
        };
        let problem = self.setting.problem();
        let are_known = hosts
            .iter()
            .all(|&host| (host as usize) < self.machines.len());
        if !are_known || edge as usize >= problem.dag().n_edges() {
            return;
        }
        let factor = problem.transfer(edge, hosts[0], hosts[1]) / seconds;
        if !(factor.is_finite() && factor > 0.0) {
            return;
        }
        for host in hosts {
            let links = &mut self.machines[host as usize].links;
            let believed = links.took(factor);
            self.progress.links[host as usize] = believed;
            let grown = 1.0 + change_least;
            if less(believed * grown, links.planned) || less(links.planned * grown, believed) {
                links.planned = believed;
                self.vain = None;
                self.want_plan(host, commands);
            }
        }
    }
}
