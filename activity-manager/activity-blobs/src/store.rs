//! The store itself: its layout on the disk, its index, and how a file becomes a blob.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Bytes, Hash};
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, Timespec, Timestamps};

use crate::evict::Pins;
use crate::flush::Flushing;
use crate::index::{Durability, Entry, Index, Size};
use crate::verify::is_of_disk;
use crate::{SMALL_BYTES_MAX, sparse};

/// The blobs of one directory. Clones share one store; all methods may be called from any thread at
/// once.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

/// The directory of a store that nobody else can open, before anything of it is read or flushed.
#[derive(Debug)]
pub struct Locked {
    dir: PathBuf,
    lock: File,
    is_new: bool,
}

/// While it exists, blobs that are added, read or placed after it was taken are not evicted. Take
/// it before a blob is collected and drop it once its hash is pinned, so that the blob stays in
/// between.
#[must_use = "a hold that is dropped at once holds nothing"]
#[derive(Debug)]
pub struct Hold {
    inner: Arc<Inner>,
    id: u64,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or an entry of it could not be created.
    #[error("could not make `{path}` for a blob store")]
    Create {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk has no space to create it.
    #[error("could not make `{path}` for a blob store: the disk is full")]
    DiskFull {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another store is open on this directory, in this program or another.
    #[error("the blob store `{path}` is in use")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The existing entries could not be read or cleaned.
    #[error("could not look through the blob store at `{path}`")]
    Scan {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

#[derive(Debug)]
pub(crate) struct Inner {
    dir: PathBuf,
    /// The directory of the store.
    pub(crate) root: OwnedFd,
    /// `blobs/`.
    pub(crate) blobs: OwnedFd,
    /// `tmp/`.
    tmp: OwnedFd,
    /// Locked as long as the store is open; none for a reader, which changes nothing.
    lock: Option<File>,
    // Locks are taken in the order of these fields.
    pub(crate) pins: Mutex<Pins>,
    pub(crate) flushing: Mutex<Flushing>,
    index: Mutex<Index>,
    next_name: AtomicU64,
    /// True until a reflink was refused for good.
    has_reflinks: AtomicBool,
}

/// A file in `tmp/` that is about to become a blob. Dropping it removes it.
pub(crate) struct Draft<'a> {
    inner: &'a Inner,
    name: String,
    pub(crate) file: File,
}

impl Store {
    /// Opens the store in a directory, which is created if missing. Remains of an interrupted run
    /// in `tmp/` are removed; blobs that were never flushed are hashed again and removed if torn.
    /// Costs a `stat` for each blob.
    pub fn open(dir: &Path) -> Result<Store, OpenError> {
        Store::lock(dir)?.open()
    }

    /// Makes the directory if it is missing, and keeps every other store out of it.
    pub fn lock(dir: &Path) -> Result<Locked, OpenError> {
        let is_new = !dir.exists();
        for name in ["blobs", "tmp"] {
            let path = dir.join(name);
            fs::create_dir_all(&path).map_err(|source| OpenError::create(&path, source))?;
        }
        Ok(Locked {
            dir: dir.to_path_buf(),
            lock: lock(dir)?,
            is_new,
        })
    }

    /// Opens the durable blobs of a store that another program may have open. Only for reading.
    pub(crate) fn open_to_read(dir: &Path) -> Result<Store, OpenError> {
        let open = |name: &str| {
            let path = dir.join(name);
            open_directory(&path).map_err(|source| OpenError::Scan { path, source })
        };
        let inner = Inner {
            root: open(".")?,
            blobs: open("blobs")?,
            tmp: open("tmp")?,
            dir: dir.to_path_buf(),
            lock: None,
            pins: Mutex::default(),
            flushing: Mutex::default(),
            index: Mutex::default(),
            next_name: AtomicU64::new(0),
            has_reflinks: AtomicBool::new(true),
        };
        inner.scan()?;
        Ok(Store {
            inner: Arc::new(inner),
        })
    }

    /// Keeps blobs from eviction that are used from here on.
    pub fn hold(&self) -> Hold {
        let id = self.inner.index().begin_hold();
        Hold {
            inner: Arc::clone(&self.inner),
            id,
        }
    }

    /// Returns true if a blob is here. For a directory this is its listing alone: see
    /// [`Store::missing`].
    pub fn contains(&self, hash: Hash) -> bool {
        self.inner.index().get(hash).is_some()
    }

    /// The size of all blobs together on the disk: holes in files take nothing.
    pub fn size(&self) -> Bytes {
        Bytes(self.inner.index().stored())
    }

    /// Number of blobs.
    pub fn n_blobs(&self) -> usize {
        self.inner.index().n_blobs()
    }

    /// The directory of the store.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }
}

impl Locked {
    /// Opens it: see [`Store::open`].
    pub fn open(self) -> Result<Store, OpenError> {
        let Locked { dir, lock, is_new } = self;
        let dir = dir.as_path();
        let scan = |path: &Path| {
            let path = path.to_path_buf();
            |source: io::Error| OpenError::Scan { path, source }
        };
        let open = |path: PathBuf| open_directory(&path).map_err(scan(&path));
        let inner = Inner {
            root: open(dir.to_path_buf())?,
            blobs: open(dir.join("blobs"))?,
            tmp: open(dir.join("tmp"))?,
            dir: dir.to_path_buf(),
            lock: Some(lock),
            pins: Mutex::default(),
            flushing: Mutex::default(),
            index: Mutex::default(),
            next_name: AtomicU64::new(0),
            has_reflinks: AtomicBool::new(true),
        };
        rustix::fs::fsync(&inner.root).map_err(|error| scan(dir)(error.into()))?;
        if let Some(above) = dir.parent().filter(|_| is_new) {
            // Without a durable name, a power cut would lose every blob with it.
            let flushed = open(above.to_path_buf())?;
            rustix::fs::fsync(flushed).map_err(|error| scan(above)(error.into()))?;
        }
        inner.clean_tmp()?;
        inner.scan()?;
        Ok(Store {
            inner: Arc::new(inner),
        })
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.inner.index().end_hold(self.id);
    }
}

impl OpenError {
    fn create(path: &Path, source: io::Error) -> OpenError {
        let path = path.to_path_buf();
        if is_full(&source) {
            OpenError::DiskFull { path, source }
        } else {
            OpenError::Create { path, source }
        }
    }
}

impl Inner {
    /// Locks the index. A thread that panicked inside has left it consistent: each change is one
    /// call.
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        lock_of(&self.index)
    }

    /// A draft that is removed when it is dropped.
    pub(crate) fn draft(&self) -> io::Result<Draft<'_>> {
        let (name, file) = self.begin_draft()?;
        Ok(Draft {
            inner: self,
            name,
            file,
        })
    }

    /// An empty file in `tmp/`, readable to the store alone, and its name.
    pub(crate) fn begin_draft(&self) -> io::Result<(String, File)> {
        let name = self.next_draft();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.tmp, &name, flags, Mode::RUSR)?);
        Ok((name, file))
    }

    /// The name of the next draft.
    pub(crate) fn next_draft(&self) -> String {
        self.next_name.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// A draft of another name for a file. Returns none where the file system refuses such a name.
    pub(crate) fn draft_of(&self, file: &File) -> io::Result<Option<Draft<'_>>> {
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        let name = self.next_draft();
        let linked = rustix::fs::linkat(CWD, open, &self.tmp, &name, AtFlags::SYMLINK_FOLLOW);
        if linked.is_err() {
            return Ok(None);
        }
        Ok(Some(Draft {
            inner: self,
            name,
            file: file.try_clone()?,
        }))
    }

    /// Removes a draft. A published one does not have that name any more, and numbers are not
    /// reused.
    pub(crate) fn remove_draft(&self, name: &str) {
        let _ = rustix::fs::unlinkat(&self.tmp, name, AtFlags::empty());
    }

    /// Publishes a draft as a blob, unless the blob is there already.
    pub(crate) fn publish(
        &self,
        draft: &str,
        file: &File,
        hash: Hash,
        bytes: u64,
    ) -> io::Result<()> {
        if self.is_known(hash) {
            return Ok(());
        }
        let stored = sparse::stored_bytes(file, bytes)?;
        let mut index = self.index();
        if index.get(hash).is_some() {
            return Ok(());
        }
        let Inner { tmp, blobs, .. } = self;
        let name = blob_name(hash);
        let moved = match rustix::fs::renameat(tmp, draft, blobs, &name) {
            Err(rustix::io::Errno::NOENT) => {
                match rustix::fs::mkdirat(blobs, &name[..2], Mode::from_raw_mode(0o755)) {
                    Ok(()) => index.made_directory(),
                    Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                rustix::fs::renameat(tmp, draft, blobs, &name)
            }
            other => other,
        };
        moved?;
        index.insert(hash, Size { bytes, stored }, Durability::Fresh);
        Ok(())
    }

    /// Returns true if the blob is here, complete by its size, and marks it as used. A blob with
    /// another size than before is set aside.
    pub(crate) fn is_known(&self, hash: Hash) -> bool {
        let Some(entry) = self.index().get(hash) else {
            return false;
        };
        let stat = rustix::fs::statat(&self.blobs, blob_name(hash), AtFlags::SYMLINK_NOFOLLOW);
        if stat.is_ok_and(|stat| u64::try_from(stat.st_size) == Ok(entry.bytes)) {
            self.used(&[hash]);
            return true;
        }
        self.set_aside(hash, entry);
        false
    }

    /// Marks blobs as used.
    pub(crate) fn used(&self, hashes: &[Hash]) {
        let stamped: Vec<Hash> = {
            let mut index = self.index();
            hashes
                .iter()
                .filter(|hash| index.touch(**hash))
                .copied()
                .collect()
        };
        let times = present();
        for hash in stamped {
            // Only the order of eviction after a restart depends on it.
            let name = blob_name(hash);
            let _ = rustix::fs::utimensat(&self.blobs, name, &times, AtFlags::SYMLINK_NOFOLLOW);
        }
    }

    /// Makes a reflink of all of `from` in the empty file `to`. Returns false if that is
    /// impossible.
    pub(crate) fn reflink(&self, from: &File, to: &File) -> bool {
        if !self.has_reflinks.load(Ordering::Relaxed) {
            return false;
        }
        match rustix::fs::ioctl_ficlone(to, from) {
            Ok(()) => true,
            Err(error) => {
                // Between two file systems it fails for this file only.
                if error != rustix::io::Errno::XDEV {
                    self.refuse_reflinks();
                }
                false
            }
        }
    }

    /// From here on no reflink is tried.
    pub(crate) fn refuse_reflinks(&self) {
        self.has_reflinks.store(false, Ordering::Relaxed);
    }

    /// Moves a blob that does not match its hash to `damaged/`, unless it was replaced since it was
    /// examined.
    pub(crate) fn set_aside(&self, hash: Hash, seen: Entry) {
        if self.lock.is_none() {
            // Its owner handles it. For this reader it is missing.
            return self.index().remove(hash);
        }
        // A running flush must not seal a blob that is written in its place.
        let _flushing = lock_of(&self.flushing);
        let mut index = self.index();
        if !index.is_same(hash, seen) {
            return;
        }
        self.move_aside(hash);
        index.remove(hash);
    }

    /// Moves the file of a damaged blob to `damaged/`, or removes it.
    fn move_aside(&self, hash: Hash) {
        let name = blob_name(hash);
        let aside = self.dir.join("damaged");
        let n_aside = fs::read_dir(&aside).map_or(0, Iterator::count);
        let is_kept = n_aside < DAMAGED_MAX
            && fs::create_dir_all(&aside).is_ok()
            && fs::rename(
                self.dir.join("blobs").join(&name),
                aside.join(hash.to_string()),
            )
            .is_ok();
        if !is_kept {
            // Also if it is gone altogether, so the result does not matter.
            let _ = rustix::fs::unlinkat(&self.blobs, &name, AtFlags::empty());
        }
    }

    /// Removes a blob if it is still idle since it was chosen. Returns its size on the disk.
    pub(crate) fn remove_idle(&self, hash: Hash, chosen_at: u64) -> io::Result<Option<u64>> {
        let mut index = self.index();
        if !index.is_still_idle(hash, chosen_at) {
            return Ok(None);
        }
        let bytes = index.get(hash).map(|entry| entry.stored);
        // The rename is short; the removal of a large file is not, and needs no lock.
        let aside = self.next_name.fetch_add(1, Ordering::Relaxed).to_string();
        match rustix::fs::renameat(&self.blobs, blob_name(hash), &self.tmp, &aside) {
            Ok(()) => {
                index.remove(hash);
                drop(index);
                rustix::fs::unlinkat(&self.tmp, &aside, AtFlags::empty())?;
            }
            Err(rustix::io::Errno::NOENT) => index.remove(hash),
            Err(error) => return Err(error.into()),
        }
        Ok(bytes)
    }

    fn clean_tmp(&self) -> Result<(), OpenError> {
        let tmp = self.dir.join("tmp");
        let failed = |source| OpenError::Scan {
            path: tmp.clone(),
            source,
        };
        for entry in fs::read_dir(&tmp).map_err(failed)? {
            fs::remove_file(entry.map_err(failed)?.path()).map_err(failed)?;
        }
        Ok(())
    }

    fn scan(&self) -> Result<(), OpenError> {
        let blobs = self.dir.join("blobs");
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            |source: io::Error| OpenError::Scan { path, source }
        };
        let mut found = Vec::new();
        for shard in fs::read_dir(&blobs).map_err(failed(&blobs))? {
            let shard = shard.map_err(failed(&blobs))?.path();
            if !shard.is_dir() {
                continue;
            }
            for entry in fs::read_dir(&shard).map_err(failed(&shard))? {
                let path = entry.map_err(failed(&shard))?.path();
                let hash = path
                    .file_name()
                    .and_then(|name| name.to_str()?.parse::<Hash>().ok());
                // A file without the name of a blob in this directory is not ours: it stays and is
                // ignored.
                let Some(hash) = hash.filter(|hash| blobs.join(blob_name(*hash)) == path) else {
                    continue;
                };
                let metadata = match fs::symlink_metadata(&path) {
                    // Its owner has removed it meanwhile.
                    Err(error)
                        if error.kind() == io::ErrorKind::NotFound && self.lock.is_none() =>
                    {
                        continue;
                    }
                    other => other.map_err(failed(&path))?,
                };
                let durability = if metadata.permissions().mode() & 0o777 == SEALED_MODE {
                    Durability::Sealed
                } else if self.lock.is_none() {
                    // Its owner is writing it.
                    continue;
                } else {
                    match File::open(&path).and_then(|file| Ok(sparse::hash(&file)?)) {
                        Ok((found, _)) if found == hash => {}
                        Ok(_) => {
                            fs::remove_file(&path).map_err(failed(&path))?;
                            continue;
                        }
                        Err(error) if is_of_disk(&error) => {
                            self.move_aside(hash);
                            continue;
                        }
                        Err(error) => return Err(failed(&path)(error)),
                    }
                    Durability::Fresh
                };
                let used = (metadata.mtime(), metadata.mtime_nsec());
                let size = Size {
                    bytes: metadata.len(),
                    stored: sparse::stored_of(&metadata),
                };
                found.push((used, hash, size, durability));
            }
        }
        found.sort_unstable_by_key(|(used, hash, ..)| (*used, *hash));
        let mut index = self.index();
        for (_, hash, size, durability) in found {
            index.insert(hash, size, durability);
            index.share(hash);
        }
        // The directory of an unflushed blob may be unflushed too.
        index.made_directory();
        Ok(())
    }
}

