//! The least makespan that new places of some tasks can have: where that saves too little, nobody has to plan.
//!
//! Each task starts when what it waits for can have ended, on the best machine that is known, and what follows it takes
//! the longest way. A message costs nothing if both its tasks are on one machine. But tasks of machines that run one
//! task at a time run there one after the other: of several messages into a task, or out of one, only as many cost
//! nothing as it pays to run these tasks in turn.

mod messages;
mod tails;

use self::messages::{Messages, Ways};
use self::tails::Tails;
use super::estimates::{NONE, best_powers, shortest_of};
use super::progress::{Phase, Progress};
use super::setting::Setting;

/// The most places that a task is looked at on; beyond that its messages count as nothing.
const PLACES_MAX: usize = 8;

/// The bound, with memory that is used again and again.
#[derive(Default)]
pub(super) struct Least {
    /// By task: true if it may be put elsewhere.
    may_move: Vec<bool>,
    /// By task: its time on the best machine; where it is, if it may not move.
    duration: Vec<f64>,
    /// By task: it starts and ends no sooner.
    est: Vec<f64>,
    eft: Vec<f64>,
    /// By task: no less time is between its start and the end of the process.
    way: Vec<f64>,
    /// By slot: when it is free for what comes next in the order.
    free: Vec<f64>,
    messages: Vec<Message>,
    /// Predecessors that may not move: edge, machine and end.
    sources: Vec<(u32, u32, f64)>,
    /// The parts of the ways of messages that are known.
    ways: Ways,
    /// The times by machine, of the tasks that they were found for last.
    tails: Tails,
    /// True if a machine has vanished or stands still, so that nothing is known.
    is_lost: bool,
}

/// A message between tasks that may be on one machine.
#[derive(Clone, Copy)]
struct Message {
    /// The time if they are not.
    apart: f64,
    /// The time if they are.
    together: f64,
    /// The duration of the task at the other end, and the least time after it.
    duration: f64,
    after: f64,
}

impl Least {
    /// No places of these tasks, in order, let the process end sooner, whatever machines controllers get. 0 if a machine
    /// has vanished or stands still. O(n + e log e).
    pub(super) fn makespan(
        &mut self,
        setting: &Setting,
        progress: &Progress,
        movable: &[u32],
    ) -> f64 {
        let n = setting.order.len();
        for times in [
            &mut self.duration,
            &mut self.est,
            &mut self.eft,
            &mut self.way,
        ] {
            times.clear();
            times.resize(n, 0.0);
        }
        self.is_lost = has_lost(progress);
        if self.is_lost {
            return 0.0;
        }
        self.may_move.clear();
        self.may_move.resize(n, false);
        let powers = best_powers(setting, progress);
        for &task in movable {
            self.may_move[task as usize] = true;
            self.duration[task as usize] = shortest_of(setting, progress, &powers, task);
        }
        let mut ways = std::mem::take(&mut self.ways);
        ways.find(setting, progress);
        let messages = ways.messages(setting, progress);
        self.forward(&messages);
        let least = self.backward(&messages);
        self.ways = ways;
        least
    }

    /// No places of these tasks, which may move and are in order, let the process end sooner: a bound that looks at
    /// machines one by one; 0 if a machine has vanished or stands still. See [`Tails::makespan`].
    pub(super) fn makespan_by_machine(
        &mut self,
        setting: &Setting,
        progress: &Progress,
        tasks: (&[u32], &[u32]),
        times: (&[f64], &[f64]),
    ) -> f64 {
        self.tails.forget();
        self.way.clear();
        if has_lost(progress) {
            return 0.0;
        }
        self.ways.find(setting, progress);
        let messages = self.ways.messages(setting, progress);
        self.tails.makespan(&messages, tasks, times)
    }

    /// The process ends no sooner, if a path is on this machine and its first task starts at this time or later.
    pub(super) fn end(
        &self,
        setting: &Setting,
        progress: &Progress,
        path: &[u32],
        (host, start): (u32, f64),
    ) -> f64 {
        let (mut end, mut least) = (start, 0.0f64);
        for &task in path {
            end += progress.duration(setting, task, host);
            least = least.max(end + self.after(task, host));
        }
        least
    }

