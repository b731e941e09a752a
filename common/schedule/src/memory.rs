//! Memory that tasks hold side by side, on machines where it may run out.
//!
//! What the tasks on a machine declare together never exceeds its memory. Most machines have enough
//! for the largest tasks that fit all their slots: nothing is counted there, so that problems in
//! which memory is no matter cost no more. On the others list schedulers look for a gap in slots and
//! memory alike, and schedules of other algorithms are put right by [`fit`]: the same machines and
//! order, each task as early as its slot, its data and the memory allow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::insertion::has_points;
use crate::order::Seconds;
use crate::problem::Problem;
use crate::schedule::{Placement, Schedule, holds_slots};
use crate::timeline::{Timeline, profile};

/// Memory is counted in so many parts of a machine at most, so that sums fit a `u32`.
const PARTS_MAX: u64 = 1 << 31;

/// Instead of a task: somebody else.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The machines whose memory may run out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    hosts: Vec<Option<Scarce>>,
}

/// The memory of a machine that may run out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scarce {
    /// All of it.
    pub(crate) bytes: u64,
    /// What others hold, with the times from when on and until when.
    pub(crate) held: Vec<(u64, (f64, f64))>,
    /// The bytes of a part of it.
    part: u64,
}

impl Memory {
    /// The machines where tasks that fit may ask for more together than there is; none where there is
    /// no such machine. `held` is what others hold: machine, bytes, from when on and until when. O(c log c p)
    /// for c classes of demands and p machines.
    pub(crate) fn new(problem: &Problem, held: &[(u32, u64, (f64, f64))]) -> Option<Memory> {
        if !problem.asks_memory() {
            return None;
        }
        let mut held_at = vec![Vec::new(); problem.hosts().len()];
        for &(host, bytes, (from, until)) in held {
            if let Some(held) = held_at.get_mut(host as usize)
                && bytes > 0
                && until > from
            {
                held.push((bytes, (from, until)));
            }
        }
        let most = most_by_host(problem);
        let hosts = problem.hosts().iter().zip(held_at).zip(most);
        let hosts = hosts.map(|((host, held), most)| {
            let bytes = host.memory.0;
            let held_most = profile(held.iter().map(|&(bytes, times)| (bytes.into(), times)));
            let held_most = held_most.iter().map(|&(_, held)| held).max();
            let is_scarce = most > 0 && held_most.unwrap_or_default() + most > bytes.into();
            is_scarce.then(|| Scarce {
                bytes,
                held,
                part: bytes.div_ceil(PARTS_MAX).max(1),
            })
        });
        let hosts: Vec<Option<Scarce>> = hosts.collect();
        let is_any = hosts.iter().any(Option::is_some);
        is_any.then_some(Memory { hosts })
    }

    /// By machine: its memory over time with all that others hold, where it may run out.
    pub(crate) fn timelines(&self, has_points: bool) -> Vec<Option<Timeline>> {
        let hosts = self.hosts.iter();
        let timelines = hosts.map(|scarce| Some(scarce.as_ref()?.timeline(has_points)));
        timelines.collect()
    }

    /// The parts of a machine's memory that a task takes; 0 where it never runs out.
    pub(crate) fn parts(&self, problem: &Problem, task: u32, host: u32) -> u32 {
        match self.at(host) {
            Some(scarce) if holds_slots(problem, task) => {
                scarce.parts(problem.demand(task).memory.0)
            }
            Some(_) | None => 0,
        }
    }

    /// The memory of a machine, where it may run out.
    pub(crate) fn at(&self, host: u32) -> Option<&Scarce> {
        self.hosts.get(host as usize)?.as_ref()
    }
}

/// By machine: no more memory than this do tasks hold there at one time, each of its slots in use.
fn most_by_host(problem: &Problem) -> Vec<u128> {
    let dag = problem.dag();
    // By class: the number of tasks, and the memory and cores of one.
    let mut classes = vec![(0u128, 0u128, 1u128); problem.n_demand_classes() as usize];
    for task in dag.tasks().filter(|&task| holds_slots(problem, task)) {
        let (memory, cores) = (problem.demand(task).memory.0, dag.cores(task).max(1));
        let class = &mut classes[problem.demand_class(task) as usize];
        *class = (class.0 + 1, memory.into(), cores.into());
    }
    let mut order: Vec<u32> = (0u32..).take(classes.len()).collect();
    order.retain(|&class| classes[class as usize].1 > 0);
    // The most memory a core first.
    order.sort_by(|&one, &other| {
        let (one, other) = (classes[one as usize], classes[other as usize]);
        (other.1 * one.2).cmp(&(one.1 * other.2))
    });
    let hosts = (0u32..).zip(problem.hosts());
    let most = hosts.map(|(number, host)| {
        let (mut slots, mut most) = (u128::from(host.slots), 0);
        let fits = |class: u32| problem.fitting(class).binary_search(&number).is_ok();
        for &class in order.iter().filter(|&&class| fits(class)) {
            let (n_tasks, memory, cores) = classes[class as usize];
            let taken = slots.min(n_tasks * cores);
            most += (taken * memory).div_ceil(cores);
            slots -= taken;
            if slots == 0 {
                break;
            }
        }
        most
    });
    most.collect()
}

