//! Messages that go through controllers: where each controller sits, and what that does to times.
//!
//! In *controllers mode* a message goes from its task to the task's controller, up the tree to the
//! lowest controller that both tasks share, and down again, stored and forwarded at each (rule A1
//! of the digest of Bittencourt and Madeira's paper); a hop inside one machine costs nothing.
//! Controllers are placed when all tasks are; tasks keep their machines and order, and their times
//! are counted again.
//!
//! Two rules place controllers: the paper's, from below, each as near to its children as it can be
//! (A2), and a dynamic programme over the tree that makes the whole traffic least (section 10.1),
//! which also looks at parents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use thiserror::Error;

use crate::check::{CheckError, check_with};
use crate::memory::fit_with;
use crate::order::less;
use crate::problem::Problem;
use crate::schedule::Schedule;

/// The parent of each controller, and the controller of each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    parent: Vec<Option<u32>>,
    depth: Vec<u32>,
    /// All controllers, each after those below it.
    upwards: Vec<u32>,
    of_task: Vec<u32>,
}

/// Why controllers are not the tree of a graph's tasks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    /// There is not exactly one controller without a parent.
    #[error("{0} controllers have no parent; there is one root")]
    Roots(usize),
    /// A parent that is not there, or that is below the controller.
    #[error("controller {0} does not lead to the root")]
    Parent(u32),
    /// Not one controller for each task.
    #[error("{given} controllers of tasks are given for {tasks} tasks")]
    Tasks {
        /// The number given.
        given: usize,
        /// The number of tasks.
        tasks: usize,
    },
    /// A task's controller that is not there.
    #[error("task {0} belongs to a controller that is not there")]
    Task(u32),
}

/// The rule by which controllers are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placing {
    /// From below, each where it has least to send to its own tasks and controllers (A2).
    Paper,
    /// So that all hops together cost least.
    #[default]
    LeastTraffic,
}

/// A schedule whose messages go through controllers.
#[derive(Clone, Debug, PartialEq)]
pub struct Controlled {
    /// The same machines and orders as in direct mode, at other times.
    pub schedule: Schedule,
    /// The machine of each controller.
    pub controllers: Vec<u32>,
}

impl Controlled {
    /// Seconds that the data of an edge takes from its task to the other through all controllers on
    /// its way.
    pub fn transfer(
        &self,
        problem: &Problem,
        tree: &Tree,
        (from, to): (u32, u32),
        edge: u32,
    ) -> f64 {
        let hosts = [from, to].map(|task| self.schedule.entries[task as usize].host);
        route(problem, tree, &self.controllers, (from, to), hosts, edge)
    }
}

impl Tree {
    /// A tree from the parent of each controller and the controller of each task, in the order of
    /// the input that the graph was built from.
    pub fn new(
        problem: &Problem,
        parent: &[Option<u32>],
        of_task: &[u32],
    ) -> Result<Tree, TreeError> {
        let roots = parent.iter().filter(|parent| parent.is_none()).count();
        if roots != 1 {
            return Err(TreeError::Roots(roots));
        }
        let mut children = vec![Vec::new(); parent.len()];
        let mut stack = Vec::new();
        for (controller, &above) in (0u32..).zip(parent) {
            match above {
                None => stack.push(controller),
                Some(above) => children
                    .get_mut(above as usize)
                    .ok_or(TreeError::Parent(controller))?
                    .push(controller),
            }
        }
        let mut depth = vec![u32::MAX; parent.len()];
        let mut upwards = Vec::with_capacity(parent.len());
        while let Some(controller) = stack.pop() {
            let above = parent[controller as usize];
            depth[controller as usize] = above.map_or(0, |above| depth[above as usize] + 1);
            upwards.push(controller);
            stack.extend(&children[controller as usize]);
        }
        upwards.reverse();
        if upwards.len() < parent.len() {
            let lost = depth.iter().position(|&depth| depth == u32::MAX);
            return Err(TreeError::Parent(lost.unwrap_or(0) as u32));
        }
        let dag = problem.dag();
        if of_task.len() != dag.n_tasks() {
            let (given, tasks) = (of_task.len(), dag.n_tasks());
            return Err(TreeError::Tasks { given, tasks });
        }
        if let Some(task) = of_task.iter().position(|&c| c as usize >= parent.len()) {
            return Err(TreeError::Task(task as u32));
        }
        Ok(Tree {
            parent: parent.to_vec(),
            depth,
            upwards,
            of_task: dag
                .tasks()
                .map(|task| of_task[dag.given(task) as usize])
                .collect(),
        })
    }

