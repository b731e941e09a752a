//! The common part of list schedulers: tasks are placed one after the other, each into the first gap that
//! is long enough.

use model::Bytes;

use crate::arrival::{Arrivals, Ended};
use crate::meter::Meter;
use crate::order::{TOLERANCE, less};
use crate::problem::{OUTSIDE, Problem};
use crate::schedule::{Placement, Schedule, ScheduleError, holds_slots};
use crate::timeline::{Timeline, Trail};

/// Steps for each task until the order of tasks is known, beside those for each message.
const STEPS_TO_RANK: u64 = 28;
/// Steps for each message until then.
const STEPS_TO_RANK_OVER: u64 = 2;
/// Steps to put a task into the timeline of its machine.
const STEPS_A_PLACE: u64 = 30;
/// Messages, each at one group, whose arrivals are known in one step.
const ARRIVALS_A_STEP: u64 = 6;
/// Steps to try a place and to take that back, beside a copy of the timeline.
const STEPS_A_TRIAL: u64 = 10;
/// Steps to see whether machines that are alike can be passed over.
const STEPS_A_RUN: u64 = 1;
/// Steps to see when a machine is free from the end of its timeline.
const STEPS_A_LOOK: u64 = 1;
/// Machines of neighbouring numbers that may be passed over together.
const BLOCK: usize = 16;

/// A schedule in the making.
pub(crate) struct Insertion<'a> {
    problem: &'a Problem,
    meter: &'a Meter,
    groups: Vec<u32>,
    machines: Vec<Timeline>,
    /// The same for memory: by machine, where that may run out; empty where it runs out nowhere.
    memories: Vec<Option<Timeline>>,
    /// By machine: from when on a slot stays free, and until when there are gaps before that.
    trails: Vec<Trail>,
    /// The same for each [`BLOCK`] of machines: the earliest, and the latest.
    blocks: Vec<Trail>,
    /// By class of demands: the machines that fit, by what distinguishes them.
    runs: Vec<Vec<Run>>,
    ended: Vec<Ended>,
    placed: Vec<bool>,
    starts: Vec<f64>,
    held_until: Vec<f64>,
    /// Trials since the last `take_back`: tasks, and machines as they were before.
    tried: Vec<u32>,
    before: Vec<(u32, Timeline, Option<Timeline>)>,
    arrivals: Arrivals,
    /// Reused: machines whose gaps have to be looked at, with the arrival there.
    gappy: Vec<(u32, f64)>,
}

/// A candidate for the placement of a task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) host: u32,
    pub(crate) start: f64,
    pub(crate) finish: f64,
}

/// Machines of neighbouring numbers that differ only in what they hold: one group, one power.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    last: u32,
    group: u32,
}

/// Places tasks one after the other, each where `choose` says. `order` is a linear extension. Without steps
/// left, `choose` may choose nothing.
pub(crate) fn in_order<'a>(
    problem: &'a Problem,
    meter: &'a Meter,
    order: &[u32],
    mut choose: impl FnMut(&mut Insertion<'a>, u32) -> Option<Candidate>,
) -> Result<Schedule, ScheduleError> {
    let n_edges = problem.dag().n_edges() as u64;
    meter.spend(STEPS_TO_RANK * order.len() as u64 + STEPS_TO_RANK_OVER * n_edges)?;
    let mut insertion = Insertion::new(problem, meter);
    let shortest = shortest_from_here(problem, order);
    for (&task, &shortest) in order.iter().zip(&shortest[1..]) {
        if problem.fixed(task).is_some() {
            continue;
        }
        insertion.arrive(task);
        let found = if problem.dag().is_gate(task) {
            insertion.gate(task)
        } else {
            choose(&mut insertion, task)
        };
        meter.check()?;
        let found = found.ok_or(ScheduleError::NoHost { task })?;
        insertion.place(task, found, shortest);
    }
    Ok(insertion.schedule())
}

