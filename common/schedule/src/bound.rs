//! A lower bound of the makespan, and the figures by which schedules are compared.

use crate::problem::Problem;
use crate::schedule::{Schedule, holds_slots};

/// No schedule of the problem is shorter, in seconds: the largest of the longest chain of tasks,
/// each at its shortest and with messages at no cost; the time in which all slots together can do
/// all the work, each from when it is free; and for each task, the time before it can start and
/// what all slots need for the work that cannot start before, or the same from the end.
/// O(n log n + e + s log s) for s slots.
pub fn bound(problem: &Problem) -> f64 {
    longest_chain(problem, true)
        .max(shared_work(problem))
        .max(late_or_early_work(problem))
}

/// The longest path by computation only, each task on its fastest machine: the denominator of the
/// schedule length ratio (rule A15). Started tasks count like the rest.
pub fn critical_path_time(problem: &Problem) -> f64 {
    longest_chain(problem, false)
}

/// The time of all tasks one after the other on the one machine that is best for them, or each on
/// its best one if no machine fits all: the numerator of the speedup.
pub fn sequential_time(problem: &Problem) -> f64 {
    let tasks = || problem.dag().tasks();
    let mut fits_all = vec![true; problem.hosts().len()];
    let classes: std::collections::BTreeSet<u32> =
        tasks().map(|t| problem.demand_class(t)).collect();
    for class in classes {
        let fitting = problem.fitting(class);
        for (host, fits) in (0u32..).zip(&mut fits_all) {
            *fits &= fitting.binary_search(&host).is_ok();
        }
    }
    let on_one = (0u32..)
        .zip(fits_all)
        .filter(|&(_, fits)| fits)
        .map(|(host, _)| {
            tasks()
                .map(|task| problem.duration(task, host))
                .sum::<f64>()
        })
        .fold(f64::INFINITY, f64::min);
    if on_one.is_finite() {
        on_one
    } else {
        tasks().map(|task| problem.duration_min(task)).sum()
    }
}

/// Figures of one schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// When the last task ends, in seconds.
    pub makespan: f64,
    /// The lower bound of the makespan, in seconds.
    pub bound: f64,
    /// Schedule length ratio: makespan / critical path time. 1 if both are 0.
    pub slr: f64,
    /// Sequential time / makespan. 1 if both are 0.
    pub speedup: f64,
    /// Speedup / number of slots.
    pub efficiency: f64,
}

impl Figures {
    /// The figures of a schedule of a problem.
    pub fn new(problem: &Problem, schedule: &Schedule) -> Figures {
        let makespan = schedule.makespan();
        let slots: f64 = problem
            .hosts()
            .iter()
            .map(|host| f64::from(host.slots))
            .sum();
        let speedup = ratio(sequential_time(problem), makespan);
        Figures {
            makespan,
            bound: bound(problem),
            slr: ratio(makespan, critical_path_time(problem)),
            speedup,
            efficiency: speedup / slots,
        }
    }
}

fn ratio(above: f64, below: f64) -> f64 {
    if above <= 0.0 && below <= 0.0 {
        1.0
    } else {
        above / below
    }
}

/// The longest chain of shortest durations; with `settled` what has started ends when it ends and
/// what it waited for does not count.
fn longest_chain(problem: &Problem, settled: bool) -> f64 {
    let dag = problem.dag();
    let shortest = Shortest::new(problem);
    let mut finish = vec![0.0; dag.n_tasks()];
    let mut longest = 0.0f64;
    for task in dag.tasks() {
        let fixed = problem.fixed(task).filter(|_| settled);
        let end = match fixed {
            Some(fixed) => fixed.finish,
            None => {
                let preds = dag
                    .predecessors(task)
                    .map(|(pred, _)| finish[pred as usize]);
                preds.fold(0.0, f64::max) + shortest.duration(task)
            }
        };
        finish[task as usize] = end;
        // A plan does not contain what has started, so its end does not bound the plan.
        if fixed.is_none() {
            longest = longest.max(end);
        }
    }
    longest
}

