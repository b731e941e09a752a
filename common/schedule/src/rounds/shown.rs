//! The power of machines as tasks that ran there have shown it.

/// The variances of performances that are believed before there are any, and the number of tasks that
/// these count as.
const VARIANCE: f64 = 0.03;
const PRIOR: f64 = 2.0;
/// The bounds of the ratio of variances.
const RATIO_LEAST: f64 = 0.25;
const RATIO_MOST: f64 = 8.0;

/// The evidence about the power of one machine: the times of tasks that ended there, beside those that they
/// take at its nominal power.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// Seconds that all tasks which ended there take at nominal power.
    nominal: f64,
    /// Seconds that they took.
    real: f64,
    /// Tasks that ended there, with the sums of their performances, nominal over real time, and of
    /// the squares of these.
    performances: [f64; 3],
    /// The most that its factor can be, because a task runs longer than that would allow; none if
    /// nothing is overdue.
    most: Option<f64>,
}

impl Shown {
    /// A task has ended that takes so many seconds at nominal power, and took so many.
    pub fn ended(&mut self, nominal: f64, real: f64) {
        self.nominal += nominal;
        self.real += real;
        self.most = None;
        if nominal > 0.0 && real > 0.0 {
            let performance = nominal / real;
            self.performances[0] += 1.0;
            self.performances[1] += performance;
            self.performances[2] += performance * performance;
        }
    }

    /// Tasks still run that take so many seconds at nominal power, and have taken more already. Until the next
    /// one ends, the factor is at most what that allows; `weight` as in [`Shown::factor`].
    pub fn overdue(&mut self, nominal: f64, elapsed: f64, weight: f64) {
        let most = (self.nominal + nominal + weight) / (self.real + elapsed + weight);
        self.most = Some(most);
    }

    /// Lets older evidence count less: all of it together counts as at most so many seconds of nominal time, so
    /// that a machine whose load changes is judged by what it does now.
    pub fn forget_beyond(&mut self, seconds: f64) {
        if self.nominal > seconds {
            self.fade(seconds / self.nominal);
        }
    }

    /// All of it counts as so much of what it was, a part.
    pub fn fade(&mut self, kept: f64) {
        self.nominal *= kept;
        self.real *= kept;
        self.performances = self.performances.map(|sum| sum * kept);
    }

    /// The same where each task took so many times as long at nominal power as was believed.
    #[must_use]
    pub fn scaled(mut self, error: f64) -> Shown {
        self.nominal *= error;
        self.performances[1] *= error;
        self.performances[2] *= error * error;
        self
    }

    /// The evidence of both.
    #[must_use]
    pub fn and(mut self, other: Shown) -> Shown {
        self.nominal += other.nominal;
        self.real += other.real;
        for (sum, more) in self.performances.iter_mut().zip(other.performances) {
            *sum += more;
        }
        self
    }

    /// Other evidence of what has ended takes the place of this one. What is overdue stays so.
    pub fn replace(&mut self, ended: Shown) {
        *self = Shown {
            most: self.most,
            ..ended
        };
    }

    /// One of the tasks that were overdue has ended.
    pub fn end_overdue(&mut self) {
        self.most = None;
    }

    /// The seconds of nominal time that it rests on.
    pub fn nominal(&self) -> f64 {
        self.nominal
    }

    /// The number of tasks that it rests on, of which those that were forgotten in part count in part.
    pub fn n_tasks(&self) -> f64 {
        self.performances[0]
    }

    /// True if a task has ended there.
    pub fn is_known(&self) -> bool {
        self.real > 0.0
    }

    /// The factor of its nominal power, if it is believed to have one for `weight` seconds of nominal time
    /// before it has shown anything.
    pub fn factor(&self, believed: f64, weight: f64) -> f64 {
        let real = self.real + weight / believed;
        let shown = match real > 0.0 {
            true => (self.nominal + weight) / real,
            false => believed,
        };
        shown.min(self.most())
    }

    /// The most that its factor can be because of what is overdue.
    pub(super) fn most(&self) -> f64 {
        self.most.unwrap_or(f64::INFINITY)
    }

    /// True if something is overdue there.
    pub fn has_overdue(&self) -> bool {
        self.most.is_some()
    }
}

/// The mean factor of machines: each counts as much as it is known, and one that has its nominal power
/// counts besides.
pub fn mean_factor<'a>(all: impl Iterator<Item = &'a Shown>, weight: f64) -> f64 {
    let (mut sum, mut count) = (1.0, 1.0);
    for one in all.filter(|one| one.is_known()) {
        let known = one.real / (one.real + weight);
        sum += known * one.nominal / one.real;
        count += known;
    }
    sum / count
}

/// The variance of performances on one machine over the variance of means of machines, within bounds: where
/// tasks vary as much wherever they run, a machine has to show more before it is believed.
pub fn variances_ratio<'a>(all: impl Iterator<Item = &'a Shown>) -> f64 {
    let (mut n, mut n_squares, mut sum, mut within, mut between, mut groups) =
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for one in all {
        let [count, performances, squares] = one.performances;
        if count > 0.0 {
            let square = performances * performances / count;
            n += count;
            n_squares += count * count;
            sum += performances;
            within += (squares - square).max(0.0);
            between += square;
            groups += 1.0;
        }
    }
    if n <= 0.0 {
        return 1.0;
    }
    let within = (within + PRIOR * VARIANCE) / (n - groups + PRIOR).max(PRIOR);
    let between = (between - sum * sum / n - (groups - 1.0) * within).max(0.0);
    let between = (between + PRIOR * VARIANCE) / (n - n_squares / n + PRIOR);
    (within / between).clamp(RATIO_LEAST, RATIO_MOST)
}

#[cfg(test)]
mod tests;
