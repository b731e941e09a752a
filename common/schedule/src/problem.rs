//! The scheduling problem: tasks, machines, the links between them, and settled facts.

mod part;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Bytes, CAPABLE, Capability, Platform, ResourceId};
use thiserror::Error;

use crate::dag::Dag;
use crate::links::{Groups, Links};
use crate::memory::Memory;

/// Everything that a scheduler may look at. Machines are numbered by their place in the platform,
/// which is also the order in which ties between them are broken.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    dag: Arc<Dag>,
    hosts: Vec<Host>,
    links: Links,
    demands: Vec<Demand>,
    demand_of: Vec<u32>,
    fits: Vec<Vec<u32>>,
    ready: Vec<Vec<f64>>,
    fixed: BTreeMap<u32, Fixed>,
    costs: Option<Arc<Vec<f64>>>,
    /// Memory that others hold: machine, bytes, from when on and until when.
    held: Vec<(u32, u64, (f64, f64))>,
    /// The machines whose memory may run out.
    memory: Option<Arc<Memory>>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its number in the group manager's books.
    pub id: ResourceId,
    /// Its name, for people.
    pub name: String,
    /// Reference seconds of work that one core does in a second.
    pub power: f64,
    /// Activities of one core that may run at the same time.
    pub slots: u32,
    /// Its group, as [`Links`] numbers it.
    pub group: u32,
    /// Memory for activities.
    pub memory: Bytes,
    /// Its properties.
    pub labels: BTreeMap<String, String>,
}

/// The needs of a task beside its cores. What tasks that run at the same time on a machine declare
/// together is at most its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// Memory that it holds while it runs.
    pub memory: Bytes,
    /// Labels that the machine must have, with their values.
    pub labels: Vec<(String, String)>,
    /// The only machine on which it may run; none where any may do.
    pub machine: Option<ResourceId>,
}

/// The machine on which a started task runs or has run, and its end. Its data lies there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fixed {
    /// The machine, or [`OUTSIDE`] for one that is not of the platform.
    pub host: u32,
    /// When it ends, or 0 if it has ended.
    pub finish: f64,
}

/// The number of all machines that are not of the platform: nothing is placed there, and data from
/// there crosses the link between groups.
pub const OUTSIDE: u32 = u32::MAX;
/// The most machines of one problem; beyond that a plan is made for a part of the grid.
pub const HOSTS_MAX: usize = 100_000;
/// The most groups of one problem: the tables of links grow with its square (16 MiB at this size).
pub const GROUPS_MAX: usize = 1_000;
/// The most slots of one machine, far above any that exists: slots are listed one by one.
pub const SLOTS_MAX: u32 = 65_536;
/// The most slots of all machines together, 80 MB of ready times.
pub const SLOTS_TOTAL_MAX: usize = 10_000_000;
/// The most cores of all tasks together: each is an entry in the list of a slot, 400 MB of them.
pub const CORES_TOTAL_MAX: usize = 100_000_000;
/// The most explicit costs (tasks times machines) of one problem, 800 MB of them.
pub const COSTS_MAX: usize = 100_000_000;
/// No sum of all durations and transfers of a problem may reach this many seconds, so that times
/// stay finite.
pub const HORIZON_MAX: f64 = 1e100;

