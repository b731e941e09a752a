//! A small problem in flat tables, and what has been placed of it.

use crate::problem::Problem;

/// A task that has no place.
pub(super) const NOWHERE: usize = usize::MAX;

/// The tasks that have not started, numbered in topological order, and the machines that are worth a look.
pub(super) struct Small {
    /// By number: the position in the graph.
    pub(super) tasks: Vec<u32>,
    /// By number: the machine of the problem. Of machines that are alike there are no more than tasks.
    pub(super) hosts: Vec<u32>,
    /// No schedule ends before what runs already.
    pub(super) floor: f64,
    /// By machine: those of a number are alike.
    pub(super) kind: Vec<usize>,
    /// By machine: its group, of those that are there.
    pub(super) group: Vec<usize>,
    pub(super) n_groups: usize,
    /// By machine: work that a slot does in a second.
    pub(super) power: Vec<f64>,
    /// By task: work on all its slots, the least time where durations are explicit.
    pub(super) work: Vec<f64>,
    pub(super) preds: Vec<Vec<Edge>>,
    pub(super) succs: Vec<Vec<Edge>>,
    /// By task: slots that it holds.
    cores: Vec<usize>,
    /// By task and machine; infinite where it does not fit.
    duration: Vec<f64>,
    /// By task and machine: when the data of all that has started is there.
    base: Vec<f64>,
    /// By task and machine: the least time from its end there to the end of everything.
    tail: Vec<f64>,
    /// By task: the least of them.
    pub(super) tail_min: Vec<f64>,
    /// By edge, group and group: what a message takes between two machines.
    seconds: Vec<f64>,
    /// By machine: when its slots become free, ascending, no more of them than could be used.
    ready: Vec<Vec<f64>>,
}

/// A message from or to another task.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) task: usize,
    edge: usize,
    pub(super) has_data: bool,
}

impl Small {
    pub(super) fn new(problem: &Problem) -> Small {
        let dag = problem.dag();
        let waits = |task: &u32| problem.fixed(*task).is_none();
        let tasks: Vec<u32> = dag.tasks().filter(waits).collect();
        let fixed = dag.tasks().filter_map(|task| problem.fixed(task));
        let floor = fixed.map(|fixed| fixed.finish).fold(0.0, f64::max);
        let cores = tasks.iter().map(|&task| dag.cores(task) as usize);
        let mut small = Small {
            floor,
            hosts: Vec::new(),
            kind: Vec::new(),
            group: Vec::new(),
            n_groups: 0,
            power: Vec::new(),
            work: Vec::new(),
            preds: vec![Vec::new(); tasks.len()],
            succs: vec![Vec::new(); tasks.len()],
            cores: cores.collect(),
            duration: Vec::new(),
            base: Vec::new(),
            tail: Vec::new(),
            tail_min: Vec::new(),
            seconds: Vec::new(),
            ready: Vec::new(),
            tasks,
        };
        small.choose_hosts(problem);
        small.read_tasks(problem);
        small.read_edges(problem);
        small.count_tails();
        small
    }

    /// Takes the first machines of each kind.
    fn choose_hosts(&mut self, problem: &Problem) {
        let cores_total: usize = self.cores.iter().sum();
        let mut kinds: Vec<(Vec<u64>, usize)> = Vec::new();
        let mut groups: Vec<u32> = Vec::new();
        for host in 0..problem.hosts().len() as u32 {
            let mut ready = problem.ready(host).to_vec();
            ready.sort_by(f64::total_cmp);
            ready.truncate(cores_total);
            let key = self.key(problem, host, &ready);
            let kind = match kinds.iter().position(|(known, _)| *known == key) {
                Some(kind) => kind,
                None => {
                    kinds.push((key, 0));
                    kinds.len() - 1
                }
            };
            if kinds[kind].1 >= self.tasks.len() {
                continue;
            }
            kinds[kind].1 += 1;
            let group = problem.group(host);
            let known = groups.iter().position(|&known| known == group);
            self.group.push(known.unwrap_or(groups.len()));
            if known.is_none() {
                groups.push(group);
            }
            let has_costs = problem.has_costs();
            self.power.push(if has_costs {
                1.0
            } else {
                problem.hosts()[host as usize].power
            });
            self.kind.push(kind);
            self.ready.push(ready);
            self.hosts.push(host);
        }
        self.n_groups = groups.len();
    }

    /// All that tells a machine from others, as numbers.
    fn key(&self, problem: &Problem, host: u32, ready: &[f64]) -> Vec<u64> {
        let mut key = vec![u64::from(problem.group(host))];
        key.extend(ready.iter().map(|at| at.to_bits()));
        for &task in &self.tasks {
            key.push(duration(problem, task, host).to_bits());
            key.push(base(problem, task, host).to_bits());
        }
        key
    }

