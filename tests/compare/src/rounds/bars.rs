//! The measures as a table, each with its bar, and whether the median holds it.

use std::thread;

use super::Setting;
use crate::figures::{Figure, Table, file_system};

/// The bound of a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bar {
    /// The median is at most this.
    AtMost(f64),
    /// Each value is at most this.
    EachAtMost(f64),
    /// The median is below this.
    Below(f64),
    /// It is told alone.
    Told,
}

/// All measures.
#[derive(Default)]
pub(super) struct Bars {
    rows: Vec<(String, Vec<f64>, usize, Bar)>,
    skipped: Vec<String>,
}

impl Bars {
    /// Adds a measure: its values, of which those that are NaN could not be measured, and the digits that are shown.
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        values: Vec<f64>,
        digits: usize,
        bar: Bar,
    ) {
        self.rows.push((name.into(), values, digits, bar));
    }

    /// Says that a part was not measured, and why.
    pub(super) fn skip(&mut self, why: impl Into<String>) {
        self.skipped.push(format!("skipped: {}", why.into()));
    }

    pub(super) fn text(&self, setting: &Setting) -> String {
        let cores = thread::available_parallelism().map_or(0, usize::from);
        let disk = file_system(&setting.dir);
        let mut text = format!(
            "{} pairs at a scale of {} on {cores} cores, state on {disk}: median (least to greatest)\n",
            setting.n_pairs, setting.scale
        );
        if setting.scale < 1.0 {
            text.push_str(
                "Bars are meant for a scale of 1: what is short varies more by chance.\n",
            );
        }
        let mut table = Table::new(["measure", "measured", "bar", "holds"]);
        for (name, values, digits, bar) in &self.rows {
            let figure = Figure::of(values.iter().copied());
            let holds = bar.holds(values, figure.median);
            let holds = holds.map_or("", |holds| if holds { "yes" } else { "no" });
            table.row([
                name.clone(),
                figure.text(*digits),
                bar.text(*digits),
                holds.to_owned(),
            ]);
        }
        text.push('\n');
        text.push_str(&table.text());
        for line in &self.skipped {
            text.push_str(&format!("\n{line}"));
        }
        text
    }
}

impl Bar {
    /// Returns true if values with this median hold it; none where there is nothing to hold, or nothing was measured.
    fn holds(self, values: &[f64], median: f64) -> Option<bool> {
        let is_there = !values.is_empty();
        match self {
            Bar::AtMost(most) => is_there.then_some(median <= most),
            Bar::EachAtMost(most) => is_there.then(|| values.iter().all(|value| *value <= most)),
            Bar::Below(bound) => is_there.then_some(median < bound),
            Bar::Told => None,
        }
    }

    fn text(self, digits: usize) -> String {
        match self {
            Bar::AtMost(most) => format!("≤ {most:.digits$}"),
            Bar::EachAtMost(most) => format!("each ≤ {most:.digits$}"),
            Bar::Below(bound) => format!("< {bound:.digits$}"),
            Bar::Told => String::new(),
        }
    }
}

#[test]
fn what_was_not_measured_holds_no_bar() {
    assert_eq!(Bar::AtMost(2.0).holds(&[1.0, 3.0], 2.0), Some(true));
    assert_eq!(Bar::EachAtMost(2.0).holds(&[1.0, 3.0], 2.0), Some(false));
    assert_eq!(Bar::Below(2.0).holds(&[2.0], 2.0), Some(false));
    assert_eq!(Bar::AtMost(2.0).holds(&[f64::NAN], f64::NAN), Some(false));
    assert_eq!(Bar::AtMost(2.0).holds(&[], f64::NAN), None);
    assert_eq!(Bar::Told.holds(&[1.0], 1.0), None);
}
