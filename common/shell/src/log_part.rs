//! Reading a part of a daemon's own log, for whoever administers the grid.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use wire::admin::{LOG_BYTES_MAX, LogPart, LogWish};

/// The part of a log that is wanted, in whole lines. Where it cannot be read, why not.
pub fn log_part(path: &Path, wish: &LogWish) -> LogPart {
    read(path, wish).unwrap_or_else(|error| LogPart {
        trouble: Some(format!("could not read its log: {error}")),
        ..LogPart::default()
    })
}

fn read(path: &Path, wish: &LogWish) -> io::Result<LogPart> {
    let mut file = File::open(path)?;
    let all = file.metadata()?.len();
    let end = all.saturating_sub(LOG_BYTES_MAX);
    let start = match wish.from {
        Some(from) if from <= all => from,
        // Another log than the one that was read before.
        Some(_) => 0,
        None => end,
    };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES_MAX).read_to_end(&mut bytes)?;
    // The last line may be being written. One that is longer than what is read at once is cut.
    let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(last) => last + 1,
        None if bytes.len() as u64 == LOG_BYTES_MAX => bytes.len(),
        None => 0,
    };
    bytes.truncate(whole);
    let read_until = start + whole as u64;
    let is_cut = wish.from.is_none() && start > 0;
    let first = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(first) if is_cut => first + 1,
        Some(_) | None => 0,
    };
    let text = String::from_utf8_lossy(&bytes[first..]);
    let lines = match wish.from {
        Some(_) => &text,
        None => last_lines(&text, wish.lines),
    };
    Ok(LogPart {
        text: lines.to_owned(),
        end: read_until,
        trouble: None,
    })
}

fn last_lines(text: &str, lines: u32) -> &str {
    let wanted = usize::try_from(lines).unwrap_or(usize::MAX);
    let mut starts = text.rmatch_indices('\n').map(|(at, _)| at + 1);
    // Behind the last line there is the end of one as well.
    match starts.nth(wanted) {
        Some(start) => &text[start..],
        None => text,
    }
}

#[cfg(test)]
mod tests;