    fn read_tasks(&mut self, problem: &Problem) {
        for &task in &self.tasks {
            let on = |host: &u32| duration(problem, task, *host);
            self.duration.extend(self.hosts.iter().map(on));
            self.base
                .extend(self.hosts.iter().map(|&host| base(problem, task, host)));
            let one = match problem.has_costs() {
                true => problem.duration_min(task),
                false => problem.dag().work(task),
            };
            self.work.push(one * f64::from(problem.dag().cores(task)));
        }
    }

    fn read_edges(&mut self, problem: &Problem) {
        let links = problem.links();
        // A machine of each group.
        let mut groups = vec![0; self.n_groups];
        for (&host, &group) in self.hosts.iter().zip(&self.group) {
            groups[group] = problem.group(host);
        }
        let mut n_edges = 0;
        for to in 0..self.tasks.len() {
            for (pred, edge) in problem.dag().predecessors(self.tasks[to]) {
                let Ok(from) = self.tasks.binary_search(&pred) else {
                    continue;
                };
                let data = problem.dag().data(edge);
                let edge = |task| Edge {
                    task,
                    edge: n_edges,
                    has_data: data > 0.0,
                };
                self.preds[to].push(edge(from));
                self.succs[from].push(edge(to));
                for &one in &groups {
                    self.seconds
                        .extend(groups.iter().map(|&other| links.seconds(data, one, other)));
                }
                n_edges += 1;
            }
        }
    }

    /// Counts the least times to the end, from the last tasks on. What follows a task runs on its
    /// machine, one after another, or waits for a message; the best division of it counts.
    fn count_tails(&mut self) {
        let n_hosts = self.n_hosts();
        self.tail = vec![0.0; self.n_tasks() * n_hosts];
        self.tail_min = vec![0.0; self.n_tasks()];
        for task in (0..self.n_tasks()).rev() {
            for host in 0..n_hosts {
                self.tail[task * n_hosts + host] = self.tail_of(task, host);
            }
            let tails = &self.tail[task * n_hosts..(task + 1) * n_hosts];
            self.tail_min[task] = tails.iter().copied().fold(f64::INFINITY, f64::min);
        }
    }

