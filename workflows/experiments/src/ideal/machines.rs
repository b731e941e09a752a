//! The machines of an ideal execution: what they were sent, what they run, and when what starts and
//! ends next.

use schedule::Problem;
use schedule::rounds::{Progress, Setting};

use super::power::Powers;
use super::{Conditions, Ran};

/// All machines, and the tasks as these know them.
pub(super) struct Machines<'a> {
    setting: &'a Setting,
    conditions: Conditions<'a>,
    hosts: Vec<HostState>,
    /// By machine: the time of the first thing to happen there, infinity if nothing does; nothing is sooner than now.
    first: Vec<f64>,
    /// Machines of which the next start has to be found again, if that was not done since.
    stale: Vec<u32>,
    /// By task: predecessors that have not ended.
    waits_for: Vec<u32>,
    /// By task: when it started and ended; infinite as long as that is not known.
    pub(super) ran: Vec<Ran>,
    pub(super) n_ended: usize,
    /// Gates whose predecessors have ended, with the time when all data is there.
    gates: Vec<(f64, u32)>,
    /// By slot of the machine that is looked at: true if a task runs there or is to.
    taken: Vec<bool>,
}

struct HostState {
    /// Tasks that were sent and have not started, by their rank, the next one last. A task that is
    /// planned again may get another slot while it waits.
    queue: Vec<u32>,
    /// By slot: true if a task runs on it.
    busy: Vec<bool>,
    /// The next start, if there is one, and whether it has to be found again.
    next_start: Option<(f64, u32)>,
    is_stale: bool,
    /// Tasks that run, with their ends.
    running: Vec<(f64, u32)>,
    gone_at: f64,
}

/// The next event. At the same time starts come before ends, and lower machines first (rule A18).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) enum Next {
    Start { host: u32, task: u32 },
    Finish { host: u32, task: u32 },
    Gone { host: u32 },
}

