//! A sample of the values seen, with those that are only bounds, and its quantiles.

use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write};
use minicbor::{Decode, Encode};

/// Values kept of a template: the least that tells a p90 between the two greatest. A template takes
/// some 250 bytes by that, and 150 where its activity was seen up to four times.
pub const SAMPLE: usize = 16;

/// Sampled values, all positive. One that is at least so much is stored with its sign turned.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sample(Vec<f32>);

/// A sample as a distribution: ascending values with their masses, which add up to 1. The mass of a
/// bound goes to the values beyond it, in equal parts (Kaplan and Meier 1958, in the form of Efron
/// 1967); that of the greatest stays where it is.
pub(crate) struct Distribution {
    points: [(f32, f32); SAMPLE],
    n: usize,
}

impl Sample {
    /// Takes a value, the `n_in_run`th of its run and the `n_all`th of all. Of a long run each value has
    /// the same chance to be kept (Vitter 1985); of short ones the newest are. The draw follows from
    /// `n_all`, so that the same values give the same sample.
    pub(crate) fn take(&mut self, value: f32, is_bound: bool, n_in_run: u32, n_all: u32) {
        let value = if is_bound { -value } else { value };
        if self.0.len() < SAMPLE {
            self.0.push(value);
            return;
        }
        let drawn = draw(n_all) % u64::from(n_in_run).max(SAMPLE as u64);
        if let Some(slot) = self.0.get_mut(drawn as usize) {
            *slot = value;
        }
    }

    /// The values as they are stored.
    pub(crate) fn stored(&self) -> &[f32] {
        &self.0
    }

    /// The same in another unit.
    pub(crate) fn scaled(&self, factor: f32) -> Sample {
        Sample(self.0.iter().map(|value| value * factor).collect())
    }

    /// Values of two samples: all where they have a place, else of the first so many as its `share` says. They are
    /// taken from the beginning to the end of each.
    pub(crate) fn joined(&self, other: &Sample, share: f32) -> Sample {
        let (own, others) = (self.stored(), other.stored());
        let least = SAMPLE.saturating_sub(others.len());
        let wanted = (share.clamp(0.0, 1.0) * SAMPLE as f32).round() as usize;
        let n_own = wanted.max(least).min(own.len());
        let n_others = (SAMPLE - n_own).min(others.len());
        let spread = |values: &[f32], n: usize| -> Vec<f32> {
            let places = (0..n).map(|place| place * values.len() / n);
            places.map(|place| values[place]).collect()
        };
        Sample([spread(own, n_own), spread(others, n_others)].concat())
    }

    /// The mean distance of the values from their mean; zero where there are fewer than two.
    pub(crate) fn usual_distance(&self) -> f32 {
        let exact = || self.stored().iter().filter(|value| **value > 0.0);
        let n = exact().count().max(1) as f32;
        let mean = exact().sum::<f32>() / n;
        exact().map(|value| (value - mean).abs()).sum::<f32>() / n
    }

    pub(crate) fn distribution(&self) -> Option<Distribution> {
        let n = self.0.len();
        let mut sorted = [0.0; SAMPLE];
        let sorted = &mut sorted[..n];
        sorted.copy_from_slice(&self.0);
        sorted.sort_by(|one, other| {
            let by_size = one.abs().total_cmp(&other.abs());
            // A value before a bound of the same size.
            by_size.then(other.total_cmp(one))
        });
        let mut points = [(0.0, 0.0); SAMPLE];
        let mut mass = 1.0 / n.max(1) as f32;
        for (place, &value) in sorted.iter().enumerate() {
            let n_beyond = n - place - 1;
            let is_bound = value < 0.0 && n_beyond > 0;
            points[place] = (value.abs(), if is_bound { 0.0 } else { mass });
            if is_bound {
                mass += mass / n_beyond as f32;
            }
        }
        (n > 0).then_some(Distribution { points, n })
    }
}

impl Distribution {
    pub(crate) fn mean(&self) -> f32 {
        let points = self.points[..self.n].iter();
        points.map(|(value, mass)| value * mass).sum()
    }

    /// The value that a further one of the same kind stays below with the probability `share`, as far
    /// as there are values enough.
    pub(crate) fn quantile(&self, share: f32) -> f32 {
        let scale = self.n as f32 / (self.n as f32 + 1.0);
        let points = self.points[..self.n].iter();
        let (mut sum, mut below) = (0.0, None);
        for &(value, mass) in points.filter(|(_, mass)| *mass > 0.0) {
            sum += mass;
            let place = sum * scale;
            if place >= share {
                return match below {
                    None => value,
                    Some((under, at)) => under + (value - under) * (share - at) / (place - at),
                };
            }
            below = Some((value, place));
        }
        below.map_or(0.0, |(value, _)| value)
    }
}

/// A number for each number, as if drawn (Steele, Lea and Flood 2014, SplitMix).
fn draw(number: u32) -> u64 {
    let mut z = u64::from(number)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl<C> Encode<C> for Sample {
    fn encode<W: Write>(
        &self,
        encoder: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        encoder.array(self.0.len() as u64)?;
        for &value in self.stored() {
            encoder.f32(value)?;
        }
        Ok(())
    }
}

impl<'b, C> Decode<'b, C> for Sample {
    fn decode(decoder: &mut Decoder<'b>, _: &mut C) -> Result<Sample, DecodeError> {
        let len = decoder.array()?.unwrap_or(u64::MAX);
        if len > SAMPLE as u64 {
            return Err(DecodeError::message("a sample of too many values"));
        }
        let mut values = Vec::with_capacity(len as usize);
        for _ in 0..len {
            let value = decoder.f32()?;
            if !value.is_finite() || value == 0.0 {
                return Err(DecodeError::message("a sampled value that cannot be"));
            }
            values.push(value);
        }
        Ok(Sample(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f32]) -> Distribution {
        let mut sample = Sample::default();
        for (n, &value) in (1..).zip(values) {
            sample.take(value.abs(), value < 0.0, n, n);
        }
        sample.distribution().unwrap()
    }

    #[test]
    fn mass_of_a_bound_goes_to_the_values_beyond_it() {
        // At least 2: it is 3 or 4, each with half of its quarter.
        let seen = sample(&[1.0, -2.0, 3.0, 4.0]);
        assert_eq!(seen.mean(), (1.0 + 1.5 * 3.0 + 1.5 * 4.0) / 4.0);
        assert_eq!(sample(&[1.0, -3.0]).mean(), 2.0);
    }

    #[test]
    fn quantiles_lie_between_the_values() {
        let nine: Vec<f32> = (1..=9).map(|value| value as f32).collect();
        let seen = sample(&nine);
        assert!((seen.quantile(0.5) - 5.0).abs() < 1e-4);
        assert!((seen.quantile(0.9) - 9.0).abs() < 1e-4);
        assert_eq!(sample(&[7.0]).quantile(0.9), 7.0);
    }

    #[test]
    fn a_long_run_is_sampled_from_its_beginning_to_its_end() {
        let mut sample = Sample::default();
        for n in 1..=10_000 {
            sample.take(n as f32, false, n, n);
        }
        let mean = sample.distribution().unwrap().mean();
        assert!((2_500.0..7_500.0).contains(&mean), "{mean}");
    }

    #[test]
    fn of_short_runs_the_newest_are_kept() {
        let mut sample = Sample::default();
        for n in 1..=1_000 {
            sample.take(n as f32, false, 1, n);
        }
        assert!(sample.distribution().unwrap().mean() > 950.0);
    }
}
