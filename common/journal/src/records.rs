//! The repository of resource records: a group manager's knowledge of its machines.
//!
//! The store underneath may lose or corrupt its content in a power cut, and may panic or open empty
//! without an error. So nothing may depend on it: each value has its checksum, a *sentinel* inside
//! must match the file `marker` outside, and on any doubt the store is set aside and an empty one
//! begins, because the machines report again. Only a condition that would stop an empty store as
//! well, such as a full disk, is an error.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::directory::{
    DirectoryError, Lock, create_directory, io_error, rename_durably, replace_file, sync_directory,
};
use crate::guard::guarded;

/// Longest key and value together, in bytes: above some 20 KB the store was measured to lose
/// acknowledged values at each power cut, up to 4 KB at none.
pub const RECORD_BYTES_MAX: usize = 4096;

/// Cache of the store in bytes: a group of 10,000 machines fits. Records are read at the start alone, and a manager
/// keeps those that it needs itself.
const CACHE_BYTES: u64 = 4 << 20;

/// Number of stores kept that were set aside; the oldest is removed beyond it, so that a bad disk
/// is not filled with them.
const SET_ASIDE_MAX: usize = 4;

/// Key of the sentinel. Callers' keys are stored with `KEY_PREFIX`, so none is equal to it.
const SENTINEL: &[u8] = b"sentinel";

const KEY_PREFIX: u8 = b'=';

/// A key and its newest value.
pub type Record = (Vec<u8>, Vec<u8>);

/// A key and its change: another value, or none.
pub type Change = (Vec<u8>, Option<Vec<u8>>);

/// An open repository. Its directory is locked until it is dropped.
pub struct Records {
    /// None only while it is dropped.
    store: Option<sled::Db>,
    /// The store's own flush does not surely reach the disk; a flush of this descriptor does.
    data: File,
    data_path: PathBuf,
    failed: bool,
    lock: Lock,
}

/// Findings at the opening, for the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordsOpened {
    /// An empty repository was created, because there was none or a doubtful one.
    pub created: bool,
    /// A doubtful repository that was set aside.
    pub set_aside: Option<SetAside>,
}

/// A doubtful repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its new path.
    pub path: PathBuf,
    /// The reason of the doubt.
    pub reason: String,
}

/// Why records could not be opened or written.
#[derive(Debug, Error)]
pub enum RecordsError {
    /// The directory is in use or not writable, or the disk is full.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The store could not start or write.
    #[error("could not {action} the resource records in {}", path.display())]
    Store {
        /// The operation that failed.
        action: &'static str,
        /// The store's directory or file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The store panicked.
    #[error("could not {action} the resource records in {}: {message}", path.display())]
    Panicked {
        /// The operation that failed.
        action: &'static str,
        /// The store's directory or file.
        path: PathBuf,
        /// Its message.
        message: String,
    },
    /// A record is too long.
    #[error("could not keep a record of {bytes} bytes: the limit is {RECORD_BYTES_MAX}")]
    TooLong {
        /// Length of key and value.
        bytes: usize,
    },
    /// An earlier write had failed already.
    #[error("could not write the resource records after an earlier failure")]
    AfterFailure,
}

impl Records {
    /// Opens the repository in a directory of its own, or creates it, and returns its content,
    /// ordered by key.
    pub fn open(dir: &Path) -> Result<(Records, Vec<Record>, RecordsOpened), RecordsError> {
        create_directory(dir)?;
        let lock = Lock::take(dir)?;
        let place = RecordFiles { dir };
        let set_aside = if place.store().exists() {
            match place.open_existing() {
                Ok((store, data, records)) => {
                    let opened = Records::new(store, data, &place, lock);
                    return Ok((opened, records, RecordsOpened::default()));
                }
                Err(Unusable::Error(error)) => return Err(error),
                Err(Unusable::Doubt(reason)) => Some(place.set_aside(reason)?),
            }
        } else {
            None
        };
        let (store, data) = place.create()?;
        let opened = Records::new(store, data, &place, lock);
        Ok((
            opened,
            Vec::new(),
            RecordsOpened {
                created: true,
                set_aside,
            },
        ))
    }

    /// Writes the changes together, durably.
    ///
    /// After an error nothing more is written: the caller ends.
    pub fn keep(&mut self, changes: &[Change]) -> Result<(), RecordsError> {
        if self.failed {
            return Err(RecordsError::AfterFailure);
        }
        let mut batch = sled::Batch::default();
        for (key, value) in changes {
            check_record(key, value.as_deref())?;
            match value {
                Some(value) => batch.insert(stored_key(key), stored_value(key, value)),
                None => batch.remove(stored_key(key)),
            }
        }
        let Some(store) = &self.store else {
            return Err(RecordsError::AfterFailure);
        };
        self.failed = true;
        let written = guarded(|| -> sled::Result<()> {
            store.apply_batch(batch)?;
            store.flush()?;
            Ok(())
        });
        store_result("write", &self.data_path, written)?;
        self.data
            .sync_data()
            .map_err(io_error("flush", &self.data_path))?;
        self.failed = false;
        Ok(())
    }

