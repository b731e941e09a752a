//! A bound that tells when a schedule is short enough. It knows that tasks are whole and that some
//! wait for all others, as those of loops one after another do.

use crate::bound::bound;
use crate::problem::Problem;

/// A schedule this near to the bound, as a ratio, is short enough.
const NEAR: f64 = 1.0001;
/// Stages times kinds of machines above which stages are not looked at.
const COUNTED_MAX: usize = 200_000;
/// Steps of the bisection for the least time of whole tasks: more than that are noise.
const BISECTIONS: u32 = 48;

/// A length at which nothing is worth looking for any more. O(n + e) beside the bound.
pub(super) fn enough(problem: &Problem) -> f64 {
    bound(problem).max(stages(problem)) * NEAR
}

/// The stage between two tasks that everything else comes before or after.
#[derive(Default)]
struct Stage {
    n_tasks: u64,
    work_min: f64,
    work: f64,
    chain: f64,
}

/// The sum over all stages of what each takes at least; 0 where that is not known.
fn stages(problem: &Problem) -> f64 {
    let dag = problem.dag();
    if problem.has_costs() || dag.tasks().any(|task| problem.fixed(task).is_some()) {
        return 0.0;
    }
    let is_cut = cuts(problem);
    let kinds = kinds(problem);
    let n_stages = is_cut.iter().filter(|&&is_cut| is_cut).count() + 1;
    if n_stages * kinds.len() > COUNTED_MAX {
        return 0.0;
    }
    let power_max = kinds.iter().map(|&(power, _)| power).fold(0.0, f64::max);
    let mut total = 0.0;
    let mut stage = Stage::default();
    // The longest chain to each task inside its stage, in work.
    let mut chains = vec![0.0f64; dag.n_tasks()];
    let mut begin = 0;
    for task in dag.tasks() {
        let work = dag.work(task);
        if is_cut[task as usize] {
            total += stage.seconds(&kinds, power_max) + work / power_max;
            stage = Stage::default();
            begin = task + 1;
            continue;
        }
        let before = dag.predecessors(task).filter(|&(pred, _)| pred >= begin);
        let chain = before.map(|(pred, _)| chains[pred as usize]);
        let chain = chain.fold(0.0, f64::max) + work;
        chains[task as usize] = chain;
        stage.chain = stage.chain.max(chain);
        if !dag.is_gate(task) {
            stage.work_min = if stage.n_tasks == 0 {
                work
            } else {
                stage.work_min.min(work)
            };
            stage.n_tasks += 1;
            stage.work += work * f64::from(dag.cores(task));
        }
    }
    total + stage.seconds(&kinds, power_max)
}

/// Power and number of slots of each kind of machine.
fn kinds(problem: &Problem) -> Vec<(f64, f64)> {
    let mut kinds: Vec<(f64, f64)> = Vec::new();
    let mut hosts: Vec<(f64, u32)> = (problem.hosts().iter())
        .map(|host| (host.power, host.slots))
        .collect();
    hosts.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (power, slots) in hosts {
        match kinds.last_mut() {
            Some(last) if last.0 == power => last.1 += f64::from(slots),
            Some(_) | None => kinds.push((power, f64::from(slots))),
        }
    }
    kinds
}

/// By task: whether all tasks that are listed before it lead to it and all others come from it.
fn cuts(problem: &Problem) -> Vec<bool> {
    let dag = problem.dag();
    let is_source = |&task: &u32| dag.predecessors(task).len() == 0;
    let last_source = dag.tasks().rfind(is_source).unwrap_or(0);
    let mut is_cut = vec![false; dag.n_tasks()];
    // The furthest that a message from before goes, and whether something before leads nowhere.
    let (mut furthest, mut ended) = (0, false);
    for task in dag.tasks() {
        is_cut[task as usize] = !ended && furthest <= task && last_source <= task;
        let last = dag.successors(task).map(|(succ, _)| succ).max();
        ended |= last.is_none();
        furthest = furthest.max(last.unwrap_or(0));
    }
    is_cut
}

impl Stage {
    /// A lower bound of the stage's time: its longest chain, all its work on all slots, or, since
    /// tasks are whole, the time in which all slots have room for as many tasks of the shortest
    /// kind.
    fn seconds(&self, kinds: &[(f64, f64)], power_max: f64) -> f64 {
        if self.n_tasks == 0 {
            return self.chain / power_max;
        }
        let power: f64 = kinds.iter().map(|&(power, slots)| power * slots).sum();
        let least = (self.chain / power_max).max(self.work / power);
        if self.n_tasks == 1 || self.work_min <= 0.0 {
            return least;
        }
        let room = |seconds: f64| -> f64 {
            let rooms = kinds.iter().map(|&(power, slots)| {
                // A task that falls short of a whole one by a rounding error counts as whole.
                slots * (seconds * power / self.work_min * (1.0 + 1e-9)).floor()
            });
            rooms.sum()
        };
        let n_tasks = self.n_tasks as f64;
        if room(least) >= n_tasks {
            return least;
        }
        let (mut low, mut high) = (least, n_tasks * self.work_min / power_max);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            if room(middle) >= n_tasks {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests;
