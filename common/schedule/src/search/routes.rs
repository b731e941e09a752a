//! The cost of messages: from machine to machine, or through the controllers of a process.

use super::net::Net;
use crate::controllers::Tree;
use crate::problem::{OUTSIDE, Problem};

/// The stops of each message.
#[derive(Clone)]
pub(super) struct Routes {
    through: Option<Through>,
}

#[derive(Clone)]
struct Through {
    /// By edge: where its controllers begin in `stops`.
    off: Vec<u32>,
    stops: Vec<u32>,
    /// By controller: the edges that pass it.
    passing: Vec<Vec<u32>>,
}

impl Routes {
    /// Messages go from machine to machine.
    pub(super) fn direct() -> Routes {
        Routes { through: None }
    }

    /// Messages pass the controllers of a tree; each node stands for its task. O(e d) for depth d.
    pub(super) fn through(tree: &Tree, net: &Net) -> Routes {
        let mut through = Through {
            off: vec![0],
            stops: Vec::new(),
            passing: vec![Vec::new(); tree.n_controllers()],
        };
        for node in 0..net.n_nodes() as u32 {
            for edge in net.incoming(node) {
                let (up, down) = tree.way(net.from[edge], node);
                for &controller in up.iter().chain(down.iter().rev()) {
                    through.stops.push(controller);
                    through.passing[controller as usize].push(edge as u32);
                }
                through.off.push(through.stops.len() as u32);
            }
        }
        Routes {
            through: Some(through),
        }
    }

    /// The edges that pass a controller.
    pub(super) fn passing(&self, controller: u32) -> &[u32] {
        match &self.through {
            Some(through) => &through.passing[controller as usize],
            None => &[],
        }
    }

    /// Seconds from machine to machine.
    pub(super) fn cost(
        &self,
        problem: &Problem,
        controllers: &[u32],
        edge: usize,
        data: f64,
        [from, to]: [u32; 2],
    ) -> f64 {
        let (seconds, last) = self.before(problem, controllers, edge, data, from);
        seconds + transfer(problem, data, last, to)
    }

    /// Seconds to the last stop before the receiver, and the machine of that stop.
    pub(super) fn before(
        &self,
        problem: &Problem,
        controllers: &[u32],
        edge: usize,
        data: f64,
        from: u32,
    ) -> (f64, u32) {
        along(problem, self.stops(edge).iter(), controllers, data, from)
    }

    /// Seconds from the first stop behind the sender, and the machine of that stop.
    pub(super) fn after(
        &self,
        problem: &Problem,
        controllers: &[u32],
        edge: usize,
        data: f64,
        to: u32,
    ) -> (f64, u32) {
        // Links are the same both ways.
        along(
            problem,
            self.stops(edge).iter().rev(),
            controllers,
            data,
            to,
        )
    }

    /// The controllers that a message passes.
    pub(super) fn stops(&self, edge: usize) -> &[u32] {
        match &self.through {
            Some(through) => {
                &through.stops[through.off[edge] as usize..through.off[edge + 1] as usize]
            }
            None => &[],
        }
    }
}

fn along<'a>(
    problem: &Problem,
    stops: impl Iterator<Item = &'a u32>,
    controllers: &[u32],
    data: f64,
    from: u32,
) -> (f64, u32) {
    let mut here = from;
    let mut seconds = 0.0;
    for &controller in stops {
        let next = controllers[controller as usize];
        seconds += transfer(problem, data, here, next);
        here = next;
    }
    (seconds, here)
}

/// Seconds that data takes from machine to machine.
fn transfer(problem: &Problem, data: f64, from: u32, to: u32) -> f64 {
    if from == to && from != OUTSIDE {
        return 0.0;
    }
    let groups = (problem.group(from), problem.group(to));
    problem.links().seconds(data, groups.0, groups.1)
}
