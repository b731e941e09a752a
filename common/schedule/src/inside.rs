//! HEFT inside a part of the platform: the best single machine, the best single group, or the best
//! of the strongest k groups for all k.
//!
//! HEFT spreads over slow links where each step looks good by itself; inside a part it cannot.
//! Section 3 of the digest of schedulers measures what that is worth, and Coleman and
//! Krishnamachari's search for bad instances (PISA) why one machine belongs to a portfolio.
//!
//! A task that nothing in the part fits goes where it ends first of all machines that it fits.
//!
//! Cost: one HEFT for each part that is tried, at most [`PARTS_MAX`]: the strongest, by cores times
//! power.

use std::collections::BTreeMap;

use crate::alike::alike;
use crate::heft::Heft;
use crate::meter::Meter;
use crate::order::less;
use crate::problem::Problem;
use crate::rank::MeanRule;
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// The most parts that are tried.
pub const PARTS_MAX: usize = 64;

/// HEFT that uses a part of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// One machine.
    OneMachine,
    /// One group.
    OneGroup,
    /// The strongest k groups, for the best k.
    BestGroups,
}

impl Scheduler for Inside {
    fn name(&self) -> &'static str {
        match self {
            Inside::OneMachine => "one-machine",
            Inside::OneGroup => "one-group",
            Inside::BestGroups => "k-groups",
        }
    }

    fn schedule_within(&self, problem: &Problem, meter: &Meter) -> Result<Schedule, ScheduleError> {
        let heft = Heft::new(MeanRule::Costs);
        let mut best: Option<(f64, Schedule)> = None;
        for part in self.parts(problem) {
            let schedule = match heft.schedule_within(&problem.restricted(&part), meter) {
                // The stronger parts were tried.
                Err(ScheduleError::TooLarge { .. }) if best.is_some() => break,
                tried => tried?,
            };
            let makespan = schedule.makespan();
            if best
                .as_ref()
                .is_none_or(|(least, _)| less(makespan, *least))
            {
                best = Some((makespan, schedule));
            }
        }
        match best {
            Some((_, schedule)) => Ok(schedule),
            None => heft.schedule_within(problem, meter),
        }
    }
}

impl Inside {
    /// Machines of each part, ascending; the strongest part first.
    fn parts(self, problem: &Problem) -> Vec<Vec<u32>> {
        let hosts = problem.hosts();
        let all = 0..hosts.len() as u32;
        let mut parts: Vec<Vec<u32>> = match self {
            Inside::OneMachine => {
                // Once data lies on machines, otherwise equal ones differ.
                let started = problem.dag().tasks().any(|t| problem.fixed(t).is_some());
                let like = alike(problem);
                all.filter(|&host| started || like[host as usize] == host)
                    .map(|host| vec![host])
                    .collect()
            }
            Inside::OneGroup | Inside::BestGroups => {
                let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
                for host in all {
                    groups.entry(problem.group(host)).or_default().push(host);
                }
                groups.into_values().collect()
            }
        };
        let strength = |part: &Vec<u32>| -> f64 {
            let machines = part.iter().map(|&host| &hosts[host as usize]);
            machines
                .map(|host| f64::from(host.slots) * host.power)
                .sum()
        };
        parts.sort_by(|one, other| strength(other).total_cmp(&strength(one)));
        parts.truncate(PARTS_MAX);
        if self == Inside::BestGroups {
            let mut so_far: Vec<u32> = Vec::new();
            for part in &mut parts {
                so_far.append(part);
                so_far.sort_unstable();
                part.clone_from(&so_far);
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests;
