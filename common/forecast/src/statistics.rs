//! The description of a series by Dobber's 17 statistics (tables 3.1 and 3.2), its autocorrelation,
//! its Hurst parameter, and its jumps.

mod hints;
mod jumps;

pub use hints::{Hint, hints};
pub use jumps::{Jump, JumpKind, jumps};

/// Values of a block, over which local means and deviations are taken.
pub const BLOCK: usize = 20;
/// A step of more than so many standard deviations is a jump.
pub const JUMP: f64 = 2.0;
/// Lags that the Hurst parameter is estimated from.
pub const HURST_LAGS: usize = 100;

/// Names of the 17 statistics, in the order of the tables.
pub const NAMES: [&str; 17] = [
    "mu",
    "sigma",
    "c",
    "rmse_lv",
    "sigma/rmse_lv",
    "sigma(mu)",
    "c(mu)",
    "sigma(mu)/sigma",
    "sigma(sigma)",
    "sigma(sigma)/mu",
    "c(sigma)",
    "f_jumps",
    "sigma_jumps",
    "rmse_jumps",
    "sigma_jumps/sigma",
    "rmse_jumps/rmse_lv",
    "mse_jumps/sigma2",
];

/// What each of [`NAMES`] means.
pub const MEANINGS: [&str; 17] = [
    "mean",
    "standard deviation",
    "coefficient of variation",
    "error of the last value as a forecast",
    "above 1 the last value is a better forecast than the mean",
    "deviation of the means of blocks of 20",
    "the same relative to the mean and to one value; how much the level moves",
    "the same relative to the deviation; 1 is a constant level",
    "deviation of the deviations of blocks",
    "the same relative to the mean",
    "the same relative to their mean; 0.16 for independent normal values",
    "share of steps of more than two deviations",
    "deviation of the values right after jumps",
    "error of the last value at jumps",
    "share of the deviation that jumps make",
    "share of the error of the last value that jumps make",
    "share of the variance that jumps make",
];

/// The 17 statistics of a series; `None` where one is not defined: too few values, or a division by
/// zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// In the order of [`NAMES`].
    pub values: [Option<f64>; 17],
    /// Number of values of the series.
    pub n: usize,
}

impl Statistics {
    /// Of finite values. O(n).
    pub fn of(values: &[f64]) -> Statistics {
        let n = values.len();
        let mu = mean(values);
        let sigma = deviation(values);
        let steps = || values.windows(2).map(|pair| pair[1] - pair[0]);
        let per_step = |sum: f64| (n > 1).then(|| (sum / (n - 1) as f64).sqrt());
        let rmse_lv = per_step(steps().map(|step| step * step).sum());
        let blocks = values.chunks_exact(BLOCK);
        let means: Vec<f64> = blocks.clone().filter_map(mean).collect();
        let deviations: Vec<f64> = blocks.filter_map(deviation).collect();
        let sigma_mu = mu.and_then(|mu| apart(&means, mu));
        let mean_sigma = mean(&deviations);
        let sigma_sigma = mean_sigma.and_then(|middle| apart(&deviations, middle));
        let after_jumps = |of: &dyn Fn(f64, f64) -> f64| {
            let limit = JUMP * sigma?;
            let jumps = values
                .windows(2)
                .filter(|pair| (pair[1] - pair[0]).abs() > limit);
            (n > 1).then(|| jumps.map(|pair| of(pair[0], pair[1])).sum::<f64>())
        };
        let f_jumps = after_jumps(&|_, _| 1.0).map(|jumps| jumps / (n - 1) as f64);
        let level = mu.unwrap_or_default();
        let sigma_jumps = after_jumps(&|_, to| (to - level).powi(2)).and_then(per_step);
        let rmse_jumps = after_jumps(&|from, to| (to - from).powi(2)).and_then(per_step);
        let root = (BLOCK as f64).sqrt();
        let sigma_share = ratio(sigma_jumps, sigma);
        let values = [
            mu,
            sigma,
            ratio(sigma, mu),
            rmse_lv,
            ratio(sigma, rmse_lv),
            sigma_mu,
            ratio(sigma_mu.map(|sigma| root * sigma), mu),
            ratio(sigma_mu.map(|sigma_mu| root * sigma_mu), sigma),
            sigma_sigma,
            ratio(sigma_sigma, mu),
            ratio(sigma_sigma, mean_sigma),
            f_jumps,
            sigma_jumps,
            rmse_jumps,
            sigma_share,
            ratio(rmse_jumps, rmse_lv),
            sigma_share.map(|share| share * share),
        ];
        Statistics { values, n }
    }

    /// A statistic by its name in [`NAMES`].
    pub fn get(&self, name: &str) -> Option<f64> {
        let place = NAMES.iter().position(|known| *known == name)?;
        self.values[place]
    }
}

/// The mean; `None` of no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation, with the divisor n - 1; `None` below two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let middle = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Deviation from a given middle, with the divisor n.
fn apart(values: &[f64], middle: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (!values.is_empty()).then(|| (squares / values.len() as f64).sqrt())
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? / b?).filter(|ratio| ratio.is_finite())
}

/// The autocorrelation of lags 0 to `lags` (3.1, 3.2), with the biased estimator. Empty where the
/// values do not differ. O(n × lags).
pub fn autocorrelation(values: &[f64], lags: usize) -> Vec<f64> {
    let Some(middle) = mean(values) else {
        return Vec::new();
    };
    let centred: Vec<f64> = values.iter().map(|value| value - middle).collect();
    let variance = crate::ar::product(&centred, &centred);
    if variance <= 0.0 {
        return Vec::new();
    }
    let lags = lags.min(values.len() - 1);
    let covariances = (0..=lags).map(|lag| crate::ar::product(&centred[lag..], &centred));
    covariances
        .map(|covariance| covariance / variance)
        .collect()
}

/// The Hurst parameter by the slope of the logarithm of the autocorrelation over that of the lag:
/// 0.5 is a short memory, above it a long one. Lags without a positive autocorrelation are left
/// out; `None` below two lags.
///
/// 2000 values are few: series that have a short memory by their construction get 0.77.
pub fn hurst(autocorrelation: &[f64]) -> Option<f64> {
    let positive = autocorrelation
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, rho)| **rho > 0.0);
    let points: Vec<(f64, f64)> = positive
        .map(|(lag, rho)| ((lag as f64).ln(), rho.ln()))
        .collect();
    let (slope, _) = line(&points)?;
    Some(1.0 + slope / 2.0)
}

/// Slope and intercept of least squares.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| {
        (x + point.0 / n, y + point.1 / n)
    });
    let width: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let rise: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    (points.len() > 1 && width > 0.0).then(|| (rise / width, y - rise / width * x))
}

/// Fences of a box plot: quartiles minus and plus one and a half times their distance. Values
/// beyond them are outliers. `None` of no values.
pub fn fences(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let (below, part) = (place as usize, place.fract());
        sorted[below] * (1.0 - part) + sorted[(below + 1).min(last)] * part
    };
    let (low, high) = (at(0.25), at(0.75));
    Some((low - 1.5 * (high - low), high + 1.5 * (high - low)))
}

#[cfg(test)]
mod tests;