    /// The number of controllers.
    pub fn n_controllers(&self) -> usize {
        self.parent.len()
    }

    /// The controller that a task belongs to.
    pub(crate) fn controller_of(&self, task: u32) -> u32 {
        self.of_task[task as usize]
    }

    /// The number of controllers above one.
    pub(crate) fn depth(&self, controller: u32) -> u32 {
        self.depth[controller as usize]
    }

    /// True if one controller is another one or above it. O(depth).
    pub(crate) fn leads(&self, above: u32, mut below: u32) -> bool {
        while self.depth[below as usize] > self.depth[above as usize] {
            below = self.parent[below as usize].unwrap_or(below);
        }
        below == above
    }

    /// The controllers that a message passes, in order.
    pub(crate) fn stops(&self, from: u32, to: u32) -> Vec<u32> {
        let (mut up, down) = self.way(from, to);
        up.extend(down.into_iter().rev());
        up
    }

    /// True for each controller below which, at any depth, there is one of these tasks.
    pub(crate) fn above(&self, tasks: impl Iterator<Item = u32>) -> Vec<bool> {
        let mut is_above = vec![false; self.n_controllers()];
        for task in tasks {
            let mut next = Some(self.of_task[task as usize]);
            while let Some(controller) = next {
                if std::mem::replace(&mut is_above[controller as usize], true) {
                    break;
                }
                next = self.parent[controller as usize];
            }
        }
        is_above
    }

    /// The controllers that a message passes: up from the sender's one to the shared one, and
    /// those from the receiver's one up to below the shared one.
    pub(crate) fn way(&self, from: u32, to: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut one, mut other) = (self.of_task[from as usize], self.of_task[to as usize]);
        let (mut up, mut down) = (vec![one], Vec::new());
        while one != other {
            if self.depth[one as usize] >= self.depth[other as usize] {
                // The root has depth 0 and is shared by all, so what is above exists.
                one = self.parent[one as usize].unwrap_or(one);
                up.push(one);
            } else {
                down.push(other);
                other = self.parent[other as usize].unwrap_or(other);
            }
        }
        (up, down)
    }
}

/// Places controllers for a schedule made in direct mode and counts its times again.
/// O((n + e) log n + e d + c (g² + p)) for controllers c, their depth d, groups g, machines p.
pub fn through_controllers(
    problem: &Problem,
    tree: &Tree,
    schedule: &Schedule,
    placing: Placing,
) -> Controlled {
    let traffic = Traffic::new(problem, tree);
    let host = |task: u32| schedule.entries[task as usize].host;
    let controllers = places(problem, tree, placing, &traffic, host, &Bounds::default());
    let schedule = again(problem, schedule, |pred, task, edge| {
        let hosts = [pred, task].map(|task| schedule.entries[task as usize].host);
        route(problem, tree, &controllers, (pred, task), hosts, edge)
    });
    let schedule = fit_with(problem, schedule, |hosts, ends, edge| {
        route(problem, tree, &controllers, ends, hosts, edge)
    });
    Controlled {
        schedule,
        controllers,
    }
}

/// Machines on which controllers may not be put.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// By controller: the machine that it stays on; empty if none does.
    pub(crate) stays: Vec<Option<u32>>,
    /// By machine: true if nothing is put there; empty if all are free.
    pub(crate) gone: Vec<bool>,
}

impl Bounds {
    fn allow(&self, controller: u32, host: u32) -> bool {
        match self.stays.get(controller as usize) {
            Some(&Some(stays)) => host == stays,
            Some(None) | None => !self.gone.get(host as usize).is_some_and(|&gone| gone),
        }
    }
}

/// The machines of controllers within bounds.
pub(crate) fn places(
    problem: &Problem,
    tree: &Tree,
    placing: Placing,
    traffic: &Traffic,
    host_of: impl Fn(u32) -> u32,
    bounds: &Bounds,
) -> Vec<u32> {
    match placing {
        Placing::Paper => by_paper(problem, tree, host_of, traffic, bounds),
        Placing::LeastTraffic => by_least_traffic(problem, tree, host_of, traffic, bounds),
    }
}

