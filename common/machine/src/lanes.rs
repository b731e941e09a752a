//! The queue of inputs before a machine, in three lanes, so that what must not wait overtakes what
//! may, and nobody who sends much keeps others waiting.

use std::collections::VecDeque;

/// Urgent items taken one after another while others wait: a sender of nothing but urgent ones must
/// not stop everything else.
const URGENT_RUN: usize = 64;

/// The lane of an input. The order within a lane is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Taken first: something ends if it waits for long, and it takes little time.
    Urgent,
    /// What managers say to each other, and what a manager's own threads have done.
    Peers,
    /// Requests of clients. They take turns with the peers' inputs, however many there are of each.
    Clients,
}

/// Items that wait.
#[derive(Debug)]
pub struct Lanes<T> {
    urgent: VecDeque<T>,
    peers: VecDeque<T>,
    clients: VecDeque<T>,
    /// Urgent items taken since the last other one.
    n_urgent_taken: usize,
    /// True if the last item that was not urgent was a peer's.
    was_peers: bool,
}

impl<T> Default for Lanes<T> {
    fn default() -> Lanes<T> {
        Lanes {
            urgent: VecDeque::new(),
            peers: VecDeque::new(),
            clients: VecDeque::new(),
            n_urgent_taken: 0,
            was_peers: false,
        }
    }
}

impl<T> Lanes<T> {
    /// Appends an item to a lane.
    pub fn push(&mut self, lane: Lane, item: T) {
        self.lane_mut(lane).push_back(item);
    }

    /// Takes the next item.
    pub fn pop(&mut self) -> Option<(Lane, T)> {
        let lane = self.next()?;
        match lane {
            Lane::Urgent => self.n_urgent_taken += 1,
            Lane::Peers | Lane::Clients => {
                self.n_urgent_taken = 0;
                self.was_peers = lane == Lane::Peers;
            }
        }
        let item = self.lane_mut(lane).pop_front()?;
        Some((lane, item))
    }

    /// Takes the next item of one lane.
    pub fn pop_from(&mut self, lane: Lane) -> Option<T> {
        self.lane_mut(lane).pop_front()
    }

    /// Removes all items.
    pub fn clear(&mut self) {
        *self = Lanes::default();
    }

    /// The number of items in all lanes.
    pub fn len(&self) -> usize {
        self.urgent.len() + self.peers.len() + self.clients.len()
    }

    /// The number of items in a lane.
    pub fn len_of(&self, lane: Lane) -> usize {
        match lane {
            Lane::Urgent => self.urgent.len(),
            Lane::Peers => self.peers.len(),
            Lane::Clients => self.clients.len(),
        }
    }

    /// Returns true if no item waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn next(&self) -> Option<Lane> {
        let (peers, clients) = (!self.peers.is_empty(), !self.clients.is_empty());
        let may_go_on = self.n_urgent_taken < URGENT_RUN || !(peers || clients);
        if !self.urgent.is_empty() && may_go_on {
            return Some(Lane::Urgent);
        }
        match (peers, clients) {
            (true, true) if self.was_peers => Some(Lane::Clients),
            (true, _) => Some(Lane::Peers),
            (false, true) => Some(Lane::Clients),
            (false, false) => None,
        }
    }

    fn lane_mut(&mut self, lane: Lane) -> &mut VecDeque<T> {
        match lane {
            Lane::Urgent => &mut self.urgent,
            Lane::Peers => &mut self.peers,
            Lane::Clients => &mut self.clients,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lanes: &mut Lanes<u32>) -> Vec<u32> {
        std::iter::from_fn(|| lanes.pop().map(|(_, item)| item)).collect()
    }

    #[test]
    fn urgent_items_are_first_and_peers_and_clients_take_turns() {
        let mut lanes = Lanes::default();
        for item in 0..4 {
            lanes.push(Lane::Clients, 20 + item);
        }
        for item in 0..2 {
            lanes.push(Lane::Peers, 10 + item);
        }
        lanes.push(Lane::Urgent, 1);
        lanes.push(Lane::Urgent, 2);
        assert_eq!((lanes.len(), lanes.len_of(Lane::Clients)), (8, 4));
        assert_eq!(taken(&mut lanes), [1, 2, 10, 20, 11, 21, 22, 23]);
        assert!(lanes.is_empty());
    }

    #[test]
    fn many_urgent_items_do_not_stop_the_others() {
        let mut lanes = Lanes::default();
        for item in 0..200 {
            lanes.push(Lane::Urgent, item);
        }
        lanes.push(Lane::Clients, 1_000);
        lanes.push(Lane::Peers, 1_001);
        let all = taken(&mut lanes);
        let place = |item| all.iter().position(|one| *one == item);
        assert_eq!(place(1_001), Some(URGENT_RUN));
        assert_eq!(place(1_000), Some(2 * URGENT_RUN + 1));
        assert_eq!(all.len(), 202);
    }
}
