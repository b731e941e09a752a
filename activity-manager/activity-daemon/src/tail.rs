//! The output so far of a running attempt, and parts of the log of an ended one. It reads at most
//! two short pieces of files, so the loop does it itself.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use activity_executor::{LogReader, Stream, open_log};
use model::AttemptId;
use wire::attempt::{Log, LogPart, ReadLog, TAIL_BYTES_MAX, Tail};
use wire::executor::{Captured, Written};

use crate::daemon::open_in;

/// The lengths of an attempt's streams from the executor, with the ends of both. An unreadable part
/// is left out and logged.
pub(crate) fn tail(logs: &Path, attempt: AttemptId, written: &Written) -> Tail {
    let end = |stream, captured| {
        end_of(logs, attempt, stream, captured).unwrap_or_else(|error| {
            tracing::warn!(%attempt, %error, "could not read what it has written so far");
            Vec::new()
        })
    };
    Tail {
        attempt,
        stdout_bytes: written.stdout.bytes,
        stdout: end(Stream::Stdout, &written.stdout),
        stderr_bytes: written.stderr.bytes,
        stderr: end(Stream::Stderr, &written.stderr),
    }
}

/// A part of an attempt's log, or the reason why it cannot be read.
pub(crate) fn log_part(logs: &Path, wanted: &ReadLog) -> LogPart {
    let ReadLog {
        attempt,
        log,
        stream,
        offset,
    } = *wanted;
    let (bytes, trouble) = match read_part(logs, wanted, &log) {
        Ok(bytes) => (bytes, None),
        Err(error) => {
            tracing::warn!(%attempt, %error, "could not read what it wrote");
            (Vec::new(), Some(error.to_string()))
        }
    };
    LogPart {
        attempt,
        stream,
        offset,
        bytes,
        trouble,
    }
}

fn read_part(logs: &Path, wanted: &ReadLog, log: &Log) -> io::Result<Vec<u8>> {
    let stream = match wanted.stream {
        wire::attempt::Stream::Stdout => Stream::Stdout,
        wire::attempt::Stream::Stderr => Stream::Stderr,
    };
    let most = u64::from(TAIL_BYTES_MAX);
    let mut part = Vec::new();
    match open_in(logs, wanted.attempt, stream, log).map_err(io::Error::other)? {
        LogReader::Record(mut record) => {
            record.set_position(wanted.offset);
            record.take(most).read_to_end(&mut part)?;
        }
        LogReader::File(file) => {
            let left = file.limit().saturating_sub(wanted.offset);
            let mut file = file.into_inner();
            file.seek(SeekFrom::Start(wanted.offset))?;
            file.take(left.min(most)).read_to_end(&mut part)?;
        }
    }
    Ok(part)
}

fn end_of(
    logs: &Path,
    attempt: AttemptId,
    stream: Stream,
    captured: &Captured,
) -> io::Result<Vec<u8>> {
    let most = u64::from(TAIL_BYTES_MAX);
    let mut end = Vec::new();
    match open_log(logs, attempt, stream, captured).map_err(io::Error::other)? {
        LogReader::Record(record) => end = record.into_inner(),
        LogReader::File(file) => {
            let bytes = file.limit();
            let mut file = file.into_inner();
            file.seek(SeekFrom::Start(bytes.saturating_sub(most)))?;
            file.take(bytes.min(most)).read_to_end(&mut end)?;
        }
    }
    let too_many = end.len().saturating_sub(TAIL_BYTES_MAX as usize);
    end.drain(..too_many);
    Ok(end)
}

#[cfg(test)]
mod tests;