    fn new(store: sled::Db, data: File, place: &RecordFiles<'_>, mut lock: Lock) -> Records {
        lock.begin_use();
        Records {
            store: Some(store),
            data,
            data_path: place.data(),
            failed: false,
            lock,
        }
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        let store = self.store.take();
        if guarded(|| drop(store)).is_ok() && !self.failed {
            // The store's own threads release its file a little later than its handle does. The
            // next opener must not find it locked.
            let _ = self.data.lock();
            self.lock.release_clean();
        }
    }
}

/// Refuses records that the store would not keep safely.
pub(crate) fn check_record(key: &[u8], value: Option<&[u8]>) -> Result<(), RecordsError> {
    let bytes = key.len() + value.map_or(0, <[u8]>::len);
    if bytes > RECORD_BYTES_MAX {
        return Err(RecordsError::TooLong { bytes });
    }
    Ok(())
}

/// Why an existing store is not used.
enum Unusable {
    /// It is damaged, or may be: an empty one begins.
    Doubt(String),
    /// An empty one would fail in the same way.
    Error(RecordsError),
}

impl Unusable {
    fn from_store(action: &'static str, path: &Path, error: sled::Error) -> Unusable {
        // The errors of a damaged file: reads beyond the end, impossible lengths, missing files.
        let damaged = match &error {
            sled::Error::Io(error) => matches!(
                error.kind(),
                ErrorKind::UnexpectedEof
                    | ErrorKind::InvalidData
                    | ErrorKind::InvalidInput
                    | ErrorKind::NotFound
                    | ErrorKind::Other
            ),
            sled::Error::CollectionNotFound(_)
            | sled::Error::Unsupported(_)
            | sled::Error::ReportableBug(_)
            | sled::Error::Corruption { .. } => true,
        };
        if damaged {
            return Unusable::Doubt(error.to_string());
        }
        Unusable::Error(RecordsError::Store {
            action,
            path: path.to_owned(),
            source: error.into(),
        })
    }
}

/// The files of a repository.
struct RecordFiles<'d> {
    dir: &'d Path,
}

