//! The end of what an attempt has written so far. It is a read of at most two short pieces of files
//! that were just written, so the loop does it itself.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use activity_executor::{LogReader, Stream, open_log};
use model::AttemptId;
use wire::attempt::{PEEK_BYTES_MAX, Peeked};
use wire::executor::{Captured, Written};

/// What the executor says that an attempt has written, with the ends of both streams. What cannot
/// be read is left out; the log says so.
pub(crate) fn peeked(logs: &Path, attempt: AttemptId, written: &Written) -> Peeked {
    let end = |stream, captured| {
        end_of(logs, attempt, stream, captured).unwrap_or_else(|error| {
            tracing::warn!(%attempt, %error, "could not read what it has written so far");
            Vec::new()
        })
    };
    Peeked {
        attempt,
        stdout_bytes: written.stdout.bytes,
        stdout: end(Stream::Stdout, &written.stdout),
        stderr_bytes: written.stderr.bytes,
        stderr: end(Stream::Stderr, &written.stderr),
    }
}

fn end_of(
    logs: &Path,
    attempt: AttemptId,
    stream: Stream,
    captured: &Captured,
) -> io::Result<Vec<u8>> {
    let most = u64::from(PEEK_BYTES_MAX);
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
    let too_many = end.len().saturating_sub(PEEK_BYTES_MAX as usize);
    end.drain(..too_many);
    Ok(end)
}

#[cfg(test)]
mod tests;
