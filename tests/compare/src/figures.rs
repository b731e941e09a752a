//! Medians, and tables in Markdown.

use std::fs;
use std::path::Path;

/// Median, least and greatest of some values; of none, all are NaN and print as nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    least: f64,
    greatest: f64,
}

impl Figure {
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Figure {
        let mut values: Vec<f64> = values.collect();
        let median = median(&mut values);
        let least = values.first().copied().unwrap_or(f64::NAN);
        let greatest = values.last().copied().unwrap_or(f64::NAN);
        Figure {
            median,
            least,
            greatest,
        }
    }

    pub(crate) fn times(self, factor: f64) -> Figure {
        Figure {
            median: self.median * factor,
            least: self.least * factor,
            greatest: self.greatest * factor,
        }
    }

    pub(crate) fn text(self, digits: usize) -> String {
        if self.median.is_nan() {
            return String::new();
        }
        let Figure {
            median,
            least,
            greatest,
        } = self;
        format!("{median:.digits$} ({least:.digits$} to {greatest:.digits$})")
    }
}

/// The middle value, after sorting; NaN of none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

/// A table whose columns are as wide as what is in them.
pub(crate) struct Table<const N: usize> {
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(head: [&str; N]) -> Table<N> {
        Table {
            rows: vec![head.map(str::to_owned)],
        }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    pub(crate) fn text(&self) -> String {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..N).map(width).collect();
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                text.push_str(&format!("| {cell:<width$} "));
            }
            text.push_str("|\n");
            if index == 0 {
                for width in &widths {
                    text.push_str(&format!("|{}", "-".repeat(width + 2)));
                }
                text.push_str("|\n");
            }
        }
        text
    }
}

/// Type of the file system on which the directory lies: on tmpfs a flush costs nothing.
pub(crate) fn file_system(dir: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    let mut best = (0, "an unknown file system");
    for line in mounts.lines() {
        let mut words = line.split(' ').skip(1);
        if let (Some(point), Some(kind)) = (words.next(), words.next())
            && dir.starts_with(point)
            && point.len() >= best.0
        {
            best = (point.len(), kind);
        }
    }
    best.1.to_owned()
}

#[test]
fn medians_and_tables() {
    assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    assert_eq!(
        Figure::of([3.0, 1.0].into_iter()).text(1),
        "2.0 (1.0 to 3.0)"
    );
    assert_eq!(Figure::of(std::iter::empty()).text(1), "");
    let mut table = Table::new(["a", "µs"]);
    table.row(["long".into(), "1".into()]);
    assert_eq!(
        table.text(),
        "| a    | µs |\n|------|----|\n| long | 1  |\n"
    );
}
