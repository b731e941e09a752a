//! When the data of a task's predecessors can be on each machine.

use crate::problem::{OUTSIDE, Problem};

/// The place and end of a task, as far as its successors need them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) finish: f64,
    pub(crate) host: u32,
    pub(crate) group: u32,
}

/// Arrival times of one task's data, by group and not by machine: machines of a group differ only
/// in what lies on themselves already. Reused from task to task.
pub(crate) struct Arrivals {
    /// By group: the latest arrival and the machine that it comes from.
    top: Vec<(f64, u32)>,
    /// By group: the latest arrival from any other machine.
    second: Vec<f64>,
    /// By machine: the latest finish of a predecessor on it.
    local: Vec<f64>,
    touched: Vec<u32>,
}

impl Arrivals {
    pub(crate) fn new(problem: &Problem) -> Arrivals {
        let n_groups = problem.links().n_groups() as usize;
        Arrivals {
            top: vec![(0.0, OUTSIDE); n_groups],
            second: vec![0.0; n_groups],
            local: vec![0.0; problem.hosts().len()],
            touched: Vec::new(),
        }
    }

    /// Looks at the predecessors of a task that have been placed. O(predecessors * groups).
    pub(crate) fn collect(
        &mut self,
        problem: &Problem,
        task: u32,
        ended: &[Ended],
        is_placed: impl Fn(u32) -> bool,
    ) {
        self.top.fill((0.0, OUTSIDE));
        self.second.fill(0.0);
        for host in self.touched.drain(..) {
            self.local[host as usize] = 0.0;
        }
        let links = problem.links();
        let preds = problem.dag().predecessors(task);
        for (pred, edge) in preds.filter(|&(pred, _)| is_placed(pred)) {
            let Ended {
                finish,
                host,
                group,
            } = ended[pred as usize];
            let data = problem.dag().data(edge);
            if host != OUTSIDE {
                let local = &mut self.local[host as usize];
                *local = local.max(finish);
                self.touched.push(host);
            }
            for to in 0..links.n_groups() {
                let at = finish + links.seconds(data, group, to);
                let (top, second) = (&mut self.top[to as usize], &mut self.second[to as usize]);
                if host == top.1 {
                    top.0 = top.0.max(at);
                } else if at > top.0 {
                    (*second, *top) = (top.0, (at, host));
                } else {
                    *second = second.max(at);
                }
            }
        }
    }

    /// When all data is on any machine of a group but the one that the last of it comes from.
    pub(crate) fn in_group(&self, group: u32) -> f64 {
        self.top[group as usize].0
    }

    /// The machine that the last data for a group comes from, for which alone `at` may be less
    /// than `in_group`.
    pub(crate) fn source(&self, group: u32) -> u32 {
        self.top[group as usize].1
    }

    /// When all data is on a machine of a group.
    pub(crate) fn at(&self, host: u32, group: u32) -> f64 {
        let (top, from) = self.top[group as usize];
        if from == host {
            // Data from the machine itself crosses no link.
            self.second[group as usize].max(self.local[host as usize])
        } else {
            top
        }
    }
}
