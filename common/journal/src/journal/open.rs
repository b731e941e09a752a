//! Opening a journal: the checks, their order, and the errors.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use redb::{ReadableDatabase, StorageBackend};
use thiserror::Error;

use super::overlay::{Misfit, Overlay};
use super::scan::{Damage, History, ScanError, scan};
use super::{CommitError, Database, Journal, RECORDS, STORE_FILE, Store, StoreError, Stored, What};
use crate::directory::{
    Acknowledged, DirectoryError, FORMAT, Lock, check_version, io_error, make_directory,
    place_version, write_version,
};
use crate::durable::Unflushed;
use crate::guard::guarded;
use crate::layout::{StreamKey, TOTALS_ROW, Totals};
use crate::reserve::Reserve;
use crate::store_file::{ReadFile, StoreFile};
use crate::tail::{self, TAIL_FILE, Tail, TailError};

/// Default cache of the store, in bytes. Events are read at the opening alone, each once; afterwards only
/// the upper pages of the tree are read again, and a cache that is full stays in memory for ever.
const CACHE_BYTES: usize = 4 << 20;

/// Size in bytes below which a file is not compacted.
const COMPACT_BYTES_MIN: u64 = 16 << 20;

/// A file is compacted if it is at least so many times as large as its content.
const COMPACT_RATIO: u64 = 4;

/// Settings for opening a journal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Version of the program, for the `version` file and the message of an older program.
    pub program_version: String,
    /// Cache of the store, in bytes.
    pub cache_bytes: usize,
    /// Bytes reserved on the disk for commits when it is full; 0 for none.
    pub reserve_bytes: u64,
}

impl Options {
    /// The default cache and no reserve, for a program of this version.
    pub fn new(program_version: &str) -> Options {
        Options {
            program_version: program_version.to_owned(),
            cache_bytes: CACHE_BYTES,
            reserve_bytes: 0,
        }
    }
}

/// Findings at the opening, for the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// There was no journal, and an empty one was created.
    pub created: bool,
    /// The previous program was killed, or the machine stopped.
    pub unclean: bool,
    /// An unfinished last write that had never been acknowledged was cut off.
    pub tail_cut: bool,
    /// The version of the program that wrote last; none in a new journal.
    pub written_by: Option<String>,
    /// Commits since the journal was created.
    pub n_commits: u64,
    /// Number of streams.
    pub n_streams: u64,
    /// Founding events and events of tails.
    pub n_events: u64,
    /// Bytes of all events, snapshots and chapters.
    pub live_bytes: u64,
    /// Length of the store's file in bytes, after compaction; 0 if there is none.
    pub file_bytes: u64,
    /// The file was mostly free and has been compacted.
    pub compacted: bool,
}

/// Why a journal could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// The directory is in use, of a later version, or unreadable.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// There is no journal, and none should be created.
    #[error("there is no journal in {}", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The store rejects its file.
    #[error("could not open the journal {}; if it is damaged, restore its directory from a copy", path.display())]
    Store {
        /// The store's file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: StoreError,
    },
    /// The store panicked over its file.
    #[error("the journal {} is damaged ({message}): restore its directory from a copy", path.display())]
    Panicked {
        /// The store's file.
        path: PathBuf,
        /// Its message.
        message: String,
    },
    /// A record is wrong or missing.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A commit in the tail is wrong or missing, and it is not the last one.
    #[error(
        "{place} in {} {what}: restore the directory from a copy, or remove this file to go on without what it holds",
        path.display()
    )]
    TailDamaged {
        /// The tail's file.
        path: PathBuf,
        /// The commit, or the change and its stream.
        place: String,
        /// The damage.
        what: &'static str,
    },
    /// The tail could not be moved into the store.
    #[error("could not make room in the journal {}", path.display())]
    Settle {
        /// The store's file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: CommitError,
    },
    /// The journal ends before the last acknowledged commit.
    #[error(
        "the journal {} ends at commit {n_commits}, and commit {n_acknowledged} had been acknowledged: \
         restore its directory from a copy, or remove the file `acknowledged` beside it to go on without what is lost",
        path.display()
    )]
    Lost {
        /// The store's file.
        path: PathBuf,
        /// The number of the last commit in it.
        n_commits: u64,
        /// The number of the last acknowledged commit.
        n_acknowledged: u64,
    },
}

