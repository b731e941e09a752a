//! A process as rounds see it: what is to run where, and in which order, before anything has started.

use super::progress::Progress;
use crate::alike::{alike, alike_but_for_power};
use crate::controllers::{Placing, Traffic, Tree, along, through_controllers};
use crate::order::places;
use crate::pch::virtual_system::{VirtualLink, VirtualSystem};
use crate::pch::{PCH_TASKS_MAX, Pch, PchFast};
use crate::problem::{OUTSIDE, Problem};
use crate::schedule::{Schedule, ScheduleError, Scheduler};

/// The way that data takes between two activities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Messages {
    /// From machine to machine.
    Direct,
    /// Through the controllers of both, which the rule places.
    Controllers(Tree, Placing),
}

/// A problem with its first plan and what never changes while it runs. It is worked out once and
/// shared by all executions of it.
///
/// Memory that activities hold side by side, and tasks that had started, are not looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    problem: Problem,
    messages: Messages,
    plan: Schedule,
    controllers: Vec<u32>,
    /// By task: the longest way to the end on the virtual machine. It stays as it is (rule A4).
    pub(super) priority: Vec<f64>,
    /// All tasks in the order in which each slot runs its own, predecessors first.
    pub(super) order: Vec<u32>,
    /// The place of a task in `order`.
    pub(super) rank: Vec<u32>,
    /// By task: its first link. A task has a link in the list of each slot that it holds.
    pub(super) link_off: Vec<u32>,
    /// By link: its task.
    pub(super) owner: Vec<u32>,
    /// By machine: its first slot in the numbering of all slots.
    pub(super) slot_off: Vec<u32>,
    /// The tasks that run nowhere.
    pub(super) gates: Vec<u32>,
    /// By machine: the lowest one that is like it.
    pub(super) like: Vec<u32>,
    /// By machine: the lowest one that is like it but for its power.
    pub(super) kind: Vec<u32>,
    /// By edge: the seconds of its message while one of its ends is on no machine.
    pub(super) virtual_seconds: Vec<f64>,
    /// By edge: the least seconds of its message between two machines of a group, and between machines of two.
    pub(super) legs: Vec<[f64; 2]>,
    /// By group: the best ways out of a machine of it.
    pub(super) links_out: Vec<VirtualLink>,
    /// True if each machine has one slot.
    pub(super) runs_in_turn: bool,
    /// By task: its time on the best machine.
    pub(super) shortest: Vec<f64>,
    /// The mean weight of an activity on the machine of the first plan (rule A16).
    pub(super) mean_weight: f64,
    ways: Option<Ways>,
}

/// The way of a message while controllers are where they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The machine of the first controller.
    pub(super) first: u32,
    /// The machine of the last controller.
    pub(super) last: u32,
    /// Seconds between the two.
    pub(super) seconds: f64,
}

/// The controllers that each message passes.
#[derive(Clone, Debug, PartialEq)]
struct Ways {
    /// By edge: its first stop.
    off: Vec<u32>,
    stops: Vec<u32>,
    traffic: Traffic,
}

