//! Measured loads of machines: a row of percents for each, one every 300 s.

use thiserror::Error;

/// The most machines of a table: some hundred times those of one day of PlanetLab.
pub const MACHINES_MAX: usize = 100_000;
/// The most values of a machine: a month of them.
pub const VALUES_MAX: usize = 10_000;

/// The loads of some machines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    machines: Vec<Vec<u8>>,
    checksum: u32,
}

/// The reason why a text is no table of loads.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TracesError {
    /// A value that is not a percent.
    #[error("line {line}: {value:?} is no load in percent, 0 to 100")]
    Value {
        /// The line, from 1.
        line: usize,
        /// The value.
        value: String,
    },
    /// Nothing below the names of columns, or a machine without values.
    #[error("line {line}: a machine's name and its loads in percent are missing")]
    Nothing {
        /// The line, from 1.
        line: usize,
    },
    /// More than is read.
    #[error("there are more than {MACHINES_MAX} machines or {VALUES_MAX} values of one")]
    TooLarge,
}

impl Traces {
    /// The time between two values.
    pub const STEP_SECONDS: f64 = 300.0;

    /// Reads a table: names of columns, then a row for each machine, its name and its loads in
    /// percent.
    pub fn parse(text: &str) -> Result<Traces, TracesError> {
        let mut machines = Vec::new();
        for (index, row) in text.lines().enumerate().skip(1) {
            let line = index + 1;
            let mut values = Vec::new();
            for value in row.split(',').skip(1) {
                let percent = value.trim().parse::<u8>().ok().filter(|&p| p <= 100);
                values.push(percent.ok_or_else(|| TracesError::Value {
                    line,
                    value: value.chars().take(20).collect(),
                })?);
            }
            if values.is_empty() {
                return Err(TracesError::Nothing { line });
            }
            if machines.len() == MACHINES_MAX || values.len() > VALUES_MAX {
                return Err(TracesError::TooLarge);
            }
            machines.push(values);
        }
        if machines.is_empty() {
            return Err(TracesError::Nothing { line: 2 });
        }
        let checksum = crc32fast::hash(text.as_bytes());
        Ok(Traces { machines, checksum })
    }

    /// The checksum of the text that they were read from; 0 for none.
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    /// True if no machine was measured.
    pub fn is_empty(&self) -> bool {
        self.machines.is_empty()
    }

    /// The number of machines that were measured.
    pub fn n_machines(&self) -> usize {
        self.machines.len()
    }

    /// The loads of a machine in percent, at least one.
    pub fn machine(&self, number: usize) -> &[u8] {
        &self.machines[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_names_and_percents() {
        let traces = Traces::parse("vm,s0,s1\na,1,100\nb,0,7\n").unwrap();
        assert_eq!(traces.n_machines(), 2);
        assert_eq!(traces.machine(1), [0, 7]);
        for (text, line) in [("", 2), ("vm,s0\n", 2), ("vm,s0\na,1\nb\n", 3)] {
            assert_eq!(Traces::parse(text), Err(TracesError::Nothing { line }));
        }
        let wrong = Traces::parse("vm,s0\na,101\n").unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "line 2: \"101\" is no load in percent, 0 to 100"
        );
    }
}