/// The machines of controllers for the least traffic, each message counted as often as its edge
/// weighs.
pub(crate) fn places_by_weight(
    problem: &Problem,
    tree: &Tree,
    host_of: impl Fn(u32) -> u32,
    weight: impl Fn(u32) -> f64,
) -> Vec<u32> {
    let traffic = Traffic::weighted(problem, tree, weight);
    by_least_traffic(problem, tree, host_of, &traffic, &Bounds::default())
}

/// The rules of [`crate::check()`] with messages that take the controllers' way.
pub fn check_through_controllers(
    problem: &Problem,
    tree: &Tree,
    controlled: &Controlled,
) -> Result<(), CheckError> {
    let controllers = &controlled.controllers;
    check_with(problem, &controlled.schedule, |ends, hosts, edge| {
        route(problem, tree, controllers, ends, hosts, edge)
    })
}

/// Seconds that the data of an edge takes from host to host through all controllers on its way.
fn route(
    problem: &Problem,
    tree: &Tree,
    controllers: &[u32],
    (from, to): (u32, u32),
    hosts: [u32; 2],
    edge: u32,
) -> f64 {
    along(problem, &tree.stops(from, to), controllers, hosts, edge)
}

/// Seconds that the data of an edge takes from host to host by the machines of some controllers.
pub(crate) fn along(
    problem: &Problem,
    stops: &[u32],
    controllers: &[u32],
    hosts: [u32; 2],
    edge: u32,
) -> f64 {
    let mut here = hosts[0];
    let mut seconds = 0.0;
    let stops = stops.iter();
    let stops = stops.map(|&controller| controllers[controller as usize]);
    for next in stops.chain([hosts[1]]) {
        seconds += problem.transfer(edge, here, next);
        here = next;
    }
    seconds
}

/// The traffic of the hop between a task or controller and the controller above it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Hop {
    messages: f64,
    data: f64,
}

/// The traffic of all messages over the hops of a tree, wherever its tasks and controllers are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Traffic {
    of_task: Vec<Hop>,
    of_controller: Vec<Hop>,
    /// By controller: its own tasks.
    tasks: Vec<Vec<u32>>,
}

impl Traffic {
    pub(crate) fn new(problem: &Problem, tree: &Tree) -> Traffic {
        Traffic::weighted(problem, tree, |_| 1.0)
    }

    /// With each message counted as often as its edge weighs.
    fn weighted(problem: &Problem, tree: &Tree, weight: impl Fn(u32) -> f64) -> Traffic {
        let dag = problem.dag();
        let mut traffic = Traffic {
            of_task: vec![Hop::default(); dag.n_tasks()],
            of_controller: vec![Hop::default(); tree.n_controllers()],
            tasks: tasks_by_controller(tree),
        };
        for task in dag.tasks() {
            for (pred, edge) in dag.predecessors(task) {
                let data = dag.data(edge);
                if data <= 0.0 {
                    continue;
                }
                let (up, down) = tree.way(pred, task);
                let weight = weight(edge);
                traffic.of_task[pred as usize].add(data, weight);
                traffic.of_task[task as usize].add(data, weight);
                // The shared controller is the last one on the way up, and is not left upwards.
                for &controller in up[..up.len() - 1].iter().chain(&down) {
                    traffic.of_controller[controller as usize].add(data, weight);
                }
            }
        }
        traffic
    }
}

impl Hop {
    fn add(&mut self, data: f64, weight: f64) {
        self.messages += weight;
        self.data += weight * data;
    }

    /// Seconds to carry all of it, one after the other, between machines of two groups.
    fn seconds(self, problem: &Problem, from: u32, to: u32) -> f64 {
        if self.messages > 0.0 {
            let links = problem.links();
            self.messages * links.latency(from, to) + self.data / links.bandwidth(from, to)
        } else {
            0.0
        }
    }
}

/// The cost of a controller on each machine, as far as machines of children are known: the cost by
/// group, and the saving of a machine because a child is on it.
struct Costs {
    of_group: Vec<f64>,
    saved: Vec<f64>,
}

impl Costs {
    fn new(problem: &Problem) -> Costs {
        Costs {
            of_group: vec![0.0; problem.links().n_groups() as usize],
            saved: vec![0.0; problem.hosts().len()],
        }
    }

