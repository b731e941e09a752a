//! The store's file as the store accesses it.
//!
//! Unlike the store's own file type, it makes a greater length durable at once. The store writes
//! its header in place, which may reach the disk before the length does: then the header would
//! point behind the end of the file, and the store would refuse to open it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// The file; see the module. The journal's own lock keeps others from it.
#[derive(Debug)]
pub(crate) struct StoreFile(File);

impl StoreFile {
    /// Creates an empty file.
    pub(crate) fn create(path: &Path) -> io::Result<StoreFile> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        options.open(path).map(StoreFile)
    }

    /// Opens an existing one.
    pub(crate) fn open(path: &Path) -> io::Result<StoreFile> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        length(&file).map(|_| StoreFile(file))
    }
}

/// The length in bytes of an existing store. An empty file would be initialised, so it is an error.
fn length(file: &File) -> io::Result<u64> {
    match file.metadata()?.len() {
        0 => Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty")),
        bytes => Ok(bytes),
    }
}

impl StorageBackend for StoreFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(out, offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let grows = self.len()? < bytes;
        self.0.set_len(bytes)?;
        if grows {
            self.0.sync_data()?;
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }
}

/// Bytes of a block of [`ReadFile`]: the smallest page of the store.
const BLOCK_BYTES: u64 = 4096;

/// The file as a reader accesses it, who changes nothing: a store marks its file as open, and repairs what a killed
/// program has left, and both stay in memory.
#[derive(Debug)]
pub(crate) struct ReadFile {
    file: File,
    changed: Mutex<Changed>,
}

/// What differs from the file.
#[derive(Debug)]
struct Changed {
    bytes: u64,
    /// Whole blocks by their number.
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl ReadFile {
    /// Opens an existing one.
    pub(crate) fn open(path: &Path) -> io::Result<ReadFile> {
        let file = File::open(path)?;
        let changed = Changed {
            bytes: length(&file)?,
            blocks: BTreeMap::new(),
        };
        Ok(ReadFile {
            file,
            changed: Mutex::new(changed),
        })
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        // Each change of it is complete when it can fail.
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole content of a block.
    fn block(&self, changed: &Changed, block: u64) -> io::Result<Vec<u8>> {
        if let Some(bytes) = changed.blocks.get(&block) {
            return Ok(bytes.clone());
        }
        let mut bytes = vec![0; BLOCK_BYTES as usize];
        self.read_file(block * BLOCK_BYTES, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads from the file. What is behind its end is zero.
    fn read_file(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            match self.file.read_at(out, offset) {
                Ok(0) => {
                    out.fill(0);
                    return Ok(());
                }
                Ok(n) => {
                    offset += n as u64;
                    out = &mut out[n..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The part of each block in a range: the number of the block, the offset in it, and the part of the range.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let end = offset + length as u64;
    (offset / BLOCK_BYTES..end.div_ceil(BLOCK_BYTES)).map(move |block| {
        let start = block * BLOCK_BYTES;
        let (from, to) = (start.max(offset), (start + BLOCK_BYTES).min(end));
        let range = (from - offset) as usize..(to - offset) as usize;
        (block, (from - start) as usize, range)
    })
}

impl StorageBackend for ReadFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changed().bytes)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changed = self.changed();
        if offset + out.len() as u64 > changed.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_file(offset, out)?;
        for (block, at, range) in parts(offset, out.len()) {
            if let Some(bytes) = changed.blocks.get(&block) {
                let bytes = &bytes[at..at + range.len()];
                out[range].copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut changed = self.changed();
        // What was cut off must be zero where the file grows again.
        if bytes < changed.bytes {
            let first = bytes.div_ceil(BLOCK_BYTES);
            let last = changed.bytes.div_ceil(BLOCK_BYTES);
            changed
                .blocks
                .extend((first..last).map(|block| (block, vec![0; BLOCK_BYTES as usize])));
            if !bytes.is_multiple_of(BLOCK_BYTES) {
                let block = bytes / BLOCK_BYTES;
                let mut kept = self.block(&changed, block)?;
                kept[(bytes % BLOCK_BYTES) as usize..].fill(0);
                changed.blocks.insert(block, kept);
            }
        }
        changed.bytes = bytes;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut changed = self.changed();
        for (block, at, range) in parts(offset, bytes.len()) {
            let mut content = self.block(&changed, block)?;
            content[at..at + range.len()].copy_from_slice(&bytes[range]);
            changed.blocks.insert(block, content);
        }
        changed.bytes = changed.bytes.max(offset + bytes.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
