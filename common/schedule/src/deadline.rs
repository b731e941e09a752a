//! The machines that a deadline needs: the fewest, or those that cost least.
//!
//! Machines are put into several orders: by what they can do, the strongest first; the same by groups, so
//! that data stays near; by the price and by the energy of what they do. The first k of an order are a part
//! of the platform, and a plan is made for some of these parts: where the fewest machines are wanted, the
//! search goes up from the least number that the bound allows, in steps that double, and then halves the
//! gap; where a cost is to be least, parts of all sizes are tried, at distances that grow with the size. A
//! plan that is longer on more machines would mislead the first search, so a part that holds the deadline
//! counts wherever it was met.
//!
//! Cost: at most [`TRIALS_MAX`] plans. For the default scheduler and `best`, a HEFT that holds the deadline, or
//! misses it by far, spares the rest of it; the best parts are then planned for in full.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::bound::bound;
use crate::cost::{Cost, Rates};
use crate::heft::Heft;
use crate::order::less;
use crate::problem::Problem;
use crate::rank::MeanRule;
use crate::request::SchedulerKind;
use crate::schedule::{Schedule, ScheduleError, Scheduler, holds_slots};
use crate::xavantes::Xavantes;

/// Plans that one search makes at most.
const TRIALS_MAX: usize = 64;
/// A HEFT that is longer than the deadline by this factor is given up: no scheduler makes that much good.
const HOPELESS: f64 = 1.5;
/// Parts for which a plan is made in full at the end.
const IMPROVED_MAX: usize = 4;
/// Parts of so many machines are all tried where a cost is to be least; larger ones at a distance.
const SMALL: usize = 8;

/// The cost that is to be least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The number of machines.
    Machines,
    /// Slots times the hours for which they are held.
    SlotHours,
    /// Their price.
    Money,
    /// Their energy.
    Energy,
}

/// A plan that is wanted: a deadline, and the cost that is to be least.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Tasks of which none has started, on all machines.
    pub problem: &'a Problem,
    /// By machine.
    pub rates: &'a [Rates],
    /// The algorithm.
    pub kind: SchedulerKind,
    /// Seconds that `xavantes` may search for each part; its default where there is none.
    pub budget: Option<f64>,
    /// The makespan that may not be exceeded, in seconds.
    pub makespan_max: f64,
    /// The cost that is to be least.
    pub choice: Choice,
}

/// A plan that holds the deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The schedule, for the whole problem.
    pub schedule: Schedule,
    /// The algorithm that made it.
    pub by: &'static str,
    /// Its cost.
    pub cost: Cost,
    /// No plan on fewer machines than this holds the deadline: their power, or the longest chain, forbids it.
    pub machines_min: u32,
    /// The number of plans that were made.
    pub n_trials: usize,
}

/// Why there is no such plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Missed {
    /// No plan that was made holds the deadline.
    Late {
        /// The least makespan of them, in seconds.
        best: f64,
        /// The least makespan that any plan can have.
        bound: f64,
    },
    /// There is no plan at all.
    Schedule(ScheduleError),
}

