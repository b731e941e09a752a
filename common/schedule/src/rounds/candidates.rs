//! The clusters of a plan, and the places to try for each.

use super::estimates::{Estimates, NONE};
use super::progress::Progress;
use crate::order::less;

/// The slots to try for a cluster. Among equal machines that nothing was ever placed on only the
/// first one is tried, and so with the empty slots of a machine: ties would go to it anyway.
#[derive(Default)]
pub(super) struct Candidates {
    /// True if a machine has or had anything, or is known to be slower or faster than nominal.
    touched: Vec<bool>,
    /// The places that were collected last.
    pub(super) places: Vec<(u32, u32)>,
    /// Tasks that run, and start again on other machines only.
    leaves: Vec<u32>,
    /// By task: true if no machine that is left fits it.
    is_stranded: Vec<bool>,
    /// By machine: the cluster, counted from 1, for which one like it was tried.
    tried_for: Vec<u32>,
    n_clusters: u32,
    /// The machines that fit the newest cluster, ascending, with its classes of demands.
    hosts: Vec<u32>,
    classes: Vec<u32>,
    /// Successors that may be next in it.
    open: Vec<u32>,
}

impl Candidates {
    /// Begins a plan.
    pub(super) fn begin(&mut self, progress: &Progress, leaves: &[(u32, f64)]) {
        let is_other = |factor: f64| factor.to_bits() != 1f64.to_bits();
        let factors = progress.factor.iter().zip(&progress.links);
        let is_known = factors.map(|(&power, &links)| is_other(power) || is_other(links));
        self.touched.clear();
        self.touched.extend(is_known);
        for &host in progress.host.iter().chain(&progress.controllers) {
            self.touch(host);
        }
        self.is_stranded.clear();
        self.is_stranded.resize(progress.phase.len(), false);
        self.tried_for.clear();
        self.tried_for.resize(self.touched.len(), 0);
        self.n_clusters = 0;
        self.leaves.clear();
        self.leaves.extend(leaves.iter().map(|&(task, _)| task));
    }

    /// Something was placed on a machine.
    pub(super) fn touch(&mut self, host: u32) {
        self.touched[host as usize] = true;
    }

    /// A task fits no machine that is left.
    pub(super) fn strand(&mut self, task: u32) {
        self.is_stranded[task as usize] = true;
    }

    /// Algorithm 2: the path from a task on. What it may be placed on is collected.
    pub(super) fn next_cluster(&mut self, estimates: &mut Estimates<'_>, head: u32) -> Vec<u32> {
        let (setting, progress) = (estimates.setting, estimates.progress);
        let problem = setting.problem();
        let mut cluster = vec![head];
        let class = problem.demand_class(head);
        self.classes.clear();
        self.classes.push(class);
        // The machines that fit and are there, with some power.
        let usable =
            |host: &u32| !progress.gone[*host as usize] && progress.factor[*host as usize] > 0.0;
        self.hosts.clear();
        self.hosts
            .extend(problem.fitting(class).iter().copied().filter(usable));
        if self.leaves.contains(&head) {
            let here = progress.host[head as usize];
            self.hosts.retain(|&host| host != here);
        }
        let mut last = head;
        loop {
            let successors = problem.dag().successors(last).map(|(succ, _)| succ);
            let open = successors.filter(|succ| {
                estimates.host[*succ as usize] == NONE && !self.is_stranded[*succ as usize]
            });
            self.open.clear();
            self.open.extend(open);
            self.open
                .sort_unstable_by_key(|&succ| setting.rank[succ as usize]);
            if let Some(&succ) = self.open.last() {
                estimates.settle(setting.rank(succ));
            }
            let mut best: Option<(f64, u32)> = None;
            for &succ in &self.open {
                let weight = setting.priority[succ as usize] + estimates.est(succ);
                if best.is_none_or(|(most, _)| less(most, weight)) {
                    let class = problem.demand_class(succ);
                    let fits = |host: &u32| problem.fitting(class).binary_search(host).is_ok();
                    if self.classes.contains(&class) || self.hosts.iter().any(fits) {
                        best = Some((weight, succ));
                    }
                }
            }
            let Some((_, succ)) = best else {
                self.collect(estimates, &cluster);
                return cluster;
            };
            let class = problem.demand_class(succ);
            if !self.classes.contains(&class) {
                self.classes.push(class);
                let fitting = problem.fitting(class);
                self.hosts
                    .retain(|host| fitting.binary_search(host).is_ok());
            }
            cluster.push(succ);
            last = succ;
        }
    }

    fn collect(&mut self, estimates: &Estimates<'_>, cluster: &[u32]) {
        let setting = estimates.setting;
        let problem = setting.problem();
        let cores = cluster.iter().map(|&task| problem.dag().cores(task));
        let (most, only_gates) = cores.fold((0, true), |(most, only), cores| {
            (cores.max(most), only && cores == 0)
        });
        self.n_clusters += 1;
        self.places.clear();
        for &host in &self.hosts {
            if !self.touched[host as usize] {
                let tried_for = &mut self.tried_for[setting.like[host as usize] as usize];
                if std::mem::replace(tried_for, self.n_clusters) == self.n_clusters {
                    continue;
                }
            }
            let slots = problem.hosts()[host as usize].slots;
            if slots == 1 {
                self.places.push((host, 0));
                continue;
            }
            let mut empty_seen: Option<f64> = None;
            for slot in 0..slots {
                if most <= 1 && estimates.is_empty(host, slot) {
                    let free = estimates.free(host, slot);
                    if empty_seen.is_some_and(|seen| seen.to_bits() == free.to_bits()) {
                        continue;
                    }
                    empty_seen = Some(free);
                }
                self.places.push((host, slot));
                if only_gates {
                    break;
                }
            }
        }
    }
}
