//! Min-min and max-min: of all tasks that could start, the one that would end first, or last,
//! comes next.
//!
//! O. H. Ibarra, C. E. Kim, "Heuristic algorithms for scheduling independent tasks on
//! nonidentical processors", Journal of the ACM 24(2), 1977, algorithms D and E; for dependent
//! tasks applied to those whose predecessors are placed. Each goes where it ends first, in the
//! first gap that is long enough. Gates are placed as soon as they can be.
//!
//! Cost: a search of HEFT for each task and step at worst. Min-min searches again only for tasks
//! whose last answer is the smallest, max-min for those that wanted the machine that was taken;
//! that is much where many tasks are ready, so max-min is limited to [`MAX_MIN_TASKS_MAX`].
//!
//! Differs from the paper: finishes are compared exactly, ties go to the task that was given first.

use std::collections::BTreeSet;

use crate::insertion::{Candidate, Insertion};
use crate::meter::Meter;
use crate::problem::Problem;
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// The most tasks for max-min, a few seconds of it.
pub const MAX_MIN_TASKS_MAX: usize = 3_000;

/// Steps of planning to put a task into the queue and to take it out.
const STEPS_TO_QUEUE: u64 = 45;

/// The choice of the next task among those that could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MinMin {
    /// The one that ends first.
    Shortest,
    /// The one that ends last.
    Longest,
}

impl Scheduler for MinMin {
    fn name(&self) -> &'static str {
        match self {
            MinMin::Shortest => "min-min",
            MinMin::Longest => "max-min",
        }
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let n_tasks = problem.dag().n_tasks();
        if *self == MinMin::Longest && n_tasks > MAX_MIN_TASKS_MAX {
            return Err(ScheduleError::TooLarge {
                what: "activities for max-min",
                count: n_tasks as u64,
                max: MAX_MIN_TASKS_MAX as u64,
            });
        }
        let mut run = Run::new(problem, *self, meter);
        for task in problem.dag().tasks() {
            if run.waits[task as usize] == 0 {
                run.make_ready(task)?;
            }
        }
        run.place_gates()?;
        while let Some((task, found)) = run.next()? {
            run.insertion.place(task, found, 0.0);
            run.done(task)?;
            run.place_gates()?;
            if *self == MinMin::Longest {
                run.search_again(found.host)?;
            }
        }
        Ok(run.insertion.schedule())
    }
}

struct Run<'a> {
    problem: &'a Problem,
    rule: MinMin,
    meter: &'a Meter,
    insertion: Insertion<'a>,
    waits: Vec<u32>,
    /// Ready tasks by the bits of the finish last found (which sort like the number, being at
    /// least 0), the place in the input, and the position.
    ready: BTreeSet<(u64, u32, u32)>,
    /// By task: what was found last.
    found: Vec<Option<Candidate>>,
    /// By machine: the tasks that may want it.
    wanted_by: Vec<Vec<u32>>,
    gates: Vec<u32>,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem, rule: MinMin, meter: &'a Meter) -> Run<'a> {
        let dag = problem.dag();
        let waiting = |task| {
            let preds = dag.predecessors(task);
            preds
                .filter(|&(pred, _)| problem.fixed(pred).is_none())
                .count() as u32
        };
        Run {
            problem,
            rule,
            meter,
            insertion: Insertion::new(problem, meter),
            waits: dag.tasks().map(waiting).collect(),
            ready: BTreeSet::new(),
            found: vec![None; dag.n_tasks()],
            wanted_by: vec![Vec::new(); problem.hosts().len()],
            gates: Vec::new(),
        }
    }

    fn make_ready(&mut self, task: u32) -> Result<(), ScheduleError> {
        if self.problem.fixed(task).is_some() {
            return Ok(());
        }
        if self.problem.dag().is_gate(task) {
            self.gates.push(task);
            return Ok(());
        }
        self.search(task)
    }

    fn search(&mut self, task: u32) -> Result<(), ScheduleError> {
        self.meter.spend(STEPS_TO_QUEUE)?;
        self.insertion.arrive(task);
        let found = self.insertion.earliest(task);
        let found = found.ok_or(ScheduleError::NoHost { task })?;
        self.found[task as usize] = Some(found);
        self.ready.insert(self.key(task, found));
        if self.rule == MinMin::Longest {
            self.wanted_by[found.host as usize].push(task);
        }
        Ok(())
    }

    fn key(&self, task: u32, found: Candidate) -> (u64, u32, u32) {
        // Adding 0 turns a negative zero into a positive one.
        let bits = (found.finish + 0.0).to_bits();
        (bits, self.problem.dag().given(task), task)
    }

    /// Takes the next task out of the ready ones.
    fn next(&mut self) -> Result<Option<(u32, Candidate)>, ScheduleError> {
        loop {
            let key = match self.rule {
                MinMin::Shortest => self.ready.pop_first(),
                MinMin::Longest => {
                    // Of those that end last the one that was given first.
                    let last = self.ready.last().map(|&(bits, ..)| bits);
                    let key =
                        last.and_then(|bits| self.ready.range((bits, 0, 0)..).next().copied());
                    key.inspect(|key| {
                        self.ready.remove(key);
                    })
                }
            };
            let Some((bits, _, task)) = key else {
                return Ok(None);
            };
            if self.rule == MinMin::Shortest {
                // Machines have filled since, so the finish may be later, never earlier.
                self.search(task)?;
            }
            let Some(found) = self.found[task as usize] else {
                continue;
            };
            if self.rule == MinMin::Shortest {
                let key = self.key(task, found);
                if key.0 != bits && self.ready.first() != Some(&key) {
                    continue;
                }
                self.ready.remove(&key);
            }
            self.found[task as usize] = None;
            return Ok(Some((task, found)));
        }
    }

    fn search_again(&mut self, host: u32) -> Result<(), ScheduleError> {
        for task in std::mem::take(&mut self.wanted_by[host as usize]) {
            if let Some(found) = self.found[task as usize]
                && found.host == host
            {
                self.ready.remove(&self.key(task, found));
                self.search(task)?;
            }
        }
        Ok(())
    }

    fn done(&mut self, task: u32) -> Result<(), ScheduleError> {
        let dag = self.problem.dag();
        for (succ, _) in dag.successors(task) {
            let waits = &mut self.waits[succ as usize];
            *waits -= 1;
            if *waits == 0 {
                self.make_ready(succ)?;
            }
        }
        Ok(())
    }

    fn place_gates(&mut self) -> Result<(), ScheduleError> {
        while let Some(task) = self.gates.pop() {
            self.insertion.arrive(task);
            let found = self.insertion.gate(task);
            let found = found.ok_or(ScheduleError::NoHost { task })?;
            self.insertion.place(task, found, 0.0);
            self.done(task)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
