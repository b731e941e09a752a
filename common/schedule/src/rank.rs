//! Mean costs over the machines and the upward rank that list schedulers order tasks by.

use crate::problem::Problem;

/// The mean that estimates the cost of a message while its ends are not placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeanRule {
    /// The mean of what the message costs over all pairs of machines: data times the mean of
    /// 1 / bandwidth.
    Costs,
    /// The message over the mean link: data / mean bandwidth.
    Bandwidths,
}

/// Mean costs of tasks and messages. A machine counts once for each of its slots, since the
/// papers' resource has one processor; a pair of machines counts for each pair of their slots.
/// Slots of one machine are no pair: nothing crosses a link between them.
/// A machine that nothing fits does not count.
pub(crate) struct Means {
    latency: f64,
    seconds_per_byte: f64,
    /// Mean of 1 / power over the machines that fit, by class of demands.
    seconds_per_work: Vec<f64>,
}

impl Means {
    pub(crate) fn new(problem: &Problem, rule: MeanRule) -> Means {
        let (hosts, links) = (problem.hosts(), problem.links());
        let n_groups = links.n_groups();
        let mut slots = vec![0.0; n_groups as usize];
        let mut squares = vec![0.0; n_groups as usize];
        let mut usable = vec![false; hosts.len()];
        for class in 0..problem.n_demand_classes() {
            for &host in problem.fitting(class) {
                usable[host as usize] = true;
            }
        }
        for (host, _) in hosts.iter().zip(usable).filter(|&(_, usable)| usable) {
            let count = f64::from(host.slots);
            slots[host.group as usize] += count;
            squares[host.group as usize] += count * count;
        }
        let (mut pairs, mut latency, mut bandwidth, mut inverse) = (0.0, 0.0, 0.0, 0.0);
        for from in 0..n_groups {
            for to in 0..n_groups {
                let mut count = slots[from as usize] * slots[to as usize];
                if from == to {
                    count -= squares[from as usize];
                }
                if count > 0.0 {
                    pairs += count;
                    latency += count * links.latency(from, to);
                    bandwidth += count * links.bandwidth(from, to);
                    inverse += count / links.bandwidth(from, to);
                }
            }
        }
        let seconds_per_byte = match rule {
            MeanRule::Costs => inverse / pairs,
            MeanRule::Bandwidths => pairs / bandwidth,
        };
        let crossing = pairs > 0.0;
        let seconds_per_work = (0..problem.n_demand_classes()).map(|class| {
            let fitting = problem
                .fitting(class)
                .iter()
                .map(|&host| &hosts[host as usize]);
            let slots: f64 = fitting.clone().map(|host| f64::from(host.slots)).sum();
            let sum: f64 = fitting.map(|host| f64::from(host.slots) / host.power).sum();
            if slots > 0.0 { sum / slots } else { 0.0 }
        });
        Means {
            latency: if crossing { latency / pairs } else { 0.0 },
            seconds_per_byte: if crossing { seconds_per_byte } else { 0.0 },
            seconds_per_work: seconds_per_work.collect(),
        }
    }

    /// The mean time of a task over the machines that it fits.
    pub(crate) fn duration(&self, problem: &Problem, task: u32) -> f64 {
        let class = problem.demand_class(task);
        if !problem.has_costs() {
            return problem.dag().work(task) * self.seconds_per_work[class as usize];
        }
        let (mut slots, mut sum) = (0.0, 0.0);
        for &host in problem.fitting(class) {
            let count = f64::from(problem.hosts()[host as usize].slots);
            slots += count;
            sum += count * problem.duration(task, host);
        }
        if slots > 0.0 { sum / slots } else { 0.0 }
    }

    /// The mean time of a message; nothing for no data.
    pub(crate) fn transfer(&self, data: f64) -> f64 {
        if data > 0.0 {
            self.latency + data * self.seconds_per_byte
        } else {
            0.0
        }
    }

    /// The upward rank by position: a task's mean time and the largest, over its successors, of
    /// mean message and rank (Topcuoglu, Hariri, Wu 2002, equation 8). O(n + e).
    pub(crate) fn upward(&self, problem: &Problem) -> Vec<f64> {
        let dag = problem.dag();
        let mut rank = vec![0.0; dag.n_tasks()];
        for task in dag.tasks().rev() {
            let after = dag
                .successors(task)
                .map(|(succ, data)| self.transfer(data) + rank[succ as usize])
                .fold(0.0, f64::max);
            rank[task as usize] = self.duration(problem, task) + after;
        }
        rank
    }

    /// The downward rank by position: the largest, over a task's predecessors, of their rank, mean
    /// time and mean message (equation 9). O(n + e).
    pub(crate) fn downward(&self, problem: &Problem) -> Vec<f64> {
        let dag = problem.dag();
        let mut rank = vec![0.0f64; dag.n_tasks()];
        for task in dag.tasks() {
            let until = rank[task as usize] + self.duration(problem, task);
            for (succ, data) in dag.successors(task) {
                let after = until + self.transfer(data);
                rank[succ as usize] = rank[succ as usize].max(after);
            }
        }
        rank
    }
}
