//! An assignment of attempts to slots of a machine, which nobody has recorded.
//!
//! Attempts are laid into slots in the order of their starts: on the slot that the plan names where
//! that is free, else on the lowest free ones beside each other. The number of slots that comes out
//! is the most that were ever held at the same time. O(n (log n + slots)).

/// Microseconds by which two attempts on one slot may overlap and still count as one after the other,
/// because start and length come from two clocks.
const OVERLAP_MAX: u64 = 5_000;

/// Something that holds slots of one machine for a while; times are microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// From when.
    pub(crate) start: u64,
    /// Until when.
    pub(crate) end: u64,
    /// The number of slots that it holds.
    pub(crate) n_slots: u32,
    /// The slot that is meant for it: the lowest one that it holds.
    pub(crate) wanted: Option<u32>,
}

/// The rows of intervals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The slots of each interval, in the order in which they were given.
    pub(crate) slots: Vec<Vec<u32>>,
    /// The interval whose end made the last slot free that this one needed; none where enough slots
    /// had never been used. It says nothing about whether anybody waited for it.
    pub(crate) freed_by: Vec<Option<usize>>,
    /// Slots that there are.
    pub(crate) n_slots: u32,
}

/// A slot between two intervals.
#[derive(Clone, Copy)]
struct Slot {
    /// Since when it is free.
    free_at: u64,
    /// The attempt that held it last.
    last: Option<usize>,
}

const UNUSED: Slot = Slot {
    free_at: 0,
    last: None,
};

/// Lays intervals into slots; there are at least `n_known` of them.
pub(crate) fn pack(intervals: &[Interval], n_known: u32) -> Packed {
    let mut slots = vec![UNUSED; n_known as usize];
    let mut packed = Packed {
        slots: vec![Vec::new(); intervals.len()],
        freed_by: vec![None; intervals.len()],
        n_slots: 0,
    };
    let mut order: Vec<usize> = (0..intervals.len()).collect();
    order.sort_by_key(|&index| (intervals[index].start, intervals[index].end, index));
    for index in order {
        let one = &intervals[index];
        let n_wanted = one.n_slots.max(1) as usize;
        let held = choose(&mut slots, one, n_wanted);
        packed.freed_by[index] = freed_by(&slots, n_wanted);
        for &slot in &held {
            slots[slot] = Slot {
                free_at: one.end,
                last: Some(index),
            };
        }
        packed.slots[index] = held.iter().map(|&slot| slot as u32).collect();
    }
    packed.n_slots = slots.len() as u32;
    packed
}

/// Slots that are free when an interval begins; there are more of them where that must be.
fn choose(slots: &mut Vec<Slot>, one: &Interval, n_wanted: usize) -> Vec<usize> {
    let mut free = free(slots, one.start);
    if free.len() < n_wanted {
        free = self::free(slots, one.start.saturating_add(OVERLAP_MAX));
    }
    while free.len() < n_wanted {
        free.push(slots.len());
        slots.push(UNUSED);
    }
    let is_run = |from: usize| {
        free[from..]
            .get(..n_wanted)
            .is_some_and(|run| run[n_wanted - 1] - run[0] == n_wanted - 1)
    };
    let wanted = one
        .wanted
        .and_then(|slot| free.binary_search(&(slot as usize)).ok());
    let first = wanted
        .filter(|&from| is_run(from))
        .or_else(|| (0..free.len()).find(|&from| is_run(from)));
    match first {
        Some(from) => free[from..from + n_wanted].to_vec(),
        None => {
            // The wanted one, and others where they are.
            free.rotate_left(wanted.unwrap_or(0));
            free.truncate(n_wanted);
            free.sort_unstable();
            free
        }
    }
}

fn free(slots: &[Slot], at: u64) -> Vec<usize> {
    (0..slots.len())
        .filter(|&slot| slots[slot].free_at <= at)
        .collect()
}

/// Whose end made as many slots free as are wanted.
fn freed_by(slots: &[Slot], n_wanted: usize) -> Option<usize> {
    let mut known: Vec<(u64, Option<usize>)> =
        slots.iter().map(|slot| (slot.free_at, slot.last)).collect();
    let (_, nth, _) = known.select_nth_unstable(n_wanted - 1);
    nth.1
}

#[cfg(test)]
mod tests;