impl Scarce {
    /// The parts that a demand takes, rounded up, but no more than there are: a task that fits the
    /// machine fits it alone.
    pub(crate) fn parts(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.part).min(self.capacity()) as u32
    }

    /// The memory over time, with all that others hold.
    fn timeline(&self, has_points: bool) -> Timeline {
        let held = self.held.iter();
        let held = held.map(|&(bytes, times)| (self.parts(bytes).into(), times));
        Timeline::of_profile(self.capacity() as u32, &profile(held), has_points)
    }

    /// The bytes that others hold from each of these times on.
    fn others(&self) -> Vec<(f64, u64)> {
        let held = profile(
            self.held
                .iter()
                .map(|&(bytes, times)| (bytes.into(), times)),
        );
        let held = held.into_iter();
        let bounded = held.map(|(at, bytes)| (at, u64::try_from(bytes).unwrap_or(u64::MAX)));
        bounded.collect()
    }

    /// The same for machines whose memory is alike.
    pub(crate) fn key(&self) -> (u64, Vec<(u64, u64, u64)>) {
        let held = self.held.iter();
        let held = held.map(|&(bytes, (from, until))| (bytes, from.to_bits(), until.to_bits()));
        (self.bytes, held.collect())
    }

    fn capacity(&self) -> u64 {
        self.bytes / self.part
    }
}

/// The memory that is held on machines while starts are counted, in the order in which tasks start.
pub(crate) struct Ledger<'a, T> {
    problem: &'a Problem,
    hosts: Vec<Option<Account<T>>>,
}

struct Account<T> {
    bytes: u64,
    /// The bytes that tasks hold.
    used: u64,
    /// When what they hold is given back, and by which task.
    held: BinaryHeap<Reverse<(T, u64, u32)>>,
    /// The bytes that others hold from each of these times on, and how many of these the latest start has
    /// passed.
    others: Vec<(T, u64)>,
    n_passed: usize,
    /// The latest start so far.
    latest: T,
}

impl<'a, T: Ord + Copy> Ledger<'a, T> {
    /// What others hold until the times that `time` makes of seconds. None where no memory may run
    /// out.
    pub(crate) fn new<E>(
        problem: &'a Problem,
        time: impl Fn(f64) -> Result<T, E>,
    ) -> Result<Option<Ledger<'a, T>>, E> {
        let Some(memory) = problem.memory() else {
            return Ok(None);
        };
        let mut hosts = Vec::with_capacity(memory.hosts.len());
        for scarce in &memory.hosts {
            let Some(scarce) = scarce else {
                hosts.push(None);
                continue;
            };
            let others = scarce.others().into_iter();
            let others = others.map(|(at, bytes)| Ok((time(at)?, bytes)));
            hosts.push(Some(Account {
                bytes: scarce.bytes,
                used: 0,
                held: BinaryHeap::new(),
                others: others.collect::<Result<_, E>>()?,
                n_passed: 0,
                latest: time(0.0)?,
            }));
        }
        Ok(Some(Ledger { problem, hosts }))
    }

    /// The first moment from `at` on at which a task has its memory until `end` of that moment, which is
    /// not before that of any task asked for earlier. The task must be held next.
    pub(crate) fn start(&mut self, task: u32, host: u32, at: T, end: impl Fn(T) -> T) -> T {
        self.start_after(task, host, at, end).0
    }

    /// The same, with the task that gives back the memory that is waited for; [`NOBODY`] where none
    /// is.
    pub(crate) fn start_after(
        &mut self,
        task: u32,
        host: u32,
        at: T,
        end: impl Fn(T) -> T,
    ) -> (T, u32) {
        let Some((account, bytes)) = self.account(task, host) else {
            return (at, NOBODY);
        };
        let mut start = at.max(account.latest);
        let mut after = NOBODY;
        loop {
            account.give_back_until(start);
            let Some(others_end) = account.full_until((start, end(start)), bytes) else {
                break;
            };
            let next = account
                .held
                .peek()
                .map(|&Reverse((until, _, by))| (until, by));
            let others_end = others_end.map(|at| (at, NOBODY));
            let Some(next) = next.into_iter().chain(others_end).min() else {
                // Nothing is held but its own.
                break;
            };
            (start, after) = next;
        }
        account.latest = start;
        (start, after)
    }

    /// A task holds its memory until it ends.
    pub(crate) fn hold(&mut self, task: u32, host: u32, until: T) {
        if let Some((account, bytes)) = self.account(task, host) {
            account.hold(bytes, until, task);
        }
    }

    fn account(&mut self, task: u32, host: u32) -> Option<(&mut Account<T>, u64)> {
        let account = self.hosts.get_mut(host as usize)?.as_mut()?;
        let bytes = self.problem.demand(task).memory.0;
        (bytes > 0 && holds_slots(self.problem, task)).then_some((account, bytes))
    }
}

