//! Creation of the store: only when there is more than the tail can hold.

use std::path::Path;

use super::{CommitError, Database, Durability, RECORDS, STORE_FILE, StoreError};
use crate::directory::rename_durably;
use crate::layout::{TOTALS_ROW, Totals};
use crate::store_file::StoreFile;

/// Creates the store under another name and renames it when it is complete, so that a crash
/// meanwhile leaves no partial store.
pub(super) fn create_store(dir: &Path, cache_bytes: usize) -> Result<Database, CommitError> {
    let draft = dir.join("events.draft");
    let store = empty_store(&draft, cache_bytes)?;
    rename_durably(&draft, &dir.join(STORE_FILE))?;
    Ok(store)
}

fn empty_store(draft: &Path, cache_bytes: usize) -> Result<Database, StoreError> {
    let file = StoreFile::create(draft).map_err(redb::Error::Io)?;
    let store = Database::builder()
        .set_cache_size(cache_bytes)
        .create_with_backend(file)?;
    let mut transaction = store.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    let totals = Totals::default().to_bytes();
    transaction
        .open_table(RECORDS)?
        .insert(&TOTALS_ROW, totals.as_slice())?;
    transaction.commit()?;
    Ok(store)
}
