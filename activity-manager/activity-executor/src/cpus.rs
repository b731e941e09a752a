//! The CPUs that commands are bound to: each command has as many as it has cores, and no two share
//! one.

use rustix::thread::{CpuSet, sched_getaffinity};

/// Words of a set in the kernel's form, for as many CPUs as the C library supports.
const WORDS: usize = CpuSet::MAX_CPU / u64::BITS as usize;

/// A set of CPUs in the form of sched_setaffinity(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Cpus(pub(crate) [u64; WORDS]);

impl Cpus {
    fn add(&mut self, cpu: usize) {
        self.0[cpu / u64::BITS as usize] |= 1 << (cpu % u64::BITS as usize);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        (0..CpuSet::MAX_CPU)
            .filter(|cpu| self.0[cpu / u64::BITS as usize] >> (cpu % u64::BITS as usize) & 1 == 1)
    }
}

/// The CPUs of the executor that no command has.
#[derive(Debug)]
pub(crate) struct FreeCpus {
    /// The next one is the one that was released last: its caches are still warm.
    free: Vec<usize>,
    n: usize,
}

impl FreeCpus {
    /// The CPUs that this process may use, beginning at index `first` (wrapping around), so that
    /// several executors of a machine do not all begin with the same one. None if the system does
    /// not tell them.
    pub(crate) fn of_this_process(first: u64) -> FreeCpus {
        let allowed = sched_getaffinity(None).unwrap_or_default();
        let all = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
        FreeCpus::new(all.collect(), first)
    }

    fn new(mut all: Vec<usize>, first: u64) -> FreeCpus {
        let n = all.len();
        if n > 0 {
            all.rotate_left((first % n as u64) as usize);
        }
        all.reverse();
        FreeCpus { free: all, n }
    }

    /// Number of CPUs, free or not.
    pub(crate) fn n(&self) -> usize {
        self.n
    }

    /// Takes `n` of them; none if fewer are free.
    pub(crate) fn take(&mut self, n: usize) -> Option<Cpus> {
        let rest = self.free.len().checked_sub(n)?;
        let mut taken = Cpus::default();
        self.free.drain(rest..).for_each(|cpu| taken.add(cpu));
        Some(taken)
    }

    pub(crate) fn give_back(&mut self, cpus: Option<Cpus>) {
        self.free.extend(cpus.iter().flat_map(Cpus::iter));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_what_another_has() {
        let mut free = FreeCpus::new(vec![1, 3, 64, 65, 1_023], 7);
        assert_eq!(free.n(), 5);
        let list = |cpus: &Option<Cpus>| cpus.unwrap().iter().collect::<Vec<_>>();
        let (two, one) = (free.take(2), free.take(1));
        assert_eq!((list(&two), list(&one)), (vec![64, 65], vec![1_023]));
        assert_eq!(free.take(3), None);
        free.give_back(two);
        assert_eq!(list(&free.take(4)), [1, 3, 64, 65]);
        free.give_back(one);
        assert_eq!(free.take(1), one);
        assert_eq!(free.take(1), None);
        free.give_back(None);
        assert_eq!(FreeCpus::new(Vec::new(), 3).take(1), None);
    }
}
