//! A lower bound of what can come of tasks that have been placed.

use super::small::{Small, State};

/// Work is not compared with what slots have room for where there are more slots than this for a task:
/// there is always room.
const SLOTS_BY_TASK: usize = 4;

/// The bounds of a state.
pub(super) struct Level {
    /// One of each set of machines that are alike in all that matters from here on.
    pub(super) hosts: Vec<usize>,
    /// By task that is not placed and machine of `hosts`: the earliest that its data can be there.
    pub(super) arrival: Vec<f64>,
    /// The same for its end.
    finish: Vec<f64>,
    /// By task and group: the earliest end on a machine of the group.
    first: Vec<f64>,
    /// (from when, work, least time after it) of each task that is not placed.
    windows: Vec<Window>,
}

#[derive(Clone, Copy)]
struct Window {
    start: f64,
    work: f64,
    tail: f64,
}

impl Small {
    /// One for each number of tasks that may be placed.
    pub(super) fn levels(&self) -> Vec<Level> {
        let (n_tasks, n_hosts) = (self.n_tasks(), self.n_hosts());
        let level = |_| Level {
            hosts: Vec::with_capacity(n_hosts),
            arrival: vec![0.0; n_tasks * n_hosts],
            finish: vec![0.0; n_tasks * n_hosts],
            first: vec![0.0; n_tasks * self.n_groups],
            windows: Vec::with_capacity(n_tasks),
        };
        (0..=n_tasks).map(level).collect()
    }
}

impl Level {
    /// Counts everything for a state; true if something shorter than the limit may come of it. With the
    /// steps that this took.
    pub(super) fn count(&mut self, small: &Small, state: &State, limit: f64) -> (bool, u64) {
        let mut steps = self.choose_hosts(small, state);
        self.windows.clear();
        for task in (0..small.n_tasks()).filter(|&task| !state.is_placed(task)) {
            let (least, start) = self.count_task(small, state, task);
            steps += (1 + small.preds[task].len() as u64) * self.hosts.len() as u64 + 2;
            if least >= limit {
                return (false, steps);
            }
            self.windows.push(Window {
                start,
                work: small.work[task],
                tail: small.tail_min[task],
            });
        }
        let n_slots: usize = state.free.iter().map(Vec::len).sum();
        if self.windows.is_empty() || n_slots > SLOTS_BY_TASK * small.n_tasks() {
            return (true, steps);
        }
        steps += (self.windows.len() * n_slots) as u64;
        (self.has_room(small, state, limit), steps)
    }

    /// Leaves out machines that are as another one.
    fn choose_hosts(&mut self, small: &Small, state: &State) -> u64 {
        self.hosts.clear();
        for host in 0..small.n_hosts() {
            let is_known = state.n_wanted[host] == 0
                && self.hosts.iter().any(|&other| {
                    let is_like =
                        small.kind[other] == small.kind[host] && state.n_wanted[other] == 0;
                    is_like && state.is_as_free(host, other)
                });
            if !is_known {
                self.hosts.push(host);
            }
        }
        small.n_hosts() as u64
    }

    /// The least length of what contains a task that is not placed, and its earliest start.
    fn count_task(&mut self, small: &Small, state: &State, task: usize) -> (f64, f64) {
        let row = task * small.n_hosts();
        for &host in &self.hosts {
            self.arrival[row + host] = small.base(task, host);
        }
        for edge in &small.preds[task] {
            let from = edge.task;
            for &host in &self.hosts {
                let at = if state.is_placed(from) {
                    state.finish[from] + small.message(edge, state.at[from], host)
                } else {
                    let group = small.group[host];
                    let first = &self.first[from * small.n_groups..(from + 1) * small.n_groups];
                    let elsewhere = first.iter().enumerate();
                    let elsewhere =
                        elsewhere.map(|(there, &at)| at + small.between(edge, there, group));
                    elsewhere.fold(self.finish[from * small.n_hosts() + host], f64::min)
                };
                let arrival = &mut self.arrival[row + host];
                *arrival = arrival.max(at);
            }
        }
        let first = &mut self.first[task * small.n_groups..(task + 1) * small.n_groups];
        first.fill(f64::INFINITY);
        let (mut least, mut earliest) = (f64::INFINITY, f64::INFINITY);
        for &host in &self.hosts {
            let free = state.free_at(small, task, host).unwrap_or(f64::INFINITY);
            let start = self.arrival[row + host].max(free).max(state.latest);
            let finish = start + small.duration(task, host);
            self.finish[row + host] = finish;
            let group = &mut first[small.group[host]];
            *group = group.min(finish);
            earliest = earliest.min(start);
            least = least.min(finish + small.tail(task, host));
        }
        (least, earliest)
    }

    /// False if the slots have no room for all work that has to be done between two moments: from when it
    /// can start, and before what follows it.
    fn has_room(&mut self, small: &Small, state: &State, limit: f64) -> bool {
        self.windows
            .sort_by(|one, other| other.tail.total_cmp(&one.tail));
        let mut work = 0.0;
        for window in &self.windows {
            work += window.work;
            if work > room(small, state, 0.0, limit - window.tail) {
                return false;
            }
        }
        self.windows
            .sort_by(|one, other| other.start.total_cmp(&one.start));
        let (mut work, mut tail) = (0.0, f64::INFINITY);
        for window in &self.windows {
            work += window.work;
            tail = tail.min(window.tail);
            if work > room(small, state, window.start, limit - tail) {
                return false;
            }
        }
        true
    }
}

/// The work that all slots can do between two moments.
fn room(small: &Small, state: &State, from: f64, to: f64) -> f64 {
    let mut work = 0.0;
    for (host, free) in state.free.iter().enumerate() {
        for &at in free {
            work += small.power[host] * (to - at.max(from).max(state.latest)).max(0.0);
        }
    }
    work
}

impl State {
    /// True if the slots of two machines are free at the same times, from the latest start on.
    fn is_as_free(&self, one: usize, other: usize) -> bool {
        let pairs = self.free[one].iter().zip(&self.free[other]);
        pairs
            .into_iter()
            .all(|(one, other)| one.max(self.latest) == other.max(self.latest))
    }
}
