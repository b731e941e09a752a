//! Reading and copying files that may have holes: a hole takes no space and is not read, and stays
//! a hole in the copy.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};

use model::Hash;
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::{COPY_BYTES, SMALL_BYTES_MAX};

/// Size of the blocks that are searched for zeros: the usual allocation unit of file systems.
const BLOCK_BYTES: usize = 4 << 10;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The side of a copy that failed.
#[derive(Debug)]
pub(crate) enum CopyFailed {
    /// The source could not be read.
    Read(io::Error),
    /// The copy could not be written.
    Write(io::Error),
}

impl From<CopyFailed> for io::Error {
    fn from(failed: CopyFailed) -> io::Error {
        match failed {
            CopyFailed::Read(error) | CopyFailed::Write(error) => error,
        }
    }
}

/// A range of a file.
enum Stretch {
    Data { until: u64 },
    Hole { until: u64 },
}

/// The hash and length of a file's content.
pub(crate) fn hash(file: &File) -> Result<(Hash, u64), CopyFailed> {
    pass(file, None, &mut |_| true)
}

/// The hash of a file's content. `goes_on` gets the number of bytes read since its last call, and
/// may wait before the next piece. None if it returns false.
pub(crate) fn hash_slowly(
    file: &File,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Hash>, CopyFailed> {
    let mut is_whole = true;
    let (hash, _) = pass(file, None, &mut |bytes| {
        is_whole = is_whole && goes_on(bytes);
        is_whole
    })?;
    Ok(is_whole.then_some(hash))
}

/// Copies a file into an empty one, and returns the hash and the length of the copy.
pub(crate) fn copy_hashed(from: &File, to: &File) -> Result<(Hash, u64), CopyFailed> {
    pass(from, Some(to), &mut |_| true)
}

/// Copies the first `bytes` of a file into an empty one, in the kernel if possible.
pub(crate) fn copy(from: &File, to: &File, bytes: u64) -> Result<(), CopyFailed> {
    let mut at = 0;
    while at < bytes {
        match stretch(from, at, bytes).map_err(CopyFailed::Read)? {
            Stretch::Hole { until } => at = until,
            Stretch::Data { until } => {
                copy_data(from, to, at, until)?;
                at = until;
            }
        }
    }
    to.set_len(bytes).map_err(CopyFailed::Write)
}

/// Bytes of a file on its disk. Small files count by their length: a system call would cost more
/// than the exact number is worth.
pub(crate) fn stored_bytes(file: &File, bytes: u64) -> io::Result<u64> {
    if bytes <= SMALL_BYTES_MAX as u64 {
        return Ok(bytes);
    }
    Ok(stored_of(&file.metadata()?))
}

/// [`stored_bytes`] from a file's metadata.
pub(crate) fn stored_of(metadata: &Metadata) -> u64 {
    if metadata.len() <= SMALL_BYTES_MAX as u64 {
        return metadata.len();
    }
    metadata.blocks().saturating_mul(512)
}

/// Writes a piece of a growing file, and leaves holes for blocks of zeros. The caller sets the
/// length in the end.
pub(crate) fn write_sparse(to: &File, piece: &[u8], mut at: u64) -> io::Result<()> {
    let mut rest = piece;
    while !rest.is_empty() {
        let n_data = rest.chunks(BLOCK_BYTES).take_while(|one| !is_zero(one));
        let data = n_data.map(<[u8]>::len).sum();
        to.write_all_at(&rest[..data], at)?;
        let (_, after) = rest.split_at(data);
        let n_zeros = after.chunks(BLOCK_BYTES).take_while(|one| is_zero(one));
        let zeros = n_zeros.map(<[u8]>::len).sum::<usize>();
        rest = &after[zeros..];
        at += (data + zeros) as u64;
    }
    Ok(())
}

fn is_zero(block: &[u8]) -> bool {
    block == &ZEROS[..block.len()]
}

fn pass(
    from: &File,
    to: Option<&File>,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(Hash, u64), CopyFailed> {
    let end = match from.metadata().map_err(CopyFailed::Read)?.len() {
        // The kernel's own files have no length and end where nothing more is read.
        0 => u64::MAX,
        end => end,
    };
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(end).unwrap_or(COPY_BYTES).max(1))];
    let mut at = 0;
    'file: while at < end {
        match stretch(from, at, end).map_err(CopyFailed::Read)? {
            Stretch::Hole { until } => {
                while at < until {
                    let bytes = (until - at).min(ZEROS.len() as u64);
                    hasher.update(&ZEROS[..bytes as usize]);
                    at += bytes;
                }
            }
            Stretch::Data { until } => {
                while at < until {
                    let wanted = (until - at).min(buffer.len() as u64) as usize;
                    let n_read = match from.read_at(&mut buffer[..wanted], at) {
                        // Its writer has made it shorter meanwhile.
                        Ok(0) => break 'file,
                        Ok(n_read) => n_read,
                        Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                        Err(error) => return Err(CopyFailed::Read(error)),
                    };
                    hasher.update(&buffer[..n_read]);
                    if let Some(to) = to {
                        let written = to.write_all_at(&buffer[..n_read], at);
                        written.map_err(CopyFailed::Write)?;
                    }
                    at += n_read as u64;
                    if !goes_on(n_read as u64) {
                        break 'file;
                    }
                }
            }
        }
    }
    if let Some(to) = to {
        to.set_len(at).map_err(CopyFailed::Write)?;
    }
    Ok((Hash(*hasher.finalize().as_bytes()), at))
}

