//! Messages in a stream of bytes: the length of the body as `u32`, little endian, then the body.
//! The length is checked against the reader's limit before memory is allocated for the body.

use std::io::{self, Read};

use thiserror::Error;

/// Bytes of the length before each body.
pub const HEADER_BYTES: usize = 4;

/// Bytes that [`FrameBuffer::fill`] asks for at once: as much as a socket usually returns. If it
/// returns fewer, it had no more.
pub const FILL_BYTES: usize = 64 * 1024;

/// Appends one frame to `out`; `body` appends its body to the same vector.
///
/// # Panics
/// When the body is longer than `u32::MAX` bytes; bounds of messages are far below that.
pub fn append(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    body(out);
    let bytes = u32::try_from(out.len() - start - HEADER_BYTES)
        .expect("messages are bounded far below 4 GiB");
    out[start..start + HEADER_BYTES].copy_from_slice(&bytes.to_le_bytes());
}

/// Reads one frame into `body`, replacing its content. False at the end of the stream between two
/// frames.
pub fn read(
    source: &mut impl Read,
    bytes_max: usize,
    body: &mut Vec<u8>,
) -> Result<bool, FrameError> {
    let mut header = [0; HEADER_BYTES];
    let mut filled = 0;
    while filled < HEADER_BYTES {
        match source.read(&mut header[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err(FrameError::CutOff),
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(FrameError::Read { source }),
        }
    }
    body.clear();
    body.resize(body_bytes(header, bytes_max)?, 0);
    match source.read_exact(body) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(FrameError::CutOff),
        Err(source) => Err(FrameError::Read { source }),
    }
}

/// Extracts frames from bytes that arrive in pieces. It keeps the bytes that were pushed and not
/// taken; a caller that takes all frames after each push keeps it below one frame and one push.
#[derive(Debug)]
pub struct FrameBuffer {
    bytes_max: usize,
    /// The buffer, of which `start..end` is filled. It is zeroed once, not at each read.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl FrameBuffer {
    /// A buffer that refuses bodies longer than `bytes_max`.
    pub const fn new(bytes_max: usize) -> FrameBuffer {
        FrameBuffer {
            bytes_max,
            bytes: Vec::new(),
            start: 0,
            end: 0,
        }
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Adds the bytes of one `read` of at most [`FILL_BYTES`], and returns their number, 0 at the
    /// end of the stream.
    pub fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        let room = self.room(FILL_BYTES);
        let n = source.read(&mut room[..FILL_BYTES])?.min(FILL_BYTES);
        self.end += n;
        Ok(n)
    }

    /// The body of the next frame, or none until more bytes are pushed. After an error the stream
    /// cannot be used, and the error is repeated.
    pub fn take(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let held = &self.bytes[self.start..self.end];
        let Some(header) = held.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = HEADER_BYTES + body_bytes(*header, self.bytes_max)?;
        if held.len() < length {
            return Ok(None);
        }
        let start = self.start + HEADER_BYTES;
        self.start += length;
        Ok(Some(&self.bytes[start..self.start]))
    }

    /// Returns true if a frame has begun and not ended.
    pub fn is_within_frame(&self) -> bool {
        self.start < self.end
    }

    /// The free part of the buffer, at least `bytes` long.
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            // The memory of a long message is not kept for short ones.
            if self.bytes.len() > 16 * FILL_BYTES {
                self.bytes = Vec::new();
            }
        } else if self.start > self.end / 2 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.bytes.len() < self.end + bytes {
            self.bytes.resize(self.end + bytes, 0);
        }
        &mut self.bytes[self.end..]
    }
}

/// Why a stream cannot be read as frames.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The announced length is above the reader's limit.
    #[error("could not take a message of {bytes} bytes: at most {bytes_max} are allowed")]
    TooLong {
        /// The announced length.
        bytes: u64,
        /// The reader's limit.
        bytes_max: usize,
    },
    /// The stream ended within a frame.
    #[error("could not read a message: the connection ended within it")]
    CutOff,
    /// The stream failed.
    #[error("could not read a message")]
    Read {
        /// The system's error.
        #[source]
        source: io::Error,
    },
}

fn body_bytes(header: [u8; HEADER_BYTES], bytes_max: usize) -> Result<usize, FrameError> {
    let bytes = u32::from_le_bytes(header);
    match usize::try_from(bytes) {
        Ok(length) if length <= bytes_max => Ok(length),
        _ => Err(FrameError::TooLong {
            bytes: bytes.into(),
            bytes_max,
        }),
    }
}

#[cfg(test)]
mod tests;