impl Setting {
    /// Plans with PCH: exactly, or nearly so where the graph is too large for that.
    pub fn new(problem: Problem, messages: Messages) -> Result<Setting, ScheduleError> {
        let plan = match problem.dag().n_tasks() > PCH_TASKS_MAX {
            true => PchFast.schedule(&problem)?,
            false => Pch::new().schedule(&problem)?,
        };
        let VirtualSystem {
            link,
            shortest,
            priority,
            order,
        } = VirtualSystem::new(&problem);
        let (plan, controllers) = match &messages {
            Messages::Direct => (plan, Vec::new()),
            Messages::Controllers(tree, placing) => {
                let controlled = through_controllers(&problem, tree, &plan, *placing);
                (controlled.schedule, controlled.controllers)
            }
        };
        let ways = match &messages {
            Messages::Direct => None,
            Messages::Controllers(tree, _) => Some(Ways::new(&problem, tree)),
        };
        let dag = problem.dag();
        let mut link_off = Vec::with_capacity(dag.n_tasks() + 1);
        let mut owner = Vec::with_capacity(dag.n_tasks());
        link_off.push(0);
        for task in dag.tasks() {
            owner.extend((0..dag.cores(task)).map(|_| task));
            link_off.push(owner.len() as u32);
        }
        let mut slot_off = Vec::with_capacity(problem.hosts().len() + 1);
        slot_off.push(0);
        for host in problem.hosts() {
            slot_off.push(slot_off.last().map_or(0, |last| last + host.slots));
        }
        let edges = 0..dag.n_edges() as u32;
        let virtual_seconds = edges.clone().map(|edge| link.seconds(dag.data(edge)));
        let virtual_seconds = virtual_seconds.collect();
        let links = VirtualLink::inside_and_between(&problem);
        let legs = edges.map(|edge| links.map(|link| link.seconds(dag.data(edge))));
        let legs = legs.map(|[inside, between]| [inside.min(between), between]);
        let legs = legs.collect();
        let weights = plan.entries.iter().filter(|e| !dag.is_gate(e.task));
        let weights = weights.map(|entry| problem.duration(entry.task, entry.host));
        let (sum, count) = weights.fold((0.0, 0u32), |(sum, count), w| (sum + w, count + 1));
        Ok(Setting {
            rank: places(&order),
            mean_weight: sum / f64::from(count.max(1)),
            gates: dag.tasks().filter(|&task| dag.is_gate(task)).collect(),
            like: alike(&problem),
            kind: alike_but_for_power(&problem),
            virtual_seconds,
            legs,
            links_out: VirtualLink::out_of_groups(&problem),
            runs_in_turn: problem.hosts().iter().all(|host| host.slots == 1),
            problem,
            messages,
            plan,
            controllers,
            priority,
            order,
            link_off,
            owner,
            slot_off,
            shortest,
            ways,
        })
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The way of data.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// The first plan.
    pub fn plan(&self) -> &Schedule {
        &self.plan
    }

    /// The machines of the controllers in the first plan; none in direct mode.
    pub fn controllers(&self) -> &[u32] {
        &self.controllers
    }

    /// The place of a task in the order in which each slot runs its own.
    #[inline]
    pub fn rank(&self, task: u32) -> u32 {
        self.rank[task as usize]
    }

    /// Seconds that the data of an edge takes between two machines while controllers are on these.
    pub fn transfer(&self, edge: u32, hosts: [u32; 2], controllers: &[u32]) -> f64 {
        match &self.ways {
            None => self.problem.transfer(edge, hosts[0], hosts[1]),
            Some(ways) => along(&self.problem, ways.stops(edge), controllers, hosts, edge),
        }
    }

    /// The hops of the data of an edge between two machines while controllers are on these, each from
    /// a machine to another.
    pub fn hops(&self, edge: u32, hosts: [u32; 2], controllers: &[u32]) -> Vec<[u32; 2]> {
        let stops = self
            .stops(edge)
            .iter()
            .map(|&stop| controllers[stop as usize]);
        let to = stops.chain([hosts[1]]);
        let hops = to.scan(hosts[0], |here, to| Some([std::mem::replace(here, to), to]));
        hops.filter(|[from, to]| from != to).collect()
    }

    /// Seconds that the data of an edge takes between two machines while controllers are on these,
    /// and links have these factors of bandwidth by machine.
    pub fn transfer_over(
        &self,
        edge: u32,
        hosts: [u32; 2],
        controllers: &[u32],
        links: &[f64],
    ) -> f64 {
        let hops = self.hops(edge, hosts, controllers).into_iter();
        let seconds = hops.map(|hop| hop_seconds(&self.problem, edge, hop, links));
        seconds.sum()
    }

    /// The controllers that the message of an edge passes, in order; none in direct mode.
    pub(super) fn stops(&self, edge: u32) -> &[u32] {
        self.ways.as_ref().map_or(&[][..], |ways| ways.stops(edge))
    }

    /// Finds by edge its way while controllers are on these machines, and links have these factors; none
    /// in direct mode.
    pub(super) fn find_ways(&self, controllers: &[u32], links: &[f64], found: &mut Vec<Way>) {
        found.clear();
        let Some(ways) = &self.ways else {
            return;
        };
        let edges = 0..self.problem.dag().n_edges() as u32;
        let way = |edge: u32| {
            let stops = ways.stops(edge);
            let mut hosts = stops.iter().map(|&stop| controllers[stop as usize]);
            let hops = hosts.clone().zip(hosts.clone().skip(1));
            let hops = hops.map(|(from, to)| hop_seconds(&self.problem, edge, [from, to], links));
            // A message passes one controller at least.
            Way {
                first: hosts.clone().next().unwrap_or(OUTSIDE),
                last: hosts.next_back().unwrap_or(OUTSIDE),
                seconds: hops.sum(),
            }
        };
        found.extend(edges.map(way));
    }

    /// The traffic of messages over the hops of the tree; none in direct mode.
    pub(super) fn traffic(&self) -> Option<&Traffic> {
        self.ways.as_ref().map(|ways| &ways.traffic)
    }

    /// The links of a task.
    #[inline]
    pub(super) fn links(&self, task: u32) -> std::ops::Range<usize> {
        self.link_off[task as usize] as usize..self.link_off[task as usize + 1] as usize
    }

    /// The number of a slot among those of all machines.
    #[inline]
    pub(super) fn list(&self, host: u32, slot: u32) -> usize {
        (self.slot_off[host as usize] + slot) as usize
    }

    /// The numbers of the slots that a task holds or is to hold, likewise.
    #[inline]
    pub(super) fn slots(&self, progress: &Progress, task: u32) -> std::ops::Range<usize> {
        let first = self.list(progress.host[task as usize], progress.slot[task as usize]);
        first..first + self.problem.dag().cores(task) as usize
    }

    /// The number of slots of all machines.
    pub(super) fn n_slots(&self) -> usize {
        self.slot_off.last().map_or(0, |&last| last as usize)
    }
}

/// Seconds of the data of an edge from one machine to another by the slower of their links.
#[inline]
pub(super) fn hop_seconds(
    problem: &Problem,
    edge: u32,
    [from, to]: [u32; 2],
    links: &[f64],
) -> f64 {
    let factor = |host: u32| links.get(host as usize).copied().unwrap_or(1.0);
    problem.transfer(edge, from, to) / factor(from).min(factor(to))
}

impl Ways {
    fn new(problem: &Problem, tree: &Tree) -> Ways {
        let dag = problem.dag();
        let mut by_edge = vec![Vec::new(); dag.n_edges()];
        for task in dag.tasks() {
            for (pred, edge) in dag.predecessors(task) {
                by_edge[edge as usize] = tree.stops(pred, task);
            }
        }
        let mut ways = Ways {
            off: vec![0],
            stops: Vec::new(),
            traffic: Traffic::new(problem, tree),
        };
        for stops in by_edge {
            ways.stops.extend(stops);
            ways.off.push(ways.stops.len() as u32);
        }
        ways
    }

    fn stops(&self, edge: u32) -> &[u32] {
        let (first, end) = (self.off[edge as usize], self.off[edge as usize + 1]);
        &self.stops[first as usize..end as usize]
    }
}
