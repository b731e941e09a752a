//! A file that several programs add records to at once, each record with its checksum.
//!
//! ```text
//! header | sections, one a group | index, by group | record | record | ...
//! ```
//! Sections and index are written by a compaction, into a file of their own that takes the place of the former
//! one; everything before them is only read. Records are added at the end, one write each. Nothing may
//! depend on it: records are not flushed, and damaged ones are passed over. A program that is killed leaves
//! a part of a record at most, which is passed over too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::durable;

/// The first bytes of a file that was compacted; another layout gets another number.
const MAGIC: &[u8; 8] = b"xavadd\0\x01";

/// Magic (8), offset of the index (8), number of groups (4), CRC32 of these (4).
const HEADER_BYTES: usize = 24;

/// Group (8), offset (8), length (4), CRC32 of the section (4).
const ENTRY_BYTES: usize = 24;

/// The first bytes of each added record, by which the next one is found after a damaged one.
const MARK: [u8; 4] = *b"\xf5add";

/// Mark (4), length of the body (4), group (8), CRC32 of length, group and body (4).
const RECORD_BYTES: usize = 20;

/// Bytes of the longest body.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// Bytes of added records that are read: beyond them somebody had to compact the file long ago.
const ADDED_BYTES_MAX: u64 = 64 << 20;

/// A file that several programs share. It need not be there.
#[derive(Clone, Debug)]
pub struct SharedFile {
    path: PathBuf,
}

/// The content of a file for one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The last compaction's section.
    pub section: Option<Vec<u8>>,
    /// The bodies added since, in their order.
    pub added: Vec<Vec<u8>>,
}

/// The compacted part of a file.
struct Base {
    index: u64,
    n_groups: u64,
    /// The place at which added records begin.
    end: u64,
}

impl SharedFile {
    /// The file of this path.
    pub fn new(path: PathBuf) -> SharedFile {
        SharedFile { path }
    }

    /// Adds a record in one write, which is not flushed. Returns false while a compaction goes on: then
    /// nothing was written, and the caller tries again later.
    pub fn add(&self, group: u64, body: &[u8]) -> io::Result<bool> {
        if body.len() > BODY_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a record of {} bytes; at most {BODY_BYTES_MAX}", body.len()),
            ));
        }
        let lock = self.lock_file()?;
        match lock.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path);
        file?.write_all(&record(group, body))?;
        Ok(true)
    }

    /// Reads the content of the file for a group. O(log groups + bytes of the group and of all that was added since the
    /// last compaction).
    pub fn read(&self, group: u64) -> io::Result<Content> {
        let Some(file) = self.open()? else {
            return Ok(Content::default());
        };
        let base = Base::of(&file)?;
        let section = base.as_ref().and_then(|base| base.find(&file, group));
        let mut added = Vec::new();
        for (of, body) in read_added(&file, base.as_ref())? {
            if of == group {
                added.push(body);
            }
        }
        Ok(Content { section, added })
    }

    /// Reads the content for all groups, in their order.
    pub fn read_all(&self) -> io::Result<Vec<(u64, Content)>> {
        let Some(file) = self.open()? else {
            return Ok(Vec::new());
        };
        let base = Base::of(&file)?;
        let mut all: std::collections::BTreeMap<u64, Content> = Default::default();
        if let Some(base) = &base {
            for number in 0..base.n_groups {
                let Some(entry) = base.entry(&file, number) else {
                    continue;
                };
                if let Some(section) = entry.section(&file, base) {
                    all.entry(entry.group).or_default().section = Some(section);
                }
            }
        }
        for (group, body) in read_added(&file, base.as_ref())? {
            all.entry(group).or_default().added.push(body);
        }
        Ok(all.into_iter().collect())
    }

    /// Bytes added since the last compaction.
    pub fn added_bytes(&self) -> io::Result<u64> {
        let Some(file) = self.open()? else {
            return Ok(0);
        };
        let begin = Base::of(&file)?.map_or(0, |base| base.end);
        Ok(file.metadata()?.len().saturating_sub(begin))
    }

    /// Replaces the file by sections that `merge` makes of all that is there, durably. Returns false where
    /// others use it at the moment: whoever comes later may do it.
    pub fn compact(
        &self,
        merge: impl FnOnce(Vec<(u64, Content)>) -> Vec<(u64, Vec<u8>)>,
    ) -> io::Result<bool> {
        let lock = self.lock_file()?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        self.replace(merge)?;
        Ok(true)
    }

    /// The same, once nobody else uses the file: each use takes some milliseconds.
    pub fn compact_in_turn(
        &self,
        merge: impl FnOnce(Vec<(u64, Content)>) -> Vec<(u64, Vec<u8>)>,
    ) -> io::Result<()> {
        let lock = self.lock_file()?;
        lock.lock()?;
        self.replace(merge)
    }

    fn replace(
        &self,
        merge: impl FnOnce(Vec<(u64, Content)>) -> Vec<(u64, Vec<u8>)>,
    ) -> io::Result<()> {
        let mut sections = merge(self.read_all()?);
        sections.sort_by_key(|(group, _)| *group);
        durable::write(&self.path, &compacted(&sections), 0o600)
    }

    fn open(&self) -> io::Result<Option<File>> {
        match File::open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn lock_file(&self) -> io::Result<File> {
        let path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.path.parent().unwrap_or(Path::new("."));
                fs::DirBuilder::new()
                    .recursive(true)
                    .mode(0o700)
                    .create(directory)?;
                options.open(&path)
            }
            opened => opened,
        }
    }
}