impl<T: Ord + Copy> Account<T> {
    /// Tasks that have ended by then hold nothing.
    fn give_back_until(&mut self, at: T) {
        while let Some(&Reverse((until, bytes, _))) = self.held.peek()
            && until <= at
        {
            self.used = self.used.saturating_sub(bytes);
            self.held.pop();
        }
        let next = |account: &Account<T>| account.others.get(account.n_passed).copied();
        while next(self).is_some_and(|(from, _)| from <= at) {
            self.n_passed += 1;
        }
    }

    /// None where so much memory is left from a time on until another one. Else the time from which on others
    /// hold less, where they ever do.
    fn full_until(&self, (start, end): (T, T), bytes: u64) -> Option<Option<T>> {
        let is_full = |others: u64| {
            let together = self.used.saturating_add(others);
            together.saturating_add(bytes) > self.bytes
        };
        let first = self.n_passed.saturating_sub(1);
        let steps = self.others.iter().enumerate().skip(first);
        let within = steps.take_while(|(_, (from, _))| *from <= start || *from < end);
        let full = within.filter(|(_, (_, others))| is_full(*others)).last();
        let (step, _) = full?;
        Some(self.others.get(step + 1).map(|&(at, _)| at))
    }

    fn hold(&mut self, bytes: u64, until: T, by: u32) {
        self.used = self.used.saturating_add(bytes);
        self.held.push(Reverse((until, bytes, by)));
    }
}

impl<'a> Ledger<'a, Seconds> {
    /// The same in seconds.
    pub(crate) fn in_seconds(problem: &'a Problem) -> Option<Ledger<'a, Seconds>> {
        let time = |at| Ok::<Seconds, std::convert::Infallible>(Seconds(at));
        match Ledger::new(problem, time) {
            Ok(ledger) => ledger,
            Err(never) => match never {},
        }
    }
}

/// The schedule with starts put off where memory would run out: the same machines, and on each slot
/// the same order, each task in the first gap of the memory. O(n log n + e).
pub(crate) fn fit(problem: &Problem, schedule: Schedule) -> Schedule {
    fit_with(problem, schedule, |hosts, _, edge| {
        problem.transfer(edge, hosts[0], hosts[1])
    })
}

/// The same where messages take another way: `transfer` is told machines, tasks and edge.
pub(crate) fn fit_with(
    problem: &Problem,
    schedule: Schedule,
    transfer: impl Fn([u32; 2], (u32, u32), u32) -> f64,
) -> Schedule {
    let Some(memory) = problem.memory() else {
        return schedule;
    };
    let has_points = has_points(problem);
    let mut timelines = memory.timelines(has_points);
    let dag = problem.dag();
    let mut entries: Vec<Placement> = schedule.entries.clone();
    let mut free: Vec<Vec<f64>> = Vec::with_capacity(problem.hosts().len());
    for host in 0..problem.hosts().len() as u32 {
        free.push(problem.ready(host).to_vec());
    }
    let mut order: Vec<Vec<Vec<u32>>> = (schedule.order.iter())
        .map(|slots| vec![Vec::new(); slots.len()])
        .collect();
    let slots_of = schedule.slots_by_task();
    for task in schedule.by_start() {
        if problem.fixed(task).is_some() {
            continue;
        }
        let Placement { host, .. } = entries[task as usize];
        let mut start = 0.0f64;
        for (pred, edge) in dag.predecessors(task) {
            let before = entries[pred as usize];
            let seconds = transfer([before.host, host], (pred, task), edge);
            start = start.max(before.finish + seconds);
        }
        for &slot in slots_of.of(task) {
            start = start.max(free[host as usize][slot as usize]);
        }
        let duration = problem.duration(task, host);
        let parts = memory.parts(problem, task, host);
        let timeline = timelines.get_mut(host as usize).and_then(Option::as_mut);
        if let Some(timeline) = timeline.filter(|_| parts > 0) {
            start = timeline.earliest(start, duration, parts);
            timeline.reserve(start, start + duration, parts, 0.0);
        }
        let finish = start + duration;
        for &slot in slots_of.of(task) {
            free[host as usize][slot as usize] = finish;
            order[host as usize][slot as usize].push(task);
        }
        let entry = &mut entries[task as usize];
        (entry.start, entry.finish) = (start, finish);
    }
    Schedule { entries, order }
}

#[cfg(test)]
mod tests;
