//! One stream of a running command: its inline part is kept in memory, a longer one goes to a file
//! of its own.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use model::AttemptId;
use rustix::io::Errno;
use wire::executor::{Captured, INLINE_BYTES_MAX, Kept};

use crate::log::{Stream, stream_path};

/// Default limit in bytes of one stream on disk. The rest is read, counted and dropped, so that a
/// command that writes for ever does not fill the disk.
pub(crate) const STREAM_BYTES_MAX: u64 = 1 << 30;

/// Bytes read from one pipe before other events have their turn.
const TURN_BYTES: usize = 1 << 20;

/// The state of a pipe after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// All writers have closed it.
    End,
    /// It is empty at the moment.
    Nothing,
    /// There may be more.
    More,
}

/// The reading end of a pipe, and the bytes from it.
pub(crate) struct Capture {
    attempt: AttemptId,
    stream: Stream,
    pipe: Option<OwnedFd>,
    inline_max: usize,
    /// Limit of the bytes on disk.
    kept_max: u64,
    bytes: u64,
    /// All bytes up to `inline_max`; beyond it the first ones, or at least the last ones.
    buffer: Vec<u8>,
    spill: Spill,
}

enum Spill {
    /// Everything is in the buffer.
    None,
    Open {
        file: File,
        bytes: u64,
    },
    /// The disk could not take more.
    Closed {
        bytes: u64,
    },
}

impl Capture {
    /// Reads from a non-blocking `pipe`, and stores up to `kept_max` bytes on disk.
    pub(crate) fn new(
        attempt: AttemptId,
        stream: Stream,
        pipe: OwnedFd,
        inline_max: u32,
        kept_max: u64,
    ) -> Capture {
        Capture {
            attempt,
            stream,
            pipe: Some(pipe),
            inline_max: inline_max.min(INLINE_BYTES_MAX) as usize,
            kept_max,
            bytes: 0,
            buffer: Vec::new(),
            spill: Spill::None,
        }
    }

    /// Reads the pipe, up to one turn.
    pub(crate) fn read(&mut self, scratch: &mut [u8], directory: &Path) -> Left {
        let mut turn = 0;
        while turn < TURN_BYTES {
            let Some(pipe) = &self.pipe else {
                return Left::End;
            };
            match rustix::io::read(pipe, &mut *scratch) {
                Ok(0) => {
                    self.pipe = None;
                    return Left::End;
                }
                Ok(n) => {
                    turn += n;
                    self.push(&scratch[..n], directory);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Left::Nothing,
                Err(_) => {
                    self.pipe = None;
                    return Left::End;
                }
            }
        }
        Left::More
    }

    /// Stops reading, even if there are writers.
    pub(crate) fn close(&mut self) {
        self.pipe = None;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// The stream so far.
    pub(crate) fn captured(&self) -> Captured {
        let inline = match self.stream {
            Stream::Stdout => &self.buffer[..self.buffer.len().min(self.inline_max)],
            Stream::Stderr => &self.buffer[self.buffer.len().saturating_sub(self.inline_max)..],
        };
        let kept = match self.spill {
            Spill::None => Kept::Nowhere,
            Spill::Open { bytes, .. } | Spill::Closed { bytes } => Kept::File { bytes },
        };
        Captured {
            bytes: self.bytes,
            inline: inline.to_vec(),
            kept,
        }
    }

    fn push(&mut self, chunk: &[u8], directory: &Path) {
        self.bytes += chunk.len() as u64;
        if matches!(self.spill, Spill::None) {
            if self.buffer.len() + chunk.len() <= self.inline_max {
                self.buffer.extend_from_slice(chunk);
                return;
            }
            self.spill = Spill::create(&stream_path(directory, self.attempt, self.stream));
            self.spill.write(&self.buffer, self.kept_max);
        }
        self.spill.write(chunk, self.kept_max);
        match self.stream {
            Stream::Stdout => {
                let room = self.inline_max.saturating_sub(self.buffer.len());
                self.buffer
                    .extend_from_slice(&chunk[..chunk.len().min(room)]);
            }
            Stream::Stderr => {
                self.buffer.extend_from_slice(chunk);
                // Trimmed only when it is twice as long, so that each byte moves once on average.
                if self.buffer.len() > 2 * self.inline_max {
                    self.buffer.drain(..self.buffer.len() - self.inline_max);
                }
            }
        }
    }
}

impl Spill {
    fn create(path: &Path) -> Spill {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path);
        match file {
            Ok(file) => Spill::Open { file, bytes: 0 },
            Err(_) => Spill::Closed { bytes: 0 },
        }
    }

    fn write(&mut self, chunk: &[u8], bytes_max: u64) {
        let Spill::Open { file, bytes } = self else {
            return;
        };
        let room = bytes_max.saturating_sub(*bytes).min(chunk.len() as u64);
        let result = file.write_all(&chunk[..room as usize]);
        if result.is_ok() {
            *bytes += room;
        }
        if result.is_err() || room < chunk.len() as u64 {
            *self = Spill::Closed { bytes: *bytes };
        }
    }
}

#[cfg(test)]
mod tests;
