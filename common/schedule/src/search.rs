//! Local search on the critical chain of a schedule.
//!
//! A schedule is an order of all tasks and a slot for each; every slot runs its tasks in that
//! order, each as early as its slot and its messages allow. A move takes one task out and puts it
//! back into any place of any slot. With the longest way from the start to each task and from each
//! task to the end, both without the task that was taken out, the length of the schedule after any
//! such move is known exactly in O(1) (as Mastrolilli and Gambardella do for job shops, Journal of
//! Scheduling 3(1), 2000), so that one look at a task, O(n + e + s), finds the best of all its
//! places. Only tasks of the critical chain are moved: no other move shortens anything.
//! Several tasks that belong together move at once ([`together`], [`regions`]), two exchange their slots
//! ([`exchange`]), and after a move only what
//! it changes is counted again ([`recount`]).
//!
//! Worse schedules are accepted with a probability that falls while the budget is used up
//! (simulated annealing); the best one that was seen is kept. The budget is counted in steps
//! (tasks, messages and slots looked at), so that the result does not depend on the clock.
//!
//! Gates move like tasks but hold no slot. Tasks of several cores and what has started stay where
//! they are. Where memory may run out, the length after a move leaves it out, and a move that it makes
//! too long is taken back.

use crate::controllers::Tree;
use crate::order::Seconds;
use crate::problem::Problem;
use crate::random::Random;
use crate::schedule::{Placement, Schedule};

mod exchange;
mod net;
mod places;
mod reach;
mod recount;
mod regions;
mod repeats;
mod routes;
mod solution;
mod spots;
mod together;
mod ways;

use net::Net;
use reach::Reach;
pub(crate) use repeats::Repeats;
use routes::Routes;
use solution::{Sites, Solution};
use spots::noise;
use ways::{MemoryWays, Ways};

const NONE: u32 = u32::MAX;
/// The temperatures at the beginnings of the cycles, in makespans / sqrt(tasks); each cycle begins with the
/// best schedule that was seen, and cools down to nothing.
const HEATS: [f64; 3] = [0.5, 0.15, 0.045];
/// The same where there are steps for many cycles: what a warm one finds a cool one improves, and some
/// valleys are left by warm ones only.
const HEATS_MANY: [f64; 6] = [0.25, 1.0, 0.3, 1.0, 0.3, 0.1];
/// The same where controllers move too.
const HEATS_THROUGH: [f64; 3] = [0.25, 0.075, 0.0225];
/// Steps of a search for each task, in looks at the graph, that are enough for many cycles.
const LOOKS_MANY: u64 = 500;
/// One move in so many is of any task, not of a critical one.
const ANY_TASK: usize = 4;
/// So many of a hundred moves are of controllers, where there are any.
const OF_CONTROLLERS: usize = 70;
/// So many of a hundred moves are of several tasks at once, in direct mode.
const OF_SEVERAL: usize = 20;
/// So many of a hundred of these are of what lies in a whole group of machines.
const OF_REGIONS: usize = 30;
/// Moves of a hundred of these that exchange two tasks.
const OF_EXCHANGES: usize = 30;
/// So many of a hundred looks at a task count all ways without it.
const EXACT: usize = 10;
/// What is on a slot moves up when a node leaves it, and down when one comes, so many in one step.
const LISTED_A_STEP: u64 = 32;
/// A makespan is better if it is shorter by this part.
const BETTER: f64 = 1e-9;

/// A schedule that is being improved.
pub(crate) struct Search<'a> {
    problem: &'a Problem,
    net: Net,
    sites: Sites,
    routes: Routes,
    tree: Option<&'a Tree>,
    solution: Solution,
    /// The solution before a move of controllers.
    before: Solution,
    /// By node: the least time from its finish to the end of everything, wherever that runs. Empty
    /// in direct mode.
    rest: Vec<f64>,
    /// The longest ways in the present solution.
    now: Ways,
    /// Where memory may run out.
    memory: Option<MemoryWays>,
    /// The same without the node that was taken out.
    without: Ways,
    /// Nodes on a longest way that can be moved.
    critical: Vec<u32>,
    arrivals: Reach,
    tails: Reach,
    random: Random,
    is_one_cycle: bool,
    moves_controllers: bool,
    /// By node: true while it has to be counted again.
    changed: Vec<bool>,
    /// Reused: nodes that a move has given other starts, with their places in the order before it.
    moved: Vec<(Seconds, u32, u32)>,
    /// Reused: a part of the order.
    merged: Vec<u32>,
    /// Tasks, messages and slots looked at so far.
    pub(crate) steps: u64,
}

