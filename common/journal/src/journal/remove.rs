//! Removal of a damaged stream, so that the others can be read again.

use std::collections::BTreeSet;
use std::path::Path;

use redb::{ReadableTable, ReadableTableMetadata};

use super::open::{OpenError, changes_of, open_file, payloads_of, read_tail};
use super::scan::scan;
use super::{Change, Database, RECORDS, STORE_FILE, StoreError, Stored, What, write};
use crate::directory::{Lock, check_version};
use crate::guard::guarded;
use crate::layout::{
    Kind, ROW_KEY_BYTES, RowKey, TOTALS_ROW, Totals, first_row, last_row, read_head,
};

/// Cache of the store, in bytes: rows are read once.
const CACHE_BYTES: usize = 4 << 20;

/// Removes one stream from a journal that [`Damage`](crate::Damage) keeps from opening, by the
/// number in that error. Returns the number of removed rows.
///
/// The rest of the journal is taken as it is: this is the user's last resort without a copy.
pub fn remove_stream(dir: &Path, stream_id: u64) -> Result<u64, OpenError> {
    let path = dir.join(STORE_FILE);
    let missing = || OpenError::Missing {
        path: dir.to_owned(),
    };
    if !path.exists() {
        return Err(missing());
    }
    let lock = Lock::take(dir)?;
    check_version(dir)?;
    let store = open_file(&path, CACHE_BYTES)?.0.take();
    let store = store.ok_or_else(missing)?;
    let n_rows = guarded(|| remove_rows(&store, stream_id));
    let n_rows = match n_rows {
        Ok(n_rows) => n_rows.map_err(|source| OpenError::Store {
            path: path.clone(),
            source,
        })?,
        Err(message) => {
            std::mem::forget(store);
            return Err(OpenError::Panicked { path, message });
        }
    };
    // Other damage is reported by the next start, and removed by another call.
    if let Ok(Ok(stored)) = guarded(|| scan(&store, &path, &mut |_| {})) {
        settle_fitting(dir, &store, stored)?;
    }
    drop(store);
    lock.release_clean();
    Ok(n_rows)
}

/// Moves the tail's changes of existing streams into the store; changes of a removed one have no
/// target.
fn settle_fitting(dir: &Path, store: &Database, mut stored: Stored) -> Result<(), OpenError> {
    let found = read_tail(dir, stored.totals.n_commits)?;
    if found.n_commits == stored.totals.n_commits {
        return Ok(());
    }
    let payloads = payloads_of(dir, &found.tail)?;
    let changes = changes_of(dir, &payloads)?;
    let mut known: BTreeSet<_> = stored.streams.keys().cloned().collect();
    let fitting: Vec<Change<'_>> = changes
        .iter()
        .filter(|(stream, what)| match what {
            What::Found(_) => known.insert(stream.clone()),
            What::Event(_) | What::Snapshot(_) | What::Chapter(..) => known.contains(stream),
            What::Forget => known.remove(stream),
        })
        .map(|(stream, what)| (stream, *what))
        .collect();
    let path = dir.join(STORE_FILE);
    match guarded(|| write(store, &mut stored, fitting.into_iter(), found.n_commits)) {
        Ok(written) => written.map_err(|source| OpenError::Settle { path, source }),
        Err(message) => Err(OpenError::Panicked { path, message }),
    }
}

/// Removes the rows and writes totals over the remaining ones.
fn remove_rows(store: &Database, stream_id: u64) -> Result<u64, StoreError> {
    let transaction = store.begin_write()?;
    let mut totals = Totals::default();
    let n_rows = {
        let mut records = transaction.open_table(RECORDS)?;
        let n_before = records.len()?;
        let first = first_row(stream_id, Kind::Founding);
        let last = last_row(stream_id, Kind::Chapter);
        records.retain_in::<&[u8; ROW_KEY_BYTES], _>(&first..=&last, |_, _| false)?;
        let before = records
            .get(&TOTALS_ROW)?
            .and_then(|row| Totals::from_bytes(row.value()));
        for row in records.range::<&[u8; ROW_KEY_BYTES]>(..&TOTALS_ROW)? {
            let (key, value) = row?;
            let first_part = RowKey::from_bytes(key.value()).is_some_and(|key| key.part == 0);
            if let (true, Some(head)) = (first_part, read_head(value.value())) {
                totals.add(1, u64::from(head.crc));
            }
        }
        // The same number, because the tail continues it.
        totals.n_commits = before.map_or(0, |before| before.n_commits);
        records.insert(&TOTALS_ROW, totals.to_bytes().as_slice())?;
        n_before - records.len()?
    };
    transaction.commit()?;
    Ok(n_rows)
}