impl Wanted<'_> {
    /// Searches for the machines and their plan.
    pub fn find(&self) -> Result<Found, Missed> {
        let n_hosts = self.problem.hosts().len();
        let mut search = Search {
            wanted: *self,
            tried: BTreeSet::new(),
            held: Vec::new(),
            best: None,
            shortest: f64::INFINITY,
        };
        let bound = bound(self.problem);
        let all: Vec<u32> = (0..n_hosts as u32).collect();
        let least = self.machines_min();
        if bound <= self.makespan_max && least <= n_hosts {
            let orders = self.orders();
            match self.choice {
                Choice::Machines => search.fewest(&orders, least),
                Choice::SlotHours | Choice::Money | Choice::Energy => {
                    search.cheapest(&orders, least);
                }
            }
        }
        search.improve();
        if search.best.is_none() {
            // The best of all machines, or their error, is the one to tell.
            let (schedule, by) = self.plan_in_full(self.problem).map_err(Missed::Schedule)?;
            search.judge(&schedule, by, &all);
        }
        let n_trials = search.tried.len();
        match search.best {
            Some(Candidate {
                schedule, by, cost, ..
            }) => Ok(Found {
                schedule,
                by,
                cost,
                machines_min: least as u32,
                n_trials,
            }),
            None => Err(Missed::Late {
                best: search.shortest,
                bound,
            }),
        }
    }

    /// The least number of machines that can do all the work before the deadline: the strongest ones.
    fn machines_min(&self) -> usize {
        let dag = self.problem.dag();
        let tasks = dag.tasks().filter(|&task| holds_slots(self.problem, task));
        let work: f64 = tasks
            .map(|task| dag.work(task) * f64::from(dag.cores(task)))
            .sum();
        let hosts = 0..self.problem.hosts().len() as u32;
        let mut strengths: Vec<f64> = hosts.map(|host| self.strength(host)).collect();
        strengths.sort_unstable_by(|one, other| other.total_cmp(one));
        let (mut done, mut n) = (0.0, 0);
        for strength in strengths {
            n += 1;
            done += strength * self.makespan_max;
            if done >= work * (1.0 - 1e-9) {
                return n;
            }
        }
        n + 1
    }

    /// Reference seconds of work in a second.
    fn strength(&self, host: u32) -> f64 {
        let host = &self.problem.hosts()[host as usize];
        f64::from(host.slots) * host.power
    }

    /// Orders of all machines of which the first ones are tried together.
    fn orders(&self) -> Vec<Vec<u32>> {
        let hosts = 0..self.problem.hosts().len() as u32;
        let mut groups = vec![0.0; self.problem.links().n_groups() as usize];
        for host in hosts.clone() {
            groups[self.problem.group(host) as usize] += self.strength(host);
        }
        let rates = |host: u32| self.rates.get(host as usize).copied().unwrap_or_default();
        let price = |host: u32| {
            let power = self.problem.hosts()[host as usize].power;
            rates(host).price / power
        };
        let watts = |host: u32| rates(host).busy_watts / self.strength(host);
        let by = |first: &dyn Fn(u32) -> f64, second: &dyn Fn(u32) -> f64| {
            let mut order: Vec<u32> = hosts.clone().collect();
            order.sort_by(|&one, &other| {
                let firsts = first(one).total_cmp(&first(other));
                firsts.then(second(one).total_cmp(&second(other)))
            });
            order
        };
        let weakness = |host: u32| -self.strength(host);
        let group = |host: u32| {
            let number = self.problem.group(host);
            -groups[number as usize]
        };
        let mut orders = vec![by(&weakness, &price), by(&price, &weakness)];
        let mut near = by(&group, &weakness);
        // Groups that are as strong as each other do not mix.
        near.sort_by(|&one, &other| {
            let strengths = group(one).total_cmp(&group(other));
            let (one, other) = (self.problem.group(one), self.problem.group(other));
            strengths.then(one.cmp(&other))
        });
        orders.extend([near, by(&watts, &weakness)]);
        let mut seen = BTreeSet::new();
        orders.retain(|order| seen.insert(order.clone()));
        orders
    }

    /// The plan of the chosen algorithm on a part of the machines.
    fn plan(&self, part: &Problem) -> Result<(Schedule, &'static str), ScheduleError> {
        let asks_heft = matches!(self.kind, SchedulerKind::Xavantes | SchedulerKind::Best);
        if asks_heft {
            let heft = Heft::new(MeanRule::Bandwidths);
            let schedule = heft.schedule(part)?;
            let makespan = schedule.makespan();
            if makespan <= self.makespan_max || makespan > HOPELESS * self.makespan_max {
                return Ok((schedule, heft.name()));
            }
        }
        self.plan_in_full(part)
    }

    fn plan_in_full(&self, part: &Problem) -> Result<(Schedule, &'static str), ScheduleError> {
        let found = match (self.kind, self.budget) {
            (SchedulerKind::Xavantes, Some(budget)) => Xavantes::within(budget).run(part)?,
            _ => self.kind.run(part)?,
        };
        Ok((found.schedule, found.scheduler))
    }
}

/// A plan that holds the deadline.
struct Candidate {
    schedule: Schedule,
    by: &'static str,
    cost: Cost,
    makespan: f64,
}

struct Search<'a> {
    wanted: Wanted<'a>,
    /// Parts of which plans were made.
    tried: BTreeSet<Vec<u32>>,
    /// Parts that hold the deadline, by what is to be least.
    held: Vec<((f64, f64), Vec<u32>)>,
    best: Option<Candidate>,
    /// The least makespan of all plans.
    shortest: f64,
}

