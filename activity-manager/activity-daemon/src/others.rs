//! The load of this machine by others, as it is expected over the next minute.

use forecast::{Forecaster, Method, Observation, Predictor, Quantity};
use model::{Mono, Span};

/// The time of which a forecast is made, and of which the means are that it rests on: what plans last, and long
/// against the bursts of a desktop.
const PERIOD: Span = Span::from_secs(60);

/// A forecaster of the load by others: the mean over each minute is an observation.
#[derive(Debug)]
pub struct OthersForecast {
    forecaster: Forecaster,
    /// The sum of the readings of this minute, their number, and its begin.
    sum: f64,
    n: u32,
    since: Mono,
}

impl OthersForecast {
    /// One that has seen nothing.
    pub fn new(now: Mono) -> OthersForecast {
        OthersForecast {
            forecaster: Forecaster::new(Method::Xavantes, Quantity::Load),
            sum: 0.0,
            n: 0,
            since: now,
        }
    }

    /// Takes a reading, in cores; none where it could not be read. Returns the forecast for the next minute; none
    /// before the first minute is over.
    pub fn read(&mut self, now: Mono, others: Option<f64>) -> Option<f64> {
        if let Some(others) = others {
            self.sum += others;
            self.n += 1;
        }
        if now.since(self.since) >= PERIOD {
            let mean = self.sum / f64::from(self.n.max(1));
            self.forecaster.observe(match self.n {
                0 => Observation::Gap,
                1.. => Observation::Value(mean),
            });
            (self.sum, self.n, self.since) = (0.0, 0, now);
        }
        Some(self.forecaster.forecast()?.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads this load every four seconds for so many minutes. Returns the last forecast.
    fn reads(forecast: &mut OthersForecast, from: u64, minutes: u64, load: f64) -> Option<f64> {
        let reads = (1..=minutes * 15).map(|n| {
            let now = Mono(0) + Span::from_secs(from * 60 + 4 * n);
            forecast.read(now, Some(load))
        });
        reads.last()?
    }

    #[test]
    fn a_load_that_lasts_is_expected_to_last_and_one_that_ended_not() {
        let mut forecast = OthersForecast::new(Mono(0));
        assert_eq!(forecast.read(Mono(1), Some(2.0)), None);
        let steady = reads(&mut forecast, 0, 30, 2.0).unwrap();
        assert!((steady - 2.0).abs() < 0.1, "{steady}");
        let ended = reads(&mut forecast, 30, 30, 0.0).unwrap();
        assert!((0.0..0.3).contains(&ended), "{ended}");
    }

    #[test]
    fn minutes_that_could_not_be_read_change_nothing() {
        let mut forecast = OthersForecast::new(Mono(0));
        let steady = reads(&mut forecast, 0, 10, 1.0).unwrap();
        let gap = forecast.read(Mono(0) + Span::from_secs(700), None).unwrap();
        assert!((gap - steady).abs() < 0.1, "{gap} {steady}");
    }
}
