//! The record of one controller of a definition: how many items a for-each had, or iterations a loop.

use minicbor::{Decode, Encode};
use model::Wall;

use crate::level::Level;

/// The most bodies that are believed: more than any process has nodes.
const BODIES_MAX: f32 = 1e9;

/// The bodies of a controller in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// The run.
    pub run: u32,
    /// The time at which it ended.
    pub at: Wall,
    /// Their number; the mean where the controller is in a body itself and ran several times.
    pub n: f32,
}

/// The numbers of earlier runs, of which the newest counts as much as for works.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Bodies {
    #[n(0)]
    level: Level,
    #[n(1)]
    n_runs: u32,
    #[n(2)]
    used: Wall,
}

impl Bodies {
    /// Takes a run. What is no number of bodies says nothing.
    pub fn observe(&mut self, counted: &Counted) {
        if (0.0..=BODIES_MAX).contains(&counted.n) {
            self.level.take(counted.run, counted.n);
            self.n_runs = self.n_runs.saturating_add(1);
            self.used = self.used.max(counted.at);
        }
    }

    /// The number that is expected of the next run.
    pub fn expected(&self) -> Option<f64> {
        self.level.forecast().map(f64::from)
    }

    /// Runs that were seen.
    pub fn n_runs(&self) -> u32 {
        self.n_runs
    }

    /// The time at which it was seen last.
    pub fn used(&self) -> Wall {
        self.used
    }

    /// The record of two managers of the same controller: the mean by the runs of each.
    #[must_use]
    pub fn joined(&self, other: &Bodies) -> Bodies {
        let (own, others) = (f64::from(self.n_runs), f64::from(other.n_runs));
        let share = (own / (own + others).max(1.0)) as f32;
        let newest = if self.used < other.used { other } else { self };
        Bodies {
            level: newest.level.between(&self.level, &other.level, share),
            n_runs: self.n_runs.saturating_add(other.n_runs),
            used: newest.used,
        }
    }

    /// Decodes a record; none where it is damaged.
    pub fn decode(bytes: &[u8]) -> Option<Bodies> {
        let bodies: Bodies = minicbor::decode(bytes).ok()?;
        bodies.level.is_sound().then_some(bodies)
    }

    /// Its encoded form.
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("a vector takes all bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[f32]) -> Bodies {
        let mut bodies = Bodies::default();
        for (run, &n) in (0..).zip(all) {
            bodies.observe(&Counted {
                run,
                at: Wall(u64::from(run)),
                n,
            });
        }
        bodies
    }

    #[test]
    fn the_expected_number_follows_the_runs_and_none_at_all_is_a_number() {
        assert_eq!(Bodies::default().expected(), None);
        assert_eq!(of(&[4.0, 8.0]).expected(), Some(6.0));
        assert_eq!(of(&[0.0]).expected(), Some(0.0));
        assert!(of(&[4.0, 4.0, 4.0, 4.0, 20.0, 20.0, 20.0, 20.0]).expected() > Some(14.0));
        let odd = of(&[f32::NAN, -1.0, f32::INFINITY, 3.0]);
        assert_eq!((odd.expected(), odd.n_runs()), (Some(3.0), 1));
    }

    #[test]
    fn records_of_several_managers_are_one_and_damaged_ones_are_none() {
        let both = of(&[4.0, 4.0, 4.0]).joined(&of(&[8.0]));
        assert_eq!((both.expected(), both.n_runs()), (Some(5.0), 4));
        let bytes = both.encode();
        assert_eq!(Bodies::decode(&bytes), Some(both));
        for len in 0..bytes.len() {
            assert_eq!(Bodies::decode(&bytes[..len]), None);
        }
    }
}
