//! The level of a series that comes in runs: many values of a for-each in one, a single one in another.
//!
//! A plain smoothing over values would forget all earlier runs within one long for-each, and would lean to
//! what planners send last, which is what is short. So values count equally within a run, and runs are smoothed.

use minicbor::{Decode, Encode};

/// Weight of a whole run against all before it: after four runs of another program three quarters are
/// forgotten. The first runs count equally.
const GAIN: f32 = 0.3;

/// Means of the present run and of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode)]
pub(crate) struct Level {
    /// The mean of earlier runs; zero where there is none.
    #[n(0)]
    past: f32,
    /// The number of values of a usual run.
    #[n(1)]
    usual: f32,
    /// Earlier runs, as far as their number matters.
    #[n(2)]
    n_runs: u8,
    /// The present run.
    #[n(3)]
    run: u32,
    #[n(4)]
    n: u32,
    #[n(5)]
    mean: f32,
}

impl Level {
    /// Takes a value of a run. Two runs at once count as many short ones, each with little weight.
    pub(crate) fn take(&mut self, run: u32, value: f32) {
        if self.n > 0 && run != self.run {
            self.fold();
        }
        self.run = run;
        self.n = self.n.saturating_add(1);
        self.mean += (value - self.mean) / self.n as f32;
    }

    /// The expected value.
    pub(crate) fn forecast(&self) -> Option<f32> {
        match (self.n_runs, self.n) {
            (0, 0) => None,
            (0, _) => Some(self.mean),
            (_, 0) => Some(self.past),
            (_, _) => Some(self.past + self.weight() * (self.mean - self.past)),
        }
    }

    /// Values of the present run so far.
    pub(crate) fn n_present(&self) -> u32 {
        self.n
    }

    /// The last run that a value came from.
    pub(crate) fn run(&self) -> u32 {
        self.run
    }

    /// The same in another unit.
    pub(crate) fn scaled(mut self, factor: f32) -> Level {
        self.past *= factor;
        self.mean *= factor;
        self
    }

    /// A level between two, with the run of this one: `share` is the weight of the first. Either of them may have
    /// no value.
    pub(crate) fn between(&self, one: &Level, other: &Level, share: f32) -> Level {
        let past = match (one.forecast(), other.forecast()) {
            (Some(one), Some(other)) => share * one + (1.0 - share) * other,
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return *self,
        };
        Level {
            past,
            usual: self.usual,
            n_runs: self.n_runs.max(1),
            run: self.run,
            n: 0,
            mean: 0.0,
        }
    }

    /// True if all of it can have come from values.
    pub(crate) fn is_sound(&self) -> bool {
        let all = [self.past, self.usual, self.mean];
        all.iter().all(|one| one.is_finite() && *one >= 0.0)
    }

    fn gain(&self) -> f32 {
        GAIN.max(1.0 / (f32::from(self.n_runs) + 1.0))
    }

    /// The weight of the present run: less while it has fewer values than usual.
    fn weight(&self) -> f32 {
        let share = self.n as f32 / self.usual.max(1.0);
        self.gain() * share.min(1.0)
    }

    fn fold(&mut self) {
        if self.n_runs == 0 {
            self.past = self.mean;
            self.usual = self.n as f32;
        } else {
            let weight = self.weight();
            self.past += weight * (self.mean - self.past);
            self.usual += weight * (self.n as f32 - self.usual);
        }
        self.n_runs = self.n_runs.saturating_add(1);
        (self.n, self.mean) = (0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[&[f32]]) -> f32 {
        let mut level = Level::default();
        for (run, values) in (0..).zip(runs) {
            for &value in *values {
                level.take(run, value);
            }
        }
        level.forecast().unwrap()
    }

    #[test]
    fn values_of_a_run_count_equally_and_so_do_the_first_runs() {
        assert_eq!(Level::default().forecast(), None);
        assert_eq!(of(&[&[1.0, 2.0, 6.0]]), 3.0);
        assert_eq!(of(&[&[1.0, 3.0], &[4.0, 4.0]]), 3.0);
    }

    #[test]
    fn what_was_sent_first_of_a_run_changes_little_until_the_run_has_its_usual_length() {
        let begun = of(&[&[10.0, 8.0, 6.0, 4.0], &[10.0]]);
        assert!((begun - 7.0).abs() < 0.5, "{begun}");
        assert_eq!(of(&[&[10.0, 8.0, 6.0, 4.0], &[10.0, 8.0, 6.0, 4.0]]), 7.0);
    }

    #[test]
    fn another_level_is_followed_within_some_runs() {
        let mut runs = vec![&[10.0_f32][..]; 20];
        runs.extend([&[20.0_f32][..]; 4]);
        assert!(of(&runs) > 17.0);
    }
}