/// An entry of the index.
struct Entry {
    group: u64,
    offset: u64,
    len: usize,
    crc: u32,
}

impl Base {
    /// The compacted part of a file; none where it has only added records, or it is damaged.
    fn of(file: &File) -> io::Result<Option<Base>> {
        let mut bytes = [0; HEADER_BYTES];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        if bytes[..8] != *MAGIC || crc32fast::hash(&bytes[..20]) != number(&bytes[20..]) as u32 {
            return Ok(None);
        }
        let (index, n_groups) = (number(&bytes[8..16]), number(&bytes[16..20]));
        let end = index.saturating_add(n_groups * ENTRY_BYTES as u64);
        Ok((end <= file.metadata()?.len()).then_some(Base {
            index,
            n_groups,
            end,
        }))
    }

    fn entry(&self, file: &File, number_of: u64) -> Option<Entry> {
        let mut bytes = [0; ENTRY_BYTES];
        let offset = self.index + number_of * ENTRY_BYTES as u64;
        file.read_exact_at(&mut bytes, offset).ok()?;
        Some(Entry {
            group: number(&bytes[..8]),
            offset: number(&bytes[8..16]),
            len: number(&bytes[16..20]) as usize,
            crc: number(&bytes[20..]) as u32,
        })
    }

    fn find(&self, file: &File, group: u64) -> Option<Vec<u8>> {
        let (mut least, mut most) = (0, self.n_groups);
        while least < most {
            let middle = least + (most - least) / 2;
            let entry = self.entry(file, middle)?;
            match entry.group.cmp(&group) {
                std::cmp::Ordering::Equal => return entry.section(file, self),
                std::cmp::Ordering::Less => least = middle + 1,
                std::cmp::Ordering::Greater => most = middle,
            }
        }
        None
    }
}

impl Entry {
    /// Its section; none where it is damaged.
    fn section(&self, file: &File, base: &Base) -> Option<Vec<u8>> {
        let end = self.offset.checked_add(self.len as u64)?;
        if end > base.index {
            return None;
        }
        let mut bytes = vec![0; self.len];
        file.read_exact_at(&mut bytes, self.offset).ok()?;
        (crc32fast::hash(&bytes) == self.crc).then_some(bytes)
    }
}

/// Records added since the compaction. Bytes that are none are passed over up to the next mark.
fn read_added(file: &File, base: Option<&Base>) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let mut file = file;
    file.seek(SeekFrom::Start(base.map_or(0, |base| base.end)))?;
    let mut bytes = Vec::new();
    file.take(ADDED_BYTES_MAX).read_to_end(&mut bytes)?;
    let mut added = Vec::new();
    let mut rest = &bytes[..];
    while rest.len() >= RECORD_BYTES {
        match parse(rest) {
            Some((group, body)) => {
                added.push((group, body.to_vec()));
                rest = &rest[RECORD_BYTES + body.len()..];
            }
            None => {
                let mut beyond = rest[1..].windows(MARK.len());
                let next = beyond.position(|part| part == MARK);
                rest = next.map_or(&[], |next| &rest[1 + next..]);
            }
        }
    }
    Ok(added)
}

/// The record at the beginning of these bytes, if there is a sound one.
fn parse(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let len = number(&bytes[4..8]) as usize;
    let body = bytes.get(RECORD_BYTES..RECORD_BYTES.checked_add(len)?)?;
    let is_sound = bytes[..4] == MARK
        && len <= BODY_BYTES_MAX
        && checksum(&bytes[4..16], body) == number(&bytes[16..20]) as u32;
    is_sound.then(|| (number(&bytes[8..16]), body))
}

fn record(group: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD_BYTES + body.len());
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&(body.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&group.to_be_bytes());
    let crc = checksum(&bytes[4..16], body);
    bytes.extend_from_slice(&crc.to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(body);
    hasher.finalize()
}

fn compacted(sections: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    let mut index = Vec::with_capacity(sections.len() * ENTRY_BYTES);
    for (group, section) in sections {
        index.extend_from_slice(&group.to_be_bytes());
        index.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        index.extend_from_slice(&(section.len() as u32).to_be_bytes());
        index.extend_from_slice(&crc32fast::hash(section).to_be_bytes());
        bytes.extend_from_slice(section);
    }
    let at = bytes.len() as u64;
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&at.to_be_bytes());
    bytes[16..20].copy_from_slice(&(sections.len() as u32).to_be_bytes());
    let crc = crc32fast::hash(&bytes[..20]);
    bytes[20..24].copy_from_slice(&crc.to_be_bytes());
    bytes.extend_from_slice(&index);
    bytes
}

/// Up to eight bytes as a number, the greatest first.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests;
