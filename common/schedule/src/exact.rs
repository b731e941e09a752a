//! The shortest schedule of a small graph, by branch and bound.
//!
//! Tasks are placed one after another in the order of their starts, each as early as its data and the
//! slots of its machine allow: some shortest schedule is made like that, since moving tasks to the left
//! and sorting them again ends, and nothing gets longer by it. A branch is left where a lower bound of
//! what can come of it is not below the best schedule ([`least`]), where a machine that is alike has
//! been tried, and where the same tasks were placed before and left everything at least as good
//! ([`seen`]).
//!
//! The steps are counted. Without memory that may run out, what is found is the optimum if they suffice.

use crate::meter::Meter;
use crate::problem::Problem;
use crate::schedule::{Placement, Schedule};

mod least;
mod seen;
mod small;

use least::Level;
use seen::Seen;
use small::{Small, State};

/// Graphs of more tasks that have not started are not looked at.
pub(crate) const TASKS_MAX: usize = 20;
/// A schedule is better if it is shorter by this part: rounding explains less.
const BETTER: f64 = 1e-9;

/// The knowledge after a search for a schedule that is shorter than some makespan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// The shortest that was found; none if nothing shorter was.
    pub(crate) shorter: Option<Schedule>,
    /// True if there is none that is shorter still.
    pub(crate) is_proven: bool,
}

/// True if a problem is of the kind and size that [`shorter`] may search.
pub(crate) fn is_small(problem: &Problem) -> bool {
    let waiting = problem
        .dag()
        .tasks()
        .filter(|&task| problem.fixed(task).is_none());
    problem.memory().is_none() && waiting.take(TASKS_MAX + 1).count() <= TASKS_MAX
}

/// Searches all schedules that are shorter than a makespan, until the steps are used up.
pub(crate) fn shorter(problem: &Problem, makespan: f64, meter: &Meter) -> Found {
    let small = Small::new(problem);
    let mut search = Exact {
        state: State::new(&small),
        levels: small.levels(),
        limit: limit(makespan),
        seen: Seen::new(),
        best: None,
        small: &small,
        meter,
    };
    let is_over = small.floor < search.limit && search.begin().is_err();
    let best = search.best;
    Found {
        shorter: best.map(|state| schedule(problem, &small, &state)),
        is_proven: !is_over,
    }
}

/// The steps are used up.
struct Over;

struct Exact<'a> {
    small: &'a Small,
    meter: &'a Meter,
    state: State,
    /// Bounds of states, by the number of tasks that are placed.
    levels: Vec<Level>,
    /// Only schedules that are shorter than this are looked for.
    limit: f64,
    seen: Seen,
    best: Option<State>,
}

/// A task on a machine.
#[derive(Clone, Copy)]
struct Branch {
    task: usize,
    host: usize,
    start: f64,
    /// No schedule that begins like this is shorter.
    least: f64,
}

impl Exact<'_> {
    fn begin(&mut self) -> Result<(), Over> {
        match self.is_worth_it() {
            true => self.descend(),
            false => Ok(()),
        }
    }

    /// True if something shorter than the limit may come of the present state.
    fn is_worth_it(&mut self) -> bool {
        let level = &mut self.levels[self.state.n_placed()];
        let (is_below, steps) = level.count(self.small, &self.state, self.limit);
        self.meter.add(steps);
        if is_below {
            self.meter.add(Seen::steps(self.small));
        }
        is_below && !self.seen.has_better(self.small, &self.state)
    }

    fn descend(&mut self) -> Result<(), Over> {
        let depth = self.state.n_placed();
        if depth == self.small.n_tasks() {
            self.limit = limit(self.state.makespan().max(self.small.floor));
            self.best = Some(self.state.clone());
            return Ok(());
        }
        if self.meter.is_over() {
            return Err(Over);
        }
        for branch in self.branches(depth) {
            if branch.least >= self.limit {
                break;
            }
            let undo = self
                .state
                .place(self.small, branch.task, branch.host, branch.start);
            let below = match self.is_worth_it() {
                true => self.descend(),
                false => Ok(()),
            };
            self.state.take_back(self.small, undo);
            below?;
        }
        Ok(())
    }

    /// All tasks that could be placed next, on all machines that differ, the most promising first.
    fn branches(&self, depth: usize) -> Vec<Branch> {
        let (small, state, level) = (self.small, &self.state, &self.levels[depth]);
        let mut branches = Vec::new();
        for task in (0..small.n_tasks()).filter(|&task| state.is_ready(task)) {
            for &host in &level.hosts {
                let Some(free) = state.free_at(small, task, host) else {
                    continue;
                };
                let start = level.arrival[task * small.n_hosts() + host].max(free);
                let finish = start + small.duration(task, host);
                let least = finish + small.tail(task, host);
                // Tasks are placed in the order of their starts.
                if start >= state.latest && least < self.limit {
                    branches.push(Branch {
                        task,
                        host,
                        start,
                        least,
                    });
                }
            }
        }
        branches.sort_by(|one, other| {
            let least = one.least.total_cmp(&other.least);
            least.then(one.start.total_cmp(&other.start))
        });
        branches
    }
}

fn limit(makespan: f64) -> f64 {
    (makespan * (1.0 - BETTER)).min(makespan - BETTER)
}

fn schedule(problem: &Problem, small: &Small, state: &State) -> Schedule {
    let mut entries: Vec<Placement> = (problem.dag().tasks())
        .map(|task| {
            let (host, at) = problem
                .fixed(task)
                .map_or((0, 0.0), |fixed| (fixed.host, fixed.finish));
            Placement {
                task,
                host,
                slot: 0,
                start: at,
                finish: at,
            }
        })
        .collect();
    for (number, &task) in small.tasks.iter().enumerate() {
        let entry = &mut entries[task as usize];
        entry.host = small.hosts[state.at[number]];
        (entry.start, entry.finish) = (state.start[number], state.finish[number]);
    }
    let held_until: Vec<f64> = entries.iter().map(|entry| entry.finish).collect();
    Schedule::assemble(problem, entries, &held_until)
}

#[cfg(test)]
mod tests;
