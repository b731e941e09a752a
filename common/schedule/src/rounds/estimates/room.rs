//! The memory of estimates, which a question needs several of, one after the other.

use super::Estimates;
use crate::rounds::routes::Routes;

/// Memory that estimates have left.
#[derive(Default)]
pub(in crate::rounds) struct Room {
    pub(super) floats: [Vec<f64>; 6],
    pub(super) numbers: [Vec<u32>; 5],
    pub(super) marks: [Vec<u64>; 2],
    pub(super) flags: [Vec<bool>; 2],
    pub(super) lists: Vec<Vec<(u32, u32)>>,
    pub(super) undo: Vec<(u32, [f64; 3])>,
    /// The ways of messages, which are the same for all estimates between two changes of them.
    pub(in crate::rounds) routes: Routes,
}

/// So many times a value.
pub(super) fn filled<T: Copy>(mut room: Vec<T>, n: usize, value: T) -> Vec<T> {
    room.clear();
    room.resize(n, value);
    room
}

/// The same values.
pub(super) fn copied<T: Copy>(mut room: Vec<T>, from: &[T]) -> Vec<T> {
    room.clear();
    room.extend_from_slice(from);
    room
}

impl Estimates<'_> {
    /// The room of these estimates, which are not needed any more.
    pub(in crate::rounds) fn into_room(self) -> Room {
        Room {
            floats: [
                self.est,
                self.eft,
                self.arrival,
                self.since,
                self.shortest,
                self.free,
            ],
            numbers: [self.host, self.slot, self.prev, self.next, self.trial_last],
            marks: [self.pending.0, self.on_trial.0],
            flags: [self.is_open, self.is_fresh],
            lists: self.lists,
            undo: self.undo,
            routes: self.routes,
        }
    }
}