impl Draft<'_> {
    /// Renames it to its hash. If the blob is there already, the draft is dropped.
    pub(crate) fn publish(self, hash: Hash, bytes: u64) -> io::Result<()> {
        self.inner.publish(&self.name, &self.file, hash, bytes)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        self.inner.remove_draft(&self.name);
    }
}

/// The mode of a durable blob.
pub(crate) const SEALED_MODE: u32 = 0o444;

/// The mode of one that is not durable and that commands of other accounts read by a link.
pub(crate) const LENT_MODE: u32 = 0o404;

/// Maximum number of damaged blobs that are kept for examination.
const DAMAGED_MAX: usize = 16;

/// A blob's path under `blobs/`.
pub(crate) fn blob_name(hash: Hash) -> String {
    let name = hash.to_string();
    format!("{}/{name}", &name[..2])
}

/// Returns true if no space is left, on the disk or in this account's quota.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Locks a mutex even if a thread has panicked while it held it.
pub(crate) fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The present as the times of a file.
pub(crate) fn present() -> Timestamps {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: rustix::fs::UTIME_NOW,
    };
    Timestamps {
        last_access: now,
        last_modification: now,
    }
}

/// Reads up to [`SMALL_BYTES_MAX`] bytes and one more, which shows that there are more.
pub(crate) fn read_small(from: &File, bytes_expected: u64) -> io::Result<Vec<u8>> {
    let capacity = usize::try_from(bytes_expected)
        .unwrap_or(usize::MAX)
        .min(SMALL_BYTES_MAX)
        + 1;
    let mut start = Vec::with_capacity(capacity);
    from.take(SMALL_BYTES_MAX as u64 + 1)
        .read_to_end(&mut start)?;
    Ok(start)
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join("lock");
    let file = File::options().create(true).append(true).open(&path);
    let file = file.map_err(|source| OpenError::create(&path, source))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(OpenError::InUse {
            path: dir.to_path_buf(),
        }),
        Err(error) => Err(OpenError::Scan {
            path,
            source: error.into(),
        }),
    }
}

#[cfg(test)]
mod tests;
