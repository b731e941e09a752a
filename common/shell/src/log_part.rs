//! Reads a part of a daemon's own log for an administrator.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use wire::admin::{LOG_BYTES_MAX, LogPart, LogRequest};

use crate::telemetry;

/// The requested part of a log, in whole lines, or the reason why it cannot be read.
pub fn log_part(path: &Path, wanted: &LogRequest) -> LogPart {
    read(path, wanted).unwrap_or_else(|error| LogPart {
        trouble: Some(format!("could not read its log: {error}")),
        ..LogPart::default()
    })
}

fn read(path: &Path, wanted: &LogRequest) -> io::Result<LogPart> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let (text, end) = match wanted.from {
        None => last_of_both(path, &mut file, wanted.lines)?,
        Some(from) if from <= length => lines(&mut file, from, LOG_BYTES_MAX)?,
        // The log was rotated since the last read.
        Some(from) => match rest_of_aside(path, from)? {
            Some(rest) => rest,
            None => lines(&mut file, 0, LOG_BYTES_MAX)?,
        },
    };
    Ok(LogPart {
        text,
        end,
        trouble: None,
    })
}

/// The last lines of a log, and of the rotated one if the log has fewer.
fn last_of_both(path: &Path, log: &mut File, wanted: u32) -> io::Result<(String, u64)> {
    let (text, end) = last_of(log, LOG_BYTES_MAX)?;
    let n_lines = u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX);
    let lacking = wanted.saturating_sub(n_lines);
    let room = LOG_BYTES_MAX.saturating_sub(text.len() as u64);
    if lacking == 0 || end > LOG_BYTES_MAX || room == 0 {
        return Ok((last_lines(&text, wanted).to_owned(), end));
    }
    let Ok(mut aside) = File::open(telemetry::aside(path)) else {
        return Ok((text, end));
    };
    let (earlier, _) = last_of(&mut aside, room)?;
    Ok((format!("{}{text}", last_lines(&earlier, lacking)), end))
}

/// The rest of a rotated log from a byte on. The returned offset is that of the next log, once all
/// of this one is sent. None if there is nothing.
fn rest_of_aside(path: &Path, from: u64) -> io::Result<Option<(String, u64)>> {
    let Ok(mut aside) = File::open(telemetry::aside(path)) else {
        return Ok(None);
    };
    let length = aside.metadata()?.len();
    if from >= length {
        return Ok(None);
    }
    let (text, end) = lines(&mut aside, from, LOG_BYTES_MAX)?;
    let is_all = end == length || text.is_empty();
    Ok(Some((text, if is_all { 0 } else { end })))
}

/// Whole lines at the end of a file, and the offset behind them.
fn last_of(file: &mut File, bytes_max: u64) -> io::Result<(String, u64)> {
    let start = file.metadata()?.len().saturating_sub(bytes_max);
    let (text, end) = lines(file, start, bytes_max)?;
    // The read may have begun within a line.
    let first = match text.find('\n') {
        Some(first) if start > 0 => first + 1,
        Some(_) | None => 0,
    };
    Ok((text[first..].to_owned(), end))
}

/// Whole lines from an offset on, and the offset behind them.
fn lines(file: &mut File, start: u64, bytes_max: u64) -> io::Result<(String, u64)> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    // The last line may be unfinished. A line longer than one read is cut.
    let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(last) => last + 1,
        None if bytes.len() as u64 == LOG_BYTES_MAX => bytes.len(),
        None => 0,
    };
    bytes.truncate(whole);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((text, start + whole as u64))
}

fn last_lines(text: &str, lines: u32) -> &str {
    let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
    let mut starts = text.rmatch_indices('\n').map(|(at, _)| at + 1);
    // The newline behind the last line ends it as well.
    match starts.nth(wanted) {
        Some(start) => &text[start..],
        None => text,
    }
}

#[cfg(test)]
mod tests;
