//! The tail's file, written by sectors around the page cache where its file system can: a commit then takes the
//! sectors that it fills and not whole pages, of which small commits would write each several times.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Bytes that most disks write at least, and the alignment in memory and in the file that they ask for. A disk with
/// larger ones refuses these, and is written through the page cache.
pub(super) const SECTOR_BYTES: usize = 512;

/// A file that is only written.
pub(super) struct SectorFile {
    path: PathBuf,
    file: File,
    is_direct: bool,
    /// Sectors on their way, with room to align them in memory.
    buffer: Vec<u8>,
}

impl SectorFile {
    /// Opens an existing file.
    pub(super) fn open(path: &Path) -> io::Result<SectorFile> {
        let flags = i32::try_from(OFlags::DIRECT.bits()).expect("flags of files are few");
        let mut options = OpenOptions::new();
        let direct = options.write(true).custom_flags(flags).open(path);
        let (file, is_direct) = match direct {
            Ok(file) => (file, true),
            Err(_) => (through_cache(path)?, false),
        };
        Ok(SectorFile {
            path: path.to_owned(),
            file,
            is_direct,
            buffer: Vec::new(),
        })
    }

    /// The file itself.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Writes a range of the file's intended content, and what else is in its sectors. The content has whole
    /// sectors.
    pub(super) fn write(&mut self, content: &[u8], range: Range<usize>) -> io::Result<()> {
        if self.is_direct {
            let sectors =
                range.start / SECTOR_BYTES * SECTOR_BYTES..range.end.next_multiple_of(SECTOR_BYTES);
            let written = self.write_sectors(&content[sectors.clone()], sectors.start);
            if written.is_ok() {
                return Ok(());
            }
            // Whatever the reason is, the usual way finds it as well, or does it.
            self.file = through_cache(&self.path)?;
            self.is_direct = false;
        }
        self.file
            .write_all_at(&content[range.clone()], range.start as u64)
    }

    fn write_sectors(&mut self, sectors: &[u8], at: usize) -> io::Result<()> {
        self.buffer.resize(sectors.len() + SECTOR_BYTES, 0);
        let skipped = self.buffer.as_ptr().align_offset(SECTOR_BYTES);
        let aligned = &mut self.buffer[skipped..skipped + sectors.len()];
        aligned.copy_from_slice(sectors);
        self.file.write_all_at(aligned, at as u64)
    }
}

fn through_cache(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_range_is_written_and_nothing_beside_its_sectors() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [1; 4 * SECTOR_BYTES]).unwrap();
        let mut file = SectorFile::open(&path).unwrap();
        let mut content = vec![1; 4 * SECTOR_BYTES];
        for (range, byte) in [
            (700..710, 2),
            (0..1, 3),
            (1_000..1_600, 4),
            (2_047..2_048, 5),
        ] {
            content[range.clone()].fill(byte);
            file.write(&content, range).unwrap();
            assert!(fs::read(&path).unwrap() == content, "{byte}");
        }
    }

    #[test]
    fn what_cannot_be_written_around_the_cache_goes_through_it() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, [1; 2 * SECTOR_BYTES]).unwrap();
        // A descriptor that refuses each write, as a disk with larger sectors does.
        let mut file = SectorFile {
            path: path.clone(),
            file: File::open(&path).unwrap(),
            is_direct: true,
            buffer: Vec::new(),
        };
        let mut content = vec![1; 2 * SECTOR_BYTES];
        content[500..600].fill(2);
        file.write(&content, 500..600).unwrap();
        assert!(!file.is_direct);
        assert!(fs::read(&path).unwrap() == content);
        content[3..5].fill(4);
        file.write(&content, 3..5).unwrap();
        file.file().sync_data().unwrap();
        assert!(fs::read(&path).unwrap() == content);
    }
}
