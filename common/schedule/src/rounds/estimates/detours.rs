//! The ways beside a cluster: what its tasks wait for that follows earlier ones of it and is on no machine yet.

use super::{Estimates, NONE};

/// The longest part of the order that is looked at for one cluster; beyond it nothing is known.
const TASKS_MAX: u32 = 256;

/// Seconds between tasks of a cluster by ways beside it, which are the same wherever it is. Its memory is used again and
/// again.
#[derive(Default)]
pub(in crate::rounds) struct Detours {
    /// Each from the end of a task of the cluster to the start of a later one, by their places in it, ordered by the
    /// later one.
    ways: Vec<(u32, u32, f64)>,
    /// By task: the seconds from the end of the task that is looked at to its own end; less than none if it does not
    /// follow that.
    seconds: Vec<f64>,
    /// By place in the cluster: the end that is being worked out.
    ends: Vec<f64>,
}

impl Detours {
    /// Finds those of a cluster. O(k n) for k tasks and a part of the order of n.
    pub(in crate::rounds) fn find(&mut self, estimates: &Estimates<'_>, cluster: &[u32]) {
        let setting = estimates.setting;
        let dag = setting.problem().dag();
        self.ways.clear();
        let (Some(&head), Some(&last)) = (cluster.first(), cluster.last()) else {
            return;
        };
        let until = setting.rank(last);
        if cluster.len() < 3 && dag.predecessors(last).len() < 2
            || until - setting.rank(head) > TASKS_MAX
        {
            return;
        }
        // No task keeps its seconds beyond the one that it follows.
        self.seconds.resize(setting.order.len(), f64::NEG_INFINITY);
        for (from, &fork) in (0u32..).zip(cluster) {
            let part = setting.rank(fork) as usize + 1..until as usize + 1;
            if dag.successors(fork).len() < 2 {
                continue;
            }
            for &task in &setting.order[part.clone()] {
                let mut latest = f64::NEG_INFINITY;
                for (pred, edge) in dag.predecessors(task) {
                    let message = setting.virtual_seconds[edge as usize];
                    let before = match pred == fork {
                        true => 0.0,
                        false => self.seconds[pred as usize],
                    };
                    latest = latest.max(before + message);
                }
                if latest < 0.0 || estimates.host[task as usize] != NONE {
                    continue;
                }
                match (from + 1..)
                    .zip(&cluster[from as usize + 1..])
                    .find(|one| *one.1 == task)
                {
                    // What the message from the fork itself takes depends on the machine.
                    Some((to, _)) => {
                        let preds = dag.predecessors(task).filter(|&(pred, _)| pred != fork);
                        let latest = preds.map(|(pred, edge)| {
                            let message = setting.virtual_seconds[edge as usize];
                            self.seconds[pred as usize] + message
                        });
                        let latest = latest.fold(f64::NEG_INFINITY, f64::max);
                        if latest >= 0.0 {
                            self.ways.push((to, from, latest));
                        }
                    }
                    None => {
                        self.seconds[task as usize] = latest + estimates.shortest[task as usize];
                    }
                }
            }
            for &task in &setting.order[part] {
                self.seconds[task as usize] = f64::NEG_INFINITY;
            }
        }
        self.ways.sort_unstable_by_key(|&(to, from, _)| (to, from));
    }

    /// True if there is none.
    pub(in crate::rounds) fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// The last task of a cluster ends no sooner on a machine, if the first one starts there at a time.
    pub(in crate::rounds) fn end(
        &mut self,
        estimates: &Estimates<'_>,
        cluster: &[u32],
        (host, start): (u32, f64),
    ) -> f64 {
        self.ends.clear();
        let mut ways = self.ways.iter().peekable();
        let mut end = start;
        for (place, &task) in (0u32..).zip(cluster) {
            while let Some(&(_, from, seconds)) = ways.next_if(|way| way.0 == place) {
                end = end.max(self.ends[from as usize] + seconds);
            }
            end += estimates.progress.duration(estimates.setting, task, host);
            self.ends.push(end);
        }
        end
    }
}
