//! The common part of PEFT and IPPTS: a table of the cost of everything after a task, for each machine.

use std::collections::BTreeMap;

use crate::alike::classes_by_host;
use crate::meter::Meter;
use crate::problem::Problem;
use crate::rank::Means;
use crate::schedule::ScheduleError;

/// A number for each task and each kind of machine, where machines are of one kind if tasks take
/// the same time on them and fit them alike.
pub(crate) struct Outlook {
    /// By machine.
    kind: Vec<u32>,
    n_kinds: usize,
    table: Vec<f64>,
    /// By kind: slots, which count once each in means.
    slots: Vec<f64>,
}

impl Outlook {
    /// For each task from the last one on: nothing where nothing follows, else the largest, over
    /// its successors, of the least, over machines, of what `after` says (successor, its number in
    /// the table and a machine are given) and the mean message, which is nothing on the same
    /// machine. O(e k) for k kinds of machines.
    pub(crate) fn new(
        problem: &Problem,
        means: &Means,
        meter: &Meter,
        after: impl Fn(u32, f64, u32) -> f64,
    ) -> Result<Outlook, ScheduleError> {
        let dag = problem.dag();
        let (kind, first) = kinds(problem);
        let n_kinds = first.len();
        meter.spend(((dag.n_tasks() + dag.n_edges()) * n_kinds) as u64)?;
        let mut slots = vec![0.0; n_kinds];
        for (&kind, host) in kind.iter().zip(problem.hosts()) {
            slots[kind as usize] += f64::from(host.slots);
        }
        let mut outlook = Outlook {
            kind,
            n_kinds,
            table: vec![0.0; dag.n_tasks() * n_kinds],
            slots,
        };
        let mut costs = vec![0.0; n_kinds];
        for task in dag.tasks().rev() {
            let row = task as usize * n_kinds;
            for (succ, data) in dag.successors(task) {
                if problem.fixed(succ).is_some() {
                    continue;
                }
                for (number, &host) in first.iter().enumerate() {
                    let fits = problem.fits(succ, host);
                    let there = outlook.table[succ as usize * n_kinds + number];
                    costs[number] = if fits {
                        after(succ, there, host)
                    } else {
                        f64::INFINITY
                    };
                }
                let elsewhere = costs.iter().copied().fold(f64::INFINITY, f64::min);
                let elsewhere = elsewhere + means.transfer(data);
                // Nothing is infinite but what fits nowhere, and that is refused when it is placed.
                for (here, &cost) in outlook.table[row..row + n_kinds].iter_mut().zip(&costs) {
                    let least = cost.min(elsewhere);
                    *here = here.max(if least.is_finite() { least } else { 0.0 });
                }
            }
        }
        Ok(outlook)
    }

    pub(crate) fn at(&self, task: u32, host: u32) -> f64 {
        self.table[task as usize * self.n_kinds + self.kind[host as usize] as usize]
    }

    /// The mean over all slots.
    pub(crate) fn mean(&self, task: u32) -> f64 {
        let row = &self.table[task as usize * self.n_kinds..][..self.n_kinds];
        let sum: f64 = row
            .iter()
            .zip(&self.slots)
            .map(|(v, slots)| v * slots)
            .sum();
        sum / self.slots.iter().sum::<f64>()
    }
}

/// The kind of each machine, and the first machine of each kind.
fn kinds(problem: &Problem) -> (Vec<u32>, Vec<u32>) {
    let fits = classes_by_host(problem);
    let mut numbers = BTreeMap::new();
    let mut first = Vec::new();
    let mut kind = Vec::with_capacity(fits.len());
    for ((number, host), fits) in (0u32..).zip(problem.hosts()).zip(fits) {
        let alone = problem.has_costs().then_some(number);
        let next = first.len() as u32;
        let here = *numbers
            .entry((alone, host.power.to_bits(), fits))
            .or_insert(next);
        if here == next {
            first.push(number);
        }
        kind.push(here);
    }
    (kind, first)
}
