//! States that were searched, so that no worse one is searched again.
//!
//! A state is no better than another one that was searched before where the same tasks are placed, the
//! data that is still wanted lies on the same machines, or on machines alike, and everything is there
//! and free at the same time or later. The sum of starts must not be smaller either: then what takes
//! the place of a pruned schedule never leads back to it.

use super::small::{NOWHERE, Small, State};

/// States that are kept.
const STATES_MAX: usize = 1 << 15;
/// States that are compared with a new one; the oldest of them makes room.
const WAYS: usize = 4;
/// Where there are more slots in all, none are kept: comparing would take longer than it saves.
const SLOTS_MAX: usize = 96;

/// The states that were searched.
pub(super) struct Seen {
    kept: Vec<Kept>,
    present: Kept,
}

#[derive(Clone, Default)]
struct Kept {
    /// The tasks, and where the data that is wanted lies.
    key: Vec<u32>,
    /// All moments that matter.
    times: Vec<f64>,
}

impl Seen {
    pub(super) fn new() -> Seen {
        Seen {
            kept: vec![Kept::default(); STATES_MAX],
            present: Kept::default(),
        }
    }

    /// Steps that a look takes.
    pub(super) fn steps(small: &Small) -> u64 {
        2 * (small.n_tasks() + small.n_hosts()) as u64
    }

    /// True if a state at least as good was searched; else this one is kept as searched.
    pub(super) fn has_better(&mut self, small: &Small, state: &State) -> bool {
        let n_slots: usize = state.free.iter().map(Vec::len).sum();
        if n_slots > SLOTS_MAX || state.n_placed() == small.n_tasks() {
            return false;
        }
        self.present.describe(small, state);
        let bucket = self.present.hash() as usize % (STATES_MAX / WAYS) * WAYS;
        let kept = &mut self.kept[bucket..bucket + WAYS];
        if kept.iter().any(|kept| kept.is_better(&self.present)) {
            return true;
        }
        let worse = kept.iter().position(|kept| self.present.is_better(kept));
        let place = worse.unwrap_or(WAYS - 1);
        kept[..=place].rotate_right(1);
        kept[0].key.clone_from(&self.present.key);
        kept[0].times.clone_from(&self.present.times);
        false
    }
}

impl Kept {
    fn describe(&mut self, small: &Small, state: &State) {
        self.key.clear();
        self.times.clear();
        self.times
            .extend([state.latest, state.starts, state.makespan()]);
        let mut placed = 0;
        // The machines where data lies that is wanted, by the first of its tasks.
        let mut wanted = [NOWHERE; super::TASKS_MAX];
        for task in (0..small.n_tasks()).filter(|&task| state.is_placed(task)) {
            placed |= 1 << task;
            if !state.is_wanted(task) {
                continue;
            }
            let host = state.at[task];
            let first = wanted
                .iter()
                .position(|&other| other == host)
                .unwrap_or(task);
            if first == task {
                wanted[task] = host;
                self.clip(state, host);
            }
            self.key
                .extend([task, first, small.kind[host]].map(|number| number as u32));
            self.times.push(state.finish[task]);
        }
        self.key.push(placed);
        let mut others: Vec<usize> = (0..small.n_hosts())
            .filter(|&host| state.n_wanted[host] == 0)
            .collect();
        others.sort_by(|&one, &other| {
            let kinds = small.kind[one].cmp(&small.kind[other]);
            kinds.then_with(|| state.compare_free(one, other))
        });
        for host in others {
            self.clip(state, host);
        }
    }

    /// The times at which the slots of a machine are free, from the latest start on.
    fn clip(&mut self, state: &State, host: usize) {
        self.times
            .extend(state.free[host].iter().map(|at| at.max(state.latest)));
    }

    fn is_better(&self, other: &Kept) -> bool {
        let mut times = self.times.iter().zip(&other.times);
        self.key == other.key && !self.key.is_empty() && times.all(|(one, other)| one <= other)
    }

    fn hash(&self) -> u64 {
        let mut hash = 0u64;
        for &word in &self.key {
            hash = (hash ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        }
        hash
    }
}

impl State {
    fn compare_free(&self, one: usize, other: usize) -> std::cmp::Ordering {
        let clipped = |host: usize| self.free[host].iter().map(|at| at.max(self.latest));
        let mut pairs = clipped(one).zip(clipped(other));
        let unequal = pairs.find(|(one, other)| one != other);
        unequal.map_or(std::cmp::Ordering::Equal, |(one, other)| {
            one.total_cmp(&other)
        })
    }
}