impl<'a> Machines<'a> {
    pub(super) fn new(setting: &'a Setting, conditions: Conditions<'a>) -> Machines<'a> {
        let problem = setting.problem();
        let dag = problem.dag();
        let hosts = problem
            .hosts()
            .iter()
            .enumerate()
            .map(|(number, host)| HostState {
                queue: Vec::new(),
                busy: vec![false; host.slots as usize],
                next_start: None,
                is_stale: false,
                running: Vec::new(),
                gone_at: match conditions.powers {
                    Powers::PerTask(_) => f64::INFINITY,
                    Powers::Steps(steps) => steps[number].gone(),
                },
            });
        let nowhere = Ran {
            host: u32::MAX,
            start: f64::INFINITY,
            finish: f64::INFINITY,
        };
        let waits_for = dag.tasks().map(|task| dag.predecessors(task).len() as u32);
        let mut machines = Machines {
            setting,
            conditions,
            hosts: hosts.collect(),
            first: Vec::new(),
            stale: Vec::new(),
            waits_for: waits_for.collect(),
            ran: vec![nowhere; dag.n_tasks()],
            n_ended: 0,
            gates: Vec::new(),
            taken: Vec::new(),
        };
        machines.first = machines.hosts.iter().map(HostState::first).collect();
        for task in dag.tasks() {
            if dag.is_gate(task) && machines.waits_for[task as usize] == 0 {
                machines.gates.push((0.0, task));
            }
        }
        machines
    }

    /// The next thing to happen and its time; none if nothing does.
    pub(super) fn next(&mut self, progress: &Progress) -> Option<(f64, Next)> {
        while let Some(host) = self.stale.pop() {
            if self.hosts[host as usize].is_stale {
                self.find_start(host, progress);
            }
        }
        let mut next: Option<(f64, Next)> = None;
        let mut offer = |time: f64, what: Next| {
            let is_first = next.is_none_or(|(first, other)| (time, what) < (first, other));
            if time.is_finite() && is_first {
                next = Some((time, what));
            }
        };
        for &(time, task) in &self.gates {
            let host = progress.host[task as usize];
            offer(time, Next::Start { host, task });
        }
        let first = self.first.iter().copied().fold(f64::INFINITY, sooner);
        let until = first.max(progress.now);
        for (host, _) in (0u32..).zip(&self.first).filter(|one| *one.1 <= until) {
            let state = &self.hosts[host as usize];
            if let Some((time, task)) = state.next_start {
                offer(time.max(progress.now), Next::Start { host, task });
            }
            for &(time, task) in &state.running {
                offer(time, Next::Finish { host, task });
            }
            offer(state.gone_at, Next::Gone { host });
        }
        next
    }

    /// The task that can start on a machine by a time.
    pub(super) fn startable(&mut self, host: u32, now: f64, progress: &Progress) -> Option<u32> {
        self.find_start(host, progress);
        let (time, task) = self.hosts[host as usize].next_start?;
        (time <= now).then_some(task)
    }

    /// Queues tasks.
    pub(super) fn take(&mut self, host: u32, tasks: &[u32]) {
        let setting = self.setting;
        self.note_change(host);
        let state = &mut self.hosts[host as usize];
        for &task in tasks {
            let later = |&other: &u32| setting.rank(other) > setting.rank(task);
            let place = state.queue.partition_point(later);
            state.queue.insert(place, task);
        }
    }

    /// Takes a task out of the queue of its machine.
    pub(super) fn give_back(&mut self, host: u32, task: u32) {
        self.note_change(host);
        let state = &mut self.hosts[host as usize];
        state.queue.retain(|&other| other != task);
    }

    /// All times may be others, because tasks or controllers have moved.
    pub(super) fn moved(&mut self, progress: &Progress) {
        (0..self.hosts.len() as u32).for_each(|host| self.note_change(host));
        let mut gates = std::mem::take(&mut self.gates);
        for (time, task) in &mut gates {
            *time = self.arrival(*task, progress).max(progress.now);
        }
        self.gates = gates;
    }

    /// Starts a task, which ends as the power of its machine allows. A gate ends at once.
    pub(super) fn start(&mut self, host: u32, task: u32, now: f64, progress: &Progress) {
        let problem = self.setting.problem();
        self.ran[task as usize] = Ran {
            host,
            start: now,
            finish: f64::INFINITY,
        };
        let state = &mut self.hosts[host as usize];
        let place = state.queue.iter().rposition(|&other| other == task);
        state
            .queue
            .remove(place.expect("only what was sent is started"));
        for slot in slots(problem, progress, task) {
            let is_busy = &mut state.busy[slot as usize];
            assert!(!*is_busy, "a slot runs one task at a time");
            *is_busy = true;
        }
        let nominal = problem.duration(task, host);
        let finish = match self.conditions.powers {
            Powers::PerTask(rows) => {
                let row = &rows[problem.dag().given(task) as usize];
                now + nominal / row[host as usize]
            }
            Powers::Steps(steps) => steps[host as usize].end(now, nominal),
        };
        state.running.push((finish, task));
        self.note_change(host);
    }

    /// Ends a task that runs.
    pub(super) fn finish(&mut self, host: u32, task: u32, now: f64, progress: &Progress) {
        let problem = self.setting.problem();
        self.note_change(host);
        let state = &mut self.hosts[host as usize];
        state.running.retain(|&(_, other)| other != task);
        for slot in slots(problem, progress, task) {
            state.busy[slot as usize] = false;
        }
        assert_eq!(
            progress.host[task as usize], host,
            "what has started stays where it is"
        );
        self.check_work(host, task, now);
        self.ended(task, now, progress);
    }

    /// Stops a task that runs, which waits again and has done nothing.
    pub(super) fn stop(&mut self, host: u32, task: u32, progress: &Progress) {
        self.note_change(host);
        let state = &mut self.hosts[host as usize];
        state.running.retain(|&(_, other)| other != task);
        for slot in slots(self.setting.problem(), progress, task) {
            state.busy[slot as usize] = false;
        }
        let ran = &mut self.ran[task as usize];
        (ran.start, ran.finish) = (f64::INFINITY, f64::INFINITY);
    }

    /// Ends a gate, for which all data has come.
    pub(super) fn pass_gate(&mut self, host: u32, task: u32, now: f64, progress: &Progress) {
        self.gates.retain(|&(_, other)| other != task);
        self.ran[task as usize] = Ran {
            host,
            start: now,
            finish: now,
        };
        self.ended(task, now, progress);
    }

    /// A machine vanishes with what it runs and was sent.
    pub(super) fn vanish(&mut self, host: u32) {
        let state = &mut self.hosts[host as usize];
        state.gone_at = f64::INFINITY;
        for (_, task) in state.running.drain(..) {
            let ran = &mut self.ran[task as usize];
            (ran.start, ran.finish) = (f64::INFINITY, f64::INFINITY);
        }
        state.queue.clear();
        state.busy.fill(false);
        state.next_start = None;
        self.first[host as usize] = state.first();
    }

    /// The time at which a task that runs ends, infinity if it never does.
    pub(super) fn end_of(&self, task: u32) -> Option<f64> {
        let mut running = self.hosts.iter().flat_map(|host| &host.running);
        let &(finish, _) = running.find(|&&(_, other)| other == task)?;
        Some(finish)
    }

    /// The tasks of a task's slots that run or come before it.
    pub(super) fn before(&self, host: u32, task: u32, progress: &Progress) -> Option<u32> {
        let state = &self.hosts[host as usize];
        let problem = self.setting.problem();
        let of = slots(problem, progress, task);
        let overlaps = |other: u32| {
            let other = slots(problem, progress, other);
            other.start < of.end && of.start < other.end
        };
        let running = state.running.iter().map(|&(_, other)| other);
        let queued = state.queue.iter().rev().copied();
        let queued = queued.take_while(|&other| self.setting.rank(other) < self.setting.rank(task));
        running.chain(queued).find(|&other| overlaps(other))
    }

    /// The time at which the data of a task is on its machine: each message leaves when its task has ended and this
    /// one has its machine (rule A12).
    pub(super) fn arrival(&self, task: u32, progress: &Progress) -> f64 {
        let here = progress.host[task as usize];
        let since = progress.since[task as usize];
        let preds = self.setting.problem().dag().predecessors(task);
        let arrivals = preds.map(|(pred, edge)| {
            let there = progress.host[pred as usize];
            let (hosts, controllers) = ([there, here], &progress.controllers);
            let links = self.conditions.links;
            let transfer = match links.is_empty() {
                true => self.setting.transfer(edge, hosts, controllers),
                false => self.setting.transfer_over(edge, hosts, controllers, links),
            };
            self.ran[pred as usize].finish.max(since) + transfer
        });
        arrivals.fold(0.0, f64::max)
    }

    /// The CPU time of a task on a machine, if it is told.
    pub(super) fn cpu(&self, host: u32, task: u32) -> Option<f64> {
        let speed = self.conditions.speeds.get(host as usize)?;
        Some(self.setting.problem().duration(task, host) / speed)
    }

    /// The transfers that brought the data of a task, if they are told: the edge, the machines of
    /// the hop, and its seconds.
    pub(super) fn transfers(&self, task: u32, progress: &Progress) -> Vec<(u32, [u32; 2], f64)> {
        let links = self.conditions.links;
        if links.is_empty() {
            return Vec::new();
        }
        let problem = self.setting.problem();
        let here = progress.host[task as usize];
        let mut transfers = Vec::new();
        for (pred, edge) in problem.dag().predecessors(task) {
            let hosts = [progress.host[pred as usize], here];
            for hop in self.setting.hops(edge, hosts, &progress.controllers) {
                let ends = hop.map(|host| links[host as usize]);
                let seconds = problem.transfer(edge, hop[0], hop[1]) / ends[0].min(ends[1]);
                transfers.push((edge, hop, seconds));
            }
        }
        transfers
    }

    /// True if a task runs on a machine.
    pub(super) fn runs(&self, host: u32, task: u32) -> bool {
        let mut running = self.hosts[host as usize].running.iter();
        running.any(|&(_, other)| other == task)
    }

    /// The next start on a machine has to be found again.
    fn note_change(&mut self, host: u32) {
        let state = &mut self.hosts[host as usize];
        if !std::mem::replace(&mut state.is_stale, true) {
            self.stale.push(host);
        }
    }

    fn find_start(&mut self, host: u32, progress: &Progress) {
        let mut taken = std::mem::take(&mut self.taken);
        let state = &self.hosts[host as usize];
        let problem = self.setting.problem();
        let ready = problem.ready(host);
        let mut best: Option<(f64, u32)> = None;
        // A slot runs its tasks in order: it is taken by the first one that wants it.
        taken.clone_from(&state.busy);
        for &task in state.queue.iter().rev() {
            let mut is_next = true;
            let mut free = 0.0f64;
            for slot in slots(problem, progress, task) {
                is_next &= !std::mem::replace(&mut taken[slot as usize], true);
                free = free.max(ready[slot as usize]);
            }
            if is_next && self.waits_for[task as usize] == 0 {
                let time = self.arrival(task, progress).max(free);
                if best.is_none_or(|(first, _)| time < first) {
                    best = Some((time, task));
                }
            }
            if taken.iter().all(|&taken| taken) {
                break;
            }
        }
        self.taken = taken;
        let state = &mut self.hosts[host as usize];
        state.next_start = best;
        state.is_stale = false;
        self.first[host as usize] = state.first();
    }

    fn ended(&mut self, task: u32, now: f64, progress: &Progress) {
        self.ran[task as usize].finish = now;
        self.n_ended += 1;
        let dag = self.setting.problem().dag();
        for (succ, _) in dag.successors(task) {
            let waits_for = &mut self.waits_for[succ as usize];
            *waits_for -= 1;
            if *waits_for == 0 {
                if dag.is_gate(succ) {
                    self.gates.push((self.arrival(succ, progress), succ));
                } else {
                    let host = progress.host[succ as usize];
                    self.note_change(host);
                }
            }
        }
    }

    /// A task is as long as its work at the power that its machine had.
    fn check_work(&self, host: u32, task: u32, now: f64) {
        let start = self.ran[task as usize].start;
        let nominal = self.setting.problem().duration(task, host);
        let worked = match self.conditions.powers {
            Powers::PerTask(rows) => {
                let given = self.setting.problem().dag().given(task);
                (now - start) * rows[given as usize][host as usize]
            }
            Powers::Steps(steps) => steps[host as usize].worked(start, now),
        };
        let tolerance = 1e-9 * nominal.max(now).max(1.0);
        assert!(
            (worked - nominal).abs() <= tolerance,
            "task {task} did {worked} of {nominal} s of work"
        );
    }
}

impl HostState {
    /// The time of the first thing to happen here; infinity if nothing does.
    fn first(&self) -> f64 {
        let start = self.next_start.map(|(time, _)| time);
        let ends = self.running.iter().map(|&(time, _)| time);
        ends.chain(start).fold(self.gone_at, f64::min)
    }
}

#[inline]
fn sooner(one: f64, other: f64) -> f64 {
    if one < other { one } else { other }
}

/// The slots of its machine that a task holds.
fn slots(problem: &Problem, progress: &Progress, task: u32) -> std::ops::Range<u32> {
    let slot = progress.slot[task as usize];
    slot..slot + problem.dag().cores(task)
}
