//! The logs of commands on disk: a segmented log for short streams, a file of its own for each long
//! one. The executor writes them, the daemon reads them by an outcome's [`Captured`].
//!
//! A record is a header of 32 bytes (magic, attempt, two lengths, CRC32; little endian) and the
//! bytes of standard output and standard error. Records are not synchronised to the disk one by
//! one: after a power failure a record may be missing, which its CRC shows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Take, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{ActivityId, AttemptId, ProcessId};
use thiserror::Error;
use wire::executor::{Captured, INLINE_BYTES_MAX, Kept};

/// Bytes after which the next segment begins.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Maximum bytes of records that wait for the end of a round.
const PENDING_BYTES: usize = 1 << 20;

const HEADER_BYTES: usize = 32;
const MAGIC: u32 = u32::from_le_bytes(*b"XAL1");

/// An output stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// The log directory of an executor with this state directory.
pub fn log_directory(state: &Path) -> PathBuf {
    state.join("log")
}

/// Opens the stored part of one stream of an ended attempt, from its beginning. `directory` is
/// [`log_directory`]; if nothing is on disk, the inline bytes are read.
pub fn open_log(
    directory: &Path,
    attempt: AttemptId,
    stream: Stream,
    captured: &Captured,
) -> Result<LogReader, LogError> {
    match captured.kept {
        Kept::Nowhere => Ok(LogReader::Record(Cursor::new(captured.inline.clone()))),
        Kept::File { bytes } => {
            let path = stream_path(directory, attempt, stream);
            let file = File::open(&path).map_err(|source| LogError::Open { path, source })?;
            Ok(LogReader::File(file.take(bytes)))
        }
        Kept::Log { segment, offset } => {
            let path = segment_path(directory, segment);
            let file = match File::open(&path) {
                Ok(file) => file,
                Err(source) => return Err(LogError::Open { path, source }),
            };
            let record = read_record(&file, attempt, stream, offset);
            record
                .map(|bytes| LogReader::Record(Cursor::new(bytes)))
                .map_err(|source| LogError::Record {
                    attempt,
                    path,
                    offset,
                    source,
                })
        }
    }
}

/// [`open_log`], read into memory up to `bytes_max`.
pub fn read_log(
    directory: &Path,
    attempt: AttemptId,
    stream: Stream,
    captured: &Captured,
    bytes_max: u64,
) -> Result<Vec<u8>, LogError> {
    let reader = open_log(directory, attempt, stream, captured)?;
    let mut bytes = Vec::new();
    match reader.take(bytes_max).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(source) => Err(LogError::Read { attempt, source }),
    }
}

/// One stream of one attempt.
#[derive(Debug)]
pub enum LogReader {
    /// A short stream, already read and checked.
    Record(Cursor<Vec<u8>>),
    /// A long stream.
    File(Take<File>),
}

impl Read for LogReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            LogReader::Record(bytes) => bytes.read(buffer),
            LogReader::File(file) => file.read(buffer),
        }
    }
}

