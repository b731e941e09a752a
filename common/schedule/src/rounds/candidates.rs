//! The clusters of a plan, and the places to try for each.

use super::estimates::{Estimates, NONE};
use super::progress::Progress;
use super::setting::Setting;
use crate::order::less;
use crate::problem::Problem;

/// The least part by which a machine is slower than another one that is surely better, and the least part of the
/// makespan that the last task of a cluster takes where that is sure to show in its end: both together are some
/// hundred times what comparisons overlook.
const SLOWER: f64 = 0.01;
const LAST_LEAST: f64 = 1e-5;

/// The slots to try for a cluster. Machines that hold nothing of the process, and have nothing that is still to be sent
/// from there, are as good as each other but for their power: of those of a kind only the fastest is tried. Among
/// equal ones it is the first, and so with the empty slots of a machine: ties would go to it anyway.
#[derive(Default)]
pub(super) struct Candidates {
    /// True if a machine has something of the process, or links that are not those of its kind.
    touched: Vec<bool>,
    /// By machine: its known power; 0 for one that is not there.
    power: Vec<f64>,
    /// The makespan with everything where it was.
    makespan: f64,
    /// The machines that are tried where the last task of the cluster takes some time, ascending, and whether they have
    /// to be found again.
    fastest: Vec<u32>,
    is_stale: bool,
    /// By machine: the most power of the untouched machines of its kind, if it is the lowest of these.
    most: Vec<f64>,
    /// By machine: the cluster, counted from 1, for which one like it was collected, and the power of that one.
    seen: Vec<(u32, f64)>,
    n_clusters: u32,
    /// The places that were collected last.
    pub(super) places: Vec<(u32, u32)>,
    /// Tasks that run, and start again on other machines only.
    leaves: Vec<u32>,
    /// The machine that the newest cluster is not to go to, if it leaves one.
    left: Option<u32>,
    /// By task: true if no machine that is left fits it.
    is_stranded: Vec<bool>,
    /// The machines that fit the newest cluster, ascending, with its classes of demands.
    hosts: Vec<u32>,
    classes: Vec<u32>,
    /// Successors that may be next in it.
    open: Vec<u32>,
}

impl Candidates {
    /// Begins a plan that is to be better than a makespan.
    pub(super) fn begin(
        &mut self,
        setting: &Setting,
        progress: &Progress,
        leaves: &[(u32, f64)],
        makespan: f64,
    ) {
        let problem = setting.problem();
        let is_other = |factor: &f64| factor.to_bits() != 1f64.to_bits();
        self.touched.clear();
        self.touched.extend(progress.links.iter().map(is_other));
        for task in problem.dag().tasks() {
            let mut successors = problem.dag().successors(task);
            if !progress.has_ended(task) || successors.any(|(succ, _)| progress.is_waiting(succ)) {
                self.touched[progress.host[task as usize] as usize] = true;
            }
        }
        for &host in &progress.controllers {
            self.touched[host as usize] = true;
        }
        self.power.clear();
        let hosts = problem.hosts().iter().zip(&progress.gone);
        let powers = hosts
            .zip(&progress.factor)
            .map(|((host, &gone), factor)| match gone {
                true => 0.0,
                false => host.power * factor,
            });
        self.power.extend(powers);
        self.makespan = makespan;
        self.is_stale = true;
        self.seen.clear();
        self.seen.resize(self.touched.len(), (0, 0.0));
        self.n_clusters = 0;
        self.is_stranded.clear();
        self.is_stranded.resize(progress.phase.len(), false);
        self.leaves.clear();
        self.leaves.extend(leaves.iter().map(|&(task, _)| task));
    }

    /// Something was placed on a machine.
    pub(super) fn touch(&mut self, host: u32) {
        self.is_stale |= !std::mem::replace(&mut self.touched[host as usize], true);
    }

    /// A task fits no machine that is left.
    pub(super) fn strand(&mut self, task: u32) {
        self.is_stranded[task as usize] = true;
    }

    /// The machines of which all others are no better than one, wherever the rest is.
    pub(super) fn fastest(&mut self, setting: &Setting) -> &[u32] {
        if self.is_stale {
            self.find_fastest(setting);
        }
        &self.fastest
    }

    /// Finds the machines that have something, and the fastest of each kind of those that do not. O(p).
    fn find_fastest(&mut self, setting: &Setting) {
        self.is_stale = false;
        self.most.clear();
        self.most.resize(self.touched.len(), 0.0);
        let machines = || setting.kind.iter().zip(&self.power).zip(&self.touched);
        for ((&kind, &power), &touched) in machines() {
            if !touched {
                let most = &mut self.most[kind as usize];
                *most = most.max(power);
            }
        }
        self.fastest.clear();
        for (host, ((&kind, &power), &touched)) in (0u32..).zip(machines()) {
            if power > 0.0 && (touched || power * (1.0 + SLOWER) >= self.most[kind as usize]) {
                self.fastest.push(host);
            }
        }
    }

    /// Algorithm 2: the path from a task on. What it may be placed on is collected.
    pub(super) fn next_cluster(&mut self, estimates: &mut Estimates<'_>, head: u32) -> Vec<u32> {
        let (setting, progress) = (estimates.setting, estimates.progress);
        let problem = setting.problem();
        let mut cluster = vec![head];
        let class = problem.demand_class(head);
        self.classes.clear();
        self.classes.push(class);
        self.fastest(setting);
        let leaves = self.leaves.contains(&head);
        self.left = leaves.then(|| progress.host[head as usize]);
        self.hosts.clear();
        let may_have = |&host: &u32| {
            Some(host) != self.left && (fits_all(problem, class) || fits(problem, class, host))
        };
        self.hosts
            .extend(self.fastest.iter().copied().filter(may_have));
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
                    let mut hosts = self.hosts.iter();
                    let is_known = self.classes.contains(&class);
                    if is_known || hosts.any(|&host| fits(problem, class, host)) {
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
                self.hosts.retain(|&host| fits(problem, class, host));
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
        let last = cluster.last().map_or(0, |&last| last as usize);
        let least = LAST_LEAST * self.makespan;
        if !(least.is_finite() && setting.shortest[last] >= least) {
            // Of machines between which hardly anything differs the first one is taken, and not the fastest.
            let may_have = |&host: &u32| {
                let mut classes = self.classes.iter();
                let is_there = self.power[host as usize] > 0.0 && Some(host) != self.left;
                is_there && classes.all(|&class| fits(problem, class, host))
            };
            self.hosts.clear();
            self.hosts
                .extend((0..self.power.len() as u32).filter(may_have));
        }
        self.n_clusters += 1;
        self.places.clear();
        for &host in &self.hosts {
            if !self.touched[host as usize] {
                let this = (self.n_clusters, self.power[host as usize]);
                let seen = &mut self.seen[setting.like[host as usize] as usize];
                if std::mem::replace(seen, this) == this {
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

/// True if a machine fits a class of demands.
fn fits(problem: &Problem, class: u32, host: u32) -> bool {
    problem.fitting(class).binary_search(&host).is_ok()
}

/// True if all of them do.
fn fits_all(problem: &Problem, class: u32) -> bool {
    problem.fitting(class).len() == problem.hosts().len()
}
