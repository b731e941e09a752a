//! The distance of a node from its predecessors or successors, for each machine that it could be on.

use crate::problem::{OUTSIDE, Problem};

/// The latest of several moments that lie on machines and reach others over links, by group and
/// not by machine: machines of a group differ only in what lies on themselves. It serves arrivals
/// (finishes, messages forward) and tails (what is to come, messages backward) alike.
pub(super) struct Reach {
    /// By group: the latest, and the machine that it comes from.
    top: Vec<(f64, u32)>,
    /// By group: the latest from any other machine.
    second: Vec<f64>,
    /// By machine: the latest that lies on it.
    local: Vec<f64>,
    touched: Vec<u32>,
}

/// The direction of messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the machine that is asked about.
    Here,
    /// From it.
    Away,
}

impl Reach {
    pub(super) fn new(problem: &Problem) -> Reach {
        let n_groups = problem.links().n_groups() as usize;
        Reach {
            top: vec![(0.0, OUTSIDE); n_groups],
            second: vec![0.0; n_groups],
            local: vec![0.0; problem.hosts().len()],
            touched: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.top.fill((0.0, OUTSIDE));
        self.second.fill(0.0);
        for host in self.touched.drain(..) {
            self.local[host as usize] = 0.0;
        }
    }

    /// One more moment on a machine, with the data that lies between.
    pub(super) fn add(&mut self, problem: &Problem, at: f64, host: u32, data: f64, way: Way) {
        if host != OUTSIDE {
            let local = &mut self.local[host as usize];
            *local = local.max(at);
            self.touched.push(host);
        }
        let links = problem.links();
        let there = problem.group(host);
        for (here, (top, second)) in (0u32..).zip(self.top.iter_mut().zip(&mut self.second)) {
            let at = at
                + match way {
                    Way::Here => links.seconds(data, there, here),
                    Way::Away => links.seconds(data, here, there),
                };
            if host == top.1 {
                top.0 = top.0.max(at);
            } else if at > top.0 {
                (*second, *top) = (top.0, (at, host));
            } else {
                *second = second.max(at);
            }
        }
    }

    /// The latest as seen from a machine of a group.
    pub(super) fn at(&self, host: u32, group: u32) -> f64 {
        let (top, from) = self.top[group as usize];
        if from == host {
            self.second[group as usize].max(self.local[host as usize])
        } else {
            top
        }
    }
}