/// Why something is not a problem that can be scheduled.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ProblemError {
    /// More machines, groups or slots than the limits above.
    #[error("there are {count} {what}; the limit is {max}")]
    TooLarge {
        /// The kind of thing that is too many.
        what: &'static str,
        /// Their number.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// Durations or transfers that no clock counts.
    #[error("durations and transfers add up to {seconds} s, which is beyond all limits")]
    TooLong {
        /// Their sum.
        seconds: f64,
    },
    /// Ready times that do not match the machines.
    #[error("ready times are given for {given} slots of machine {host}, which has {slots}")]
    Slots {
        /// The machine's name.
        host: String,
        /// The number of ready times given.
        given: usize,
        /// The number of slots that it has.
        slots: u32,
    },
    /// Ready times of machines that are not there.
    #[error("ready times are given for {given} machines, and there are {hosts}")]
    Hosts {
        /// The number of lists that were given.
        given: usize,
        /// The number of machines.
        hosts: usize,
    },
    /// A time that is not a number from 0 up.
    #[error("{seconds} is not a time from now on")]
    Time {
        /// The time given.
        seconds: f64,
    },
    /// A settled task that is not there, or that is a gate, or on a machine that is not there.
    #[error("task {task} cannot be settled on machine {host}")]
    Fixed {
        /// The task.
        task: u32,
        /// The machine.
        host: u32,
    },
    /// Explicit costs that are not one number from 0 up for each task and machine.
    #[error(
        "explicit costs are one time from 0 up for each of {tasks} tasks on each of {hosts} machines"
    )]
    Costs {
        /// The number of tasks.
        tasks: usize,
        /// The number of machines.
        hosts: usize,
    },
}

impl Problem {
    /// All tasks of a graph on the free machines of a platform, in direct mode: a message costs
    /// nothing inside a machine, else latency and data over bandwidth of the link between the two
    /// groups.
    pub fn new(dag: Dag, platform: &Platform) -> Result<Problem, ProblemError> {
        let resources = platform.resources();
        let groups = Groups::of(platform);
        let slots_max = resources.iter().map(|r| r.slots).max().unwrap_or(0);
        let slots_total = resources.iter().map(|r| r.slots as usize).sum();
        // A task that no machine can hold is in no list, and is refused by its cores later.
        let cores_total = dag
            .tasks()
            .map(|task| dag.cores(task).min(slots_max) as usize)
            .sum();
        for (what, count, max) in [
            ("machines", resources.len(), HOSTS_MAX),
            ("groups", groups.len(), GROUPS_MAX),
            (
                "slots in one machine",
                slots_max as usize,
                SLOTS_MAX as usize,
            ),
            ("slots in all", slots_total, SLOTS_TOTAL_MAX),
            ("cores asked for in all", cores_total, CORES_TOTAL_MAX),
        ] {
            if count > max {
                return Err(ProblemError::TooLarge { what, count, max });
            }
        }
        let hosts: Vec<Host> = resources
            .iter()
            .map(|resource| Host {
                id: resource.id,
                name: resource.name.clone(),
                power: resource.power,
                slots: resource.slots,
                group: groups.number(resource),
                memory: resource.memory,
                labels: resource.labels.clone(),
            })
            .collect();
        let links = Links::new(&groups);
        let ready = hosts
            .iter()
            .map(|host| vec![0.0; host.slots as usize])
            .collect();
        let problem = Problem {
            dag: Arc::new(dag),
            hosts,
            links,
            demands: Vec::new(),
            demand_of: Vec::new(),
            fits: Vec::new(),
            ready,
            fixed: BTreeMap::new(),
            costs: None,
            held: Vec::new(),
            memory: None,
        };
        problem.checked_horizon()?.with_demands(|_| None)
    }

