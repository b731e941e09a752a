//! Reads tables of measurements, however long: bytes go in, observations of named series come out.
//!
//! It knows four forms of CSV, and finds out by the first two rows which one a table has:
//!
//! - a row a series, its name first, with or without a heading (`vm,s0,s1,...`);
//! - long: a row a measurement; one column has the values, another one may name the series, and
//!   another one the time, which must grow;
//! - steps (`vm,...,t_seconds,cpu_percent`): a value lasts until the next row of its series, and is
//!   read every 300 s;
//! - a number a line.
//!
//! An empty field is a gap.

mod columns;
mod fields;

use std::collections::BTreeMap;

use crate::forecaster::Quantity;
use crate::predictor::Observation;
use columns::{Form, form};
use fields::{Fields, Piece};

/// Fields of a row that are kept to find out the form; a longer one is a series.
const FIELDS_MAX: usize = 64;
/// Bytes of a field: names are shorter, and numbers much shorter.
const FIELD_BYTES_MAX: usize = 4096;
/// Series whose rows may be mixed: so many states are kept.
pub const SERIES_MAX: usize = 10_000;
/// Seconds from one reading of steps to the next.
pub const STEP_SECONDS: f64 = 300.0;
/// Readings of one step: more are a mistake in its time.
const READINGS_MAX: u32 = 1_000_000;
/// The name of a series that has none.
pub const NAMELESS: &str = "values";

/// The wishes of a user about a table.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The column of the values, in the long form.
    pub column: Option<String>,
    /// The column that names the series.
    pub by: Option<String>,
    /// The column of the time.
    pub time: Option<String>,
    /// The quantity, which says which numbers can be true.
    pub quantity: Quantity,
}

/// A mistake in a table. Lines count from 1.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum TableError {
    #[error("the table is empty")]
    Empty,
    #[error("line {line}: {text:?} in {column} is not a finite number")]
    NotANumber {
        line: u64,
        column: String,
        text: String,
    },
    #[error("line {line}: {value} is not {}", of(.quantity))]
    OutOfBounds {
        line: u64,
        value: f64,
        quantity: Quantity,
    },
    #[error(
        "line {line}: the time {time} of {series} does not come after {before}; sort the rows by time and leave each time once"
    )]
    NotAfter {
        line: u64,
        series: String,
        time: f64,
        before: f64,
    },
    #[error("line {line}: there is no column {column}")]
    RowTooShort { line: u64, column: String },
    #[error("there is no column {column:?}; the columns are {}", columns.join(", "))]
    NoColumn {
        column: String,
        columns: Vec<String>,
    },
    #[error("the table has a row for each measurement, and it does not say which column has the values; choose one with --column: {}", columns.join(", "))]
    WhichColumn { columns: Vec<String> },
    #[error("the table has no heading, so a column cannot be chosen by its name")]
    NoHeading,
    #[error("the table has fitted distributions, no measurements")]
    Distributions,
    #[error("line {line}: a field is longer than {FIELD_BYTES_MAX} bytes")]
    FieldTooLong { line: u64 },
    #[error("line {line}: a quotation mark is not closed")]
    OpenQuote { line: u64 },
    #[error("line {line}: a field is not UTF-8 text")]
    NotText { line: u64 },
    #[error("line {line}: there are more than {SERIES_MAX} series")]
    TooManySeries { line: u64 },
    #[error(
        "line {line}: a step of {series} lasts more than {READINGS_MAX} readings of {STEP_SECONDS} s"
    )]
    StepTooLong { line: u64, series: String },
}

fn of(quantity: &Quantity) -> &'static str {
    match quantity {
        Quantity::Runtime => "a runtime: they are above zero, and at most 1e15",
        Quantity::Load => "a load: they are zero or more, and at most 1e15",
        Quantity::Any => "within 1e15 of zero",
    }
}

/// The event of a table: an observation of a series, or the end of one that gets no more.
pub type Entry<'a> = (&'a str, Option<Observation>);

/// A table that is being read.
#[derive(Debug)]
pub struct Table {
    choice: Choice,
    fields: Fields,
    state: State,
    line: u64,
    /// The fields of the present row, as far as they are kept.
    row: Vec<String>,
    /// Number of fields of the present row so far.
    n_fields: usize,
    series: BTreeMap<String, Series>,
}

#[derive(Debug)]
enum State {
    /// The first row is being read.
    First,
    /// The second one.
    Second(First),
    Known(Form),
}

/// The first row, and its line.
#[derive(Debug)]
struct First {
    row: Vec<String>,
    line: u64,
}

