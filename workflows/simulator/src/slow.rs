//! Process managers whose steps take time, and clients that crowd there.

use model::Mono;
use process_core::{Caller, ClientId, Input};
use wire::client::Request;

use crate::random::Random;
use crate::sim::{Happening, Node, Sim};

/// Times at which clients crowd at a process manager in a slow run, from and to.
const CROWDS: (u64, u64) = (1, 4);
/// Requests of a crowd, from and to.
const REQUESTS: (u64, u64) = (10, 80);
/// The number of a client of whom nobody waits for an answer.
const NOBODY: ClientId = ClientId(u64::MAX);

impl Sim {
    /// Has the process managers take time for their steps, if the seed says so. The draws are apart
    /// from all others.
    pub(crate) fn slow_down(&mut self, seed: u64) {
        let step_max = self.setup.step_max(seed);
        if step_max.0 == 0 {
            return;
        }
        let mut random = Random::new(seed ^ 0x6372_6f77_6473_0001);
        let (_, latest) = self.setup.fault_phase;
        for manager in 0..self.processes.len() {
            self.processes[manager].set_pace(Some((random.fork(), step_max)));
            for _ in 0..random.between(CROWDS.0, CROWDS.1) {
                let at = Mono(random.below(latest.0));
                self.calendar.enter(at, Happening::Crowd(manager));
            }
        }
    }

    /// A client sends many requests at once.
    pub(crate) fn crowd(&mut self, manager: usize) {
        let n_requests = self.random.between(REQUESTS.0, REQUESTS.1);
        self.note(&[11], || {
            format!("{n_requests} requests come to manager {manager}")
        });
        for number in 0..n_requests {
            let list = Input::Request(NOBODY, Caller::Local, number, Request::List);
            self.processes[manager].put(list);
        }
        self.turn_soon(Node::Process(manager));
    }
}
