//! Functions that make lists: ranges of numbers, the lines of a text, the rows of a table.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::str::Chars;

use model::Value;
use model::limits::VALUE_BYTES;

use crate::function::shorten;
use crate::limits::RANGE_MAX;

/// The numbers from one up or down to another, which is not among them.
pub(crate) struct Range {
    from: i64,
    to: i64,
    step: i64,
}

/// The range that the arguments of `range` mean; none if one is no whole number.
pub(crate) fn bounds(arguments: &[&Value]) -> Option<Result<Range, String>> {
    let whole = |value: &&Value| match value {
        Value::Int(number) => Some(*number),
        Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..) => None,
    };
    let numbers: Option<Vec<i64>> = arguments.iter().map(whole).collect();
    let (from, to, step) = match numbers?[..] {
        [to] => (0, to, 1),
        [from, to] => (from, to, 1),
        [from, to, step] => (from, to, step),
        _ => return None,
    };
    if step == 0 {
        return Some(Err("a `range` with steps of 0 has no end".to_owned()));
    }
    Some(Ok(Range { from, to, step }))
}

impl Range {
    /// Its size, or an error if it is larger than any list may be.
    pub(crate) fn n_items(&self) -> Result<usize, String> {
        let (from, to) = (i128::from(self.from), i128::from(self.to));
        let way = if self.step > 0 { to - from } else { from - to };
        let step = u128::from(self.step.unsigned_abs());
        let n_items = u128::try_from(way).unwrap_or(0).div_ceil(step);
        match usize::try_from(n_items) {
            Ok(n_items) if n_items <= RANGE_MAX => Ok(n_items),
            Ok(_) | Err(_) => Err(format!(
                "a `range` of {n_items} numbers; at most {RANGE_MAX}"
            )),
        }
    }

    pub(crate) fn list(&self) -> Result<Value, String> {
        let numbers = std::iter::successors(Some(self.from), |at| at.checked_add(self.step));
        let numbers = numbers.take(self.n_items()?);
        Ok(Value::List(numbers.map(Value::Int).collect()))
    }
}

/// The lines of a text without their ends; nothing follows the last line's end.
pub(crate) fn lines(text: &str) -> Value {
    let lines = text.lines().map(|line| Value::Text(line.to_owned()));
    Value::List(lines.collect())
}

/// The rows of a table as maps, by the names in its first line (RFC 4180: fields in quotes may have
/// commas and line ends in them, and quotes twice).
pub(crate) fn csv(text: &str) -> Result<Value, String> {
    let mut rows = Rows {
        rest: text
            .strip_prefix('\u{feff}')
            .unwrap_or(text)
            .chars()
            .peekable(),
        line: 1,
    };
    let Some((_, header)) = rows.next_row()? else {
        return Err("a table without a line with the names of its columns".to_owned());
    };
    let mut names = BTreeSet::new();
    for (place, name) in header.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} of the table has no name", place + 1));
        }
        if name.contains('\n') {
            // The bytes of all rows are reckoned from the first line.
            return Err(format!(
                "the name of column {} goes over several lines",
                place + 1
            ));
        }
        if !names.insert(name) {
            return Err(format!(
                "two columns of the table are called `{}`",
                shorten(name)
            ));
        }
    }
    let mut list = Vec::new();
    while let Some((line, row)) = rows.next_row()? {
        let (n_fields, n_names) = (row.len(), header.len());
        if n_fields != n_names {
            return Err(format!(
                "line {line} of the table: fields of {n_names} columns are wanted, not {n_fields}"
            ));
        }
        let fields = row.into_iter().map(Value::Text);
        let entries: BTreeMap<String, Value> = header.iter().cloned().zip(fields).collect();
        list.push(Value::Map(entries));
    }
    Ok(Value::List(list))
}

/// Bytes, and texts and maps, that the rows of a table take at most: each has the names again.
pub(crate) fn csv_makes(text: &str) -> (usize, usize) {
    let header = text.lines().next().unwrap_or_default();
    let n_rows = text.lines().count();
    let n_fields = n_rows + text.bytes().filter(|byte| *byte == b',').count();
    let names = n_rows.saturating_mul(header.len());
    let fields = (n_rows + n_fields) * VALUE_BYTES;
    (
        names.saturating_add(text.len() + fields),
        1 + n_rows + 2 * n_fields,
    )
}

struct Rows<'a> {
    rest: Peekable<Chars<'a>>,
    /// The line that `rest` begins in.
    line: usize,
}

impl Rows<'_> {
    /// The next row and the line in which it begins.
    fn next_row(&mut self) -> Result<Option<(usize, Vec<String>)>, String> {
        let line = self.line;
        if self.rest.peek().is_none() {
            return Ok(None);
        }
        let mut row = Vec::new();
        loop {
            let field = match self.rest.next_if_eq(&'"') {
                Some(_) => self.quoted()?,
                None => self.plain()?,
            };
            row.push(field);
            match self.rest.next() {
                Some(',') => continue,
                None | Some('\n') => {}
                Some('\r') if self.rest.next_if_eq(&'\n').is_some() => {}
                Some(other) => {
                    let (line, other) = (self.line, other.escape_debug());
                    return Err(format!(
                        "line {line} of the table has `{other}` where a comma or its end is expected"
                    ));
                }
            }
            self.line += 1;
            return Ok(Some((line, row)));
        }
    }

    /// A field without quotes, up to the comma or the line's end behind it.
    fn plain(&mut self) -> Result<String, String> {
        let mut field = String::new();
        while let Some(c) = self.rest.next_if(|c| !matches!(c, ',' | '\n' | '\r')) {
            if c == '"' {
                let line = self.line;
                return Err(format!(
                    "line {line} of the table has a quote inside a field without quotes"
                ));
            }
            field.push(c);
        }
        Ok(field)
    }

    /// A field whose first quote has been read.
    fn quoted(&mut self) -> Result<String, String> {
        let first = self.line;
        let mut field = String::new();
        loop {
            match self.rest.next() {
                Some('"') if self.rest.next_if_eq(&'"').is_some() => field.push('"'),
                Some('"') => return Ok(field),
                Some(c) => {
                    self.line += usize::from(c == '\n');
                    field.push(c);
                }
                None => {
                    return Err(format!(
                        "line {first} of the table has a quote that is not closed"
                    ));
                }
            }
        }
    }
}