impl<'a> Insertion<'a> {
    /// Nothing placed but what has started.
    pub(crate) fn new(problem: &'a Problem, meter: &'a Meter) -> Insertion<'a> {
        let (dag, hosts) = (problem.dag(), problem.hosts());
        let points = has_points(problem);
        let machines: Vec<Timeline> = (0..hosts.len() as u32)
            .map(|host| Timeline::new(problem.ready(host), points))
            .collect();
        let nowhere = Ended {
            finish: 0.0,
            host: OUTSIDE,
            group: problem.links().outside(),
        };
        let mut ended = vec![nowhere; dag.n_tasks()];
        let mut starts = vec![0.0; dag.n_tasks()];
        let mut placed = vec![false; dag.n_tasks()];
        for task in dag.tasks() {
            if let Some(fixed) = problem.fixed(task) {
                let (host, finish) = (fixed.host, fixed.finish);
                ended[task as usize] = Ended {
                    finish,
                    host,
                    group: problem.group(host),
                };
                starts[task as usize] = finish;
                placed[task as usize] = true;
            }
        }
        let trails: Vec<Trail> = machines.iter().map(Timeline::trail).collect();
        Insertion {
            problem,
            meter,
            groups: hosts.iter().map(|host| host.group).collect(),
            blocks: trails.chunks(BLOCK).map(Trail::of_all).collect(),
            trails,
            machines,
            memories: problem
                .memory()
                .map_or(Vec::new(), |memory| memory.timelines(points)),
            runs: (0..problem.n_demand_classes())
                .map(|class| runs(problem, problem.fitting(class)))
                .collect(),
            ended,
            placed,
            starts,
            tried: Vec::new(),
            before: Vec::new(),
            held_until: vec![0.0; dag.n_tasks()],
            arrivals: Arrivals::new(problem),
            gappy: Vec::new(),
        }
    }

    /// Looks at where the data of a task comes from, which is all placed; what is asked next is
    /// about this task.
    pub(crate) fn arrive(&mut self, task: u32) {
        self.count_arrival(task);
        self.arrivals
            .collect(self.problem, task, &self.ended, |_| true);
    }

    /// The same for a task not all of whose predecessors are placed: the others do not count.
    pub(crate) fn arrive_from_placed(&mut self, task: u32) {
        self.count_arrival(task);
        let placed = &self.placed;
        let is_placed = |pred: u32| placed[pred as usize];
        self.arrivals
            .collect(self.problem, task, &self.ended, is_placed);
    }

    fn count_arrival(&self, task: u32) {
        let n_groups = u64::from(self.problem.links().n_groups());
        let n_preds = self.problem.dag().predecessors(task).len() as u64;
        self.meter
            .add(2 + n_preds * (n_groups + 2) / ARRIVALS_A_STEP);
    }

    /// The end and the machine of a task that is placed.
    pub(crate) fn end_of(&self, task: u32) -> (f64, u32) {
        let Ended { finish, host, .. } = self.ended[task as usize];
        (finish, host)
    }

    /// The earliest place of the task on a machine that fits it.
    pub(crate) fn on(&self, task: u32, host: u32) -> Candidate {
        self.on_from(
            task,
            host,
            self.arrivals.at(host, self.groups[host as usize]),
        )
    }

    /// The same where its data is there at this time.
    pub(crate) fn on_from(&self, task: u32, host: u32, arrival: f64) -> Candidate {
        let duration = self.problem.duration(task, host);
        let cores = self.problem.dag().cores(task);
        let gap = (arrival, duration, cores);
        let trail = self.trails[host as usize];
        let is_after_gaps = margin(trail.gaps_until) < arrival + duration;
        let start = match self.parts(task, host) {
            0 if cores == 1 && duration > 0.0 && is_after_gaps => {
                self.meter.add(STEPS_A_LOOK);
                arrival.max(trail.free_from)
            }
            0 => {
                let machine = &self.machines[host as usize];
                let start = machine.search((arrival, duration, cores), f64::INFINITY, self.meter);
                // The last step lasts for ever and is free, so only a start at infinity is never found.
                start.unwrap_or(arrival)
            }
            // In the end all is free, so only a start at infinity is never found.
            parts => (self.in_both(host, gap, parts, f64::INFINITY)).unwrap_or(arrival),
        };
        Candidate {
            host,
            start,
            finish: start + duration,
        }
    }

    /// The machine on which the task ends first, the lowest of those where it ends as early.
    /// Machines that could not be better even when idle are passed over.
    pub(crate) fn earliest(&mut self, task: u32) -> Option<Candidate> {
        let problem = self.problem;
        let cores = problem.dag().cores(task);
        let asks_memory = problem.memory().is_some() && problem.demand(task).memory > Bytes::ZERO;
        let is_simple = cores == 1 && !asks_memory;
        let mut best: Option<Candidate> = None;
        for run in &self.runs[problem.demand_class(task) as usize] {
            let arrival = self.arrivals.in_group(run.group);
            let duration = problem.duration(task, run.first);
            let source = self.arrivals.source(run.group);
            let near = (run.first..=run.last).contains(&source);
            self.meter.add(STEPS_A_RUN);
            let soonest = if near {
                self.arrivals.at(source, run.group).min(arrival)
            } else {
                arrival
            };
            if best.is_some_and(|best| soonest + duration > margin(best.finish)) {
                continue;
            }
            self.gappy.clear();
            let mut n_looked = 0u64;
            let mut hosts = run.first..=run.last;
            while let Some(host) = hosts.next() {
                n_looked += 1;
                if let Some(best) = best.filter(|_| is_simple && duration > 0.0)
                    && let Some(last) = block_of(host, run)
                    && !(near && (host..=last).contains(&source))
                {
                    let block = self.blocks[host as usize / BLOCK];
                    let start = arrival.max(block.free_from);
                    let is_worse = best.stays(host, start + duration);
                    if is_worse && margin(block.gaps_until) < arrival + duration {
                        // As below, where a machine is idle.
                        if start <= arrival && !(near && last < source) {
                            break;
                        }
                        hosts = last + 1..=run.last;
                        continue;
                    }
                }
                let arrival = if near && host == source {
                    self.arrivals.at(host, run.group)
                } else {
                    arrival
                };
                let trail = self.trails[host as usize];
                if !is_simple || duration <= 0.0 || margin(trail.gaps_until) >= arrival + duration {
                    self.gappy.push((host, arrival));
                    continue;
                }
                let start = arrival.max(trail.free_from);
                let finish = start + duration;
                let found = Candidate {
                    host,
                    start,
                    finish,
                };
                if best.is_none_or(|best| found.is_better_than(best)) {
                    best = Some(found);
                }
                // No machine of the run can be better, and the later ones lose the tie.
                if start <= arrival && !(near && host < source) {
                    break;
                }
            }
            self.meter.add(n_looked * 2 / 3);
            // Before other machines are looked at, since these are faster.
            for &(host, arrival) in &self.gappy {
                let soonest = arrival + duration;
                let limit = best.map_or(f64::INFINITY, |best| margin(best.finish));
                let in_vain = |best: Candidate| host > best.host && !less(soonest, best.finish);
                if soonest > limit || best.is_some_and(in_vain) {
                    continue;
                }
                let start = match asks_memory {
                    true => {
                        let gap = (arrival, duration, cores);
                        self.in_both(host, gap, self.parts(task, host), limit)
                    }
                    false => {
                        let machine = &self.machines[host as usize];
                        machine.search((arrival, duration, cores), limit, self.meter)
                    }
                };
                let Some(start) = start else {
                    continue;
                };
                let finish = start + duration;
                let found = Candidate {
                    host,
                    start,
                    finish,
                };
                if best.is_none_or(|best| found.is_better_than(best)) {
                    best = Some(found);
                }
            }
        }
        best
    }

    /// The machine whose place for the task is worth least, the lowest of those that are.
    pub(crate) fn least(&self, task: u32, worth: impl Fn(Candidate) -> f64) -> Option<Candidate> {
        let mut best: Option<(f64, Candidate)> = None;
        for &host in self.problem.fitting(self.problem.demand_class(task)) {
            let found = self.on(task, host);
            let worth = worth(found);
            if best.is_none_or(|(least, _)| less(worth, least)) {
                best = Some((worth, found));
            }
        }
        best.map(|(_, found)| found)
    }

    /// The machine on which everything that a gate waits for is first.
    pub(crate) fn gate(&self, task: u32) -> Option<Candidate> {
        let n_hosts = self.problem.fitting(self.problem.demand_class(task)).len();
        self.meter.add(n_hosts as u64);
        let mut best: Option<Candidate> = None;
        for &host in self.problem.fitting(self.problem.demand_class(task)) {
            let at = self.arrivals.at(host, self.groups[host as usize]);
            if best.is_none_or(|best| less(at, best.finish)) {
                best = Some(Candidate {
                    host,
                    start: at,
                    finish: at,
                });
            }
        }
        best
    }

    /// Takes a place. No task that comes later has less work than `shortest`.
    pub(crate) fn place(&mut self, task: u32, found: Candidate, shortest: f64) {
        let Candidate {
            host,
            start,
            finish,
        } = found;
        self.ended[task as usize] = Ended {
            finish,
            host,
            group: self.groups[host as usize],
        };
        self.placed[task as usize] = true;
        self.starts[task as usize] = start;
        self.meter.add(STEPS_A_PLACE);
        if !self.problem.dag().is_gate(task) {
            if !self.memories.is_empty() {
                self.hold_memory(task, found);
            }
            let machine = &mut self.machines[host as usize];
            let shortest = shortest / self.problem.hosts()[host as usize].power;
            let cores = self.problem.dag().cores(task);
            self.held_until[task as usize] = machine.reserve(start, finish, cores, shortest);
            self.count_trail(host);
        }
    }

    /// Takes over when a machine is free.
    fn count_trail(&mut self, host: u32) {
        self.trails[host as usize] = self.machines[host as usize].trail();
        let block = host as usize / BLOCK;
        let end = self.trails.len().min((block + 1) * BLOCK);
        self.blocks[block] = Trail::of_all(&self.trails[block * BLOCK..end]);
    }

    /// Takes a place until `take_back`.
    pub(crate) fn try_place(&mut self, task: u32, found: Candidate) {
        self.tried.push(task);
        let host = found.host;
        let saved = self.before.iter().any(|&(other, ..)| other == host);
        self.meter.add(STEPS_A_TRIAL + self.before.len() as u64);
        if !saved && !self.problem.dag().is_gate(task) {
            let memory = self.memories.get(host as usize).cloned().flatten();
            let machine = self.machines[host as usize].clone();
            self.meter.add(machine.size());
            self.before.push((host, machine, memory));
        }
        self.place(task, found, 0.0);
    }

    /// Gives up all places taken with `try_place`.
    pub(crate) fn take_back(&mut self) {
        while let Some((host, machine, memory)) = self.before.pop() {
            self.machines[host as usize] = machine;
            self.count_trail(host);
            if let Some(before) = self.memories.get_mut(host as usize) {
                *before = memory;
            }
        }
        for task in self.tried.drain(..) {
            self.placed[task as usize] = false;
        }
    }

    /// The parts of a machine's memory that a task takes; 0 where it never runs out.
    fn parts(&self, task: u32, host: u32) -> u32 {
        let memory = self.problem.memory();
        memory.map_or(0, |memory| memory.parts(self.problem, task, host))
    }

    /// The earliest start at which slots and memory have a gap, from a time on, for a duration and so
    /// many cores; none if the task would end after `limit`.
    #[cold]
    fn in_both(&self, host: u32, gap: (f64, f64, u32), parts: u32, limit: f64) -> Option<f64> {
        let (_, duration, cores) = gap;
        let slots = &self.machines[host as usize];
        let mut at = slots.search(gap, limit, self.meter)?;
        let memory = self.memories.get(host as usize).and_then(Option::as_ref);
        let Some(memory) = memory.filter(|_| parts > 0) else {
            return Some(at);
        };
        // Each search begins where the other one's gap begins, so both are passed through once.
        loop {
            let start = memory.search((at, duration, parts), limit, self.meter)?;
            if start <= at {
                return Some(at);
            }
            at = slots.search((start, duration, cores), limit, self.meter)?;
            if at <= start {
                return Some(at);
            }
        }
    }

    #[cold]
    fn hold_memory(&mut self, task: u32, found: Candidate) {
        let parts = self.parts(task, found.host);
        let memory = self.memories.get_mut(found.host as usize);
        if let Some(memory) = memory.and_then(Option::as_mut).filter(|_| parts > 0) {
            memory.reserve(found.start, found.finish, parts, 0.0);
        }
    }

    /// The schedule, all tasks placed. O(n log n).
    pub(crate) fn schedule(self) -> Schedule {
        let placed = self.problem.dag().tasks().map(|task| {
            let Ended { finish, host, .. } = self.ended[task as usize];
            Placement {
                task,
                host,
                slot: 0,
                start: self.starts[task as usize],
                finish,
            }
        });
        Schedule::assemble(self.problem, placed.collect(), &self.held_until)
    }
}

