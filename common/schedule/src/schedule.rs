//! A schedule: the machine, slot and time of each task, in seconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use crate::meter::Meter;
use crate::order::Seconds;
use crate::problem::Problem;

/// An algorithm that places all tasks of a problem. It is deterministic: the same problem gives
/// the same schedule.
pub trait Scheduler {
    /// Its name for users and tables.
    fn name(&self) -> &'static str;

    /// Places every task that has not started, or gives up once the steps are used up.
    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError>;

    /// Places every task that has not started.
    fn schedule(&self, problem: &Problem) -> Result<Schedule, ScheduleError> {
        self.schedule_within(problem, &Meter::unlimited())
    }
}

/// Why a scheduler gave no schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// No machine has what a task needs; [`Problem::misfit`] tells what is missing.
    #[error("no machine fits task {task}")]
    NoHost {
        /// The first such task.
        task: u32,
    },
    /// More than the algorithm can do in good time.
    #[error("there are {count} {what}; the limit is {max}")]
    TooLarge {
        /// The kind of thing that is too many.
        what: &'static str,
        /// Their number.
        count: u64,
        /// The limit.
        max: u64,
    },
}

/// One entry for each task of the graph, gates and tasks that had started included, and what each
/// slot runs in which order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// By position of the task.
    pub entries: Vec<Placement>,
    /// By machine and slot: the tasks in the order of execution. A task of several cores is in
    /// the lists of all slots that it holds; gates and tasks that had started are in none.
    pub order: Vec<Vec<Vec<u32>>>,
}

/// The machine, slot and time of one task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// The task, by position.
    pub task: u32,
    /// The machine; for a task that had started also [`crate::OUTSIDE`].
    pub host: u32,
    /// The lowest of the slots it holds.
    pub slot: u32,
    /// When it starts, in seconds.
    pub start: f64,
    /// When it ends.
    pub finish: f64,
}

impl Schedule {
    /// When the last task ends.
    pub fn makespan(&self) -> f64 {
        self.entries
            .iter()
            .map(|entry| entry.finish)
            .fold(0.0, f64::max)
    }

    /// Deals tasks out to slots. `placed` has one entry for each task, whose slot does not matter;
    /// `held_until` is when each gives its slots back, at most its finish. O(n log n).
    pub(crate) fn assemble(
        problem: &Problem,
        placed: Vec<Placement>,
        held_until: &[f64],
    ) -> Schedule {
        let mut schedule = Schedule {
            entries: placed,
            order: Vec::new(),
        };
        let mut by_host = vec![Vec::new(); problem.hosts().len()];
        for task in schedule.by_start() {
            if holds_slots(problem, task) {
                by_host[schedule.entries[task as usize].host as usize].push(task);
            }
        }
        for (host, tasks) in (0u32..).zip(by_host) {
            let ready = problem.ready(host);
            let mut order = vec![Vec::new(); ready.len()];
            let mut slots = Slots::new(ready);
            for task in tasks {
                let entry = &mut schedule.entries[task as usize];
                let held = slots.take(problem.dag().cores(task), entry.start);
                entry.slot = held.first().copied().unwrap_or(0);
                for slot in held {
                    order[slot as usize].push(task);
                    slots.give_back(slot, held_until[task as usize]);
                }
            }
            schedule.order.push(order);
        }
        schedule
    }

    /// The slots of each task. O(n).
    pub(crate) fn slots_by_task(&self) -> SlotsByTask {
        let n = self.entries.len();
        let held = || {
            self.order.iter().flat_map(|slots| {
                (0u32..)
                    .zip(slots)
                    .flat_map(|(slot, tasks)| tasks.iter().map(move |&t| (t, slot)))
            })
        };
        let mut off = vec![0; n + 1];
        for (task, _) in held() {
            off[task as usize + 1] += 1;
        }
        for task in 0..n {
            off[task + 1] += off[task];
        }
        let mut next = off.clone();
        let mut slots = vec![0; off[n] as usize];
        for (task, slot) in held() {
            slots[next[task as usize] as usize] = slot;
            next[task as usize] += 1;
        }
        SlotsByTask { off, slots }
    }

    /// All tasks by start, then finish, then position. The tasks of one slot have this order, and
    /// so have a task and its successors.
    pub(crate) fn by_start(&self) -> Vec<u32> {
        let mut tasks: Vec<u32> = (0..self.entries.len() as u32).collect();
        tasks.sort_unstable_by(|&a, &b| {
            let (one, other) = (&self.entries[a as usize], &self.entries[b as usize]);
            let starts = one.start.total_cmp(&other.start);
            starts
                .then(one.finish.total_cmp(&other.finish))
                .then(a.cmp(&b))
        });
        tasks
    }
}

/// The slots that each task holds.
pub(crate) struct SlotsByTask {
    off: Vec<u32>,
    slots: Vec<u32>,
}

impl SlotsByTask {
    pub(crate) fn of(&self, task: u32) -> &[u32] {
        &self.slots[self.off[task as usize] as usize..self.off[task as usize + 1] as usize]
    }
}

/// True if a task takes part of a machine: it is no gate and has not started.
pub(crate) fn holds_slots(problem: &Problem, task: u32) -> bool {
    !problem.dag().is_gate(task) && problem.fixed(task).is_none()
}

/// The slots of a machine, dealt out in the order of starts, the lowest free ones first. Intervals
/// that nowhere exceed the number of slots always find theirs in that order.
struct Slots {
    free: BinaryHeap<Reverse<u32>>,
    /// (when it is given back, slot)
    held: BinaryHeap<Reverse<(Seconds, u32)>>,
}

impl Slots {
    fn new(ready: &[f64]) -> Slots {
        let mut slots = Slots {
            free: BinaryHeap::new(),
            held: BinaryHeap::new(),
        };
        for (slot, &at) in (0u32..).zip(ready) {
            slots.give_back(slot, at);
        }
        slots
    }

    fn give_back(&mut self, slot: u32, at: f64) {
        self.held.push(Reverse((Seconds(at), slot)));
    }

    /// Ascending. Where rounding has put too much at one moment, the slots that are free next.
    fn take(&mut self, cores: u32, at: f64) -> Vec<u32> {
        while self
            .held
            .peek()
            .is_some_and(|Reverse((free_at, _))| free_at.0 <= at)
        {
            if let Some(Reverse((_, slot))) = self.held.pop() {
                self.free.push(Reverse(slot));
            }
        }
        let mut taken = Vec::with_capacity(cores as usize);
        while taken.len() < cores as usize {
            let next = self.free.pop().map(|Reverse(slot)| slot);
            let next = next.or_else(|| self.held.pop().map(|Reverse((_, slot))| slot));
            match next {
                Some(slot) => taken.push(slot),
                None => break,
            }
        }
        taken.sort_unstable();
        taken
    }
}
