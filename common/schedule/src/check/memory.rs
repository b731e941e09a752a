//! The memory that tasks on a machine hold at one time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::CheckError;
use crate::problem::Problem;

/// A task or something else that holds memory from a start to a finish.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holder<T> {
    pub(super) start: T,
    /// True if it takes time: what takes none finds room beside what runs, before others start.
    pub(super) lasts: bool,
    pub(super) finish: T,
    pub(super) bytes: u64,
    /// None for what no task of the problem holds.
    pub(super) task: Option<u32>,
}

impl<T, E> Holder<Result<T, E>> {
    /// Its times, where both are sound.
    pub(super) fn sound(self) -> Result<Holder<T>, E> {
        Ok(Holder {
            start: self.start?,
            lasts: self.lasts,
            finish: self.finish?,
            bytes: self.bytes,
            task: self.task,
        })
    }
}

/// Refuses more memory at one time than a machine has, where it is a task that asks for too much, or that is there
/// when others come that were to come: what others hold alone is theirs to answer for. `is_over` tells if something
/// that ends then has ended when another thing starts. O(n log n).
pub(super) fn check_memory<T: Ord + Copy>(
    problem: &Problem,
    host: u32,
    mut holders: Vec<Holder<T>>,
    is_over: impl Fn(T, T) -> bool,
) -> Result<(), CheckError> {
    let memory = problem.hosts()[host as usize].memory.0;
    holders.sort_unstable();
    let mut held: BinaryHeap<Reverse<(T, u64, Option<u32>)>> = BinaryHeap::new();
    let mut used = 0u128;
    for holder in holders {
        while let Some(&Reverse((finish, bytes, _))) = held.peek()
            && is_over(finish, holder.start)
        {
            used -= u128::from(bytes);
            held.pop();
        }
        let with_it = used + u128::from(holder.bytes);
        if holder.bytes > 0 && with_it > u128::from(memory) {
            let mut beside = held.iter().filter(|Reverse((_, bytes, _))| *bytes > 0);
            let beside = beside.find_map(|Reverse((.., task))| *task);
            if let Some(task) = holder.task.or(beside) {
                return Err(CheckError::Memory { task, host });
            }
        }
        if holder.lasts {
            used = with_it;
            held.push(Reverse((holder.finish, holder.bytes, holder.task)));
        }
    }
    Ok(())
}
