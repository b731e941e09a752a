//! A median whose window becomes wider or narrower as that would have been better.

use serde::{Deserialize, Serialize};

use crate::predictor::{Forecast, Observation, Predictor, Score, Source};
use crate::ring::Ring;
use crate::window::median;

/// The widest window: what is sorted for a median fits into an array.
const WIDTH_MAX: usize = 64;

/// The median of the newest `width` values. With each value the width moves by one, to whichever of
/// `width - 1`, `width`, `width + 1` had the least error for it. O(width log width).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaptiveMedian {
    ring: Ring<f64>,
    least: usize,
    width: usize,
    value: Option<f64>,
    score: Score,
}

impl AdaptiveMedian {
    /// Windows of `least` to `most` values, at most 64; 5 to 21 and 21 to 51 in the Network Weather
    /// Service.
    pub fn new(least: usize, most: usize) -> AdaptiveMedian {
        let most = most.clamp(1, WIDTH_MAX);
        let least = least.clamp(1, most);
        AdaptiveMedian {
            ring: Ring::new(most),
            least,
            width: usize::midpoint(least, most),
            value: None,
            score: Score::default(),
        }
    }

    fn median_of(&self, width: usize) -> Option<f64> {
        let n = width.min(self.ring.len()).min(WIDTH_MAX);
        let mut values = [0.0; WIDTH_MAX];
        for (place, value) in values[..n].iter_mut().enumerate() {
            *value = self.ring.back(place).unwrap_or_default();
        }
        values[..n].sort_unstable_by(f64::total_cmp);
        median(&values[..n])
    }
}

impl Predictor for AdaptiveMedian {
    fn observe(&mut self, observation: Observation) {
        let Some(value) = observation.measured() else {
            return;
        };
        self.score
            .count(self.value.map(|forecast| value - forecast));
        let narrower = self.width.saturating_sub(1).max(self.least);
        let wider = (self.width + 1).min(self.ring.capacity());
        let mut best = None;
        for width in [self.width, narrower, wider] {
            let Some(median) = self.median_of(width) else {
                continue;
            };
            let error = (value - median).abs();
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, width));
            }
        }
        if let Some((_, width)) = best {
            self.width = width;
        }
        self.ring.push(value);
        self.value = self.median_of(self.width);
    }

    fn forecast(&self) -> Option<Forecast> {
        Some(self.score.forecast(self.value?, Source::AdaptiveMedian))
    }

    fn state_bytes(&self) -> usize {
        size_of::<AdaptiveMedian>() + self.ring.heap_bytes()
    }
}