impl RecordFiles<'_> {
    fn store(&self) -> PathBuf {
        self.dir.join("store")
    }

    fn data(&self) -> PathBuf {
        self.dir.join("store").join("db")
    }

    fn marker(&self) -> PathBuf {
        self.dir.join("marker")
    }

    fn open_existing(&self) -> Result<(sled::Db, File, Vec<Record>), Unusable> {
        let path = self.store();
        let marker = match fs::read(self.marker()) {
            Ok(marker) => marker,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(Unusable::Doubt("its creation was not finished".to_owned()));
            }
            Err(error) => {
                let error = io_error("read", &self.marker())(error);
                return Err(Unusable::Error(error.into()));
            }
        };
        self.check_free()
            .map_err(|error| Unusable::Error(error.into()))?;
        let store = guarded(|| config(&path).open())
            .map_err(Unusable::Doubt)?
            .map_err(|error| Unusable::from_store("open", &path, error))?;
        match guarded(|| read_all(&store, &marker, &path)) {
            Ok(Ok(records)) => {
                let data = open_data(&self.data()).map_err(|e| Unusable::Error(e.into()))?;
                Ok((store, data, records))
            }
            Ok(Err(unusable)) => {
                // Closing may write to the doubtful store, and panic over it.
                let _ = guarded(|| drop(store));
                Err(unusable)
            }
            Err(message) => {
                let _ = guarded(|| drop(store));
                Err(Unusable::Doubt(message))
            }
        }
    }

    /// Refuses a store that a part of this process still holds: it is in use, not doubtful.
    fn check_free(&self) -> Result<(), DirectoryError> {
        let Ok(data) = File::open(self.data()) else {
            return Ok(());
        };
        match data.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse {
                path: self.store(),
                pid: Some(std::process::id()),
            }),
            Err(TryLockError::Error(source)) => Err(io_error("lock", &self.data())(source)),
        }
    }

    /// Begins an empty store. The marker is written last: without it the next start begins again.
    fn create(&self) -> Result<(sled::Db, File), RecordsError> {
        let path = self.store();
        let number = self.last_number() + 1;
        let marker = format!("store {number}\n");
        match fs::remove_file(self.marker()) {
            Ok(()) => sync_directory(self.dir)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io_error("remove", &self.marker())(error).into()),
        }
        let created = guarded(|| -> sled::Result<sled::Db> {
            let store = config(&path).open()?;
            store.insert(SENTINEL, stored_value(SENTINEL, marker.as_bytes()))?;
            store.flush()?;
            Ok(store)
        });
        let store = store_result("create", &path, created)?;
        let data = open_data(&self.data())?;
        data.sync_all().map_err(io_error("flush", &self.data()))?;
        let conf = path.join("conf");
        File::open(&conf)
            .and_then(|file| file.sync_all())
            .map_err(io_error("flush", &conf))?;
        sync_directory(&path)?;
        sync_directory(self.dir)?;
        replace_file(&self.marker(), marker.as_bytes())?;
        Ok((store, data))
    }

    fn set_aside(&self, reason: String) -> Result<SetAside, RecordsError> {
        let mut numbers = self.numbers_aside();
        while numbers.len() >= SET_ASIDE_MAX {
            let oldest = self.aside(numbers.remove(0));
            fs::remove_dir_all(&oldest).map_err(io_error("remove", &oldest))?;
        }
        let path = self.aside(self.last_number() + 1);
        rename_durably(&self.store(), &path)?;
        Ok(SetAside { path, reason })
    }

    fn aside(&self, number: u64) -> PathBuf {
        self.dir.join(format!("store.aside.{number}"))
    }

    /// The highest number of any store here, so that none is used twice.
    fn last_number(&self) -> u64 {
        let marked = fs::read_to_string(self.marker())
            .ok()
            .and_then(|text| text.strip_prefix("store ")?.trim_end().parse().ok())
            .unwrap_or(0);
        self.numbers_aside()
            .last()
            .copied()
            .unwrap_or(0)
            .max(marked)
    }

    /// Numbers of the stores that were set aside, ascending.
    fn numbers_aside(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = fs::read_dir(self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                name.to_str()?.strip_prefix("store.aside.")?.parse().ok()
            })
            .collect();
        numbers.sort_unstable();
        numbers
    }
}

fn config(path: &Path) -> sled::Config {
    // No flushing by time: the one committer flushes, so that the file has one writer.
    sled::Config::new()
        .path(path)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None)
}

fn open_data(path: &Path) -> Result<File, DirectoryError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(io_error("open", path))
}

/// Reads and checks everything.
fn read_all(store: &sled::Db, marker: &[u8], path: &Path) -> Result<Vec<Record>, Unusable> {
    let refused = |error| Unusable::from_store("read", path, error);
    let sentinel = store.get(SENTINEL).map_err(refused)?;
    let sentinel = sentinel
        .as_deref()
        .and_then(|stored| checked_value(SENTINEL, stored));
    if sentinel != Some(marker) {
        return Err(Unusable::Doubt(
            "its sentinel is missing or another's".to_owned(),
        ));
    }
    let mut records = Vec::new();
    for row in store.iter() {
        let (key, stored) = row.map_err(refused)?;
        if &*key == SENTINEL {
            continue;
        }
        let record = key.split_first().and_then(|(prefix, key)| {
            let value = checked_value(key, &stored)?;
            (*prefix == KEY_PREFIX).then(|| (key.to_vec(), value.to_vec()))
        });
        let Some(record) = record else {
            return Err(Unusable::Doubt("a record has a wrong checksum".to_owned()));
        };
        records.push(record);
    }
    Ok(records)
}

fn stored_key(key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + key.len());
    bytes.push(KEY_PREFIX);
    bytes.extend_from_slice(key);
    bytes
}

/// CRC32 (4), value.
fn stored_value(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len());
    bytes.extend_from_slice(&checksum(key, value).to_be_bytes());
    bytes.extend_from_slice(value);
    bytes
}

fn checked_value<'v>(key: &[u8], stored: &'v [u8]) -> Option<&'v [u8]> {
    let (crc, value) = stored.split_first_chunk::<4>()?;
    (u32::from_be_bytes(*crc) == checksum(key, value)).then_some(value)
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&(key.len() as u64).to_be_bytes());
    hasher.update(key);
    hasher.update(value);
    hasher.finalize()
}

fn store_result<T>(
    action: &'static str,
    path: &Path,
    result: Result<sled::Result<T>, String>,
) -> Result<T, RecordsError> {
    let path = path.to_owned();
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(RecordsError::Store {
            action,
            path,
            source: error.into(),
        }),
        Err(message) => Err(RecordsError::Panicked {
            action,
            path,
            message,
        }),
    }
}

#[cfg(test)]
mod tests;
