//! The history of a user's embedded runs, one file that all of them add to, or of a process manager.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use history::{Batch, Key, Record, Store, decode_section, encode_section, group};
use journal::{Content, SharedFile};

/// Added bytes from which the end of a run compacts the file: to read so many takes a start about a
/// millisecond.
pub(crate) const COMPACTED_FROM: u64 = 512 << 10;

/// The works that activities have taken, in a file.
#[derive(Clone, Debug)]
pub struct HistoryFile {
    file: SharedFile,
}

impl HistoryFile {
    /// The file of this path, which need not be there.
    pub fn new(path: PathBuf) -> HistoryFile {
        let file = SharedFile::new(path);
        HistoryFile { file }
    }

    /// Reads the templates of a definition. The cost does not grow with what is remembered of others.
    pub fn of_definition(&self, definition: &str) -> io::Result<Store> {
        let mut store = Store::default();
        take(&self.file.read(group(definition))?, &mut store);
        Ok(store)
    }

    /// All that is remembered.
    pub fn all(&self) -> io::Result<Store> {
        let mut store = Store::default();
        for (_, content) in self.file.read_all()? {
            take(&content, &mut store);
        }
        Ok(store)
    }

    /// Adds attempts. Returns false while the file is compacted: the caller tries again.
    pub fn add(&self, batch: &Batch) -> io::Result<bool> {
        self.file.add(group(&batch.definition), &batch.encode())
    }

    /// Compacts the file where much was added, unless another run uses it at the moment.
    pub fn compact_if_long(&self) -> io::Result<()> {
        if self.file.added_bytes()? >= COMPACTED_FROM {
            self.file.compact(|all| sections(all, |_| true))?;
        }
        Ok(())
    }

    /// Forgets a definition, or everything. Returns the number of templates that were forgotten.
    pub fn forget(&self, definition: Option<&str>) -> io::Result<usize> {
        self.forget_where(|key| definition.is_none_or(|definition| key.definition == definition))
    }

    /// Forgets what is kept under some keys, durably. Returns the number of templates that were forgotten.
    pub(crate) fn forget_where(&self, goes: impl Fn(&Key) -> bool) -> io::Result<usize> {
        let mut n_forgotten = 0;
        self.file.compact_in_turn(|all| {
            sections(all, |key| {
                let goes = goes(key);
                n_forgotten += usize::from(goes);
                !goes
            })
        })?;
        Ok(n_forgotten)
    }

    /// Bytes added since the last compaction.
    pub(crate) fn added_bytes(&self) -> io::Result<u64> {
        self.file.added_bytes()
    }

    /// Replaces all by templates from elsewhere, durably.
    pub(crate) fn take_over(&self, templates: Vec<(Key, Record)>) -> io::Result<()> {
        self.file.compact_in_turn(|_| grouped(templates))
    }
}

fn take(content: &Content, store: &mut Store) {
    if let Some(section) = &content.section {
        decode_section(section, store);
    }
    for batch in content.added.iter().filter_map(|body| Batch::decode(body)) {
        batch.apply(store);
    }
}

/// The sections of all that stays, within the bound of a store.
fn sections(all: Vec<(u64, Content)>, mut stays: impl FnMut(&Key) -> bool) -> Vec<(u64, Vec<u8>)> {
    let mut store = Store::default();
    for (_, content) in &all {
        take(content, &mut store);
    }
    let staying = store.all().filter(|(key, _)| stays(key));
    grouped(staying.map(|(key, template)| (key, template.clone())))
}

/// Sections of templates.
fn grouped(templates: impl IntoIterator<Item = (Key, Record)>) -> Vec<(u64, Vec<u8>)> {
    let mut groups: BTreeMap<u64, Vec<(Key, Record)>> = BTreeMap::new();
    for (key, template) in templates {
        let own = groups.entry(group(&key.definition)).or_default();
        own.push((key, template));
    }
    let sections = groups.into_iter();
    sections
        .map(|(group, templates)| (group, encode_section(&templates)))
        .collect()
}

#[cfg(test)]
mod tests;