/// The range of a file from an offset on, up to `end`. If the file system does not know holes,
/// everything is data.
fn stretch(file: &File, at: u64, end: u64) -> io::Result<Stretch> {
    match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(data) if data > at => Ok(Stretch::Hole {
            until: data.min(end),
        }),
        Ok(_) => {
            let hole = rustix::fs::seek(file, SeekFrom::Hole(at));
            let until = hole.map_or(end, |hole| hole.min(end));
            // A file that changes meanwhile must not stop the caller at one place.
            Ok(Stretch::Data {
                until: if until > at { until } else { end },
            })
        }
        // Only a hole up to the end.
        Err(Errno::NXIO) if end < u64::MAX => Ok(Stretch::Hole { until: end }),
        Err(Errno::NXIO) => Ok(Stretch::Data { until: end }),
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::SPIPE) => Ok(Stretch::Data { until: end }),
        Err(error) => Err(error.into()),
    }
}

fn copy_data(from: &File, to: &File, mut at: u64, until: u64) -> Result<(), CopyFailed> {
    while at < until {
        let (mut read_at, mut write_at) = (at, at);
        let wanted = usize::try_from(until - at).unwrap_or(usize::MAX);
        let copied =
            rustix::fs::copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), wanted);
        match copied {
            Ok(0) => return Err(CopyFailed::Read(ErrorKind::UnexpectedEof.into())),
            Ok(n_copied) => at += n_copied as u64,
            Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM) => {
                return copy_through_memory(from, to, at, until);
            }
            Err(Errno::IO) => return Err(CopyFailed::Read(Errno::IO.into())),
            Err(error) => return Err(CopyFailed::Write(error.into())),
        }
    }
    Ok(())
}

fn copy_through_memory(from: &File, to: &File, mut at: u64, until: u64) -> Result<(), CopyFailed> {
    let mut buffer = vec![0; COPY_BYTES];
    while at < until {
        let wanted = (until - at).min(buffer.len() as u64) as usize;
        match from.read_at(&mut buffer[..wanted], at) {
            Ok(0) => return Err(CopyFailed::Read(ErrorKind::UnexpectedEof.into())),
            Ok(n_read) => {
                let written = to.write_all_at(&buffer[..n_read], at);
                written.map_err(CopyFailed::Write)?;
                at += n_read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(CopyFailed::Read(error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
