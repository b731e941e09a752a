//! Histograms of whole numbers, for metrics: a core counts into them as it steps, without a clock.

/// Upper bounds of times in microseconds: from a hop on loopback to a day.
const TIME_BOUNDS: &[u64] = &[
    1_000,
    5_000,
    25_000,
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
    1_800_000_000,
    7_200_000_000,
    86_400_000_000,
];

/// Counts of values by ascending upper bounds, with their sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bounds: &'static [u64],
    /// Values up to each bound and beyond the one before; the last one has those beyond all bounds.
    counts: Vec<u64>,
    sum: u64,
}

impl Histogram {
    /// A histogram without values. `bounds` ascend, in the unit of the values.
    pub fn new(bounds: &'static [u64]) -> Histogram {
        Histogram {
            bounds,
            counts: vec![0; bounds.len() + 1],
            sum: 0,
        }
    }

    /// A histogram without values, of microseconds from one thousand to a day.
    pub fn of_times() -> Histogram {
        Histogram::new(TIME_BOUNDS)
    }

    /// Counts a value.
    pub fn note(&mut self, value: u64) {
        let place = self.bounds.partition_point(|&bound| bound < value);
        self.counts[place] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Each bound with the number of values up to it.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let counts = self.bounds.iter().zip(&self.counts);
        counts.scan(0, |n, (&bound, count)| {
            *n += count;
            Some((bound, *n))
        })
    }

    /// The number of all values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all values.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}

#[test]
fn a_value_counts_up_to_its_own_bound_and_all_greater_ones() {
    let mut histogram = Histogram::new(&[10, 100]);
    for value in [0, 10, 11, 100, 101, u64::MAX] {
        histogram.note(value);
    }
    let cumulative: Vec<(u64, u64)> = histogram.cumulative().collect();
    assert_eq!(cumulative, [(10, 2), (100, 4)]);
    assert_eq!((histogram.count(), histogram.sum()), (6, u64::MAX));
}
