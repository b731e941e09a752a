//! The store's file as the store accesses it.
//!
//! Unlike the store's own file type, it makes a greater length durable at once. The store writes
//! its header in place, which may reach the disk before the length does: then the header would
//! point behind the end of the file, and the store would refuse to open it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

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

    /// Opens an existing one. The store would initialise an empty one.
    pub(crate) fn open(path: &Path) -> io::Result<StoreFile> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"));
        }
        Ok(StoreFile(file))
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
