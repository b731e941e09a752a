//! The system that priorities are computed on, and estimates begin with: every task on a machine of
//! its own, all of them of the best power (rule A3 of the digest).

use crate::bound::Shortest;
use crate::order::by_priority;
use crate::problem::Problem;

/// The costs of tasks and messages on the virtual machine, and the resulting order of tasks.
pub(crate) struct VirtualSystem {
    pub(crate) link: VirtualLink,
    /// By task: the shortest time on any machine that it fits.
    pub(crate) shortest: Vec<f64>,
    /// By task: the longest way from its start to the end of the process.
    pub(crate) priority: Vec<f64>,
    /// All tasks by descending priority, predecessors first.
    pub(crate) order: Vec<u32>,
}

/// The cost of a message while one of its ends is not placed: the highest bandwidth and the lowest
/// latency between any two machines (A3). Between slots of the only machine nothing costs; where
/// there is one slot only, the bandwidth is 1, as in the published vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VirtualLink {
    latency: f64,
    bandwidth: f64,
}

impl VirtualSystem {
    /// O(n log n + e).
    pub(crate) fn new(problem: &Problem) -> VirtualSystem {
        let dag = problem.dag();
        let link = VirtualLink::new(problem);
        let durations = Shortest::new(problem);
        let shortest: Vec<f64> = dag.tasks().map(|task| durations.duration(task)).collect();
        let mut priority = vec![0.0; dag.n_tasks()];
        for task in dag.tasks().rev() {
            let after = dag
                .successors(task)
                .map(|(succ, data)| link.seconds(data) + priority[succ as usize])
                .fold(0.0, f64::max);
            priority[task as usize] = shortest[task as usize] + after;
        }
        let order = by_priority(&priority);
        VirtualSystem {
            link,
            shortest,
            priority,
            order,
        }
    }
}

impl VirtualLink {
    fn new(problem: &Problem) -> VirtualLink {
        let links = problem.links();
        let mut hosts = vec![0u32; links.n_groups() as usize];
        for host in problem.hosts() {
            hosts[host.group as usize] += 1;
        }
        let mut best = VirtualLink {
            latency: f64::INFINITY,
            bandwidth: 0.0,
        };
        for from in 0..links.n_groups() {
            for to in 0..links.n_groups() {
                if from != to || hosts[from as usize] > 1 {
                    best.latency = best.latency.min(links.latency(from, to));
                    best.bandwidth = best.bandwidth.max(links.bandwidth(from, to));
                }
            }
        }
        match problem.hosts() {
            [only] => VirtualLink {
                latency: 0.0,
                bandwidth: if only.slots > 1 { f64::INFINITY } else { 1.0 },
            },
            _ => best,
        }
    }

    /// By group: the best ways out of a machine of it to any other machine. Of the only machine there is none.
    pub(crate) fn out_of_groups(problem: &Problem) -> Vec<VirtualLink> {
        let links = problem.links();
        let mut hosts = vec![0u32; links.n_groups() as usize];
        for host in problem.hosts() {
            hosts[host.group as usize] += 1;
        }
        let groups = 0..links.n_groups();
        let best = |from: u32| {
            let others = groups
                .clone()
                .filter(|&to| from != to || hosts[to as usize] > 1);
            let none = VirtualLink {
                latency: f64::INFINITY,
                bandwidth: 0.0,
            };
            others.fold(none, |best, to| VirtualLink {
                latency: best.latency.min(links.latency(from, to)),
                bandwidth: best.bandwidth.max(links.bandwidth(from, to)),
            })
        };
        groups.clone().map(best).collect()
    }

    /// The best ways between two machines of any group, and between machines of any two groups. Where there are no such
    /// machines there is none.
    pub(crate) fn inside_and_between(problem: &Problem) -> [VirtualLink; 2] {
        let links = problem.links();
        let mut hosts = vec![0u32; links.n_groups() as usize];
        for host in problem.hosts() {
            hosts[host.group as usize] += 1;
        }
        let none = VirtualLink {
            latency: f64::INFINITY,
            bandwidth: 0.0,
        };
        let mut best = [none; 2];
        for from in 0..links.n_groups() {
            for to in 0..links.n_groups() {
                if from != to || hosts[from as usize] > 1 {
                    let best = &mut best[usize::from(from != to)];
                    best.latency = best.latency.min(links.latency(from, to));
                    best.bandwidth = best.bandwidth.max(links.bandwidth(from, to));
                }
            }
        }
        best
    }

    pub(crate) fn seconds(&self, data: f64) -> f64 {
        if data > 0.0 {
            self.latency + data / self.bandwidth
        } else {
            0.0
        }
    }
}