impl Search<'_> {
    /// The fewest machines of each order that hold the deadline; of fewer than are known already.
    fn fewest(&mut self, orders: &[Vec<u32>], least: usize) {
        for order in orders {
            let known = |search: &Self| {
                let best = search.best.as_ref();
                best.map_or(order.len() + 1, |best| best.cost.machines as usize)
            };
            let (mut below, mut step) = (least - 1, 1);
            let mut holds = None;
            while holds.is_none() && below + 1 < known(self) {
                let n = (below + step).min(known(self) - 1);
                match self.try_first(order, n) {
                    true => holds = Some(n),
                    false => below = n,
                }
                step *= 2;
            }
            while let Some(above) = holds
                && above - below > 1
            {
                let middle = below + (above - below) / 2;
                match self.try_first(order, middle) {
                    true => holds = Some(middle),
                    false => below = middle,
                }
            }
        }
    }

    /// Parts of all sizes of each order.
    fn cheapest(&mut self, orders: &[Vec<u32>], least: usize) {
        let mut n = least;
        let n_hosts = self.wanted.problem.hosts().len();
        loop {
            for order in orders {
                self.try_first(order, n);
            }
            if n >= n_hosts {
                return;
            }
            n = (n + 1)
                .max(if n < SMALL { 0 } else { n + n / 4 })
                .min(n_hosts);
        }
    }

    /// Plans in full for the best parts: the first plan that held was enough to know them.
    fn improve(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.sort_by(|(one, _), (other, _)| {
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
        for (_, hosts) in held.iter().take(IMPROVED_MAX) {
            let part = self.wanted.problem.part(hosts);
            if let Ok((schedule, by)) = self.wanted.plan_in_full(&part) {
                self.judge(&schedule, by, hosts);
            }
        }
    }

    /// True if a plan for the first machines of an order holds the deadline.
    fn try_first(&mut self, order: &[u32], n: usize) -> bool {
        let mut hosts = order[..n].to_vec();
        hosts.sort_unstable();
        self.take(&hosts).unwrap_or(false)
    }

    fn take(&mut self, hosts: &[u32]) -> Result<bool, ScheduleError> {
        if self.tried.len() >= TRIALS_MAX || !self.tried.insert(hosts.to_vec()) {
            return Ok(false);
        }
        let part = self.wanted.problem.part(hosts);
        let (schedule, by) = self.wanted.plan(&part)?;
        Ok(self.judge(&schedule, by, hosts))
    }

    /// Keeps the plan of a part if it is the best so far; true if it holds the deadline.
    fn judge(&mut self, schedule: &Schedule, by: &'static str, hosts: &[u32]) -> bool {
        let makespan = schedule.makespan();
        self.shortest = self.shortest.min(makespan);
        if makespan > self.wanted.makespan_max {
            return false;
        }
        let schedule = on_all(schedule, hosts, self.wanted.problem);
        let cost = Cost::new(self.wanted.problem, &schedule, self.wanted.rates);
        let candidate = Candidate {
            schedule,
            by,
            cost,
            makespan,
        };
        let key = self.key(&candidate);
        self.held.push((key, hosts.to_vec()));
        let is_better = |best: &Candidate| order(key, self.key(best)).is_lt();
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some(candidate);
        }
        true
    }

    /// The cost that is to be least, and the makespan, which decides among equals.
    fn key(&self, candidate: &Candidate) -> (f64, f64) {
        let cost = &candidate.cost;
        let first = match self.wanted.choice {
            Choice::Machines => f64::from(cost.machines),
            Choice::SlotHours => cost.slot_hours,
            Choice::Money => cost.money,
            Choice::Energy => cost.energy,
        };
        (first, candidate.makespan)
    }
}

/// The order of costs, and of makespans where costs differ by rounding only.
fn order(one: (f64, f64), other: (f64, f64)) -> Ordering {
    if less(one.0, other.0) {
        Ordering::Less
    } else if less(other.0, one.0) {
        Ordering::Greater
    } else {
        one.1.total_cmp(&other.1)
    }
}

/// The schedule of a part of the machines as one of all.
fn on_all(schedule: &Schedule, hosts: &[u32], problem: &Problem) -> Schedule {
    let mut entries = schedule.entries.clone();
    for entry in &mut entries {
        entry.host = hosts[entry.host as usize];
    }
    let mut order: Vec<Vec<Vec<u32>>> = problem
        .hosts()
        .iter()
        .map(|host| vec![Vec::new(); host.slots as usize])
        .collect();
    for (&host, slots) in hosts.iter().zip(&schedule.order) {
        order[host as usize].clone_from(slots);
    }
    Schedule { entries, order }
}

#[cfg(test)]
mod tests;