    /// The demands of tasks on their machines; a task without one needs only its cores.
    pub fn with_demands<'a>(
        mut self,
        mut demand: impl FnMut(u32) -> Option<&'a Demand>,
    ) -> Result<Problem, ProblemError> {
        let nothing = Demand::default();
        let mut numbers: BTreeMap<(u32, &Demand), u32> = BTreeMap::new();
        let mut demand_of = Vec::with_capacity(self.dag.n_tasks());
        self.demands.clear();
        self.fits.clear();
        for task in self.dag.tasks() {
            // A gate runs nowhere, so nothing can be missing there.
            let wanted = if self.dag.is_gate(task) {
                None
            } else {
                demand(task)
            };
            let key = (self.dag.cores(task), wanted.unwrap_or(&nothing));
            let number = *numbers.entry(key).or_insert_with(|| {
                let fitting = (0u32..).zip(&self.hosts).filter(|(_, host)| {
                    key.0 <= host.slots && key.1.misfits(host).next().is_none()
                });
                self.fits.push(fitting.map(|(number, _)| number).collect());
                self.demands.push(key.1.clone());
                self.demands.len() as u32 - 1
            });
            demand_of.push(number);
        }
        self.demand_of = demand_of;
        Ok(self.with_memory())
    }

    /// When each slot of each machine becomes free; a list may be short or missing, and the slots
    /// it does not name are free at once.
    pub fn with_ready(mut self, ready: &[Vec<f64>]) -> Result<Problem, ProblemError> {
        if ready.len() > self.hosts.len() {
            let (given, hosts) = (ready.len(), self.hosts.len());
            return Err(ProblemError::Hosts { given, hosts });
        }
        for ((host, own), given) in self.hosts.iter().zip(&mut self.ready).zip(ready) {
            if given.len() > own.len() {
                let (host, given, slots) = (host.name.clone(), given.len(), host.slots);
                return Err(ProblemError::Slots { host, given, slots });
            }
            for (slot, &seconds) in own.iter_mut().zip(given) {
                *slot = time(seconds)?;
            }
        }
        Ok(self)
    }

    /// Tasks that have started: they stay where they are and hold no slot here (what a running one
    /// holds is in the ready times). Their predecessors do not matter any more.
    pub fn with_fixed(
        mut self,
        fixed: impl IntoIterator<Item = (u32, Fixed)>,
    ) -> Result<Problem, ProblemError> {
        for (task, place) in fixed {
            let known = (task as usize) < self.dag.n_tasks() && !self.dag.is_gate(task);
            let there = place.host == OUTSIDE || (place.host as usize) < self.hosts.len();
            if !known || !there {
                return Err(ProblemError::Fixed {
                    task,
                    host: place.host,
                });
            }
            time(place.finish)?;
            self.fixed.insert(task, place);
        }
        Ok(self.with_memory())
    }

    /// Memory that others than the tasks of this problem hold: a machine, bytes, from when on and until when.
    pub fn with_held(
        mut self,
        held: impl IntoIterator<Item = (u32, Bytes, (f64, f64))>,
    ) -> Result<Problem, ProblemError> {
        for (host, bytes, (from, until)) in held {
            if host as usize >= self.hosts.len() {
                let (given, hosts) = (host as usize + 1, self.hosts.len());
                return Err(ProblemError::Hosts { given, hosts });
            }
            self.held.push((host, bytes.0, (time(from)?, time(until)?)));
        }
        Ok(self.with_memory())
    }

    /// Finds the machines whose memory may run out. Tasks that run hold theirs until they end.
    fn with_memory(mut self) -> Problem {
        let held: Vec<_> = self.all_held().collect();
        self.memory = Memory::new(&self, &held).map(Arc::new);
        self
    }

    /// Explicit durations for unrelated machines, a row of one number for each machine for each
    /// task, in the order of the input of the graph; works and powers then say nothing.
    pub fn with_costs(mut self, costs: &[Vec<f64>]) -> Result<Problem, ProblemError> {
        let (tasks, hosts) = (self.dag.n_tasks(), self.hosts.len());
        if tasks.saturating_mul(hosts) > COSTS_MAX {
            let count = tasks.saturating_mul(hosts);
            return Err(ProblemError::TooLarge {
                what: "explicit costs",
                count,
                max: COSTS_MAX,
            });
        }
        let row_sound = |row: &Vec<f64>| row.len() == hosts && row.iter().all(|&c| time(c).is_ok());
        if costs.len() != tasks || !costs.iter().all(row_sound) {
            return Err(ProblemError::Costs { tasks, hosts });
        }
        let mut rows = Vec::with_capacity(tasks * hosts);
        for task in self.dag.tasks() {
            let gate = self.dag.is_gate(task);
            let row = &costs[self.dag.given(task) as usize];
            rows.extend(row.iter().map(|&cost| if gate { 0.0 } else { cost }));
        }
        self.costs = Some(Arc::new(rows));
        self.checked_horizon()
    }

    /// The same problem with only some of its machines, ascending. They keep their numbers. A task
    /// that fits none of them may use all that it fits.
    pub(crate) fn restricted(&self, hosts: &[u32]) -> Problem {
        let mut problem = self.clone();
        for fitting in &mut problem.fits {
            let inside = fitting.iter().copied();
            let inside: Vec<u32> = inside.filter(|h| hosts.binary_search(h).is_ok()).collect();
            if !inside.is_empty() {
                *fitting = inside;
            }
        }
        problem
    }

    /// The tasks and the edges between them.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// The machines, by number.
    #[inline]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// The ways between groups.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// When each slot of a machine becomes free.
    pub fn ready(&self, host: u32) -> &[f64] {
        &self.ready[host as usize]
    }

    /// The machine and end of a task that has started.
    pub fn fixed(&self, task: u32) -> Option<Fixed> {
        if self.fixed.is_empty() {
            None
        } else {
            self.fixed.get(&task).copied()
        }
    }

    /// The demands of a task beside its cores.
    pub fn demand(&self, task: u32) -> &Demand {
        &self.demands[self.demand_of[task as usize] as usize]
    }

    /// The number of a task's class of demands: tasks of one class fit the same machines.
    #[inline]
    pub fn demand_class(&self, task: u32) -> u32 {
        self.demand_of[task as usize]
    }

    /// The number of classes of demands.
    pub fn n_demand_classes(&self) -> u32 {
        self.demands.len() as u32
    }

    /// The machines on which a class of tasks may run, ascending.
    pub fn fitting(&self, demand_class: u32) -> &[u32] {
        &self.fits[demand_class as usize]
    }

    /// The memory that others and tasks that run hold: machine, bytes, from when on and until when.
    pub(crate) fn all_held(&self) -> impl Iterator<Item = (u32, u64, (f64, f64))> {
        let fixed = self.fixed.iter().map(|(&task, fixed)| {
            let bytes = self.demand(task).memory.0;
            (fixed.host, bytes, (0.0, fixed.finish))
        });
        self.held.iter().copied().chain(fixed)
    }

    /// True if any task declares memory.
    pub(crate) fn asks_memory(&self) -> bool {
        let mut demands = self.demands.iter();
        demands.any(|demand| demand.memory > Bytes::ZERO)
    }

    /// The machines whose memory may run out; none where no machine's does.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.memory.as_deref()
    }

    /// True if a task may run on a machine.
    pub fn fits(&self, task: u32, host: u32) -> bool {
        let fitting = self.fitting(self.demand_class(task));
        fitting.len() == self.hosts.len() || fitting.binary_search(&host).is_ok()
    }

    /// True if a task has its own duration on each machine.
    pub fn has_costs(&self) -> bool {
        self.costs.is_some()
    }

    /// Seconds that a task takes on a machine: work over power, or the explicit cost; 0 for gates.
    #[inline]
    pub fn duration(&self, task: u32, host: u32) -> f64 {
        match &self.costs {
            Some(costs) => costs[task as usize * self.hosts.len() + host as usize],
            None => self.dag.work(task) / self.hosts[host as usize].power,
        }
    }

    /// Seconds that the data of an edge takes from a machine to a machine.
    #[inline]
    pub fn transfer(&self, edge: u32, from: u32, to: u32) -> f64 {
        if from == to && from != OUTSIDE {
            return 0.0;
        }
        self.links
            .seconds(self.dag.data(edge), self.group(from), self.group(to))
    }

    /// The group of a machine; [`OUTSIDE`] has one of its own.
    #[inline]
    pub fn group(&self, host: u32) -> u32 {
        match self.hosts.get(host as usize) {
            Some(host) => host.group,
            None => self.links.outside(),
        }
    }

    /// The shortest duration of a task on a machine that it fits, or on any machine if it fits
    /// none.
    pub fn duration_min(&self, task: u32) -> f64 {
        let fitting = self.fitting(self.demand_class(task)).iter();
        let shortest = |hosts: &mut dyn Iterator<Item = u32>| {
            hosts
                .map(|host| self.duration(task, host))
                .fold(f64::INFINITY, f64::min)
        };
        let best = shortest(&mut fitting.copied());
        if best.is_finite() {
            best
        } else {
            shortest(&mut (0..self.hosts.len() as u32))
        }
    }

    /// The reason, for people, why a task fits no machine; none if it fits one.
    pub fn misfit(&self, task: u32) -> Option<String> {
        if !self.fitting(self.demand_class(task)).is_empty() {
            return None;
        }
        let cores = self.dag.cores(task);
        let largest = self.hosts.iter().map(|host| host.slots).max().unwrap_or(0);
        if cores > largest {
            return Some(format!(
                "needs {cores} cores; the largest machine has {largest}"
            ));
        }
        let demand = self.demand(task);
        let memory = self
            .hosts
            .iter()
            .map(|host| host.memory)
            .max()
            .unwrap_or_default();
        if demand.memory > memory {
            let needed = demand.memory;
            return Some(format!(
                "needs {needed} of memory; the largest machine has {memory}"
            ));
        }
        for (name, value) in &demand.labels {
            if !self
                .hosts
                .iter()
                .any(|host| host.labels.get(name) == Some(value))
            {
                let capability = Capability::of_label(name).filter(|_| value == CAPABLE);
                return Some(match capability {
                    Some(capability) => format!(
                        "needs {} for its {}; no machine has it (label {name}: {value})",
                        capability.programs_in_words(),
                        capability.purpose()
                    ),
                    None => format!("needs the label {name}: {value}; no machine has it"),
                });
            }
        }
        // Each need is met somewhere, but no machine meets them all: tell of the nearest one.
        let misfits = |host: &Host| {
            let few = (cores > host.slots)
                .then(|| format!("needs {cores} cores where it has {}", host.slots));
            few.into_iter()
                .chain(demand.misfits(host))
                .collect::<Vec<_>>()
        };
        let nearest = self.hosts.iter().min_by_key(|host| misfits(host).len())?;
        let (name, lacks) = (&nearest.name, misfits(nearest).join(", "));
        Some(format!(
            "no machine meets all it needs; {name} comes nearest: the activity {lacks}"
        ))
    }

    fn checked_horizon(self) -> Result<Problem, ProblemError> {
        let hosts = 0..self.hosts.len() as u32;
        let slowest = self
            .hosts
            .iter()
            .map(|host| host.power)
            .fold(f64::INFINITY, f64::min);
        let durations: f64 = match &self.costs {
            Some(_) => self
                .dag
                .tasks()
                .map(|t| {
                    hosts
                        .clone()
                        .map(|h| self.duration(t, h))
                        .fold(0.0, f64::max)
                })
                .sum(),
            None => self
                .dag
                .tasks()
                .map(|task| self.dag.work(task) / slowest)
                .sum(),
        };
        let edges = 0..self.dag.n_edges() as u32;
        let data: f64 = edges.clone().map(|edge| self.dag.data(edge)).sum();
        let latencies = self.links.seconds_max(0.0) * edges.len() as f64;
        let seconds = durations + latencies + self.links.seconds_max(data);
        // A sum that is not a number fails this test too.
        if seconds < HORIZON_MAX {
            Ok(self)
        } else {
            Err(ProblemError::TooLong { seconds })
        }
    }
}

impl Demand {
    fn misfits<'a>(&'a self, host: &'a Host) -> impl Iterator<Item = String> + 'a {
        let memory = (self.memory > host.memory).then(|| {
            format!(
                "needs {} of memory where it has {}",
                self.memory, host.memory
            )
        });
        let labels = self.labels.iter().filter_map(|(name, value)| {
            let has = host.labels.get(name);
            (has != Some(value)).then(|| match has {
                Some(has) => format!("needs {name}: {value} where it has {has}"),
                None => format!("needs {name}: {value} where it has none"),
            })
        });
        let other = self.machine.filter(|&machine| machine != host.id);
        let other = other.map(|_| "may run on another machine alone".to_owned());
        memory.into_iter().chain(labels).chain(other)
    }
}

fn time(seconds: f64) -> Result<f64, ProblemError> {
    let sound = (0.0..HORIZON_MAX).contains(&seconds);
    if sound {
        Ok(seconds)
    } else {
        Err(ProblemError::Time { seconds })
    }
}

#[cfg(test)]
mod tests;