    /// Nothing costs anything.
    fn reset(&mut self) {
        self.of_group.fill(0.0);
        self.saved.fill(0.0);
    }

    fn add(&mut self, problem: &Problem, hop: Hop, host: u32) {
        if hop.messages <= 0.0 {
            return;
        }
        let from = problem.group(host);
        for (to, cost) in (0u32..).zip(&mut self.of_group) {
            *cost += hop.seconds(problem, from, to);
        }
        if let Some(saved) = self.saved.get_mut(host as usize) {
            *saved += hop.seconds(problem, from, from);
        }
    }

    fn at(&self, problem: &Problem, host: u32) -> f64 {
        self.of_group[problem.group(host) as usize] - self.saved[host as usize]
    }
}

fn lowest(costs: impl Iterator<Item = f64>) -> (f64, u32) {
    let mut best = (f64::INFINITY, 0);
    for (host, cost) in (0u32..).zip(costs) {
        if less(cost, best.0) {
            best = (cost, host);
        }
    }
    best
}

/// For each controller its own tasks.
fn tasks_by_controller(tree: &Tree) -> Vec<Vec<u32>> {
    let mut tasks = vec![Vec::new(); tree.n_controllers()];
    for (task, &controller) in (0u32..).zip(&tree.of_task) {
        tasks[controller as usize].push(task);
    }
    tasks
}

fn by_paper(
    problem: &Problem,
    tree: &Tree,
    host_of: impl Fn(u32) -> u32,
    traffic: &Traffic,
    bounds: &Bounds,
) -> Vec<u32> {
    let tasks = &traffic.tasks;
    let hosts = 0..problem.hosts().len() as u32;
    let mut below: Vec<Vec<u32>> = vec![Vec::new(); tree.n_controllers()];
    let mut places = vec![0; tree.n_controllers()];
    let mut costs = Costs::new(problem);
    for &controller in &tree.upwards {
        if let Some(above) = tree.parent[controller as usize] {
            below[above as usize].push(controller);
        }
        if let Some(&Some(host)) = bounds.stays.get(controller as usize) {
            places[controller as usize] = host;
            continue;
        }
        costs.reset();
        for &task in &tasks[controller as usize] {
            costs.add(problem, traffic.of_task[task as usize], host_of(task));
        }
        for child in std::mem::take(&mut below[controller as usize]) {
            let hop = traffic.of_controller[child as usize];
            costs.add(problem, hop, places[child as usize]);
        }
        let (_, host) = lowest(
            hosts
                .clone()
                .map(|host| match bounds.allow(controller, host) {
                    true => costs.at(problem, host),
                    false => f64::INFINITY,
                }),
        );
        places[controller as usize] = host;
    }
    places
}

/// The best machine of a controller, for each machine of the controller above it.
struct Choice {
    /// By group of the controller above: the best machine anywhere.
    elsewhere: Vec<u32>,
    /// By machine of the controller above: true if the same machine is as good.
    same: Vec<bool>,
}