/// A series of a long table or one of steps.
#[derive(Debug, Default)]
struct Series {
    time: Option<f64>,
    /// The value of the step that lasts.
    step: Option<Observation>,
    /// Number of readings so far.
    readings: u64,
}

impl Table {
    /// A table of which nothing has been read.
    pub fn new(choice: Choice) -> Table {
        Table {
            choice,
            fields: Fields::default(),
            state: State::First,
            line: 1,
            row: Vec::new(),
            n_fields: 0,
            series: BTreeMap::new(),
        }
    }

    /// Reads the next bytes, as many as there are.
    pub fn feed(&mut self, bytes: &[u8], out: &mut dyn FnMut(Entry<'_>)) -> Result<(), TableError> {
        for &byte in bytes {
            match self.fields.push(byte, self.line)? {
                None => {}
                Some(Piece::Field(text)) => self.field(text, out)?,
                Some(Piece::Row(text)) => self.end_row(text, out)?,
            }
            if byte == b'\n' {
                self.line += 1;
            }
        }
        Ok(())
    }

    /// Says that there are no more bytes.
    pub fn finish(mut self, out: &mut dyn FnMut(Entry<'_>)) -> Result<(), TableError> {
        if let Some(text) = self.fields.finish(self.line)? {
            self.end_row(text, out)?;
        }
        match std::mem::replace(&mut self.state, State::First) {
            State::First => return Err(TableError::Empty),
            // Only one row: a series, or a heading without measurements.
            State::Second(first) => {
                self.decide(&first.row, &[])?;
                if !self.has_heading() {
                    self.replay(first, out)?;
                }
            }
            State::Known(_) => {}
        }
        for name in self.series.keys() {
            out((name, None));
        }
        Ok(())
    }

    fn field(&mut self, text: String, out: &mut dyn FnMut(Entry<'_>)) -> Result<(), TableError> {
        let place = self.n_fields;
        self.n_fields += 1;
        if let State::Known(Form::Rows { .. }) = self.state {
            if place == 0 {
                self.row = vec![text];
                return Ok(());
            }
            let observation = self.observation(&text, || format!("field {}", place + 1))?;
            out((&self.row[0], Some(observation)));
            return Ok(());
        }
        if place < FIELDS_MAX {
            self.row.push(text);
            return Ok(());
        }
        // A row with so many fields is a series: what follows need not be kept.
        match std::mem::replace(&mut self.state, State::First) {
            // A heading of so many columns has nothing more to tell.
            State::First if !columns::are_numbers(&self.row[1..]) => {}
            State::First => {
                let row = std::mem::take(&mut self.row);
                self.decide(&row, &[])?;
                self.n_fields = 0;
                for text in row {
                    self.field(text, out)?;
                }
                self.field(text, out)?;
            }
            State::Second(first) => {
                let row = std::mem::take(&mut self.row);
                self.decide(&first.row, &row)?;
                if let State::Known(Form::Rows { heading: false }) = self.state {
                    self.replay(first, out)?;
                }
                self.n_fields = 0;
                for text in row {
                    self.field(text, out)?;
                }
                self.field(text, out)?;
            }
            State::Known(form) => self.state = State::Known(form),
        }
        Ok(())
    }

    fn end_row(&mut self, text: String, out: &mut dyn FnMut(Entry<'_>)) -> Result<(), TableError> {
        if self.n_fields == 0 && text.trim().is_empty() {
            return Ok(());
        }
        self.field(text, out)?;
        let row = std::mem::take(&mut self.row);
        self.n_fields = 0;
        match std::mem::replace(&mut self.state, State::First) {
            State::First => {
                let line = self.line;
                self.state = State::Second(First { row, line });
            }
            State::Second(first) => {
                self.decide(&first.row, &row)?;
                if !self.has_heading() {
                    self.replay(first, out)?;
                }
                let line = self.line;
                self.replay(First { row, line }, out)?;
            }
            State::Known(form) => {
                self.take(&form, &row, out)?;
                self.state = State::Known(form);
            }
        }
        Ok(())
    }

    fn decide(&mut self, first: &[String], second: &[String]) -> Result<(), TableError> {
        self.state = State::Known(form(first, second, &self.choice)?);
        Ok(())
    }

    fn has_heading(&self) -> bool {
        match &self.state {
            State::Known(Form::Rows { heading }) => *heading,
            State::Known(Form::Numbers) | State::First | State::Second(_) => false,
            State::Known(Form::Long { .. } | Form::Steps { .. }) => true,
        }
    }

    /// Takes a row that was kept until the form was known.
    fn replay(&mut self, first: First, out: &mut dyn FnMut(Entry<'_>)) -> Result<(), TableError> {
        let now = std::mem::replace(&mut self.line, first.line);
        self.replay_row(first.row, out)?;
        self.line = now;
        Ok(())
    }

    fn replay_row(
        &mut self,
        row: Vec<String>,
        out: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), TableError> {
        let State::Known(form) = std::mem::replace(&mut self.state, State::First) else {
            return Ok(());
        };
        if let Form::Rows { .. } = form {
            self.state = State::Known(form);
            self.n_fields = 0;
            for text in row {
                self.field(text, out)?;
            }
            let name = std::mem::take(&mut self.row);
            self.n_fields = 0;
            if let Some(name) = name.first() {
                out((name, None));
            }
            return Ok(());
        }
        self.take(&form, &row, out)?;
        self.state = State::Known(form);
        Ok(())
    }

    /// Takes a whole row.
    fn take(
        &mut self,
        form: &Form,
        row: &[String],
        out: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), TableError> {
        match form {
            // The values have been told one by one.
            Form::Rows { .. } => {
                out((&row[0], None));
                Ok(())
            }
            Form::Numbers => {
                let observation = self.observation(&row[0], || "the table".to_owned())?;
                self.series(NAMELESS)?;
                out((NAMELESS, Some(observation)));
                Ok(())
            }
            Form::Long { column, by, time } => {
                let observation =
                    self.observation(self.cell(row, column)?, || column.name.clone())?;
                let name = match by {
                    Some(by) => self.cell(row, by)?,
                    None => column.name.as_str(),
                };
                let time = match time {
                    Some(time) => Some(self.number(self.cell(row, time)?, &time.name)?),
                    None => None,
                };
                self.after(name, time)?;
                out((name, Some(observation)));
                Ok(())
            }
            Form::Steps { column, by, time } => {
                let name = self.cell(row, by)?;
                let at = self.number(self.cell(row, time)?, &time.name)?;
                let observation =
                    self.observation(self.cell(row, column)?, || column.name.clone())?;
                self.step(name, at, observation, out)
            }
        }
    }

    fn cell<'a>(&self, row: &'a [String], column: &columns::Column) -> Result<&'a str, TableError> {
        let cell = row.get(column.place).map(String::as_str);
        cell.ok_or_else(|| TableError::RowTooShort {
            line: self.line,
            column: column.name.clone(),
        })
    }

    fn number(&self, text: &str, column: &str) -> Result<f64, TableError> {
        let number = text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        number.ok_or_else(|| TableError::NotANumber {
            line: self.line,
            column: column.to_owned(),
            text: text.chars().take(40).collect(),
        })
    }

    fn observation(
        &self,
        text: &str,
        column: impl Fn() -> String,
    ) -> Result<Observation, TableError> {
        if text.trim().is_empty() {
            return Ok(Observation::Gap);
        }
        let value = self.number(text, &column())?;
        if !self.choice.quantity.holds(value) {
            return Err(TableError::OutOfBounds {
                line: self.line,
                value,
                quantity: self.choice.quantity,
            });
        }
        Ok(Observation::Value(value))
    }

    fn series(&mut self, name: &str) -> Result<&mut Series, TableError> {
        if !self.series.contains_key(name) {
            if self.series.len() == SERIES_MAX {
                return Err(TableError::TooManySeries { line: self.line });
            }
            self.series.insert(name.to_owned(), Series::default());
        }
        Ok(self.series.entry(name.to_owned()).or_default())
    }

    /// Checks that the time of a series grows; tells the time before.
    fn after(&mut self, name: &str, time: Option<f64>) -> Result<Option<f64>, TableError> {
        let line = self.line;
        let series = self.series(name)?;
        let before = series.time;
        if let (Some(time), Some(before)) = (time, before)
            && time <= before
        {
            return Err(TableError::NotAfter {
                line,
                series: name.to_owned(),
                time,
                before,
            });
        }
        series.time = time;
        Ok(before)
    }

    fn step(
        &mut self,
        name: &str,
        at: f64,
        observation: Observation,
        out: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), TableError> {
        let line = self.line;
        self.after(name, Some(at))?;
        let series = self.series(name)?;
        let mut n = 0;
        // Readings are at whole multiples, from the first step on.
        if let Some(step) = series.step {
            while (series.readings as f64) * STEP_SECONDS < at {
                out((name, Some(step)));
                series.readings += 1;
                n += 1;
                if n > READINGS_MAX {
                    return Err(TableError::StepTooLong {
                        line,
                        series: name.to_owned(),
                    });
                }
            }
        } else {
            series.readings = (at / STEP_SECONDS).ceil().max(0.0) as u64;
        }
        series.step = Some(observation);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
