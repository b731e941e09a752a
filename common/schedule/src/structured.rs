//! Random graphs of the programming model: sequences and parallel parts, nested, with the tree of
//! their controllers. Bittencourt and Madeira's experiments use such graphs (section 9 of the
//! digest tells how they are drawn).

use crate::dag::{Dag, Task};
use crate::platform::MessageCost;
use crate::random::Random;

/// The width of parallel parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The most branches of a parallel part.
    pub branches: u32,
    /// The least part of the activities left that go into a parallel part, from 0 to 1.
    pub fat: f64,
    /// The greatest depth of nested parallel parts.
    pub depth: u32,
}

impl Shape {
    /// Sequential time / critical path 5.5 in the mean.
    pub const WIDE: Shape = Shape {
        branches: 30,
        fat: 0.8,
        depth: 2,
    };
    /// 4.3 in the mean.
    pub const MIDDLE: Shape = Shape {
        branches: 12,
        fat: 0.7,
        depth: 2,
    };
    /// 3.2 in the mean.
    pub const NARROW: Shape = Shape {
        branches: 6,
        fat: 0.5,
        depth: 2,
    };
}

/// The numbers of activities of the fifteen graphs of the experiments.
pub const SIZES: [u32; 15] = [7, 12, 18, 23, 28, 34, 39, 45, 50, 55, 61, 66, 71, 77, 82];

/// The edges between activities, and the controller of each activity; costs are drawn apart, since
/// an experiment draws them anew for the same graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structured {
    n_tasks: u32,
    edges: Vec<(u32, u32)>,
    /// The controller above each controller; the first one is the root.
    pub parents: Vec<Option<u32>>,
    /// The controller of each activity, in the order of the input of the graph.
    pub controllers: Vec<u32>,
}

impl Structured {
    /// A graph of a number of activities. Numbers ascend along edges.
    pub fn new(n_tasks: u32, shape: Shape, seed: u64) -> Structured {
        let mut drawing = Drawing {
            graph: Structured {
                n_tasks: 0,
                edges: Vec::new(),
                parents: Vec::new(),
                controllers: Vec::new(),
            },
            random: Random::new(seed),
            shape,
        };
        drawing.sequence(n_tasks, shape.depth, None, None);
        drawing.graph
    }

    /// The graph with costs drawn: works of 500 to 1100 and messages in the range of their kind,
    /// both in time units on a machine of power 1 and a link of bandwidth 1.
    pub fn graph(&self, messages: MessageCost, seed: u64) -> Dag {
        let mut random = Random::new(seed);
        let mut between = |(least, largest): (f64, f64)| least + (largest - least) * random.unit();
        let tasks: Vec<Task> = (0..self.n_tasks)
            .map(|_| Task {
                work: between((500.0, 1_100.0)),
                cores: 1,
            })
            .collect();
        let edges: Vec<(u32, u32, f64)> = self
            .edges
            .iter()
            .map(|&(from, to)| (from, to, between(messages.range())))
            .collect();
        Dag::new(&tasks, &edges).expect("edges go from lower to higher numbers")
    }
}

struct Drawing {
    graph: Structured,
    random: Random,
    shape: Shape,
}

impl Drawing {
    /// Draws a sequence after a task, inside a controller; returns its last task. It nests no
    /// deeper than the shape says.
    fn sequence(
        &mut self,
        n_tasks: u32,
        depth: u32,
        above: Option<u32>,
        after: Option<u32>,
    ) -> Option<u32> {
        let controller = self.controller(above);
        let mut last = after;
        let mut left = n_tasks;
        let nests = n_tasks >= 4 && depth > 0;
        while left > 0 {
            let first = last == after && left == n_tasks;
            if nests && left >= 3 && !first {
                let least = (self.shape.fat * f64::from(left - 1)) as u32;
                let inside = self.uniform(least.max(2), left - 1);
                let ends = self.parallel(inside, depth, controller, last);
                let join = self.task(controller);
                let joined = ends.into_iter().map(|end| (end, join));
                self.graph.edges.extend(joined);
                last = Some(join);
                left -= inside + 1;
            } else {
                let task = self.task(controller);
                self.graph.edges.extend(last.map(|before| (before, task)));
                last = Some(task);
                left -= 1;
            }
        }
        last
    }

    /// Draws the branches of a parallel part; returns their last tasks.
    fn parallel(&mut self, n_tasks: u32, depth: u32, above: u32, fork: Option<u32>) -> Vec<u32> {
        let controller = self.controller(Some(above));
        let most = self.shape.branches.min(n_tasks);
        let n_branches = self.uniform((most / 2).max(2), most);
        let mut sizes = vec![1; n_branches as usize];
        for _ in n_branches..n_tasks {
            sizes[self.random.below(n_branches as usize)] += 1;
        }
        let mut ends = Vec::new();
        for size in sizes {
            let end = if size == 1 {
                let task = self.task(controller);
                self.graph.edges.extend(fork.map(|before| (before, task)));
                Some(task)
            } else {
                self.sequence(size, depth - 1, Some(controller), fork)
            };
            ends.extend(end);
        }
        ends
    }

    fn controller(&mut self, above: Option<u32>) -> u32 {
        self.graph.parents.push(above);
        self.graph.parents.len() as u32 - 1
    }

    fn task(&mut self, controller: u32) -> u32 {
        self.graph.controllers.push(controller);
        self.graph.n_tasks += 1;
        self.graph.n_tasks - 1
    }

    /// A whole number between two, both included; the first where they are the wrong way round.
    fn uniform(&mut self, least: u32, largest: u32) -> u32 {
        least
            + self
                .random
                .below(1 + largest.saturating_sub(least) as usize) as u32
    }
}

#[cfg(test)]
mod tests;