/// Why a log cannot be read.
#[derive(Debug, Error)]
pub enum LogError {
    /// The file is not there or not readable.
    #[error("could not open the log {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The record is damaged, or is not of this attempt.
    #[error("could not read the record of {attempt} at byte {offset} of {}", path.display())]
    Record {
        /// The attempt.
        attempt: AttemptId,
        /// The segment.
        path: PathBuf,
        /// The offset of the record.
        offset: u64,
        /// The error.
        #[source]
        source: io::Error,
    },
    /// The file failed while it was read.
    #[error("could not read the output of {attempt}")]
    Read {
        /// The attempt.
        attempt: AttemptId,
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

/// The writer: appends records to a segment that this executor has begun.
pub(crate) struct Log {
    directory: PathBuf,
    segment: u32,
    file: Option<File>,
    /// Written bytes of the segment.
    written: u64,
    pending: Vec<u8>,
}

impl Log {
    /// Makes the directory and continues after the existing segments.
    pub(crate) fn open(directory: PathBuf) -> io::Result<Log> {
        fs::create_dir_all(&directory)?;
        let mut segment = 0;
        for entry in fs::read_dir(&directory)? {
            segment = segment.max(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(segment_number)
                    .unwrap_or(0),
            );
        }
        Ok(Log {
            directory,
            segment,
            file: None,
            written: 0,
            pending: Vec::new(),
        })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Queues a record. It is on disk after [`Log::flush`].
    pub(crate) fn record(&mut self, attempt: AttemptId, stdout: &[u8], stderr: &[u8]) -> Kept {
        if self.pending.len() > PENDING_BYTES {
            self.flush();
        }
        if self.file.is_none() || self.written + self.pending.len() as u64 >= SEGMENT_BYTES {
            self.flush();
            self.next_segment();
        }
        let offset = self.written + self.pending.len() as u64;
        append_record(&mut self.pending, attempt, stdout, stderr);
        Kept::Log {
            segment: self.segment,
            offset,
        }
    }

    /// Writes queued records. Records that cannot be written (a full disk) are lost, and their
    /// readers get an error; the outcome with its inline bytes is unaffected.
    pub(crate) fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let result = match &mut self.file {
            Some(file) => file.write_all(&self.pending),
            None => Err(io::ErrorKind::NotFound.into()),
        };
        self.written += self.pending.len() as u64;
        self.pending.clear();
        if result.is_err() {
            // Offsets in this segment are unknown from here on.
            self.file = None;
        }
    }

    fn next_segment(&mut self) {
        self.segment = self.segment.saturating_add(1);
        self.written = 0;
        self.file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(segment_path(&self.directory, self.segment))
            .ok();
    }
}

/// The file of a long stream.
pub(crate) fn stream_path(directory: &Path, attempt: AttemptId, stream: Stream) -> PathBuf {
    let AttemptId {
        process,
        activity,
        number,
    } = attempt;
    let stream = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    directory.join(format!("{process}-{activity}-{number}.{stream}"))
}

fn segment_path(directory: &Path, segment: u32) -> PathBuf {
    directory.join(format!("segment-{segment:08}"))
}

/// The number of the segment with this file name.
pub fn segment_number(name: &str) -> Option<u32> {
    name.strip_prefix("segment-")?.parse().ok()
}

fn append_record(out: &mut Vec<u8>, attempt: AttemptId, stdout: &[u8], stderr: &[u8]) {
    let mut header = [0; HEADER_BYTES];
    header[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4..12].copy_from_slice(&attempt.process.0.to_le_bytes());
    header[12..16].copy_from_slice(&attempt.activity.0.to_le_bytes());
    header[16..20].copy_from_slice(&attempt.number.to_le_bytes());
    // Streams of a record are at most INLINE_BYTES_MAX long.
    header[20..24].copy_from_slice(&(stdout.len() as u32).to_le_bytes());
    header[24..28].copy_from_slice(&(stderr.len() as u32).to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..28]);
    crc.update(stdout);
    crc.update(stderr);
    header[28..32].copy_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(stdout);
    out.extend_from_slice(stderr);
}

fn read_record(
    file: &File,
    attempt: AttemptId,
    stream: Stream,
    offset: u64,
) -> io::Result<Vec<u8>> {
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, offset)?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if word(0) != MAGIC {
        return Err(damaged("there is no record"));
    }
    let process = u64::from(word(4)) | u64::from(word(8)) << 32;
    let found = AttemptId {
        process: ProcessId(process),
        activity: ActivityId(word(12)),
        number: word(16),
    };
    if found != attempt {
        return Err(damaged("it is a record of another attempt"));
    }
    let (stdout, stderr) = (word(20), word(24));
    if stdout > INLINE_BYTES_MAX || stderr > INLINE_BYTES_MAX {
        return Err(damaged("its lengths are impossible"));
    }
    let mut bytes = vec![0; stdout as usize + stderr as usize];
    file.read_exact_at(&mut bytes, offset + HEADER_BYTES as u64)?;
    let mut crc = crc32fast::Hasher::new();
    crc.update(&header[..28]);
    crc.update(&bytes);
    if crc.finalize() != word(28) {
        return Err(damaged("its checksum is wrong"));
    }
    match stream {
        Stream::Stdout => bytes.truncate(stdout as usize),
        Stream::Stderr => drop(bytes.drain(..stdout as usize)),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
