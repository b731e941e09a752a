//! Opening a journal: what is checked, in which order, and what is told when it fails.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use redb::{ReadableTable, ReadableTableMetadata};
use thiserror::Error;

use super::scan::{Damage, History, ScanError, scan};
use super::{Database, Durability, Journal, RECORDS, STORE_FILE, StoreError, first_row, last_row};
use crate::directory::{
    Acknowledged, DirectoryError, Lock, check_version, create_directory, io_error, rename_durably,
    write_version,
};
use crate::guard::guarded;
use crate::layout::{Kind, ROW_KEY_BYTES, RowKey, TOTALS_ROW, Totals, read_head};

/// Cache of the store unless told otherwise, in bytes: with 16 to 32 MiB a journal of a million
/// events was measured to stay below 70 MB of memory.
const CACHE_BYTES: usize = 24 << 20;

/// Below this size, in bytes, a file is not worth compacting.
const COMPACT_BYTES_MIN: u64 = 16 << 20;

/// A file is compacted when what it holds, times this, still fits.
const COMPACT_RATIO: u64 = 4;

/// How a journal is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Version of the program, for the `version` file and the message of an older program.
    pub program_version: String,
    /// Cache of the store, in bytes.
    pub cache_bytes: usize,
}

impl Options {
    /// The usual cache, for a program of this version.
    pub fn new(program_version: &str) -> Options {
        Options {
            program_version: program_version.to_owned(),
            cache_bytes: CACHE_BYTES,
        }
    }
}

/// What was found at the opening, for the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// There was no journal, and there is an empty one.
    pub created: bool,
    /// The program that had it open before was killed, or the machine stopped.
    pub unclean: bool,
    /// A last transaction that had never been acknowledged was unfinished and has been cut off.
    pub tail_cut: bool,
    /// Version of the program that wrote last; `None` in a journal just created.
    pub written_by: Option<String>,
    /// Commits since the journal was created.
    pub n_commits: u64,
    /// Number of streams.
    pub n_streams: u64,
    /// Founding events and events of tails.
    pub n_events: u64,
    /// Bytes of all records.
    pub live_bytes: u64,
    /// Length of the store's file in bytes, after compaction.
    pub file_bytes: u64,
    /// The file was mostly free and has been compacted.
    pub compacted: bool,
}

/// Why a journal could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory: in use, of a later version, not readable.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// There is none, and none was to be created.
    #[error("there is no journal in {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The store refuses its file.
    #[error("could not open the journal {}; if it is damaged, restore its directory from a copy", path.display())]
    Store {
        /// The store's file.
        path: PathBuf,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// The store panicked over its file.
    #[error("the journal {} is damaged ({message}): restore its directory from a copy", path.display())]
    Panicked {
        /// The store's file.
        path: PathBuf,
        /// What it said.
        message: String,
    },
    /// A record is wrong or missing.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// The store ends before what had been acknowledged.
    #[error(
        "the journal {} ends at commit {n_commits}, and commit {n_acknowledged} had been acknowledged: \
         restore its directory from a copy, or remove the file `acknowledged` beside it to go on without what is lost",
        path.display()
    )]
    Lost {
        /// The store's file.
        path: PathBuf,
        /// Commits that are there.
        n_commits: u64,
        /// Commits that had been reported as durable.
        n_acknowledged: u64,
    },
}

impl Journal {
    /// Opens a journal, or creates it where there is none, and gives back all that is in it,
    /// ordered by the streams' age.
    ///
    /// The whole file is read and each checksum compared, so that damage is told here rather than
    /// served later.
    pub fn open(
        dir: &Path,
        options: &Options,
    ) -> Result<(Journal, Vec<History>, Opened), OpenError> {
        let mut histories = Vec::new();
        let (journal, opened) =
            Journal::open_visiting(dir, options, |history| histories.push(history))?;
        Ok((journal, histories, opened))
    }

