//! Two builds of the same programs, measured by turns in one run: the cost of a change.
//!
//! A machine that gets slower meanwhile slows both, so the ratio of each pair is steadier than either figure.

use crate::definitions::Shape;
use crate::figures::{Figure, Table};

/// One of the two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The one that `--beside` names.
    Before,
    /// This workspace's.
    Now,
}

impl Build {
    /// The order of the builds in one repetition. It alternates, so that neither build always follows the other.
    pub(crate) fn order(run: usize) -> [Build; 2] {
        if run.is_multiple_of(2) {
            [Build::Before, Build::Now]
        } else {
            [Build::Now, Build::Before]
        }
    }
}

/// The table of all pairs.
pub(crate) struct Beside(Table<5>);

impl Beside {
    pub(crate) fn new() -> Beside {
        Beside(Table::new(["beside", "before", "now", "ratio", "bar"]))
    }

    /// Adds the speed of a shape, from the seconds of each repetition.
    pub(crate) fn speed(&mut self, shape: Shape, seconds: [Vec<f64>; 2]) {
        let n = shape.n_activities() as f64;
        let name = shape.name();
        let each = |of: fn(f64, f64) -> f64| {
            let all = |values: &Vec<f64>| values.iter().map(|&seconds| of(n, seconds)).collect();
            [all(&seconds[0]), all(&seconds[1])]
        };
        match shape {
            Shape::One => self.row("one activity: ms", each(|_, seconds| seconds * 1e3), 1, ""),
            Shape::Flat | Shape::Layers | Shape::Items => {
                let rate = each(|n, seconds| n / seconds);
                self.row(&format!("{name}: activities/s"), rate, 0, "≥ 0.95");
            }
            Shape::Chain => {
                let hop = each(|n, seconds| seconds * 1e3 / n);
                self.row(&format!("{name}: ms a hop"), hop, 3, "≤ +0.05 ms");
            }
        }
    }

    /// Adds a measure: its values of each repetition, in the same order for both builds.
    pub(crate) fn row(
        &mut self,
        name: &str,
        [before, now]: [Vec<f64>; 2],
        digits: usize,
        bar: &str,
    ) {
        let ratios = Figure::of(before.iter().zip(&now).map(|(before, now)| now / before));
        self.0.row([
            name.to_owned(),
            Figure::of(before.into_iter()).text(digits),
            Figure::of(now.into_iter()).text(digits),
            ratios.text(3),
            bar.to_owned(),
        ]);
    }

    pub(crate) fn text(&self) -> String {
        self.0.text()
    }
}

#[test]
fn ratio_is_the_median_of_the_pairs() {
    let mut beside = Beside::new();
    beside.row(
        "hop",
        [vec![1.0, 2.0, 4.0], vec![1.0, 3.0, 8.0]],
        1,
        "≤ 1.5",
    );
    let text = beside.text();
    let row = text.lines().last().unwrap();
    assert!(row.contains("1.500 (1.000 to 2.000)"), "{text}");
    assert_eq!(Build::order(0), [Build::Before, Build::Now]);
    assert_eq!(Build::order(1), [Build::Now, Build::Before]);
}
