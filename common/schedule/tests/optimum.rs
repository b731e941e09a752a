//! On small graphs the plan is the optimum, as a search of another kind says: first a slot for each task,
//! then the order of any two tasks of a slot that overlap.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::collections::BTreeMap;

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::random::Random;
use schedule::{Dag, Problem, Task, Xavantes, check};

const GRAPHS: u64 = 200;
const TASKS_MAX: usize = 12;
/// Seconds of budget for each.
const BUDGET: f64 = 0.5;
/// Seconds by which nothing is shorter.
const SHORTER: f64 = 1e-6;

#[test]
fn the_plan_of_a_small_graph_is_the_optimum() {
    let mut n_improved = 0;
    for seed in 0..GRAPHS {
        let problem = drawn(seed);
        let run = Xavantes::within(BUDGET).run(&problem).unwrap();
        check(&problem, &run.schedule).unwrap();
        let makespan = run.schedule.makespan();
        let members = run
            .estimates
            .iter()
            .filter(|estimate| estimate.scheduler != run.scheduler);
        let best = members.filter_map(|estimate| estimate.makespan);
        n_improved += u64::from(makespan < best.fold(f64::INFINITY, f64::min) - SHORTER);
        let shorter = Orders::new(&problem, makespan - SHORTER).find();
        assert_eq!(
            shorter, None,
            "seed {seed}: {makespan} s is not the optimum"
        );
        // The other search would find it.
        let found = Orders::new(&problem, makespan + SHORTER).find();
        assert!(
            found.is_some_and(|found| found <= makespan + SHORTER),
            "seed {seed}"
        );
    }
    assert!(n_improved > GRAPHS / 4, "only {n_improved} were improved");
}

/// Up to 12 tasks on two to four slots, with messages of any cost.
fn drawn(seed: u64) -> Problem {
    let mut random = Random::new(1_000 + seed);
    let n_tasks = TASKS_MAX - random.below(6);
    let task = |random: &mut Random| Task {
        work: if random.below(12) == 0 {
            0.0
        } else {
            10.0 * random.unit()
        },
        cores: 1,
    };
    let tasks: Vec<Task> = (0..n_tasks).map(|_| task(&mut random)).collect();
    let dear = [0.3, 3.0, 30.0][random.below(3)];
    let n_edges = n_tasks + random.below(n_tasks);
    let mut edges = BTreeMap::new();
    for _ in 0..n_edges {
        let (one, other) = (random.below(n_tasks) as u32, random.below(n_tasks) as u32);
        if one != other {
            let data = dear * random.unit();
            edges.insert((one.min(other), one.max(other)), data);
        }
    }
    let edges: Vec<_> = edges
        .into_iter()
        .map(|((from, to), data)| (from, to, data))
        .collect();
    let machines = [&[1, 1][..], &[1, 1, 1], &[2, 1], &[1, 1, 1, 1], &[2, 2]][random.below(5)];
    let alike = random.below(2) == 0;
    let resources = machines.iter().zip(0u32..).map(|(&slots, id)| Resource {
        id: ResourceId::new(GroupId::new((id / 2).into()), id),
        name: format!("m{id}"),
        power: if alike {
            1.0
        } else {
            0.5 + 2.0 * random.unit()
        },
        slots,
        memory: Bytes::ZERO,
        labels: BTreeMap::new(),
    });
    let link = |bandwidth| NetworkLink {
        bandwidth,
        latency: 0.1,
    };
    let mut network = Network::uniform(link(1.0));
    network.inside = link(5.0);
    let platform = Platform::new(resources.collect(), network).unwrap();
    Problem::new(Dag::new(&tasks, &edges).unwrap(), &platform).unwrap()
}

/// A search for an order and slots that end before a limit.
struct Orders<'a> {
    problem: &'a Problem,
    limit: f64,
    /// By slot: its machine.
    hosts: Vec<u32>,
    /// By task: its slot.
    slots: Vec<usize>,
    /// By task: those of its slot that it runs after, as far as that is decided.
    after: Vec<Vec<u32>>,
}

