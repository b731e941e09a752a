//! The results of an experiment, as text that grows a line at a time and is checked when it is read
//! again.
//!
//! The first line says which experiment it is. Each further line has the numbers of one unit, in
//! the order of the units, and every line begins with a checksum of the rest. So an experiment that
//! was stopped goes on where it was, a line that was being written is dropped, and results of
//! another experiment are never mixed in.

use std::fmt::Write;
use std::ops::Range;

use thiserror::Error;

use crate::design::{Design, Unit};
use crate::graphs::GRAPHS;
use crate::statistics::Estimate;
use crate::study::Study;

/// The version of what is drawn and kept; raised whenever the same seed leads to other numbers.
pub const VERSION: u32 = 5;

/// The results of the first units of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    design: Design,
    /// By unit, then graph, then column.
    values: Vec<f64>,
}

/// The reason why a text has no results of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResultsError {
    /// The first line is of something else.
    #[error("it has the results of another experiment: {found:?}, not {wanted:?}")]
    Other {
        /// Its first line.
        found: String,
        /// The first line of this experiment.
        wanted: String,
    },
    /// A line, not the last one, whose checksum is wrong.
    #[error("line {line} is damaged")]
    Damaged {
        /// The line, from 1.
        line: usize,
    },
    /// A sound line that is not the next unit, or does not have its numbers.
    #[error("line {line} is not the one that follows")]
    Order {
        /// The line, from 1.
        line: usize,
    },
}

/// The content of a text of results.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The results.
    pub results: Results,
    /// The bytes of whole lines; what follows was cut off while it was written.
    pub whole_bytes: usize,
}

impl Results {
    /// None yet.
    pub fn none(design: Design) -> Results {
        Results {
            design,
            values: Vec::new(),
        }
    }

    /// Reads what has been written of an experiment; the text may hold more repetitions.
    pub fn read(design: &Design, text: &[u8]) -> Result<Read, ResultsError> {
        let mut read = Read {
            results: Results::none(design.clone()),
            whole_bytes: 0,
        };
        let wanted = first_line(design);
        for (index, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let number = index + 1;
            let is_last = read.whole_bytes + line.len() == text.len();
            let other = |found: &str| {
                let found = found.chars().take(200).collect();
                let wanted = wanted.clone();
                Err(ResultsError::Other { found, wanted })
            };
            let Some(content) = content(line) else {
                let is_begun = || Results::heading(design).as_bytes().starts_with(line);
                match is_last {
                    true if index > 0 || is_begun() => break,
                    true => return other(String::from_utf8_lossy(line).trim_end()),
                    false => return Err(ResultsError::Damaged { line: number }),
                }
            };
            if index == 0 {
                if content != wanted {
                    return other(content);
                }
            } else if read.results.n_units() < design.n_units() {
                read.results
                    .take(content)
                    .ok_or(ResultsError::Order { line: number })?;
            }
            read.whole_bytes += line.len();
        }
        Ok(read)
    }

    /// Reads all whole repetitions of a text, whichever experiment it is of; nothing where it is of
    /// none, or damaged.
    pub fn whole(text: &[u8]) -> Option<Results> {
        let first = text.split_inclusive(|&byte| byte == b'\n').next()?;
        let words: Vec<&str> = content(first)?.split(' ').collect();
        let (["xavantes", "experiment", study, "version", _, "seed", seed], rest) =
            words.split_at_checked(7)?
        else {
            return None;
        };
        let ["traces", traces, "groups", groups] = rest else {
            return None;
        };
        let groups = crate::design::parse_groups(groups).ok()?;
        let mut design = Design::new(Study::named(study)?, seed.parse().ok()?, 1, groups).ok()?;
        design.traces = traces.parse().ok()?;
        let n_lines = text.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let repetitions = n_lines.saturating_sub(1) / design.units_of_repetition();
        design.repetitions = u32::try_from(repetitions).ok()?;
        let results = Results::read(&design, text).ok()?.results;
        (results.n_units() > 0 && results.is_complete()).then_some(results)
    }

    /// The line that a text of results begins with.
    pub fn heading(design: &Design) -> String {
        checked(&first_line(design))
    }

    /// The line of a unit.
    pub fn line(unit: Unit, values: &[f64]) -> String {
        let mut content = format!("{} {} {}", unit.repetition, unit.setting, unit.groups);
        for value in values {
            // A thousandth of a time unit is a millionth of a makespan.
            let _ = write!(content, " {value:.3}");
        }
        checked(&content)
    }

    /// The experiment.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// The number of units that have results.
    pub fn n_units(&self) -> u64 {
        (self.values.len() / self.design.values_of_unit()) as u64
    }

    /// True if all units have results.
    pub fn is_complete(&self) -> bool {
        self.n_units() == self.design.n_units()
    }

    /// Takes a line that was made by [`Results::line`] for the next unit; false if it is none.
    pub fn add(&mut self, line: &str) -> bool {
        let content = content(line.as_bytes());
        content.is_some_and(|content| self.take(content).is_some())
    }

    fn take(&mut self, content: &str) -> Option<()> {
        let unit = self.design.unit(self.n_units());
        let mut words = content.split(' ');
        let is_next = words.next()?.parse() == Ok(unit.repetition)
            && words.next()?.parse() == Ok(unit.setting)
            && words.next()?.parse() == Ok(unit.groups);
        let values: Vec<f64> = words
            .map(|word| word.parse::<f64>().ok().filter(|value| value.is_finite()))
            .collect::<Option<_>>()?;
        if !is_next || values.len() != self.design.values_of_unit() {
            return None;
        }
        self.values.extend(values);
        Some(())
    }

    /// A figure of each instance, its mean over the graphs of each repetition, and the estimate of
    /// the mean from those: the repetitions are independent, the graphs are always the same.
    pub fn estimate(
        &self,
        setting: usize,
        groups: u32,
        figure: impl Fn(&[f64]) -> f64,
    ) -> Estimate {
        self.estimate_of(setting, groups, 0..GRAPHS, figure)
    }

    /// The same over some of the fifteen graphs, by their places.
    pub fn estimate_of(
        &self,
        setting: usize,
        groups: u32,
        graphs: Range<usize>,
        figure: impl Fn(&[f64]) -> f64,
    ) -> Estimate {
        let n_columns = self.design.study.columns().len();
        let Some(first) = self.design.first_unit(setting, groups) else {
            return Estimate::of(&[]);
        };
        let units = self.values.chunks_exact(self.design.values_of_unit());
        let of_point = units
            .skip(first as usize)
            .step_by(self.design.units_of_repetition() as usize);
        let n_graphs = graphs.len() as f64;
        let means: Vec<f64> = of_point
            .map(|values| {
                let values = &values[graphs.start * n_columns..graphs.end * n_columns];
                values.chunks_exact(n_columns).map(&figure).sum::<f64>() / n_graphs
            })
            .collect();
        Estimate::of(&means)
    }
}

fn first_line(design: &Design) -> String {
    let groups: Vec<String> = design.groups.iter().map(u32::to_string).collect();
    format!(
        "xavantes experiment {} version {VERSION} seed {} traces {} groups {}",
        design.study.name(),
        design.seed,
        design.traces,
        groups.join(",")
    )
}

fn checked(content: &str) -> String {
    format!("{:08x} {content}\n", crc32fast::hash(content.as_bytes()))
}

/// A line without its checksum and end; nothing if it is not whole.
fn content(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (sum, content) = line.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == crc32fast::hash(content.as_bytes())).then_some(content)
}

#[cfg(test)]
mod tests;
