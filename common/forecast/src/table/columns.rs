//! The form of a table, by its first two rows.

use super::{Choice, TableError};

/// A column with its place in the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) place: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A row a series.
    Rows { heading: bool },
    /// A number a line.
    Numbers,
    /// A row a measurement.
    Long {
        column: Column,
        by: Option<Column>,
        time: Option<Column>,
    },
    /// A row a step.
    Steps {
        column: Column,
        by: Column,
        time: Column,
    },
}

/// Columns that have values, names and times where nobody says so.
const VALUES: [&str; 7] = [
    "value",
    "ms",
    "milliseconds",
    "seconds",
    "runtime",
    "bandwidth",
    "load",
];
const NAMES: [&str; 5] = ["series", "machine", "vm", "node", "name"];
const TIMES: [&str; 4] = ["t", "time", "timestamp", "start"];
/// The time of steps.
const STEPS: &str = "t_seconds";
/// The heading of fitted distributions.
const DISTRIBUTIONS: [&str; 3] = ["trace", "system", "quantity"];

pub(super) fn form(
    first: &[String],
    second: &[String],
    choice: &Choice,
) -> Result<Form, TableError> {
    let wishes = choice.column.is_some() || choice.by.is_some() || choice.time.is_some();
    if are_numbers(&first[1..]) && (first.len() > 1 || are_numbers(&first[..1])) {
        if wishes {
            return Err(TableError::NoHeading);
        }
        let is_list = first.len() == 1;
        return Ok(if is_list {
            Form::Numbers
        } else {
            Form::Rows { heading: false }
        });
    }
    if DISTRIBUTIONS
        .iter()
        .zip(first)
        .all(|(known, name)| known == name)
        && first.len() > 3
    {
        return Err(TableError::Distributions);
    }
    let known = |names: &[&str]| {
        let place = names
            .iter()
            .find_map(|name| first.iter().position(|column| column.trim() == *name));
        place.map(|place| column(first, place))
    };
    let chosen = |name: &Option<String>| -> Result<Option<Column>, TableError> {
        let Some(name) = name else {
            return Ok(None);
        };
        let place = first.iter().position(|column| column.trim() == name);
        place
            .map(|place| Some(column(first, place)))
            .ok_or_else(|| TableError::NoColumn {
                column: name.clone(),
                columns: first.to_vec(),
            })
    };
    let (value, by, time) = (
        chosen(&choice.column)?,
        chosen(&choice.by)?,
        chosen(&choice.time)?,
    );
    if let Some(steps) = known(&[STEPS]).filter(|_| time.is_none()) {
        let last = column(first, first.len() - 1);
        return Ok(Form::Steps {
            column: value.unwrap_or(last),
            by: by.unwrap_or_else(|| column(first, 0)),
            time: steps,
        });
    }
    let is_row = second.len() > 1 && are_numbers(&second[1..]);
    let value = match value.or_else(|| known(&VALUES)) {
        Some(value) => value,
        None if first.len() == 1 => column(first, 0),
        None if is_row && !wishes => return Ok(Form::Rows { heading: true }),
        None => {
            return Err(TableError::WhichColumn {
                columns: first.to_vec(),
            });
        }
    };
    Ok(Form::Long {
        column: value,
        by: by.or_else(|| known(&NAMES)),
        time: time.or_else(|| known(&TIMES)),
    })
}

/// True if all are numbers or gaps.
pub(super) fn are_numbers(fields: &[String]) -> bool {
    let is_number = |text: &str| text.is_empty() || text.parse::<f64>().is_ok();
    fields.iter().all(|field| is_number(field.trim()))
}

fn column(heading: &[String], place: usize) -> Column {
    Column {
        name: heading[place].trim().to_owned(),
        place,
    }
}