impl<'a> Orders<'a> {
    fn new(problem: &'a Problem, limit: f64) -> Orders<'a> {
        let hosts = (0u32..).zip(problem.hosts());
        let hosts =
            hosts.flat_map(|(number, host)| std::iter::repeat_n(number, host.slots as usize));
        Orders {
            problem,
            limit,
            hosts: hosts.collect(),
            slots: Vec::new(),
            after: vec![Vec::new(); problem.dag().n_tasks()],
        }
    }

    /// The length of an order that ends before the limit; none if there is none.
    fn find(&mut self) -> Option<f64> {
        let (finish, makespan) = self.times()?;
        if self.slots.len() == self.problem.dag().n_tasks() {
            return self.divide(&finish, makespan);
        }
        for slot in 0..self.hosts.len() {
            // A slot that nothing is on yet is like the one before it on its machine.
            let is_empty = |slot: usize| !self.slots.contains(&slot);
            let like_before = slot > 0 && self.hosts[slot - 1] == self.hosts[slot];
            if like_before && is_empty(slot) && is_empty(slot - 1) {
                continue;
            }
            self.slots.push(slot);
            let found = self.find();
            self.slots.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Two tasks that overlap on a slot run in either order.
    fn divide(&mut self, finish: &[f64], makespan: f64) -> Option<f64> {
        let Some((one, other)) = self.overlap(finish) else {
            return Some(makespan);
        };
        for (first, second) in [(one, other), (other, one)] {
            self.after[second as usize].push(first);
            let found = match self.times() {
                Some((finish, makespan)) => self.divide(&finish, makespan),
                None => None,
            };
            self.after[second as usize].pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn overlap(&self, finish: &[f64]) -> Option<(u32, u32)> {
        let start = |task: u32| finish[task as usize] - self.duration(task);
        let tasks = 0..self.slots.len() as u32;
        let mut pairs = tasks.flat_map(|one| (0..one).map(move |other| (other, one)));
        // Tasks that take no time hold their slots too: none runs inside another one.
        let begins_inside = |one: u32, other: u32| start(one) < finish[other as usize] - 1e-9;
        pairs.find(|&(one, other)| {
            let shared = self.slots[one as usize] == self.slots[other as usize];
            shared && begins_inside(one, other) && begins_inside(other, one)
        })
    }

    /// The times at which tasks can end as far as slots and orders are decided, and the length of all; none if that
    /// reaches the limit, or if tasks wait for each other.
    fn times(&self) -> Option<(Vec<f64>, f64)> {
        let dag = self.problem.dag();
        let mut load = vec![0.0; self.hosts.len()];
        for (task, &slot) in self.slots.iter().enumerate() {
            load[slot] += self.duration(task as u32);
        }
        if load.iter().any(|&load| load >= self.limit) {
            return None;
        }
        let mut finish: Vec<f64> = dag.tasks().map(|task| self.duration(task)).collect();
        // Each round carries times along one more edge at least.
        for round in 0.. {
            let mut changed = false;
            for task in dag.tasks() {
                let messages = dag
                    .predecessors(task)
                    .map(|(pred, edge)| finish[pred as usize] + self.message(pred, task, edge));
                let orders = self.after[task as usize]
                    .iter()
                    .map(|&first| finish[first as usize]);
                let end = messages.chain(orders).fold(0.0, f64::max) + self.duration(task);
                if end > finish[task as usize] {
                    (finish[task as usize], changed) = (end, true);
                }
            }
            let makespan = finish.iter().copied().fold(0.0, f64::max);
            if makespan >= self.limit || round > dag.n_tasks() {
                return None;
            }
            if !changed {
                return Some((finish, makespan));
            }
        }
        None
    }

    /// Where it is, or the shortest of all while it has no slot.
    fn duration(&self, task: u32) -> f64 {
        match self.slots.get(task as usize) {
            Some(&slot) => self.problem.duration(task, self.hosts[slot]),
            None => self.problem.duration_min(task),
        }
    }

    fn message(&self, from: u32, to: u32, edge: u32) -> f64 {
        match (self.slots.get(from as usize), self.slots.get(to as usize)) {
            (Some(&from), Some(&to)) => {
                self.problem
                    .transfer(edge, self.hosts[from], self.hosts[to])
            }
            (_, None) | (None, _) => 0.0,
        }
    }
}