impl Journal {
    /// Opens a journal, or creates one, and returns its content, ordered by the streams' age.
    ///
    /// The whole file is read and each checksum verified, so that damage is reported here and not
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

    /// [`Journal::open`], passing one stream at a time to `visit`, so that a large journal is never
    /// in memory as a whole. After an error, the visited streams must be discarded.
    pub fn open_visiting(
        dir: &Path,
        options: &Options,
        visit: impl FnMut(History),
    ) -> Result<(Journal, Opened), OpenError> {
        let mut unflushed = Unflushed::default();
        make_directory(dir, &mut unflushed)?;
        let lock = Lock::take(dir)?;
        let path = dir.join(STORE_FILE);
        let written_by = check_version(dir)?;
        if written_by.is_none() && may_have_commits(dir) {
            return Err(DirectoryError::Version {
                path: dir.join("version"),
                reason: "it is missing or empty".to_owned(),
            }
            .into());
        }
        let mut reserve = Reserve::open(dir, options.reserve_bytes);
        reserve.make_room_to_start(dir);
        let store = open_file(&path, options.cache_bytes)?;
        let (mut journal, mut opened) = open_store(dir, lock, options.cache_bytes, store, visit)?;
        opened.created = matches!(journal.store, Store::Unmade) && journal.n_commits == 0;
        if opened.created {
            // All of it is flushed before the first commit, with whatever a crash has left of an earlier beginning.
            unflushed.add_name_of(dir);
            place_version(dir, &options.program_version, &mut unflushed)?;
        } else if written_by.as_ref().is_some_and(|version| {
            version.format < FORMAT || version.program != options.program_version
        }) {
            // Before anything is written that an older program would not understand.
            write_version(dir, &options.program_version)?;
        }
        journal.tail.open(dir, &mut unflushed)?;
        unflushed.flush().map_err(io_error("flush", dir))?;
        reserve.fill_up(dir);
        journal.reserve = reserve;
        compact(&mut journal, &mut opened)?;
        opened.written_by = written_by.map(|version| version.program);
        Ok((journal, opened))
    }
}

/// Returns true unless there is surely no commit in a directory: there is no store, and the tail has none.
pub fn may_have_commits(dir: &Path) -> bool {
    let has_none = |found: tail::OpenedTail| found.n_commits == 0;
    dir.join(STORE_FILE).exists() || !Tail::read(dir, 0).is_ok_and(has_none)
}

/// Reads a journal that no program has open, for queries. Programs that would change it are kept out meanwhile.
///
/// Nothing is created, and nothing is changed: an unfinished end is left out of what is read, and stays for the next
/// program that opens the journal.
pub fn open_read(dir: &Path) -> Result<(Vec<History>, Opened), OpenError> {
    let missing = || OpenError::Missing {
        path: dir.to_owned(),
    };
    if !dir.join("version").exists() {
        return Err(missing());
    }
    let (_lock, unclean) = Lock::take_for_reading(dir)?;
    let written_by = check_version(dir)?.ok_or_else(missing)?;
    let mut histories = Vec::new();
    let path = dir.join(STORE_FILE);
    let store = open_backend(&path, CACHE_BYTES, || ReadFile::open(&path))?;
    let visit = |history| histories.push(history);
    let (content, mut opened) = read_store(dir, store, visit)?;
    // The store ends in order over its file in memory; there is nothing that this could lose.
    let _ = guarded(|| drop(content));
    opened.unclean = unclean;
    opened.written_by = Some(written_by.program);
    Ok((histories, opened))
}

pub(super) fn read_tail(dir: &Path, n_stored: u64) -> Result<tail::OpenedTail, OpenError> {
    Tail::read(dir, n_stored).map_err(|error| match error {
        TailError::Directory(error) => error.into(),
        TailError::Damage(place, what) => tail_damaged(dir, place, what),
    })
}

