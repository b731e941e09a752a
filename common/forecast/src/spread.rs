//! Quantiles of the next value, from the errors of the forecasts so far.

use serde::{Deserialize, Serialize};

use crate::window::Window;

/// Errors that are kept: one in a hundred is needed for p99, and older ones are of another time.
const N_ERRORS: usize = 128;

/// The next value is at most `p50` with a probability of 50 %, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// Nine in ten are at most this: planning with a margin.
    pub p90: f64,
    /// Ninety-nine in a hundred are at most this: beyond it is a straggler.
    pub p99: f64,
}

/// The newest 128 errors, sorted. O(128) moves a value, at most 2.1 KB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Spread {
    errors: Window,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread {
            errors: Window::new(N_ERRORS),
        }
    }
}

impl Spread {
    /// Counts the value minus its forecast.
    pub(crate) fn count(&mut self, error: f64) {
        self.errors.push(error);
    }

    /// Quantiles about a forecast; `None` while no error is known.
    pub(crate) fn about(&self, forecast: f64) -> Option<Quantiles> {
        let errors = self.errors.sorted();
        let at = |share| Some(forecast + quantile(errors, share)?);
        Some(Quantiles {
            p50: at(0.50)?,
            p90: at(0.90)?,
            p99: at(0.99)?,
        })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.errors.heap_bytes()
    }
}

/// The quantile of sorted numbers that a further one of the same kind stays below with the
/// probability `share`, as far as there are numbers enough: place `share * (n + 1)`.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = share * (sorted.len() + 1) as f64 - 1.0;
    let place = place.clamp(0.0, last as f64);
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let part = place - place.floor();
    let (below, above) = (sorted[below], sorted[above]);
    // No less than the one and no more than the other, however it is rounded: a greater share gives no lower quantile.
    Some((below + (above - below) * part).min(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greater_share_gives_no_lower_quantile() {
        let sorted = [-1e15, 0.1, 1e15, 1e15, 1e15 + 0.25];
        let mut before = sorted[0];
        for share in 0..=1_000 {
            let found = quantile(&sorted, f64::from(share) / 1_000.0).unwrap();
            assert!(before <= found && found <= sorted[4], "{share}: {found}");
            before = found;
        }
    }
}
