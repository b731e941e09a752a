//! Chance: how much the times of activities on one machine vary, whatever its power is.
//!
//! The variance follows from the differences between one activity and the next on the same machine (the mean
//! square successive difference of von Neumann, 1941). So a machine whose power falls adds one difference, and
//! not one for each activity that was faster before.

use std::collections::BTreeMap;

use model::ResourceId;

/// The variance that is believed before anything has ended, and the differences that it counts as.
const VARIANCE: f64 = 0.03;
const PRIOR: f64 = 2.0;

/// Differences that are remembered at most.
const MEMORY: f64 = 256.0;

/// The variance of the logarithm of performances, nominal over real time.
#[derive(Debug, Default)]
pub(super) struct Chance {
    /// The logarithm of the last performance on each machine.
    last: BTreeMap<ResourceId, f64>,
    /// Differences, and the sum of their halved squares.
    n: f64,
    squares: f64,
}

impl Chance {
    /// An activity has ended with this performance, which is above 0.
    pub(super) fn ended(&mut self, resource: ResourceId, performance: f64) {
        let now = performance.ln();
        let Some(before) = self.last.insert(resource, now) else {
            return;
        };
        if self.n >= MEMORY {
            let kept = (MEMORY - 1.0) / self.n;
            self.n *= kept;
            self.squares *= kept;
        }
        self.n += 1.0;
        self.squares += (now - before) * (now - before) / 2.0;
    }

    pub(super) fn variance(&self) -> f64 {
        (self.squares + PRIOR * VARIANCE) / (self.n + PRIOR)
    }

    /// The standard error of the mean of so many performances; of one at least.
    pub(super) fn error(&self, n: f64) -> f64 {
        (self.variance() / n.max(1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests;
