//! A search for schedules in which tasks run more than once.
//!
//! A state is an order of all tasks and a machine for each, without copies. Its times are counted
//! in that order, and copies are decided on the way: where a task would wait for the data of a
//! predecessor, the predecessor runs again before it on its slot, and what that one waits for
//! before it, if that lets the task start earlier. So copies come and go with every move, and
//! moves need not know of them. Simulated annealing as in the parent module; a look at a move is
//! O(n + e) for as many copies as there are tasks. Times before the first place in the order that a
//! move changes stand, and counting ends where the schedule can only become too long.

use super::solution::Sites;
use super::spots::noise;
use super::{ANY_TASK, BETTER, HEATS, NONE};
use crate::copied::Copied;
use crate::problem::Problem;
use crate::random::Random;
use crate::schedule::{Placement, Schedule, holds_slots};

/// Maximum number of tasks, each waiting for the one before, that are run again for one.
const CHAIN_MAX: u32 = 3;
/// A moment is earlier if it is so by this part.
const EARLIER: f64 = 1.0 - 1e-9;

/// Tasks on machines in an order, with the copies that come of it.
pub(crate) struct Repeats<'a> {
    problem: &'a Problem,
    sites: Sites,
    repeatable: &'a [bool],
    state: State,
    times: Times,
    /// The number of first places in the order whose times fit the state.
    n_counted: usize,
    random: Random,
    /// Tasks, messages, runs and slots looked at so far.
    steps: u64,
}

#[derive(Clone)]
struct State {
    /// All tasks, a linear extension of the graph.
    order: Vec<u32>,
    /// By task: where it is in `order`.
    place: Vec<u32>,
    host: Vec<u32>,
}

/// A run of a task; the first `n` of them are the tasks' own, in their order, the rest copies.
#[derive(Clone, Copy)]
struct Run {
    task: u32,
    host: u32,
    slot: u32,
    start: f64,
    finish: f64,
    /// The run that it waits for longest; none at the beginning.
    after: u32,
    /// The next run of the same task.
    next: u32,
}

struct Times {
    runs: Vec<Run>,
    /// By slot: when it is free, and the last run on it.
    free: Vec<(f64, u32)>,
    /// Tasks of several cores with each of their slots.
    wide: Vec<(u32, u32)>,
    makespan: f64,
    /// The run that ends last.
    last: u32,
    /// By place in the order that was counted: what was before it.
    steps_back: Vec<StepBack>,
    /// Slots with when they were free, and their last runs, before a place in the order took them.
    freed: Vec<(u32, (f64, u32))>,
}

/// The state before one place in the order was counted.
#[derive(Clone, Copy)]
struct StepBack {
    n_runs: usize,
    n_wide: usize,
    n_freed: usize,
    makespan: f64,
    last: u32,
}

/// The changes to undo where a copy does not help.
struct Mark {
    n_runs: usize,
    slot: usize,
    free: (f64, u32),
}

