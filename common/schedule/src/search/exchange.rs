//! Moves that exchange two tasks between slots.
//!
//! Where a few long tasks fill the slots, one more of them on a slot makes a schedule far too long, so that none
//! of them ever moves alone. Two tasks that take about as long change places at little cost.

use super::{NONE, Search};
use crate::problem::OUTSIDE;

/// Tasks that are drawn as partners; the one nearest in work is taken. More would leave little to chance.
const DRAWN: usize = 8;

impl Search<'_> {
    /// Exchanges the slots of two tasks, unless that is too much worse. The order stays.
    pub(super) fn move_exchange(&mut self, temperature: f64) {
        self.steps += 1;
        let node = self.some_node();
        let Some(other) = self.partner_of(node) else {
            return;
        };
        let slots = [node, other].map(|task| self.slot_of(task));
        let hosts = [node, other].map(|task| self.solution.host[task as usize]);
        self.before.copy_from(&self.solution);
        self.steps += (self.net.n_nodes() + self.net.n_edges()) as u64 / 2;
        let moves = [(node, hosts[1], slots[1]), (other, hosts[0], slots[0])];
        for (task, host, _) in moves {
            self.solution.unlink(task);
            self.solution.host[task as usize] = host;
        }
        for (task, host, slot) in moves {
            self.put_in_its_place(task, host, slot as usize);
        }
        self.judge(&moves.map(|(task, host, _)| (task, host)), temperature);
    }

    /// Of some tasks on other slots the one whose work is nearest to that of a task; each could be where the
    /// other one is.
    fn partner_of(&mut self, node: u32) -> Option<u32> {
        let slot = self.slot_of(node);
        if !self.moves(node) || slot == NONE {
            return None;
        }
        let here = self.solution.host[node as usize];
        let work = |task: u32| self.problem.dag().work(task);
        let mut nearest: Option<(f64, u32)> = None;
        self.steps += DRAWN as u64;
        for _ in 0..DRAWN {
            let other = self.random.below(self.net.n_nodes()) as u32;
            let there = self.solution.host[other as usize];
            let is_apart = ![NONE, slot].contains(&self.slot_of(other));
            let may_change = self.moves(other)
                && there != OUTSIDE
                && self.problem.fits(node, there)
                && self.problem.fits(other, here);
            let distance = (work(node) - work(other)).abs();
            if is_apart && may_change && nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, other));
            }
        }
        nearest.map(|(_, other)| other)
    }

    /// The slot of a task; none of one that holds none.
    fn slot_of(&self, node: u32) -> u32 {
        let link = self.solution.links(node).next();
        link.map_or(NONE, |link| self.solution.slot[link])
    }
}
