//! Moves of controllers, alone and together with the tasks beside them.
//!
//! A controller sits well beside the tasks that send and receive most through it. Once all sit well
//! no single move of a task or a controller shortens anything: what belongs together has to move
//! together. And what was good around it seldom is after such a move, so a few tasks that have
//! become critical may move too before it is judged.

use super::Search;
use super::spots::noise;
use crate::controllers::places_by_weight;
use crate::problem::OUTSIDE;

/// One move of controllers in so many places all of them again.
const ALL: usize = 24;
/// One move of controllers in so many is of one alone; the rest are of tasks with controllers.
const ALONE: usize = 2;
/// Weights of messages where all controllers are placed: the part of the makespan that their
/// longest way takes, to one of these powers.
const POWERS: [f64; 3] = [0.0, 4.0, 24.0];

/// So many moves of critical tasks may follow one of controllers.
const REPAIRS: usize = 6;
/// They do so if it is longer than allowed by no more than this part of the makespan.
const REPAIRED: f64 = 0.07;

/// The nodes that move along with a task to another machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Along {
    /// Controllers that its messages pass there.
    Controllers,
    /// Its controller's other tasks there too.
    Siblings,
    /// All that is there and below its controller.
    Subtree,
}

impl Search<'_> {
    /// Moves controllers, with or without tasks, unless that is too much worse.
    pub(super) fn move_controllers(&mut self, temperature: f64) {
        if self.random.below(ALL) == 0 {
            self.place_all_again(temperature);
        } else if self.random.below(ALONE) == 0 {
            self.move_one(temperature);
        } else {
            self.move_along(temperature);
        }
    }

    /// Moves a controller to the machine of one of its neighbours.
    fn move_one(&mut self, temperature: f64) {
        self.steps += 1;
        let node = self.some_node();
        let edges = self.net.incoming(node);
        if edges.is_empty() {
            return;
        }
        let edge = edges.start + self.random.below(edges.len());
        let way = self.routes.stops(edge);
        if way.is_empty() {
            return;
        }
        let place = self.random.below(way.len());
        let controller = way[place];
        // The stop before it on the way, or the one behind it.
        let before = match place.checked_sub(1) {
            Some(before) => self.solution.controllers[way[before] as usize],
            None => self.solution.host[self.net.from[edge] as usize],
        };
        let after = match way.get(place + 1) {
            Some(&after) => self.solution.controllers[after as usize],
            None => self.solution.host[self.net.to[edge] as usize],
        };
        let host = [before, after][self.random.below(2)];
        let old = self.solution.controllers[controller as usize];
        if host == old || host == OUTSIDE {
            return;
        }
        self.before.copy_from(&self.solution);
        self.solution.controllers[controller as usize] = host;
        self.judge(&[], temperature);
    }

    /// Places all controllers where the traffic is least, that on long ways counted more.
    fn place_all_again(&mut self, temperature: f64) {
        let Some(tree) = self.tree else { return };
        let power = POWERS[self.random.below(POWERS.len())];
        let dag = self.problem.dag();
        let mut weights = vec![1.0; dag.n_edges()];
        let (net, now, solution) = (&self.net, &self.now, &self.solution);
        for task in dag.tasks() {
            // The net has no edges into started tasks.
            for (edge, (_, of_dag)) in net.incoming(task).zip(dag.predecessors(task)) {
                let from = net.from[edge] as usize;
                let rest = solution.duration[task as usize] + now.tail[task as usize];
                let way = now.finish[from] + solution.cost[edge] + rest;
                weights[of_dag as usize] = (way / solution.makespan).powf(power).max(1e-9);
            }
        }
        let places = places_by_weight(
            self.problem,
            tree,
            |task| solution.host[task as usize],
            |edge| weights[edge as usize],
        );
        self.before.copy_from(&self.solution);
        self.solution.controllers = places;
        // Placing them takes about as long as some looks at a task.
        self.steps += 4 * (self.net.n_nodes() + self.net.n_edges()) as u64;
        self.judge(&[], temperature);
    }

    /// Moves a task with what belongs to it on its machine to another machine; sometimes what
    /// belongs to it there comes here. The order stays.
    fn move_along(&mut self, temperature: f64) {
        let Some(tree) = self.tree else { return };
        self.steps += 1;
        let node = self.some_node();
        let here = self.solution.host[node as usize];
        let there = self.some_host_for(node);
        if !self.moves(node) || there == here || there == OUTSIDE {
            return;
        }
        self.steps += self.net.n_nodes() as u64;
        let along = [Along::Controllers, Along::Siblings, Along::Subtree][self.random.below(3)];
        let exchanges = along != Along::Controllers && self.random.below(3) == 0;
        let top = tree.controller_of(node);
        // Controllers of other parts of the process belong to what stays.
        let near = |controller: u32| {
            let deep = along == Along::Subtree || tree.depth(controller) <= tree.depth(top) + 1;
            deep && tree.leads(top, controller)
        };
        let other = |host: u32| match host {
            host if host == here => Some(there),
            host if host == there && exchanges => Some(here),
            _ => None,
        };
        let mut tasks: Vec<(u32, u32)> = Vec::new();
        for task in 0..self.net.n_nodes() as u32 {
            let goes = match along {
                Along::Controllers => task == node,
                Along::Siblings => tree.controller_of(task) == top,
                Along::Subtree => tree.leads(top, tree.controller_of(task)),
            };
            let Some(host) = other(self.solution.host[task as usize]).filter(|_| goes) else {
                continue;
            };
            if !self.moves(task) {
                continue;
            }
            if !self.problem.fits(task, host) {
                return;
            }
            tasks.push((task, host));
        }
        self.before.copy_from(&self.solution);
        for &(task, host) in &tasks {
            let edges = (self.net.incoming(task))
                .chain((self.net.outgoing(task).iter()).map(|&(_, edge)| edge as usize));
            for edge in edges {
                for &controller in self.routes.stops(edge) {
                    let place = self.before.controllers[controller as usize];
                    if let Some(host) = other(place).filter(|_| near(controller)) {
                        self.solution.controllers[controller as usize] = host;
                    }
                }
            }
            self.solution.unlink(task);
            self.solution.host[task as usize] = host;
        }
        for &(task, host) in &tasks {
            let slots = self.sites.slots(host);
            let slot = slots.start + self.random.below(slots.len());
            self.put_in_its_place(task, host, slot);
        }
        self.judge(&tasks, temperature);
    }

    /// Puts a task that was unlinked on a slot of this machine, where the present order has it.
    pub(super) fn put_in_its_place(&mut self, task: u32, host: u32, slot: usize) {
        let solution = &mut self.solution;
        solution.duration[task as usize] = self.sites.duration(self.problem, task, host);
        if !solution.links(task).is_empty() {
            let place = solution.place[task as usize];
            let index = solution.lists[slot].partition_point(|&link| {
                solution.place[solution.owner[link as usize] as usize] < place
            });
            solution.link(task, slot as u32, index);
        }
    }

    /// Keeps what has changed since `before`, controllers and these tasks, if that is not too much
    /// worse, or becomes so by a few moves of critical tasks; else all is as before.
    pub(super) fn judge(&mut self, tasks: &[(u32, u32)], temperature: f64) {
        let makespan = self.before.makespan;
        let allowed = makespan + noise(&mut self.random, temperature);
        let first = self.count_changed_costs(tasks);
        let Some(length) = self.length_from(first, allowed + REPAIRED * makespan) else {
            std::mem::swap(&mut self.solution, &mut self.before);
            return;
        };
        self.recount();
        if length <= allowed {
            return;
        }
        for _ in 0..REPAIRS {
            if self.critical.is_empty() {
                break;
            }
            let node = self.critical[self.random.below(self.critical.len())];
            self.move_node(node, 0.0);
            if self.solution.makespan <= allowed {
                return;
            }
        }
        std::mem::swap(&mut self.solution, &mut self.before);
        self.recount();
    }

    /// Counts again what messages cost whose way is not as before, and tells from which place of
    /// the order on anything is different.
    pub(super) fn count_changed_costs(&mut self, tasks: &[(u32, u32)]) -> usize {
        let mut first = self.solution.order.len();
        for &(task, _) in tasks {
            first = first.min(self.solution.place[task as usize] as usize);
            for edge in self.net.incoming(task) {
                self.count_cost(edge);
            }
            for number in 0..self.net.outgoing(task).len() {
                let (to, edge) = self.net.outgoing(task)[number];
                self.count_cost(edge as usize);
                first = first.min(self.solution.place[to as usize] as usize);
            }
        }
        for controller in 0..self.solution.controllers.len() {
            if self.solution.controllers[controller] == self.before.controllers[controller] {
                continue;
            }
            for number in 0..self.routes.passing(controller as u32).len() {
                let edge = self.routes.passing(controller as u32)[number] as usize;
                self.count_cost(edge);
                self.steps += 1;
                let to = self.net.to[edge];
                first = first.min(self.solution.place[to as usize] as usize);
            }
        }
        first
    }

    /// The machine of what a node sends to or gets from, of another task of its controller, or any.
    pub(super) fn some_host_for(&mut self, node: u32) -> u32 {
        let n_hosts = self.problem.hosts().len();
        let (incoming, outgoing) = (self.net.incoming(node), self.net.outgoing(node));
        let n_edges = incoming.len() + outgoing.len();
        if n_edges == 0 || self.random.below(3) == 0 {
            return self.random.below(n_hosts) as u32;
        }
        let number = self.random.below(n_edges);
        let other = match number.checked_sub(incoming.len()) {
            None => self.net.from[incoming.start + number],
            Some(number) => outgoing[number].0,
        };
        self.solution.host[other as usize]
    }
}
