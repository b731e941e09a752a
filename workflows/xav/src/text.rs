//! Values, times and amounts as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::{ArtifactKind, Bytes, Span, Value, Wall};

use crate::visible;

/// Characters of a value that a table or a line of a summary shows.
pub(crate) const VALUE_CHARS_MAX: usize = 200;

/// A value of a variable, input or output: text as it is, everything else as JSON would have it.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(_) | Value::Map(_) => crate::json::value(value).to_string(),
        Value::Artifact(artifact, name) => {
            let what = match artifact.kind {
                ArtifactKind::File => "file",
                ArtifactKind::Program => "program",
                ArtifactKind::Directory => "directory",
            };
            match name {
                Some(name) => format!("{name}, {what} of {}", artifact.bytes),
                None => format!("{what} of {}", artifact.bytes),
            }
        }
    }
}

/// The same in one line that is not too long.
pub(crate) fn value_in_line(of: &Value) -> String {
    one_line(&value(of), VALUE_CHARS_MAX)
}

/// A text in one line: line ends and other control characters as escapes, cut with an ellipsis.
pub(crate) fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    for (n_chars, character) in text.chars().enumerate() {
        if n_chars == chars_max {
            line.push('…');
            break;
        }
        if visible::is_hidden(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// Text of a command for a terminal: what is hidden in it but tabs and line ends as escapes, so that
/// what a command wrote cannot play with the terminal.
pub(crate) fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if visible::is_hidden(character) && character != '\n' && character != '\t' {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// A command line as it could be typed.
pub(crate) fn command(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    one_line(&quoted.join(" "), 500)
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A point of the calendar in the user's own time.
pub(crate) fn moment(at: Wall) -> String {
    match timestamp(at) {
        Some(timestamp) => timestamp
            .to_zoned(TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => "-".to_owned(),
    }
}

/// The time zone in which [`moment`] tells a point of the calendar: `Europe/Lisbon, UTC+01:00`.
pub(crate) fn time_zone(at: Wall) -> String {
    let zone = TimeZone::system();
    let name = zone.iana_name().map(str::to_owned);
    let offset = timestamp(at).map(|at| at.to_zoned(zone).strftime("UTC%:z").to_string());
    let parts: Vec<String> = name.into_iter().chain(offset).collect();
    parts.join(", ")
}

/// A point of the calendar for programs: RFC 3339 in UTC.
pub(crate) fn moment_for_programs(at: Wall) -> String {
    timestamp(at).map_or_else(String::new, |timestamp| timestamp.to_string())
}

fn timestamp(at: Wall) -> Option<Timestamp> {
    Timestamp::from_microsecond(i64::try_from(at.0).ok()?).ok()
}

/// A length of time, or a dash for none.
pub(crate) fn span(span: Span) -> String {
    if span == Span::ZERO {
        "-".to_owned()
    } else {
        span.to_string()
    }
}

/// The remaining time at the median, and what nine in ten runs take at most: `1m 10s left (p90 1m 30s)`.
pub(crate) fn left(median: Span, most: Option<Span>) -> String {
    match most {
        Some(most) => format!("{median} left (p90 {most})"),
        None => format!("{median} left"),
    }
}

/// An amount, or a dash for none.
pub(crate) fn bytes(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO {
        "-".to_owned()
    } else {
        bytes.to_string()
    }
}

/// The plans made again because of slow machines: `rescheduled twice`; none where there were none.
pub(crate) fn rescheduled(times: u32) -> Option<String> {
    match times {
        0 => None,
        1 => Some("rescheduled once".to_owned()),
        2 => Some("rescheduled twice".to_owned()),
        n => Some(format!("rescheduled {n} times")),
    }
}

/// Thousandths as per cent: `35 %`.
pub(crate) fn percent(per_mille: u32) -> String {
    format!("{} %", per_mille.saturating_add(5) / 10)
}

/// `1 activity`, `2 activities`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {many}")
    }
}

/// The name of a list that was probably meant; `None` if none is near.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = wanted.chars().count() / 3 + 1;
    names
        .into_iter()
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Characters to insert, remove or replace, by Levenshtein.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A table with columns aligned; no line has blanks at its end.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| shown_width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let pad = width.saturating_sub(shown_width(cell)) + 2;
            line.extend(std::iter::repeat_n(' ', pad));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Characters of a text that a terminal shows: colours take no room.
fn shown_width(text: &str) -> usize {
    let mut width = 0;
    let mut in_colour = false;
    for character in text.chars() {
        match character {
            '\x1b' => in_colour = true,
            'm' if in_colour => in_colour = false,
            _ if in_colour => {}
            _ => width += 1,
        }
    }
    width
}

#[cfg(test)]
mod tests;