impl Candidate {
    /// True if no place on a machine of at least this number is better that ends at this time or later.
    fn stays(self, host: u32, finish: f64) -> bool {
        !less(finish, self.finish) && (host > self.host || less(self.finish, finish))
    }

    /// True if it ends before another place, or as early on a machine of a lower number.
    fn is_better_than(self, other: Candidate) -> bool {
        less(self.finish, other.finish)
            || (self.host < other.host && !less(other.finish, self.finish))
    }
}

/// A time above which another one is later by more than any tie explains.
fn margin(time: f64) -> f64 {
    time + 4.0 * TOLERANCE * time.max(1.0)
}

/// The last machine of the block that begins with this one, if all of it belongs to the run.
fn block_of(host: u32, run: &Run) -> Option<u32> {
    let last = host + BLOCK as u32 - 1;
    ((host as usize).is_multiple_of(BLOCK) && last <= run.last).then_some(last)
}

fn runs(problem: &Problem, fitting: &[u32]) -> Vec<Run> {
    let hosts = problem.hosts();
    let mut runs: Vec<Run> = Vec::new();
    for &host in fitting {
        let here = &hosts[host as usize];
        match runs.last_mut() {
            Some(run)
                if run.last + 1 == host
                    && run.group == here.group
                    && hosts[run.first as usize].power.to_bits() == here.power.to_bits()
                    && !problem.has_costs() =>
            {
                run.last = host;
            }
            Some(_) | None => runs.push(Run {
                first: host,
                last: host,
                group: here.group,
            }),
        }
    }
    // The fastest first, so that the others can be passed over.
    let power = |run: &Run| hosts[run.first as usize].power;
    runs.sort_by(|one, other| power(other).total_cmp(&power(one)));
    runs
}

/// For each place in the order, and for its end, the least work of a task from there on; 0 where
/// machines have their own costs, since a machine's power then says nothing.
fn shortest_from_here(problem: &Problem, order: &[u32]) -> Vec<f64> {
    let mut shortest = vec![f64::INFINITY; order.len() + 1];
    for (place, &task) in order.iter().enumerate().rev() {
        let work = match (holds_slots(problem, task), problem.has_costs()) {
            (true, false) => problem.dag().work(task),
            (true, true) => 0.0,
            (false, _) => f64::INFINITY,
        };
        shortest[place] = shortest[place + 1].min(work);
    }
    shortest
}

/// True if some task may take no time, or so little that it vanishes in rounding.
pub(crate) fn has_points(problem: &Problem) -> bool {
    let power_max = problem
        .hosts()
        .iter()
        .map(|host| host.power)
        .fold(0.0, f64::max);
    problem
        .dag()
        .tasks()
        .filter(|&task| holds_slots(problem, task))
        .any(|task| {
            let shortest = if problem.has_costs() {
                problem.duration_min(task)
            } else {
                problem.dag().work(task) / power_max
            };
            shortest < TOLERANCE
        })
}

#[cfg(test)]
mod tests;