/// f(c, r): the least traffic of all hops below controller c if it is on machine r, which is the
/// sum over its children of the cheaper of "on r too" and "the best machine of each group".
fn by_least_traffic(
    problem: &Problem,
    tree: &Tree,
    host_of: impl Fn(u32) -> u32,
    traffic: &Traffic,
    bounds: &Bounds,
) -> Vec<u32> {
    let tasks = &traffic.tasks;
    let n_groups = problem.links().n_groups();
    let n_hosts = problem.hosts().len();
    let mut below: Vec<Option<Vec<f64>>> = vec![None; tree.n_controllers()];
    let mut choices: Vec<Option<Choice>> = Vec::new();
    choices.resize_with(tree.n_controllers(), || None);
    let mut places = vec![0; tree.n_controllers()];
    let mut costs = Costs::new(problem);
    for &controller in &tree.upwards {
        costs.reset();
        for &task in &tasks[controller as usize] {
            costs.add(problem, traffic.of_task[task as usize], host_of(task));
        }
        let mut total = below[controller as usize]
            .take()
            .unwrap_or_else(|| vec![0.0; n_hosts]);
        for (host, total) in (0u32..).zip(&mut total) {
            *total += costs.at(problem, host);
        }
        let others = (0u32..).zip(&mut total);
        let others = others.filter(|&(host, _)| !bounds.allow(controller, host));
        others.for_each(|(_, total)| *total = f64::INFINITY);
        let Some(above) = tree.parent[controller as usize] else {
            places[controller as usize] = lowest(total.into_iter()).1;
            continue;
        };
        let hop = traffic.of_controller[controller as usize];
        let mut least = vec![(f64::INFINITY, 0); n_groups as usize];
        for (host, &cost) in (0u32..).zip(&total) {
            let least = &mut least[problem.group(host) as usize];
            if less(cost, least.0) {
                *least = (cost, host);
            }
        }
        let mut elsewhere = Vec::with_capacity(n_groups as usize);
        for to in 0..n_groups {
            let mut best = (f64::INFINITY, 0);
            for (from, &(cost, host)) in (0u32..).zip(&least) {
                let cost = cost + hop.seconds(problem, from, to);
                if less(cost, best.0) {
                    best = (cost, host);
                }
            }
            elsewhere.push(best);
        }
        let sums = below[above as usize].get_or_insert_with(|| vec![0.0; n_hosts]);
        let mut same = Vec::with_capacity(n_hosts);
        for ((host, &cost), sum) in (0u32..).zip(&total).zip(sums) {
            let (other, _) = elsewhere[problem.group(host) as usize];
            same.push(!less(other, cost));
            *sum += cost.min(other);
        }
        choices[controller as usize] = Some(Choice {
            elsewhere: elsewhere.into_iter().map(|(_, host)| host).collect(),
            same,
        });
    }
    for &controller in tree.upwards.iter().rev() {
        if let (Some(above), Some(choice)) = (
            tree.parent[controller as usize],
            &choices[controller as usize],
        ) {
            let host = places[above as usize];
            places[controller as usize] = match choice.same[host as usize] {
                true => host,
                false => choice.elsewhere[problem.group(host) as usize],
            };
        }
    }
    places
}

/// The same machines and orders with other transfers: each task as early as its slots and messages
/// allow. `transfer` is told predecessor, task and edge.
pub(crate) fn again(
    problem: &Problem,
    schedule: &Schedule,
    transfer: impl Fn(u32, u32, u32) -> f64,
) -> Schedule {
    let dag = problem.dag();
    let mut result = schedule.clone();
    // The tasks after each task on its slots, and the number of tasks that it waits for.
    let mut next_on_slot: Vec<Vec<u32>> = vec![Vec::new(); dag.n_tasks()];
    let mut waits: Vec<u32> = dag
        .tasks()
        .map(|task| dag.predecessors(task).len() as u32)
        .collect();
    let mut free = vec![0.0f64; dag.n_tasks()];
    for (host, slots) in (0u32..).zip(&schedule.order) {
        for (slot, tasks) in slots.iter().enumerate() {
            if let Some(&first) = tasks.first() {
                let ready = problem.ready(host)[slot];
                free[first as usize] = free[first as usize].max(ready);
            }
            for pair in tasks.windows(2) {
                next_on_slot[pair[0] as usize].push(pair[1]);
                waits[pair[1] as usize] += 1;
            }
        }
    }
    let mut ready: BinaryHeap<Reverse<u32>> = dag
        .tasks()
        .filter(|&task| waits[task as usize] == 0)
        .map(Reverse)
        .collect();
    while let Some(Reverse(task)) = ready.pop() {
        let host = schedule.entries[task as usize].host;
        if problem.fixed(task).is_none() {
            let mut start = free[task as usize];
            for (pred, edge) in dag.predecessors(task) {
                let sent = result.entries[pred as usize].finish;
                start = start.max(sent + transfer(pred, task, edge));
            }
            let entry = &mut result.entries[task as usize];
            (entry.start, entry.finish) = (start, start + problem.duration(task, host));
        }
        let finish = result.entries[task as usize].finish;
        let mut done = |after: u32| {
            waits[after as usize] -= 1;
            if waits[after as usize] == 0 {
                ready.push(Reverse(after));
            }
        };
        for &after in &next_on_slot[task as usize] {
            free[after as usize] = free[after as usize].max(finish);
            done(after);
        }
        dag.successors(task).for_each(|(succ, _)| done(succ));
    }
    result
}

#[cfg(test)]
mod tests;
