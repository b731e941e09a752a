//! Groups of machines that differ in nothing.

use std::collections::BTreeMap;

use crate::memory::Scarce;
use crate::problem::{Host, Problem};

/// By machine: the first machine with the same group, power, slots, ready times and fitting tasks,
/// and the same memory where that may run out.
/// Machines with costs of their own are each alone. O(p log p).
pub(crate) fn alike(problem: &Problem) -> Vec<u32> {
    first_with(problem, |host| host.power.to_bits())
}

/// By machine: the first machine that is alike but for its power. O(p log p).
pub(crate) fn alike_but_for_power(problem: &Problem) -> Vec<u32> {
    first_with(problem, |_| 0)
}

/// By machine: the first machine with the same power, as far as that counts, and all else the same.
fn first_with(problem: &Problem, power: impl Fn(&Host) -> u64) -> Vec<u32> {
    let fits = classes_by_host(problem);
    let mut first = BTreeMap::new();
    (0u32..)
        .zip(problem.hosts())
        .zip(fits)
        .map(|((number, host), fits)| {
            if problem.has_costs() {
                return number;
            }
            let ready = problem.ready(number).iter();
            let ready: Vec<u64> = ready.map(|at| at.to_bits()).collect();
            let scarce = problem.memory().and_then(|memory| memory.at(number));
            let memory = scarce.map(Scarce::key);
            let key = (host.group, power(host), ready, fits, memory);
            *first.entry(key).or_insert(number)
        })
        .collect()
}

/// By machine: the classes of demands that fit it.
pub(crate) fn classes_by_host(problem: &Problem) -> Vec<Vec<u32>> {
    let mut fits: Vec<Vec<u32>> = vec![Vec::new(); problem.hosts().len()];
    for class in 0..problem.n_demand_classes() {
        for &host in problem.fitting(class) {
            fits[host as usize].push(class);
        }
    }
    fits
}
