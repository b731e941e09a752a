//! A problem on a part of its machines.

use super::Problem;

impl Problem {
    /// The same tasks on these machines only, ascending, which are numbered from 0 in this order. Nothing
    /// has started, and durations follow from powers.
    pub(crate) fn part(&self, hosts: &[u32]) -> Problem {
        let of = |host: u32| hosts.binary_search(&host).ok().map(|place| place as u32);
        let mut part = Problem {
            hosts: hosts
                .iter()
                .map(|&host| self.hosts[host as usize].clone())
                .collect(),
            ready: hosts
                .iter()
                .map(|&host| self.ready[host as usize].clone())
                .collect(),
            dag: self.dag.clone(),
            links: self.links.clone(),
            demands: self.demands.clone(),
            demand_of: self.demand_of.clone(),
            fits: self.fits.clone(),
            fixed: self.fixed.clone(),
            costs: None,
            held: Vec::new(),
            memory: None,
        };
        for fitting in &mut part.fits {
            *fitting = fitting.iter().filter_map(|&host| of(host)).collect();
        }
        part.with_memory()
    }
}