    /// As [`Journal::open`], giving one stream at a time to `visit`, so that a big journal is never
    /// in memory as a whole. After an error, what was visited must be thrown away.
    pub fn open_visiting(
        dir: &Path,
        options: &Options,
        visit: impl FnMut(History),
    ) -> Result<(Journal, Opened), OpenError> {
        create_directory(dir)?;
        let lock = Lock::take(dir)?;
        let path = dir.join(STORE_FILE);
        let written_by = check_version(dir)?;
        let created = !path.exists();
        match &written_by {
            None if !created => {
                return Err(DirectoryError::Version {
                    path: dir.join("version"),
                    reason: "it is missing".to_owned(),
                }
                .into());
            }
            None => write_version(dir, &options.program_version)?,
            Some(_) => {}
        }
        if created {
            create_store(dir, options)?;
        }
        let (mut journal, mut opened) = open_store(dir, lock, options.cache_bytes, visit)?;
        opened.created = created;
        compact(&mut journal, &mut opened)?;
        if written_by
            .as_ref()
            .is_some_and(|version| *version != options.program_version)
        {
            write_version(dir, &options.program_version)?;
        }
        opened.written_by = written_by;
        Ok((journal, opened))
    }
}

/// Reads a journal that nobody has open, for queries. It is locked while that lasts.
///
/// Nothing is created, and what is there stays as it is but for the repair of an unfinished end.
pub fn open_read(dir: &Path) -> Result<(Vec<History>, Opened), OpenError> {
    let missing = || OpenError::Missing {
        path: dir.to_owned(),
    };
    if !dir.join(STORE_FILE).exists() {
        return Err(missing());
    }
    let lock = Lock::take(dir)?;
    let written_by = check_version(dir)?.ok_or_else(missing)?;
    let mut histories = Vec::new();
    let (_, mut opened) = open_store(dir, lock, CACHE_BYTES, |history| histories.push(history))?;
    opened.written_by = Some(written_by);
    Ok((histories, opened))
}

/// Removes one stream from a journal that [`Damage`] stops from opening, by the number told there.
/// Gives back the number of rows that are gone.
///
/// What the journal holds besides is taken as it is: this is the user's last resort, where there is
/// no copy.
pub fn remove_stream(dir: &Path, stream_id: u64) -> Result<u64, OpenError> {
    let path = dir.join(STORE_FILE);
    if !path.exists() {
        return Err(OpenError::Missing {
            path: dir.to_owned(),
        });
    }
    let lock = Lock::take(dir)?;
    check_version(dir)?;
    let store = open_file(&path, CACHE_BYTES)?.0;
    let n_rows = guarded(|| remove_rows(&store, stream_id));
    let n_rows = match n_rows {
        Ok(n_rows) => n_rows.map_err(|source| OpenError::Store { path, source })?,
        Err(message) => {
            std::mem::forget(store);
            return Err(OpenError::Panicked { path, message });
        }
    };
    drop(store);
    lock.release_clean();
    Ok(n_rows)
}

/// Removes the rows and writes totals over what is left.
fn remove_rows(store: &Database, stream_id: u64) -> Result<u64, StoreError> {
    let transaction = store.begin_write()?;
    let mut totals = Totals::default();
    let n_rows = {
        let mut records = transaction.open_table(RECORDS)?;
        let n_before = records.len()?;
        let (first, last) = (first_row(stream_id, Kind::Founding), last_row(stream_id));
        records.retain_in::<&[u8; ROW_KEY_BYTES], _>(&first..=&last, |_, _| false)?;
        let before = records
            .get(&TOTALS_ROW)?
            .and_then(|row| Totals::from_bytes(row.value()));
        for row in records.range::<&[u8; ROW_KEY_BYTES]>(..&TOTALS_ROW)? {
            let (key, value) = row?;
            let first_part = RowKey::from_bytes(key.value()).is_some_and(|key| key.part == 0);
            if let (true, Some((crc, _))) = (first_part, read_head(value.value())) {
                totals.add(1, u64::from(crc));
            }
        }
        totals.n_commits = before.map_or(0, |before| before.n_commits) + 1;
        records.insert(&TOTALS_ROW, totals.to_bytes().as_slice())?;
        n_before - records.len()?
    };
    transaction.commit()?;
    Ok(n_rows)
}

/// Creates the store under another name and renames it once it is whole, so that a crash on the
/// way leaves no half a store.
fn create_store(dir: &Path, options: &Options) -> Result<(), OpenError> {
    let draft = dir.join("events.draft");
    let path = dir.join(STORE_FILE);
    if draft.exists() {
        std::fs::remove_file(&draft).map_err(io_error("remove", &draft))?;
    }
    let create = || -> Result<(), StoreError> {
        let store = Database::builder()
            .set_cache_size(options.cache_bytes)
            .create(&draft)?;
        let mut transaction = store.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        let totals = Totals::default().to_bytes();
        transaction
            .open_table(RECORDS)?
            .insert(&TOTALS_ROW, totals.as_slice())?;
        transaction.commit()?;
        store.close()?;
        Ok(())
    };
    match guarded(create) {
        Ok(created) => created.map_err(|source| OpenError::Store {
            path: draft.clone(),
            source,
        })?,
        Err(message) => {
            return Err(OpenError::Panicked {
                path: draft,
                message,
            });
        }
    }
    rename_durably(&draft, &path)?;
    Ok(())
}

