//! Moves of several tasks to another machine at once.
//!
//! Where messages are dear, tasks that exchange data sit together, and no one of them can leave alone
//! without making the schedule much longer. So a task goes with those that belong to it; then a few tasks
//! that have become critical may move too before the move is judged.

use super::{NONE, Search};
use crate::problem::OUTSIDE;

/// A group that follows messages has at most so many tasks...
const TOGETHER_MAX: usize = 12;
/// ...and one that takes over a whole machine so many.
const MERGED_MAX: usize = 48;

/// The tasks that go with another one.
#[derive(Clone, Copy)]
enum With {
    /// Those that exchange data with it on its machine, directly or through others there.
    Messages,
    /// Those that get its data there, and those that get theirs.
    Successors,
    /// Those that send data to it there, and those that send data to them.
    Predecessors,
    /// Those that run after it on its slot.
    Slot,
    /// All that is on its machine.
    Machine,
}

const WITH: [With; 5] = [
    With::Messages,
    With::Successors,
    With::Predecessors,
    With::Slot,
    With::Machine,
];

impl Search<'_> {
    /// Moves a task with what belongs to it to another machine, unless that is too much worse. The order
    /// stays.
    pub(super) fn move_together(&mut self, temperature: f64) {
        self.steps += 1;
        let node = self.some_node();
        let here = self.solution.host[node as usize];
        let there = self.some_host_for(node);
        if !self.moves(node) || there == here || there == OUTSIDE || here == OUTSIDE {
            return;
        }
        let group = self.group_of(node);
        if group.len() < 2 || group.iter().any(|&task| !self.problem.fits(task, there)) {
            return;
        }
        self.before.copy_from(&self.solution);
        self.steps += (self.net.n_nodes() + self.net.n_edges()) as u64 / 2;
        for &task in &group {
            self.solution.unlink(task);
            self.solution.host[task as usize] = there;
        }
        let slots = self.sites.slots(there);
        let slot = slots.start + self.random.below(slots.len());
        let tasks: Vec<(u32, u32)> = group.into_iter().map(|task| (task, there)).collect();
        for &(task, _) in &tasks {
            self.put_in_its_place(task, there, slot);
        }
        self.judge(&tasks, temperature);
    }

    /// A task and what goes with it; all of them can be moved.
    fn group_of(&mut self, node: u32) -> Vec<u32> {
        let with = WITH[self.random.below(WITH.len())];
        let most = 2 + self.random.below(TOGETHER_MAX - 1);
        match with {
            With::Messages => self.reached(node, most, true, true),
            With::Successors => self.reached(node, most, false, true),
            With::Predecessors => self.reached(node, most, true, false),
            With::Slot => self.run_after(node, most),
            With::Machine => self.all_beside(node),
        }
    }

    /// The tasks that messages reach on the machine of a task.
    fn reached(&mut self, node: u32, most: usize, back: bool, on: bool) -> Vec<u32> {
        let here = self.solution.host[node as usize];
        let mut group = vec![node];
        let mut next = 0;
        while let Some(&task) = group.get(next).filter(|_| group.len() < most) {
            next += 1;
            let before = self
                .net
                .incoming(task)
                .map(|edge| (self.net.from[edge], edge));
            let after = self
                .net
                .outgoing(task)
                .iter()
                .map(|&(to, edge)| (to, edge as usize));
            let before = before.filter(|_| back);
            for (other, edge) in before.chain(after.filter(|_| on)) {
                self.steps += 1;
                let is_there = self.solution.host[other as usize] == here;
                let has_data = self.net.data[edge] > 0.0;
                if is_there
                    && has_data
                    && self.moves(other)
                    && !group.contains(&other)
                    && group.len() < most
                {
                    group.push(other);
                }
            }
        }
        group
    }

    /// A task and what runs after it on its slot.
    fn run_after(&self, node: u32, most: usize) -> Vec<u32> {
        let mut group = vec![node];
        let mut link = self
            .solution
            .links(node)
            .next()
            .map_or(NONE, |link| self.solution.next[link]);
        while link != NONE && group.len() < most {
            let task = self.solution.owner[link as usize];
            if self.moves(task) {
                group.push(task);
            }
            link = self.solution.next[link as usize];
        }
        group
    }

    /// All tasks on the machine of a task; none where there are too many.
    fn all_beside(&mut self, node: u32) -> Vec<u32> {
        let slots = self.sites.slots(self.solution.host[node as usize]);
        let lists = &self.solution.lists[slots];
        if lists.iter().map(Vec::len).sum::<usize>() > MERGED_MAX {
            return Vec::new();
        }
        let owners = lists
            .iter()
            .flatten()
            .map(|&link| self.solution.owner[link as usize]);
        let owners: Vec<u32> = owners.collect();
        owners
            .into_iter()
            .filter(|&task| self.moves(task))
            .collect()
    }
}