    fn tail_of(&self, task: usize, host: usize) -> f64 {
        // (elsewhere, time here, tail after it here)
        let mut after: Vec<(f64, f64, f64)> = Vec::new();
        for edge in &self.succs[task] {
            let least = |other: usize| {
                let way = self.duration(edge.task, other) + self.tail(edge.task, other);
                self.message(edge, host, other) + way
            };
            let others = (0..self.n_hosts()).filter(|&other| other != host);
            let elsewhere = others.map(least).fold(f64::INFINITY, f64::min);
            let slots = self.ready[host].len().max(1) as f64;
            let share = self.cores[edge.task] as f64 / slots;
            let (here, tail) = (self.duration(edge.task, host), self.tail(edge.task, host));
            // With several slots what runs here shares them, but takes its own time at least.
            let elsewhere = elsewhere.min(if share < 1.0 {
                here + tail
            } else {
                f64::INFINITY
            });
            let time = if share > 0.0 {
                here * share.min(1.0)
            } else {
                0.0
            };
            after.push((elsewhere, time, tail));
        }
        after.sort_by(|one, other| other.0.total_cmp(&one.0));
        let divided = |n_here: usize| {
            let mut here: Vec<(f64, f64)> = after[..n_here]
                .iter()
                .map(|&(_, time, tail)| (time, tail))
                .collect();
            here.sort_by(|one, other| other.1.total_cmp(&one.1));
            let (mut passed, mut least) = (0.0, after.get(n_here).map_or(0.0, |next| next.0));
            for (time, tail) in here {
                passed += time;
                least = f64::max(least, passed + tail);
            }
            least
        };
        (0..=after.len()).map(divided).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn n_tasks(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn n_hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Infinite where the task does not fit.
    pub(super) fn duration(&self, task: usize, host: usize) -> f64 {
        self.duration[task * self.n_hosts() + host]
    }

    /// The least time from the end of a task on a machine to the end of everything.
    pub(super) fn tail(&self, task: usize, host: usize) -> f64 {
        self.tail[task * self.n_hosts() + host]
    }

    /// The time at which the data of all that has started is on a machine.
    pub(super) fn base(&self, task: usize, host: usize) -> f64 {
        self.base[task * self.n_hosts() + host]
    }

    /// Seconds that a message takes from machine to machine.
    pub(super) fn message(&self, edge: &Edge, from: usize, to: usize) -> f64 {
        match from == to {
            true => 0.0,
            false => self.between(edge, self.group[from], self.group[to]),
        }
    }

    /// Seconds that a message takes between two machines of groups.
    pub(super) fn between(&self, edge: &Edge, from: usize, to: usize) -> f64 {
        self.seconds[(edge.edge * self.n_groups + from) * self.n_groups + to]
    }
}

/// Infinite where the task does not fit; 0 for a gate.
fn duration(problem: &Problem, task: u32, host: u32) -> f64 {
    match problem.fits(task, host) {
        true => problem.duration(task, host),
        false => f64::INFINITY,
    }
}

/// The time at which the data of all that has started is on a machine.
fn base(problem: &Problem, task: u32, host: u32) -> f64 {
    let preds = problem.dag().predecessors(task);
    let arrivals = preds.filter_map(|(pred, edge)| {
        let fixed = problem.fixed(pred)?;
        Some(fixed.finish + problem.transfer(edge, fixed.host, host))
    });
    arrivals.fold(0.0, f64::max)
}

/// The tasks that have been placed.
#[derive(Clone)]
pub(super) struct State {
    /// By task: its machine, or [`NOWHERE`].
    pub(super) at: Vec<usize>,
    pub(super) start: Vec<f64>,
    pub(super) finish: Vec<f64>,
    /// By machine: when its slots are free, ascending.
    pub(super) free: Vec<Vec<f64>>,
    /// By machine: tasks there whose data is still wanted.
    pub(super) n_wanted: Vec<usize>,
    /// The latest start so far, and the sum of all of them.
    pub(super) latest: f64,
    pub(super) starts: f64,
    /// The tasks in the order of their placing.
    order: Vec<usize>,
    /// By task: predecessors that are not placed.
    waits: Vec<usize>,
    /// By task: successors that are not placed and want its data.
    wanted: Vec<usize>,
}

/// The state before a task was placed.
pub(super) struct Undo {
    task: usize,
    free: Vec<f64>,
    latest: f64,
    starts: f64,
}

impl State {
    pub(super) fn new(small: &Small) -> State {
        let n_tasks = small.n_tasks();
        let with_data = |edges: &Vec<Edge>| edges.iter().filter(|edge| edge.has_data).count();
        State {
            at: vec![NOWHERE; n_tasks],
            start: vec![0.0; n_tasks],
            finish: vec![0.0; n_tasks],
            free: small.ready.clone(),
            n_wanted: vec![0; small.n_hosts()],
            latest: 0.0,
            starts: 0.0,
            order: Vec::new(),
            waits: small.preds.iter().map(Vec::len).collect(),
            wanted: small.succs.iter().map(with_data).collect(),
        }
    }

    pub(super) fn n_placed(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_placed(&self, task: usize) -> bool {
        self.at[task] != NOWHERE
    }

    /// True if a task waits for nothing but its place.
    pub(super) fn is_ready(&self, task: usize) -> bool {
        !self.is_placed(task) && self.waits[task] == 0
    }

    /// True if the data of a placed task is still wanted.
    pub(super) fn is_wanted(&self, task: usize) -> bool {
        self.wanted[task] > 0
    }

    /// The time at which a machine has slots for a task; none if it does not fit there.
    pub(super) fn free_at(&self, small: &Small, task: usize, host: usize) -> Option<f64> {
        if small.duration(task, host).is_infinite() {
            return None;
        }
        match small.cores[task] {
            0 => Some(0.0),
            cores => self.free[host].get(cores - 1).copied(),
        }
    }

    pub(super) fn makespan(&self) -> f64 {
        self.finish.iter().copied().fold(0.0, f64::max)
    }

    pub(super) fn place(&mut self, small: &Small, task: usize, host: usize, start: f64) -> Undo {
        let undo = Undo {
            task,
            free: self.free[host].clone(),
            latest: self.latest,
            starts: self.starts,
        };
        let finish = start + small.duration(task, host);
        (self.at[task], self.start[task], self.finish[task]) = (host, start, finish);
        let free = &mut self.free[host];
        free[..small.cores[task]].fill(finish);
        free.sort_by(f64::total_cmp);
        for edge in &small.succs[task] {
            self.waits[edge.task] -= 1;
        }
        for edge in small.preds[task].iter().filter(|edge| edge.has_data) {
            self.wanted[edge.task] -= 1;
            if self.wanted[edge.task] == 0 {
                self.n_wanted[self.at[edge.task]] -= 1;
            }
        }
        self.n_wanted[host] += usize::from(self.wanted[task] > 0);
        self.latest = start;
        self.starts += start;
        self.order.push(task);
        undo
    }

    pub(super) fn take_back(&mut self, small: &Small, undo: Undo) {
        let (task, host) = (undo.task, self.at[undo.task]);
        self.order.pop();
        (self.latest, self.starts) = (undo.latest, undo.starts);
        self.n_wanted[host] -= usize::from(self.wanted[task] > 0);
        for edge in small.preds[task].iter().filter(|edge| edge.has_data) {
            if self.wanted[edge.task] == 0 {
                self.n_wanted[self.at[edge.task]] += 1;
            }
            self.wanted[edge.task] += 1;
        }
        for edge in &small.succs[task] {
            self.waits[edge.task] += 1;
        }
        self.free[host] = undo.free;
        self.at[task] = NOWHERE;
        self.finish[task] = 0.0;
    }
}