/// Opens the file itself, with the store's own check of every page. Tells as well whether an
/// unfinished last transaction was cut off.
fn open_file(path: &Path, cache_bytes: usize) -> Result<(Database, bool), OpenError> {
    let tail_cut = Rc::new(Cell::new(false));
    let seen = Rc::clone(&tail_cut);
    let opened = guarded(|| {
        Database::builder()
            .set_cache_size(cache_bytes)
            .set_check_integrity_on_open(true)
            .set_repair_callback(move |session| {
                // The store reports this progress where the last commit does not verify and the
                // one before it is taken; the other calls come with every check.
                if (0.25..0.35).contains(&session.progress()) {
                    seen.set(true);
                }
            })
            .open(path)
    });
    match opened {
        Ok(Ok(store)) => Ok((store, tail_cut.get())),
        Ok(Err(error)) => Err(OpenError::Store {
            path: path.to_owned(),
            source: StoreError::from(error),
        }),
        Err(message) => Err(OpenError::Panicked {
            path: path.to_owned(),
            message,
        }),
    }
}

/// Opens the store, reads all of it, and compares with what had been acknowledged.
fn open_store(
    dir: &Path,
    mut lock: Lock,
    cache_bytes: usize,
    mut visit: impl FnMut(History),
) -> Result<(Journal, Opened), OpenError> {
    let path = dir.join(STORE_FILE);
    let (store, tail_cut) = open_file(&path, cache_bytes)?;
    let scanned = guarded(|| scan(&store, &path, &mut visit));
    let found = match scanned {
        Ok(Ok(found)) => found,
        Ok(Err(ScanError::Damage(damage))) => return Err(damage.into()),
        Ok(Err(ScanError::Store(source))) => return Err(OpenError::Store { path, source }),
        Err(message) => {
            // Its locks may be poisoned, and dropping it could panic again.
            std::mem::forget(store);
            return Err(OpenError::Panicked { path, message });
        }
    };
    let (acknowledged, number) = Acknowledged::open(dir)?;
    let n_commits = found.totals.n_commits;
    if let Some(n_acknowledged) = number.filter(|number| *number > n_commits) {
        return Err(OpenError::Lost {
            path,
            n_commits,
            n_acknowledged,
        });
    }
    acknowledged.write(n_commits)?;
    lock.begin_use();
    let opened = Opened {
        unclean: lock.left_unclean,
        tail_cut,
        n_commits,
        n_streams: found.streams.len() as u64,
        n_events: found.n_events,
        live_bytes: found.live_bytes,
        file_bytes: file_bytes(&path)?,
        ..Opened::default()
    };
    let journal = Journal {
        store: Some(store),
        dir: dir.to_owned(),
        acknowledged,
        lock,
        streams: found.streams,
        stream_id_next: found.stream_id_next,
        totals: found.totals,
        failed: false,
    };
    Ok((journal, opened))
}

fn compact(journal: &mut Journal, opened: &mut Opened) -> Result<(), OpenError> {
    if opened.file_bytes < COMPACT_BYTES_MIN
        || opened.live_bytes.saturating_mul(COMPACT_RATIO) > opened.file_bytes
    {
        return Ok(());
    }
    let path = journal.dir.join(STORE_FILE);
    let Some(store) = journal.store.as_mut() else {
        return Ok(());
    };
    match guarded(|| store.compact()) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            return Err(OpenError::Store {
                path,
                source: StoreError::from(error),
            });
        }
        Err(message) => {
            std::mem::forget(journal.store.take());
            return Err(OpenError::Panicked { path, message });
        }
    }
    opened.compacted = true;
    opened.file_bytes = file_bytes(&path)?;
    Ok(())
}

fn file_bytes(path: &Path) -> Result<u64, OpenError> {
    let metadata = std::fs::metadata(path).map_err(io_error("read", path))?;
    Ok(metadata.len())
}