impl<'a> Search<'a> {
    /// A search that begins with a valid schedule in direct mode.
    pub(crate) fn new(problem: &'a Problem, schedule: &Schedule) -> Search<'a> {
        let sites = Sites::new(problem);
        let solution = Solution::new(problem, &sites, schedule, &[]);
        let net = Net::new(problem);
        let rest = net.rest(problem, &solution.order);
        Search {
            rest,
            ..Search::from_parts(problem, net, sites, None, solution)
        }
    }

    /// A search for which messages pass the controllers of a process, each on a machine.
    pub(crate) fn through(
        problem: &'a Problem,
        schedule: &Schedule,
        tree: &'a Tree,
        controllers: &[u32],
    ) -> Search<'a> {
        let sites = Sites::new(problem);
        let solution = Solution::new(problem, &sites, schedule, controllers);
        let net = Net::new(problem);
        let rest = net.rest(problem, &solution.order);
        Search {
            rest,
            ..Search::from_parts(problem, net, sites, Some(tree), solution)
        }
    }

    fn from_parts(
        problem: &'a Problem,
        net: Net,
        sites: Sites,
        tree: Option<&'a Tree>,
        solution: Solution,
    ) -> Search<'a> {
        let routes = match tree {
            Some(tree) => Routes::through(tree, &net),
            None => Routes::direct(),
        };
        let n_nodes = net.n_nodes();
        let ways = Ways::new(n_nodes);
        let mut search = Search {
            problem,
            net,
            sites,
            routes,
            tree,
            before: solution.clone(),
            solution,
            rest: Vec::new(),
            without: ways.clone(),
            now: ways,
            memory: MemoryWays::new(problem, n_nodes),
            critical: Vec::new(),
            arrivals: Reach::new(problem),
            tails: Reach::new(problem),
            random: Random::new(1),
            is_one_cycle: false,
            moves_controllers: tree.is_some(),
            changed: vec![false; n_nodes],
            moved: Vec::new(),
            merged: Vec::new(),
            steps: 0,
        };
        search.count_costs();
        search.recount();
        search
    }

    /// The same search with one cycle only.
    pub(crate) fn in_one_cycle(self) -> Search<'a> {
        Search {
            is_one_cycle: true,
            ..self
        }
    }

    /// The same search with all controllers where they are.
    pub(crate) fn without_controller_moves(self) -> Search<'a> {
        Search {
            moves_controllers: false,
            ..self
        }
    }

    /// The makespan of the schedule.
    pub(crate) fn makespan(&self) -> f64 {
        self.solution.makespan
    }

    /// The machines of the controllers; none in direct mode.
    pub(crate) fn controllers(&self) -> &[u32] {
        &self.solution.controllers
    }

    /// Improves the schedule until so many steps are used up, nothing can be moved, or it is as
    /// short as is enough.
    pub(crate) fn run(&mut self, steps_max: u64, enough: f64) {
        let from = self.steps;
        let mut best = self.solution.clone();
        let mut cycle = 0;
        let heats = self.heats(steps_max);
        let unit = best.makespan / (self.net.n_nodes().max(1) as f64).sqrt();
        while self.steps - from < steps_max && best.makespan > enough && !self.critical.is_empty() {
            let at = heats.len() as f64 * (self.steps - from) as f64 / steps_max as f64;
            if at as usize > cycle {
                cycle = at as usize;
                if best.makespan < self.solution.makespan {
                    self.solution.copy_from(&best);
                    self.recount();
                }
            }
            let heat = heats[cycle.min(heats.len() - 1)];
            self.make_move(unit * heat * (1.0 - at.fract()));
            if self.solution.makespan < best.makespan * (1.0 - BETTER) {
                best.copy_from(&self.solution);
            }
        }
        if best.makespan < self.solution.makespan {
            self.solution = best;
            self.recount();
        }
    }

    /// The temperature at the beginning of each cycle, in makespans / sqrt(tasks).
    fn heats(&self, steps_max: u64) -> &'static [f64] {
        let n_nodes = self.net.n_nodes() as u64;
        let look = n_nodes + self.net.n_edges() as u64;
        let heats = match (self.moves_controllers, steps_max / (n_nodes * look).max(1)) {
            (true, _) => &HEATS_THROUGH[..],
            (false, LOOKS_MANY..) => &HEATS_MANY,
            (false, _) => &HEATS,
        };
        if self.is_one_cycle {
            &heats[..1]
        } else {
            heats
        }
    }

    fn make_move(&mut self, temperature: f64) {
        let draw = self.random.below(100);
        if self.moves_controllers && draw < OF_CONTROLLERS {
            self.move_controllers(temperature);
        } else if self.tree.is_none() && self.memory.is_none() && draw < OF_SEVERAL {
            match self.random.below(100) {
                ..OF_REGIONS => self.move_region(temperature),
                draw if draw < OF_REGIONS + OF_EXCHANGES => self.move_exchange(temperature),
                _ => self.move_together(temperature),
            }
        } else {
            let node = self.some_node();
            self.move_node(node, temperature);
        }
    }

    /// The schedule as it is.
    pub(crate) fn schedule(&self) -> Schedule {
        let solution = &self.solution;
        let n_tasks = self.problem.dag().n_tasks() as u32;
        let entries = (0..n_tasks).map(|task| self.placement(task));
        let hosts = 0..self.problem.hosts().len() as u32;
        let order = hosts.map(|host| {
            let lists = self.sites.slots(host);
            let tasks = |list: &Vec<u32>| {
                let owners = list.iter().map(|&link| solution.owner[link as usize]);
                owners.filter(|&node| node < n_tasks).collect()
            };
            solution.lists[lists].iter().map(tasks).collect()
        });
        Schedule {
            entries: entries.collect(),
            order: order.collect(),
        }
    }

    fn placement(&self, node: u32) -> Placement {
        Placement {
            task: node,
            host: self.solution.host[node as usize],
            slot: self.slot_on_host(node),
            start: self.now.start[node as usize],
            finish: self.now.finish[node as usize],
        }
    }

    /// The lowest slot that a node holds, numbered on its machine; 0 for gates and what started.
    fn slot_on_host(&self, node: u32) -> u32 {
        let solution = &self.solution;
        let slots = solution.links(node).map(|link| solution.slot[link]);
        slots.min().map_or(0, |slot| {
            slot - self.sites.first[self.sites.host[slot as usize] as usize]
        })
    }

    /// True if the search may move a node.
    fn moves(&self, node: u32) -> bool {
        self.problem.dag().cores(node) <= 1 && self.problem.fixed(node).is_none()
    }

    /// A critical node, or sometimes any.
    fn some_node(&mut self) -> u32 {
        match self.random.below(ANY_TASK) {
            0 => self.random.below(self.net.n_nodes()) as u32,
            _ => self.critical[self.random.below(self.critical.len())],
        }
    }

    /// Moves a node to the best other place, or leaves it where that is too much worse.
    fn move_node(&mut self, node: u32, temperature: f64) {
        self.steps += 1;
        if !self.moves(node) {
            return;
        }
        if self.memory.is_some() {
            self.before.copy_from(&self.solution);
        }
        let old = self.neighbours(node);
        let links = self.solution.links(node);
        let lists = links.map(|link| &self.solution.lists[self.solution.slot[link] as usize]);
        self.steps += lists.map(Vec::len).sum::<usize>() as u64 / LISTED_A_STEP;
        self.solution.unlink(node);
        // With the node in place, ways are counted too long at most, where it is on them; then what seems
        // allowed is.
        let exact = self.memory.is_some() || self.random.below(100) < EXACT;
        if exact {
            self.count_without(node);
        } else {
            std::mem::swap(&mut self.now, &mut self.without);
        }
        let allowed = self.solution.makespan + noise(&mut self.random, temperature);
        let spot = self.find_spot(node, temperature);
        if !exact {
            std::mem::swap(&mut self.now, &mut self.without);
        }
        match spot {
            Some(spot) if spot.length <= allowed => {
                self.put(node, spot);
                if self.memory.is_none() {
                    return self.recount_around(node, old);
                }
                self.recount();
                // The effect of memory on a move is known only when all is counted again.
                if self.solution.makespan > allowed {
                    std::mem::swap(&mut self.solution, &mut self.before);
                    self.recount();
                }
            }
            Some(_) | None => self.solution.relink(node),
        }
    }

    fn count_costs(&mut self) {
        self.solution.cost = vec![0.0; self.net.n_edges()];
        for edge in 0..self.net.n_edges() {
            self.count_cost(edge);
        }
    }

    fn count_cost(&mut self, edge: usize) {
        let ends = [self.net.from[edge], self.net.to[edge]];
        let hosts = ends.map(|node| self.solution.host[node as usize]);
        let (data, controllers) = (self.net.data[edge], &self.solution.controllers);
        let cost = self
            .routes
            .cost(self.problem, controllers, edge, data, hosts);
        self.solution.cost[edge] = cost;
    }
}

#[cfg(test)]
mod tests;
