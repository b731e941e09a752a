//! The summary that `xav list` shows of a state directory in which nothing runs, kept in a small file
//! so that `xav list` need not read a journal.
//!
//! It is there only while it is certainly true: whoever takes the directory for a run removes it
//! first, durably, and it names the journal as it was when it was written. Without it, or with a
//! damaged one, the journal is read.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::Bytes;
use wire::client::{Answer, Summary};

/// The file's name in a state directory.
const NAME: &str = "summary";

/// Its name while it is written; whoever writes it has the directory alone.
const DRAFT: &str = "summary.next";

/// The first line of every such file; another layout gets another number.
const HEAD: &str = "xavantes summary 1\n";

/// Bytes of a file that is read: some 100,000 processes.
const BYTES_MAX: u64 = 16 << 20;

/// The unit of a file's blocks, whatever the file system's own are.
const BLOCK_BYTES: u64 = 512;

/// Entries of a state directory that are counted for its disk use; beyond them it is not told, since
/// nobody would wait for it.
const ENTRIES_MAX: usize = 1_000_000;

/// The facts about a state directory that need no journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// Its processes, the newest first.
    pub(crate) processes: Vec<Summary>,
    /// Its disk use; `None` where it has too many files to count.
    pub(crate) disk: Option<Bytes>,
}

/// Reads the file of a state directory; none where there is none that can be relied on.
pub(crate) fn read(directory: &Path) -> Option<Known> {
    let path = directory.join(NAME);
    let length = fs::metadata(&path).ok()?.len();
    if length > BYTES_MAX {
        return None;
    }
    let bytes = fs::read(&path).ok()?;
    let rest = bytes.strip_prefix(HEAD.as_bytes())?;
    let split = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, body) = (
        std::str::from_utf8(&rest[..split]).ok()?,
        &rest[split + 1..],
    );
    let mut words = line.split(' ');
    let (hash, journal, disk) = (words.next()?, words.next()?, words.next()?);
    if hash != blake3::hash(body).to_hex().as_str() || journal != journal_of(directory).ok()? {
        return None;
    }
    let answer: wire::Envelope<Answer> = wire::decode(body).ok()?;
    let Some(Answer::Processes(processes)) = answer.message else {
        return None;
    };
    let disk = disk.parse().ok().map(Bytes);
    Some(Known { processes, disk })
}

/// Writes it, in one step. Only for whoever holds the directory, when nothing changes any more.
pub(crate) fn write(directory: &Path, processes: Vec<Summary>) -> io::Result<Known> {
    let disk = disk_use(directory);
    let body = wire::encode(&wire::Envelope {
        number: 0,
        message: Some(Answer::Processes(processes.clone())),
    });
    let disk_word = disk.map_or_else(|| "?".to_owned(), |Bytes(bytes)| bytes.to_string());
    let line = format!(
        "{} {} {disk_word}\n",
        blake3::hash(&body).to_hex(),
        journal_of(directory)?
    );
    let draft = directory.join(DRAFT);
    let written = File::create(&draft).and_then(|mut file| {
        file.write_all(HEAD.as_bytes())?;
        file.write_all(line.as_bytes())?;
        file.write_all(&body)
    });
    // A torn file after a power cut does not fit its hash.
    let written = written.and_then(|()| fs::rename(&draft, directory.join(NAME)));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written.map(|()| Known { processes, disk })
}

/// Removes it durably: what is recorded from here on is not in it.
pub(crate) fn invalidate(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(NAME)) {
        Ok(()) => File::open(directory)?.sync_all(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The disk space of a file, or of a directory with everything in it; nothing where it is gone, or has too
/// many entries to count.
pub(crate) fn disk_use_of(path: &Path) -> Bytes {
    let Ok(metadata) = path.symlink_metadata() else {
        return Bytes::ZERO;
    };
    let own = Bytes(metadata.blocks() * BLOCK_BYTES);
    match metadata.is_dir() {
        true => own + disk_use(path).unwrap_or_default(),
        false => own,
    }
}

/// The disk space of a directory and everything in it, where a file that several state directories have
/// counts for each of them by its share; none if it has too many entries to count.
pub(crate) fn disk_use(directory: &Path) -> Option<Bytes> {
    let mut bytes = 0;
    let mut n_entries = 0;
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            n_entries += 1;
            if n_entries > ENTRIES_MAX {
                return None;
            }
            // An entry that is removed meanwhile takes no space.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let own = metadata.blocks() * BLOCK_BYTES;
            if metadata.is_dir() {
                bytes += own;
                left.push(entry.path());
            } else {
                bytes += own / metadata.nlink().max(1);
            }
        }
    }
    Some(Bytes(bytes))
}

/// A word that is another one after anything was written to the journal.
fn journal_of(directory: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    let journal = match fs::read_dir(directory.join("pm").join("journal")) {
        Ok(entries) => entries,
        // Nothing was recorded yet.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok("none".to_owned()),
        Err(error) => return Err(error),
    };
    for entry in journal {
        let entry = entry?;
        let name = entry.file_name();
        // Readers lock it too.
        if name == "lock" {
            continue;
        }
        let metadata = entry.metadata()?;
        files.push(format!(
            "{} {} {}.{} {}\n",
            name.display(),
            metadata.len(),
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ino()
        ));
    }
    files.sort_unstable();
    Ok(blake3::hash(files.concat().as_bytes()).to_hex()[..32].to_owned())
}

#[cfg(test)]
mod tests;
