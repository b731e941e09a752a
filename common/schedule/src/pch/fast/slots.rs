//! The slots worth a look and their tasks, in arrays that are quick to walk.

use crate::alike::alike;
use crate::problem::Problem;

/// All slots of all machines, numbered through. Among equal empty slots only the lowest one is
/// *open*: ties would go to it anyway.
pub(super) struct Slots {
    /// By machine: its first slot; and the end of all.
    off: Vec<u32>,
    pub(super) host: Vec<u32>,
    pub(super) group: Vec<u32>,
    pub(super) power: Vec<f64>,
    /// When a slot is free after all that is settled.
    pub(super) free: Vec<f64>,
    /// Seconds of what it runs after that.
    pub(super) load: Vec<f64>,
    /// By slot: its tasks, ascending, and how many of them are settled.
    pub(super) tasks: Vec<Vec<u32>>,
    pub(super) n_settled: Vec<u32>,
    /// The open slots, ascending.
    open: Vec<u32>,
    /// All slots, if some task holds several of them.
    all: Vec<u32>,
    is_open: Vec<bool>,
    /// By machine: the next one that is like it, or the number of machines.
    next_alike: Vec<u32>,
    touched: Vec<bool>,
}

impl Slots {
    pub(super) fn new(problem: &Problem) -> Slots {
        let n_hosts = problem.hosts().len();
        let mut slots = Slots {
            off: vec![0],
            host: Vec::new(),
            group: Vec::new(),
            power: Vec::new(),
            free: Vec::new(),
            load: Vec::new(),
            tasks: Vec::new(),
            n_settled: Vec::new(),
            open: Vec::new(),
            all: Vec::new(),
            is_open: Vec::new(),
            next_alike: vec![n_hosts as u32; n_hosts],
            touched: vec![false; n_hosts],
        };
        for (number, host) in (0u32..).zip(problem.hosts()) {
            slots.free.extend_from_slice(problem.ready(number));
            let end = slots.free.len();
            slots.off.push(end as u32);
            slots.host.resize(end, number);
            slots.group.resize(end, host.group);
            slots.power.resize(end, host.power);
        }
        let n_slots = slots.free.len();
        slots.load.resize(n_slots, 0.0);
        slots.tasks.resize(n_slots, Vec::new());
        slots.n_settled.resize(n_slots, 0);
        slots.is_open.resize(n_slots, false);
        let dag = problem.dag();
        if dag.tasks().any(|task| dag.cores(task) > 1) {
            slots.all = (0..n_slots as u32).collect();
        }
        // A started task makes its machine differ from others: its data lies there.
        for task in dag.tasks() {
            if let Some(fixed) = problem.fixed(task)
                && let Some(touched) = slots.touched.get_mut(fixed.host as usize)
            {
                *touched = true;
            }
        }
        let alike = alike(problem);
        let mut last: Vec<Option<u32>> = vec![None; n_hosts];
        for (host, &like) in (0u32..).zip(&alike) {
            let last = last[like as usize].replace(host);
            if let Some(last) = last {
                slots.next_alike[last as usize] = host;
            }
        }
        let mut shown = vec![false; n_hosts];
        for (host, &like) in (0u32..).zip(&alike) {
            let touched = slots.touched[host as usize];
            if touched || !std::mem::replace(&mut shown[like as usize], true) {
                slots.open_host(problem, host);
            }
        }
        slots
    }

    pub(super) fn number(&self, host: u32, slot: u32) -> usize {
        (self.off[host as usize] + slot) as usize
    }

    /// A slot as its machine numbers it.
    pub(super) fn on_host(&self, number: u32) -> (u32, u32) {
        let host = self.host[number as usize];
        (host, number - self.off[host as usize])
    }

    pub(super) fn open(&self) -> &[u32] {
        &self.open
    }

    /// All slots, for tasks of several cores: they have neighbours on slots that are not open.
    pub(super) fn all(&self) -> &[u32] {
        &self.all
    }

    pub(super) fn is_open(&self, number: usize) -> bool {
        self.is_open[number]
    }

    /// A slot of a machine gets a task, so that it differs from those that were like it.
    pub(super) fn touch(&mut self, problem: &Problem, host: u32, number: usize) {
        if !std::mem::replace(&mut self.touched[host as usize], true) {
            let mut next = self.next_alike[host as usize];
            while self
                .touched
                .get(next as usize)
                .is_some_and(|&touched| touched)
            {
                next = self.next_alike[next as usize];
            }
            // If the machine itself was not open, a lower one like it still is.
            let was_open = self.is_open[self.off[host as usize] as usize];
            if was_open && (next as usize) < self.touched.len() {
                self.open_host(problem, next);
            }
            if !was_open {
                self.open_host(problem, host);
            }
        }
        if self.tasks[number].is_empty() {
            self.open_slot(number as u32);
            let ready = problem.ready(host);
            let first = self.off[host as usize] as usize;
            let next = (number + 1..self.off[host as usize + 1] as usize).find(|&other| {
                self.tasks[other].is_empty()
                    || ready[other - first].to_bits() != ready[number - first].to_bits()
            });
            if let Some(next) = next {
                self.open_slot(next as u32);
            }
        }
    }

    /// Opens the first of each row of empty slots that are ready at the same time, and what is not
    /// empty.
    fn open_host(&mut self, problem: &Problem, host: u32) {
        let mut seen: Option<u64> = None;
        for (slot, &at) in (0u32..).zip(problem.ready(host)) {
            let number = self.number(host, slot);
            let empty = self.tasks[number].is_empty();
            if !empty || seen != Some(at.to_bits()) {
                self.open_slot(number as u32);
            }
            if empty {
                seen = Some(at.to_bits());
            }
        }
    }

    fn open_slot(&mut self, number: u32) {
        if !std::mem::replace(&mut self.is_open[number as usize], true) {
            let at = self.open.partition_point(|&other| other < number);
            self.open.insert(at, number);
        }
    }
}
