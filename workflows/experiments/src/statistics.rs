//! Means with the interval that the true one lies in at 95 % confidence.

/// A mean of independent numbers, one for each repetition of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of numbers.
    pub n: usize,
    /// Their mean; not a number where there are none.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval; infinite for fewer than two numbers.
    pub half_width: f64,
}

impl Estimate {
    /// The mean of numbers and Student's interval around it.
    pub fn of(numbers: &[f64]) -> Estimate {
        let n = numbers.len();
        let mean = numbers.iter().sum::<f64>() / n as f64;
        if n < 2 {
            return Estimate {
                n,
                mean,
                half_width: f64::INFINITY,
            };
        }
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        let deviation = (squares / (n - 1) as f64).sqrt();
        Estimate {
            n,
            mean,
            half_width: student(n - 1) * deviation / (n as f64).sqrt(),
        }
    }

    /// The same of numbers a constant times as large.
    pub fn times(self, factor: f64) -> Estimate {
        Estimate {
            mean: self.mean * factor,
            half_width: self.half_width * factor.abs(),
            ..self
        }
    }

    /// The lower end of the interval.
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    /// The upper end of the interval.
    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

/// Quantiles at 0.975 of Student's t distribution with 1 to 30 degrees of freedom (any table of it).
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The quantile at 0.975 of Student's t distribution with at least one degree of freedom; from 31
/// on by Cornish and Fisher's expansion, whose error is below 0.0005 there.
fn student(freedom: usize) -> f64 {
    if let Some(&quantile) = STUDENT.get(freedom.saturating_sub(1)) {
        return quantile;
    }
    let (z, freedom) = (1.959_964_f64, freedom as f64);
    let first = (z.powi(3) + z) / (4.0 * freedom);
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom * freedom);
    z + first + second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_students_interval() {
        // Mean 5, squares 9 + 1 + 1 + 1 + 4 = 16 by hand: deviation 2, t(4) = 2.776.
        let estimate = Estimate::of(&[2.0, 4.0, 6.0, 6.0, 7.0]);
        assert_eq!(estimate.mean, 5.0);
        assert!((estimate.half_width - 2.776 * 2.0 / 5f64.sqrt()).abs() < 1e-12);
        assert!((estimate.low() - 2.517).abs() < 1e-3);
        assert!((estimate.high() - 7.483).abs() < 1e-3);
        let half = estimate.times(-0.5);
        assert_eq!(half.mean, -2.5);
        assert_eq!(half.half_width, 0.5 * estimate.half_width);
    }

    #[test]
    fn one_number_tells_nothing_of_the_spread_and_none_no_mean() {
        assert_eq!(Estimate::of(&[3.0]).half_width, f64::INFINITY);
        assert!(Estimate::of(&[]).mean.is_nan());
    }

    #[test]
    fn many_numbers_have_nearly_the_normal_interval() {
        // 2.040 at 31, 2.000 at 60, 1.984 at 100 and 1.962 at 1000 degrees of freedom.
        for (freedom, quantile) in [(31, 2.040), (60, 2.000), (100, 1.984), (1_000, 1.962)] {
            assert!((student(freedom) - quantile).abs() < 6e-4, "{freedom}");
        }
        assert_eq!(student(1), 12.706);
    }
}