/// The content of a tail's frames.
pub(super) fn payloads_of(dir: &Path, tail: &Tail) -> Result<Vec<u8>, OpenError> {
    tail.payloads().ok_or_else(|| unread(dir))
}

/// The changes in it.
pub(super) fn changes_of<'t>(
    dir: &Path,
    payloads: &'t [u8],
) -> Result<Vec<(StreamKey, What<'t>)>, OpenError> {
    tail::changes(payloads).ok_or_else(|| unread(dir))
}

fn unread(dir: &Path) -> OpenError {
    tail_damaged(dir, "a commit".to_owned(), "is none that is ever written")
}

pub(super) fn tail_damaged(dir: &Path, place: String, what: &'static str) -> OpenError {
    let path = dir.join(TAIL_FILE);
    OpenError::TailDamaged { path, place, what }
}

/// Opens the store's file, if there is one, with the store's own check of every page. Also returns
/// true if an unfinished last transaction was cut off.
pub(super) fn open_file(path: &Path, cache_bytes: usize) -> Result<(Store, bool), OpenError> {
    open_backend(path, cache_bytes, || StoreFile::open(path))
}

/// The same over the file as `open` accesses it.
fn open_backend<B: StorageBackend>(
    path: &Path,
    cache_bytes: usize,
    open: impl FnOnce() -> std::io::Result<B>,
) -> Result<(Store, bool), OpenError> {
    if !path.exists() {
        return Ok((Store::Unmade, false));
    }
    let tail_cut = Rc::new(Cell::new(false));
    let seen = Rc::clone(&tail_cut);
    let file = open().map_err(|source| OpenError::Store {
        path: path.to_owned(),
        source: StoreError::from(redb::Error::Io(source)),
    })?;
    let opened = guarded(|| {
        Database::builder()
            .set_cache_size(cache_bytes)
            .set_check_integrity_on_open(true)
            .set_repair_callback(move |session| {
                // The store reports this progress if the last commit does not verify and the one
                // before it is used; the other calls happen with every check.
                if (0.25..0.35).contains(&session.progress()) {
                    seen.set(true);
                }
            })
            .create_with_backend(file)
    });
    match opened {
        Ok(Ok(store)) => Ok((Store::Open(store), tail_cut.get())),
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

/// What was read of a store and its tail.
struct Content {
    store: Store,
    stored: Stored,
    tail: Tail,
    streams: BTreeSet<StreamKey>,
    n_commits: u64,
}

/// Reads all of a store and its tail, to write to it from here on.
fn open_store(
    dir: &Path,
    mut lock: Lock,
    cache_bytes: usize,
    store: (Store, bool),
    visit: impl FnMut(History),
) -> Result<(Journal, Opened), OpenError> {
    let (content, mut opened) = read_store(dir, store, visit)?;
    let (acknowledged, _) = Acknowledged::open(dir)?;
    acknowledged.write(content.n_commits)?;
    lock.begin_use();
    opened.unclean = lock.left_unclean;
    let journal = Journal {
        store: content.store,
        cache_bytes,
        tail: content.tail,
        dir: dir.to_owned(),
        acknowledged,
        lock,
        reserve: Reserve::open(dir, 0),
        known: content.streams,
        n_commits: content.n_commits,
        stored: content.stored,
        failed: false,
    };
    Ok((journal, opened))
}

/// Reads all of a store and its tail, and compares it with the acknowledged number. Changes nothing but the store.
fn read_store(
    dir: &Path,
    (mut store, store_cut): (Store, bool),
    mut visit: impl FnMut(History),
) -> Result<(Content, Opened), OpenError> {
    let path = dir.join(STORE_FILE);
    let panicked = |message| OpenError::Panicked {
        path: path.clone(),
        message,
    };
    // Its end is needed before its streams are visited, because the tail is laid over them.
    let n_stored = match &store {
        Store::Open(store) => guarded(|| n_commits(store)),
        Store::Unmade | Store::Gone => Ok(Ok(Some(0))),
    };
    let found = match n_stored {
        Ok(Ok(Some(n_stored))) => read_tail(dir, n_stored)?,
        // The scan reports the damage.
        Ok(Ok(None)) => tail::OpenedTail::nothing(),
        Ok(Err(source)) => return Err(OpenError::Store { path, source }),
        Err(message) => {
            std::mem::forget(store);
            return Err(panicked(message));
        }
    };
    let payloads = payloads_of(dir, &found.tail)?;
    let mut overlay = Overlay::new(changes_of(dir, &payloads)?);
    let mut misfit = None;
    let mut seen = Seen::default();
    let mut lay = |history| match overlay.over(history) {
        Ok(Some(history)) => visit(seen.count(history)),
        Ok(None) => {}
        Err(error) => misfit = Some(error),
    };
    let scanned = match &store {
        Store::Open(store) => guarded(|| scan(store, &path, &mut lay)),
        Store::Unmade | Store::Gone => Ok(Ok(Stored::default())),
    };
    let stored = match scanned {
        Ok(Ok(stored)) => stored,
        Ok(Err(ScanError::Damage(damage))) => return Err(damage.into()),
        Ok(Err(ScanError::Store(source))) => return Err(OpenError::Store { path, source }),
        Err(message) => {
            // Its locks may be poisoned, and dropping it could panic again.
            std::mem::forget(store.take());
            return Err(panicked(message));
        }
    };
    let misfit = misfit.map_or_else(|| overlay.rest(), Err);
    let rest = misfit.map_err(|Misfit { stream, what }| {
        tail_damaged(dir, format!("a change of stream {stream}"), what)
    })?;
    rest.into_iter()
        .for_each(|history| visit(seen.count(history)));
    let n_commits = found.n_commits;
    let number = Acknowledged::read(dir)?;
    if let Some(n_acknowledged) = number.filter(|number| *number > n_commits) {
        return Err(OpenError::Lost {
            path,
            n_commits,
            n_acknowledged,
        });
    }
    let opened = Opened {
        tail_cut: store_cut || found.is_cut,
        n_commits,
        n_streams: seen.streams.len() as u64,
        n_events: seen.n_events,
        live_bytes: seen.bytes,
        file_bytes: file_bytes(&path)?,
        ..Opened::default()
    };
    let content = Content {
        store,
        stored,
        tail: found.tail,
        streams: seen.streams,
        n_commits,
    };
    Ok((content, opened))
}

/// The streams passed to the visitor so far.
#[derive(Default)]
struct Seen {
    streams: BTreeSet<StreamKey>,
    n_events: u64,
    bytes: u64,
}

impl Seen {
    fn count(&mut self, history: History) -> History {
        self.streams.insert(history.stream.clone());
        self.n_events += 1 + history.tail.len() as u64;
        let tail = history.tail.iter().map(Vec::len).sum::<usize>();
        let snapshot = history.snapshot.as_ref().map_or(0, Vec::len);
        let chapters = history.chapters.values().map(Vec::len).sum::<usize>();
        self.bytes += (history.founding.len() + snapshot + chapters + tail) as u64;
        history
    }
}

/// The number of the store's last commit; none if its totals are damaged.
fn n_commits(store: &Database) -> Result<Option<u64>, StoreError> {
    let records = store.begin_read()?.open_table(RECORDS)?;
    let totals = records.get(&TOTALS_ROW)?;
    let totals = totals.and_then(|row| Totals::from_bytes(row.value()));
    Ok(totals.map(|totals| totals.n_commits))
}

fn compact(journal: &mut Journal, opened: &mut Opened) -> Result<(), OpenError> {
    if opened.file_bytes < COMPACT_BYTES_MIN
        || opened.live_bytes.saturating_mul(COMPACT_RATIO) > opened.file_bytes
    {
        return Ok(());
    }
    let path = journal.dir.join(STORE_FILE);
    // A stream that the tail forgets is still in the store.
    if !journal.tail.is_empty() {
        journal
            .settle(&[], journal.n_commits)
            .map_err(|source| OpenError::Settle {
                path: path.clone(),
                source,
            })?;
    }
    let Store::Open(store) = &mut journal.store else {
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
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(io_error("read", path)(error).into()),
    }
}