    /// The start of a task on a machine: no sooner than the data of those before it comes there, which are where
    /// this says if they are anywhere.
    pub(super) fn start(
        &self,
        setting: &Setting,
        progress: &Progress,
        (task, host): (u32, u32),
        host_of: impl Fn(u32) -> u32,
    ) -> f64 {
        if self.is_lost {
            return progress.now;
        }
        let messages = self.ways.messages(setting, progress);
        let since = match progress.host[task as usize] == host {
            true => progress.since[task as usize],
            false => progress.now,
        };
        let preds = setting.problem().dag().predecessors(task);
        let arrivals = preds.map(|(pred, edge)| {
            let (made, from) = (self.eft[pred as usize], host_of(pred));
            match from == NONE {
                true => made + messages.inside(edge),
                false => made.max(since) + messages.between(edge, [from, host]),
            }
        });
        arrivals.fold(progress.now, f64::max)
    }

    /// No places let less time be between the end of a task that may move, which is on this machine, and the end of
    /// the process, by the bound that was found last; 0 if nothing is known.
    pub(super) fn after(&self, task: u32, host: u32) -> f64 {
        match self.way.get(task as usize) {
            Some(way) => way - self.duration[task as usize],
            None => self.tails.after(task, host),
        }
    }

    /// Starts and ends.
    fn forward(&mut self, messages: &Messages<'_>) {
        let (setting, progress) = (messages.setting, messages.progress);
        let problem = setting.problem();
        self.free.clear();
        for host in 0..problem.hosts().len() as u32 {
            let ready = problem.ready(host).iter();
            self.free.extend(ready.map(|at| at.max(progress.now)));
        }
        for &task in &setting.order {
            let (place, host) = (task as usize, progress.host[task as usize]);
            let first = setting.list(host, progress.slot[place]);
            let slots = first..first + problem.dag().cores(task) as usize;
            match progress.phase[place] {
                Phase::Ended(finish) => self.eft[place] = finish,
                Phase::Running(start) => {
                    let finish = progress.end_of(setting, task, start);
                    self.eft[place] = finish;
                    let free = self.free[slots].iter_mut();
                    free.for_each(|free| *free = free.max(finish));
                }
                Phase::Waiting if self.may_move[place] => self.count_movable(messages, task),
                Phase::Waiting => {
                    let mut start = progress.now.max(self.after_movable(messages, task));
                    for (pred, edge) in problem.dag().predecessors(task) {
                        if !self.may_move[pred as usize] {
                            let made = self.eft[pred as usize].max(progress.since[place]);
                            let hosts = [progress.host[pred as usize], host];
                            start = start.max(made + messages.between(edge, hosts));
                        }
                    }
                    start = self.free[slots.clone()]
                        .iter()
                        .copied()
                        .fold(start, f64::max);
                    self.duration[place] = progress.duration(setting, task, host);
                    (self.est[place], self.eft[place]) = (start, start + self.duration[place]);
                    self.free[slots].fill(self.eft[place]);
                }
            }
        }
    }

    /// The start and the end of a task that may move: where it is, where a predecessor is that may not move, or
    /// elsewhere on the best machine.
    fn count_movable(&mut self, messages: &Messages<'_>, task: u32) {
        let (setting, progress) = (messages.setting, messages.progress);
        let (problem, place) = (setting.problem(), task as usize);
        let soonest = progress.now.max(self.after_movable(messages, task));
        self.sources.clear();
        let mut elsewhere = soonest;
        for (pred, edge) in problem.dag().predecessors(task) {
            if !self.may_move[pred as usize] {
                let (from, made) = (progress.host[pred as usize], self.eft[pred as usize]);
                let seconds = messages.out_of(edge, from);
                elsewhere = elsewhere.max(made.max(progress.now) + seconds);
                self.sources.push((edge, from, made));
            }
        }
        if self.sources.len() >= PLACES_MAX {
            elsewhere = self
                .sources
                .iter()
                .fold(soonest, |start, source| start.max(source.2));
        }
        let (mut est, mut eft) = (elsewhere, elsewhere + self.duration[place]);
        if self.sources.len() < PLACES_MAX {
            let here = progress.host[place];
            let hosts = self.sources.iter().map(|&(_, from, _)| from).chain([here]);
            for host in hosts {
                let since = match host == here {
                    true => progress.since[place],
                    false => progress.now,
                };
                let mut start = soonest;
                for &(edge, from, made) in &self.sources {
                    let seconds = messages.between(edge, [from, host]);
                    start = start.max(made.max(since) + seconds);
                }
                if problem.dag().cores(task) > 0 {
                    let first = setting.list(host, 0);
                    let slots = first..first + problem.hosts()[host as usize].slots as usize;
                    let free = self.free[slots].iter().copied();
                    start = start.max(free.fold(f64::INFINITY, f64::min));
                }
                est = est.min(start);
                eft = eft.min(start + progress.duration(setting, task, host));
            }
        }
        (self.est[place], self.eft[place]) = (est, eft);
    }