/// The least time in which the slots can do all work that is left.
fn shared_work(problem: &Problem) -> f64 {
    let dag = problem.dag();
    let shortest = Shortest::new(problem);
    let work: f64 = dag
        .tasks()
        .filter(|&task| holds_slots(problem, task))
        .map(|task| {
            let one = if problem.has_costs() {
                shortest.duration(task)
            } else {
                dag.work(task)
            };
            one * f64::from(dag.cores(task))
        })
        .sum();
    if work <= 0.0 {
        return 0.0;
    }
    let mut slots: Vec<(f64, f64)> = (0u32..)
        .zip(problem.hosts())
        .flat_map(|(number, host)| {
            let power = if problem.has_costs() { 1.0 } else { host.power };
            problem
                .ready(number)
                .iter()
                .map(move |&ready| (ready, power))
        })
        .collect();
    slots.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    // With the first k slots the work ends at (work + sum of power * ready) / sum of power; slots
    // are added for as long as they become free before that.
    let (mut power, mut ahead) = (0.0, work);
    for (ready, own) in slots {
        if power > 0.0 && ahead / power <= ready {
            break;
        }
        power += own;
        ahead += own * ready;
    }
    ahead / power
}

/// The largest, over moments, of the moment and the time that all slots need for what cannot start
/// before it, and the same counted back from the end.
fn late_or_early_work(problem: &Problem) -> f64 {
    let dag = problem.dag();
    let shortest = Shortest::new(problem);
    let power: f64 = problem
        .hosts()
        .iter()
        .map(|host| f64::from(host.slots) * if problem.has_costs() { 1.0 } else { host.power })
        .sum();
    let (mut head, mut tail) = (vec![0.0f64; dag.n_tasks()], vec![0.0f64; dag.n_tasks()]);
    for task in dag.tasks() {
        let finish = match problem.fixed(task) {
            Some(fixed) => fixed.finish,
            None => head[task as usize] + shortest.duration(task),
        };
        for (succ, _) in dag.successors(task) {
            head[succ as usize] = head[succ as usize].max(finish);
        }
    }
    for task in dag
        .tasks()
        .rev()
        .filter(|&task| problem.fixed(task).is_none())
    {
        let from = tail[task as usize] + shortest.duration(task);
        for (pred, _) in dag.predecessors(task) {
            tail[pred as usize] = tail[pred as usize].max(from);
        }
    }
    let mut tasks: Vec<u32> = dag
        .tasks()
        .filter(|&task| holds_slots(problem, task))
        .collect();
    let mut largest = 0.0f64;
    for distance in [head, tail] {
        tasks.sort_unstable_by(|&one, &other| {
            distance[other as usize].total_cmp(&distance[one as usize])
        });
        let mut seconds = 0.0;
        for &task in &tasks {
            let one = match problem.has_costs() {
                true => shortest.duration(task),
                false => dag.work(task),
            };
            seconds += one * f64::from(dag.cores(task)) / power;
            largest = largest.max(distance[task as usize] + seconds);
        }
    }
    largest
}

/// The shortest duration of each task over the machines that it fits, in O(1) where machines
/// differ in power only.
pub(crate) struct Shortest<'a> {
    problem: &'a Problem,
    power_max: Vec<f64>,
}

impl<'a> Shortest<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Shortest<'a> {
        let power = |host: &u32| problem.hosts()[*host as usize].power;
        let power_max = (0..problem.n_demand_classes())
            .map(|class| problem.fitting(class).iter().map(power).fold(0.0, f64::max))
            .collect();
        Shortest { problem, power_max }
    }

    pub(crate) fn duration(&self, task: u32) -> f64 {
        let power_max = self.power_max[self.problem.demand_class(task) as usize];
        if self.problem.has_costs() || power_max <= 0.0 {
            self.problem.duration_min(task)
        } else {
            self.problem.dag().work(task) / power_max
        }
    }
}

#[cfg(test)]
mod tests;