impl<'a> Repeats<'a> {
    /// A search that begins with a valid schedule in direct mode; `repeatable` tells by task.
    pub(crate) fn new(
        problem: &'a Problem,
        schedule: &Schedule,
        repeatable: &'a [bool],
    ) -> Repeats<'a> {
        let order = schedule.by_start();
        let mut place = vec![0; order.len()];
        for (number, &task) in (0u32..).zip(&order) {
            place[task as usize] = number;
        }
        let host = schedule.entries.iter().map(|entry| entry.host).collect();
        let sites = Sites::new(problem);
        let mut repeats = Repeats {
            problem,
            repeatable,
            times: Times {
                runs: vec![Run::NEVER; order.len()],
                free: sites.ready.iter().map(|&ready| (ready, NONE)).collect(),
                wide: Vec::new(),
                makespan: 0.0,
                last: NONE,
                steps_back: Vec::new(),
                freed: Vec::new(),
            },
            sites,
            state: State { order, place, host },
            n_counted: 0,
            random: Random::new(2),
            steps: 0,
        };
        repeats.count(f64::INFINITY);
        repeats
    }

    /// The makespan of the schedule with its copies.
    pub(crate) fn makespan(&self) -> f64 {
        self.times.makespan
    }

    /// Improves the schedule until so many steps are used up or it is as short as is enough.
    pub(crate) fn run(&mut self, steps_max: u64, enough: f64) {
        let n_tasks = self.state.order.len();
        let mut best = (self.times.makespan, self.state.clone());
        let mut present = best.0;
        let mut critical = self.critical();
        let unit = best.0 / (n_tasks.max(1) as f64).sqrt();
        let mut cycle = 0;
        while self.steps < steps_max && best.0 > enough && !critical.is_empty() {
            let at = HEATS.len() as f64 * self.steps as f64 / steps_max as f64;
            if at as usize > cycle {
                cycle = at as usize;
                self.restart_from(&best.1);
                present = self.times.makespan;
                critical = self.critical();
            }
            let heat = HEATS[cycle.min(HEATS.len() - 1)];
            let temperature = unit * heat * (1.0 - at.fract());
            let task = match self.random.below(ANY_TASK) {
                0 => self.random.below(n_tasks) as u32,
                _ => critical[self.random.below(critical.len())],
            };
            self.steps += 1;
            if self.problem.fixed(task).is_some() {
                continue;
            }
            let (host, place) = (
                self.state.host[task as usize],
                self.state.place[task as usize],
            );
            let (new_host, new_place) = self.draw(task);
            if (new_host, new_place) == (host, place) {
                continue;
            }
            let allowed = present + noise(&mut self.random, temperature);
            self.change(task, new_host, new_place);
            if self.count(allowed) {
                present = self.times.makespan;
                critical = self.critical();
                if present < best.0 * (1.0 - BETTER) {
                    best = (present, self.state.clone());
                }
            } else {
                self.change(task, host, place);
            }
        }
        self.restart_from(&best.1);
    }

    /// Gives a task a machine and a place in the order.
    fn change(&mut self, task: u32, host: u32, place: u32) {
        let first = place.min(self.state.place[task as usize]);
        self.n_counted = self.n_counted.min(first as usize);
        self.state.host[task as usize] = host;
        self.state.shift(task, place);
    }

    fn restart_from(&mut self, state: &State) {
        self.state.clone_from(state);
        self.n_counted = 0;
        self.count(f64::INFINITY);
    }

    /// Another machine or another place in the order for a task, or both.
    fn draw(&mut self, task: u32) -> (u32, u32) {
        let (dag, state) = (self.problem.dag(), &self.state);
        let (mut host, mut place) = (state.host[task as usize], state.place[task as usize]);
        let what = self.random.below(4);
        if what < 3 {
            let n_before = dag.predecessors(task).len();
            let n_around = n_before + dag.successors(task).len();
            let around = match self.random.below(2 * n_around.max(1)) {
                number if number < n_before => dag.predecessors(task).nth(number).map(|(p, _)| p),
                number if number < n_around => {
                    dag.successors(task).nth(number - n_before).map(|(s, _)| s)
                }
                _ => None,
            };
            let fitting = self.problem.fitting(self.problem.demand_class(task));
            let drawn = match around {
                Some(other) => state.host[other as usize],
                None => fitting[self.random.below(fitting.len())],
            };
            if fitting.binary_search(&drawn).is_ok() {
                host = drawn;
            }
        }
        if what > 1 {
            let before = dag
                .predecessors(task)
                .map(|(p, _)| state.place[p as usize] + 1);
            let after = dag.successors(task).map(|(s, _)| state.place[s as usize]);
            let (first, end) = (
                before.max().unwrap_or(0),
                after.min().unwrap_or(state.order.len() as u32),
            );
            // A started task need not be behind its predecessors.
            if first < end {
                place = first + self.random.below((end - first) as usize) as u32;
            }
        }
        (host, place)
    }

    /// Tasks on the chain of runs that each wait for the one before and end with the last one.
    fn critical(&self) -> Vec<u32> {
        let mut tasks = Vec::new();
        let mut run = self.times.last;
        while run != NONE {
            let Run { task, after, .. } = self.times.runs[run as usize];
            if self.problem.fixed(task).is_none() {
                tasks.push(task);
            }
            run = after;
        }
        tasks
    }

    /// Counts the times that do not fit the state, and decides on copies. False, with only a part of
    /// them counted, if the makespan is longer than allowed.
    fn count(&mut self, allowed: f64) -> bool {
        self.go_back_to(self.n_counted);
        while self.n_counted < self.state.order.len() {
            let task = self.state.order[self.n_counted];
            let host = self.state.host[task as usize];
            self.times.steps_back.push(StepBack {
                n_runs: self.times.runs.len(),
                n_wide: self.times.wide.len(),
                n_freed: self.times.freed.len(),
                makespan: self.times.makespan,
                last: self.times.last,
            });
            self.n_counted += 1;
            self.steps += 1 + self.problem.dag().predecessors(task).len() as u64;
            let run = self.run_of(task, host);
            self.times.runs[task as usize] = run;
            if run.finish > self.times.makespan {
                (self.times.makespan, self.times.last) = (run.finish, task);
            }
            if run.finish > allowed {
                return false;
            }
        }
        self.times.makespan <= allowed
    }

    /// Takes back the times of all places in the order from this one on.
    fn go_back_to(&mut self, place: usize) {
        let times = &mut self.times;
        let Some(&back) = times.steps_back.get(place) else {
            return;
        };
        times.take_back_copies(back.n_runs);
        for (slot, free) in times.freed.drain(back.n_freed..).rev() {
            times.free[slot as usize] = free;
        }
        times.wide.truncate(back.n_wide);
        (times.makespan, times.last) = (back.makespan, back.last);
        times.steps_back.truncate(place);
    }

    /// The run of a task on a machine, with its copies.
    fn run_of(&mut self, task: u32, host: u32) -> Run {
        if let Some(fixed) = self.problem.fixed(task) {
            return Run {
                task,
                host: fixed.host,
                start: fixed.finish,
                finish: fixed.finish,
                ..Run::NEVER
            };
        }
        if self.problem.dag().is_gate(task) {
            let (start, after) = self.arrival(task, host);
            return Run {
                task,
                host,
                start,
                finish: start,
                after,
                ..Run::NEVER
            };
        }
        self.place(task, host)
    }

    /// Places a task on its machine, after copies of what it would wait for if that is sooner.
    fn place(&mut self, task: u32, host: u32) -> Run {
        let cores = self.problem.dag().cores(task) as usize;
        let slot = if cores == 1 {
            let slot = self.slot_for(task, host);
            self.note_free(slot);
            self.copy_for(task, host, slot, CHAIN_MAX);
            slot
        } else {
            self.widen(task, host, cores)
        };
        let run = self.next_run(task, host, slot);
        self.times.free[slot] = (run.finish, task);
        if cores > 1 {
            for &(wide, slot) in self.times.wide.iter().rev() {
                if wide != task {
                    break;
                }
                self.times.free[slot as usize] = (run.finish, task);
            }
        }
        run
    }

    /// Notes when a slot is free, before it is taken.
    fn note_free(&mut self, slot: usize) {
        let free = self.times.free[slot];
        self.times.freed.push((slot as u32, free));
    }

    /// A run of a task on a slot as early as that and its data allow.
    fn next_run(&self, task: u32, host: u32, slot: usize) -> Run {
        let (mut start, mut after) = self.arrival(task, host);
        let (free, last) = self.times.free[slot];
        if free >= start {
            (start, after) = (free, last);
        }
        Run {
            task,
            host,
            slot: slot as u32,
            start,
            finish: start + self.sites.duration(self.problem, task, host),
            after,
            next: NONE,
        }
    }

    /// The slot that is free last before a task's data is there, or else first.
    fn slot_for(&mut self, task: u32, host: u32) -> usize {
        let slots = self.sites.slots(host);
        if slots.len() == 1 {
            return slots.start;
        }
        self.steps += slots.len() as u64;
        let (arrival, _) = self.arrival(task, host);
        let free = |slot: usize| self.times.free[slot].0;
        let mut best = slots.start;
        for slot in slots {
            let better = match (free(slot) <= arrival, free(best) <= arrival) {
                (true, true) => free(slot) > free(best),
                (true, false) => true,
                (false, true) => false,
                (false, false) => free(slot) < free(best),
            };
            if better {
                best = slot;
            }
        }
        best
    }

    /// Notes the slots of a task of several cores, those that are free first, and gives the one that
    /// is free last of them.
    fn widen(&mut self, task: u32, host: u32, cores: usize) -> usize {
        let mut slots: Vec<usize> = self.sites.slots(host).collect();
        self.steps += slots.len() as u64;
        slots.sort_by(|&one, &other| {
            let [one, other] = [one, other].map(|slot| self.times.free[slot].0);
            one.total_cmp(&other)
        });
        slots.truncate(cores);
        for &slot in &slots {
            self.note_free(slot);
        }
        let last = slots[slots.len() - 1];
        let wide = slots.into_iter().map(|slot| (task, slot as u32));
        self.times.wide.extend(wide);
        last
    }

    /// Runs predecessors of a task again on a slot before it, as long as that lets it start earlier
    /// or brings it nearer to that: of two that it waits for both may have to be copied.
    fn copy_for(&mut self, task: u32, host: u32, slot: usize, chain: u32) {
        let (mut arrival, mut from) = self.arrival(task, host);
        let mut least = arrival.max(self.times.free[slot].0);
        let mut kept = self.mark(slot);
        while arrival > self.times.free[slot].0 {
            self.steps += self.problem.dag().predecessors(task).len() as u64;
            let sender = self.times.runs[from as usize].task;
            if !self.may_copy(sender, host) || !self.copy(sender, host, slot, chain, arrival) {
                break;
            }
            (arrival, from) = self.arrival(task, host);
            let earliest = arrival.max(self.times.free[slot].0);
            if earliest < least * EARLIER {
                (least, kept) = (earliest, self.mark(slot));
            }
        }
        self.back_to(&kept);
    }

    /// Runs a task again on a slot if its data is there before a limit then.
    fn copy(&mut self, task: u32, host: u32, slot: usize, chain: u32, limit: f64) -> bool {
        let mark = self.mark(slot);
        if chain > 1 {
            self.copy_for(task, host, slot, chain - 1);
        }
        let mut run = self.next_run(task, host, slot);
        if run.finish >= limit * EARLIER {
            self.back_to(&mark);
            return false;
        }
        let number = self.times.runs.len() as u32;
        run.next = std::mem::replace(&mut self.times.runs[task as usize].next, number);
        self.times.free[slot] = (run.finish, number);
        self.times.runs.push(run);
        true
    }

    fn may_copy(&self, task: u32, host: u32) -> bool {
        self.repeatable[task as usize]
            && self.problem.dag().cores(task) == 1
            && self.problem.fixed(task).is_none()
            && self.problem.fits(task, host)
            && self.times.runs.len() < 2 * self.state.order.len()
    }

    fn mark(&self, slot: usize) -> Mark {
        Mark {
            n_runs: self.times.runs.len(),
            slot,
            free: self.times.free[slot],
        }
    }

    /// Takes back all copies since a mark; they are on its slot.
    fn back_to(&mut self, mark: &Mark) {
        self.times.take_back_copies(mark.n_runs);
        self.times.free[mark.slot] = mark.free;
    }

    /// When the data of all predecessors is on a machine, and the run whose data is there last.
    fn arrival(&self, task: u32, host: u32) -> (f64, u32) {
        let mut latest = (0.0, NONE);
        for (pred, edge) in self.problem.dag().predecessors(task) {
            let mut first = (f64::INFINITY, NONE);
            let mut number = pred;
            while number != NONE {
                let run = &self.times.runs[number as usize];
                let at = run.finish + self.problem.transfer(edge, run.host, host);
                if at < first.0 {
                    first = (at, number);
                }
                number = run.next;
            }
            if first.0 > latest.0 {
                latest = first;
            }
        }
        latest
    }

    /// The schedule with its copies.
    pub(crate) fn copied(&self) -> Copied {
        let placement = |run: &Run| Placement {
            task: run.task,
            host: run.host,
            slot: match self.sites.first.get(run.host as usize) {
                Some(first) => run.slot.saturating_sub(*first),
                None => 0,
            },
            start: run.start,
            finish: run.finish,
        };
        let (own, copies) = self.times.runs.split_at(self.state.order.len());
        let mut entries: Vec<Placement> = own.iter().map(placement).collect();
        let mut order: Vec<Vec<Vec<u32>>> = (self.problem.hosts().iter())
            .map(|host| vec![Vec::new(); host.slots as usize])
            .collect();
        for &task in &self.state.order {
            let entry = entries[task as usize];
            if holds_slots(self.problem, task) && self.problem.dag().cores(task) == 1 {
                order[entry.host as usize][entry.slot as usize].push(task);
            }
        }
        for &(task, slot) in &self.times.wide {
            let entry = &mut entries[task as usize];
            let slot = slot - self.sites.first[entry.host as usize];
            entry.slot = entry.slot.min(slot);
            order[entry.host as usize][slot as usize].push(task);
        }
        for list in order.iter_mut().flatten() {
            list.sort_by(|&one, &other| {
                let place = |task: u32| self.state.place[task as usize];
                place(one).cmp(&place(other))
            });
        }
        Copied {
            schedule: Schedule { entries, order },
            copies: copies.iter().map(placement).collect(),
        }
    }
}

impl Run {
    /// A run that was not counted.
    const NEVER: Run = Run {
        task: 0,
        host: 0,
        slot: 0,
        start: 0.0,
        finish: 0.0,
        after: NONE,
        next: NONE,
    };
}

impl Times {
    /// Takes back copies until there are so many runs.
    fn take_back_copies(&mut self, n_runs: usize) {
        while self.runs.len() > n_runs {
            if let Some(Run { task, next, .. }) = self.runs.pop() {
                // The latest copy of a task is the first in its list.
                self.runs[task as usize].next = next;
            }
        }
    }
}

impl State {
    /// Moves a task to another place of the order.
    fn shift(&mut self, task: u32, target: u32) {
        let (here, target) = (self.place[task as usize] as usize, target as usize);
        let moved = if here < target {
            self.order[here..=target].rotate_left(1);
            here..=target
        } else {
            self.order[target..=here].rotate_right(1);
            target..=here
        };
        for place in moved {
            self.place[self.order[place] as usize] = place as u32;
        }
    }
}

#[cfg(test)]
mod tests;