    /// The time at which the messages of predecessors that may move can have come.
    fn after_movable(&mut self, messages: &Messages<'_>, task: u32) -> f64 {
        let dag = messages.setting.problem().dag();
        self.messages.clear();
        let (mut soonest, mut all) = (f64::INFINITY, 0.0f64);
        for (pred, edge) in dag.predecessors(task) {
            if self.may_move[pred as usize] {
                let (est, eft) = (self.est[pred as usize], self.eft[pred as usize]);
                soonest = soonest.min(est);
                all = all.max(eft);
                self.messages.push(Message {
                    apart: eft + messages.anywhere(edge),
                    together: eft + messages.inside(edge),
                    duration: self.duration[pred as usize],
                    after: 0.0,
                });
            }
        }
        match self.messages.is_empty() {
            true => 0.0,
            false => all.max(self.together_or_apart(messages, soonest)),
        }
    }

    /// Ways to the end, and with them the bound.
    fn backward(&mut self, messages: &Messages<'_>) -> f64 {
        let (setting, progress) = (messages.setting, messages.progress);
        let dag = setting.problem().dag();
        let mut least = 0.0f64;
        for &task in setting.order.iter().rev() {
            let (place, host) = (task as usize, progress.host[task as usize]);
            let stays = !self.may_move[place];
            let is_waiting = progress.is_waiting(task);
            // The earliest start of its successors.
            let base = self.eft[place].max(progress.now);
            let mut after = 0.0f64;
            self.messages.clear();
            for (succ, edge) in dag.outgoing(task) {
                let next = succ as usize;
                if !progress.is_waiting(succ) {
                    continue;
                }
                let way = self.way[next];
                after = after.max(way);
                if stays && !self.may_move[next] {
                    let hosts = [host, progress.host[next]];
                    let left = match is_waiting {
                        true => base,
                        false => self.eft[place].max(progress.since[next]),
                    };
                    let seconds = left + messages.between(edge, hosts) - base;
                    after = after.max(seconds + way);
                    continue;
                }
                let (apart, together) = match stays {
                    true => (
                        messages.out_of(edge, host),
                        messages.between(edge, [host, host]),
                    ),
                    false => (messages.anywhere(edge), messages.inside(edge)),
                };
                // The data may be on its way to where the successor is.
                let sent = self.eft[place].max(progress.since[next]) - base;
                let (apart, together) = match (is_waiting, progress.host[next] == host) {
                    (true, _) => (apart, together),
                    (false, true) => (apart, together + sent),
                    (false, false) => (apart + sent, together),
                };
                self.messages.push(Message {
                    apart: apart.max(0.0) + way,
                    together: together.max(0.0) + way,
                    duration: self.duration[next],
                    after: way - self.duration[next],
                });
            }
            let after = after.max(self.together_or_apart(messages, 0.0));
            self.way[place] = self.duration[place] + after;
            least = least.max(match is_waiting {
                true => self.est[place] + self.way[place],
                false if self.messages.is_empty() && after <= 0.0 => self.eft[place],
                false => base + after,
            });
        }
        least
    }

    /// The least time until the messages that are listed have done their work, from a time on at which the first task
    /// at their other ends can start: those that would take longest apart are sent inside the machine, whose tasks
    /// run in turn, and only by way of the controllers that stay.
    fn together_or_apart(&mut self, messages: &Messages<'_>, from: f64) -> f64 {
        let listed = &mut self.messages;
        listed.sort_unstable_by(|one, other| other.apart.total_cmp(&one.apart));
        let (mut in_turn, mut after) = (from, f64::INFINITY);
        let mut together = 0.0f64;
        let mut least = listed.first().map_or(0.0, |message| message.apart);
        for (number, message) in listed.iter().enumerate() {
            if messages.setting.runs_in_turn {
                in_turn += message.duration;
            }
            after = after.min(message.after);
            together = together.max(message.together);
            let apart = listed.get(number + 1).map_or(0.0, |next| next.apart);
            least = least.min((in_turn + after).max(apart).max(together));
        }
        least
    }
}

/// True if a machine has vanished, or stands still by what is known.
fn has_lost(progress: &Progress) -> bool {
    let works = |factor: &f64| *factor > 0.0 && factor.is_finite();
    progress.gone.contains(&true) || !progress.factor.iter().all(works)
}

#[cfg(test)]
mod tests;
