//! Stamps: what the system tells of a file without reading it.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Nanoseconds for which a change may leave no trace in the times of a file: file systems count them in
/// steps of up to 2 s.
const GRAIN_NANOS: i64 = 2_000_000_000;

/// Entries of a directory that are looked at; a larger one is read again.
const ENTRIES_MAX: usize = 1_000_000;

/// Directories within each other that are looked at; what is deeper is read again.
const DEPTH_MAX: usize = 100;

/// The facts that the system tells of a file, or of all files of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// A hash of paths, sizes, times, modes and numbers of files.
    looks: String,
    /// The last change, in nanoseconds since 1970.
    changed: i64,
    /// The moment at which this was found out.
    at: i64,
}

impl Stamp {
    /// The stamp of a file or a directory; none where it cannot be looked at.
    pub(crate) fn of(path: &Path) -> Option<Stamp> {
        let at = i64::try_from(shell::clock::wall().0).unwrap_or(0);
        let at = at.saturating_mul(NANOS_IN_A_MOMENT);
        let mut looks = Looks {
            hasher: blake3::Hasher::new(),
            changed: i64::MIN,
            n_left: ENTRIES_MAX,
        };
        looks.add(path, "", DEPTH_MAX)?;
        Some(Stamp {
            looks: looks.hasher.finalize().to_hex().to_string(),
            changed: looks.changed,
            at,
        })
    }

    /// True if nothing tells that the files have changed between the two.
    pub(crate) fn is_like(&self, other: &Stamp) -> bool {
        self.looks == other.looks
    }

    /// True if the files have certainly not changed since an earlier stamp. Where their last change was
    /// shortly before that one, there may have been another one at the same moment.
    pub(crate) fn proves(&self, earlier: &Stamp) -> bool {
        self.is_like(earlier) && earlier.changed < earlier.at.saturating_sub(GRAIN_NANOS)
    }
}

/// The moments of this program are microseconds.
const NANOS_IN_A_MOMENT: i64 = 1_000;

struct Looks {
    hasher: blake3::Hasher,
    changed: i64,
    n_left: usize,
}

impl Looks {
    /// Adds an entry, and what is below it. Links are followed, as they are when files are read.
    fn add(&mut self, path: &Path, name: &str, depth: usize) -> Option<()> {
        self.n_left = self.n_left.checked_sub(1)?;
        let metadata = fs::metadata(path).ok()?;
        self.add_entry(name, &metadata);
        if !metadata.is_dir() {
            return Some(());
        }
        let depth = depth.checked_sub(1)?;
        let mut names = Vec::new();
        for entry in fs::read_dir(path).ok()? {
            names.push(entry.ok()?.file_name().into_string().ok()?);
        }
        names.sort();
        for below in names {
            let name = format!("{name}/{below}");
            self.add(&path.join(below), &name, depth)?;
        }
        Some(())
    }

    fn add_entry(&mut self, name: &str, metadata: &Metadata) {
        let modified = nanos(metadata.mtime(), metadata.mtime_nsec());
        let changed = nanos(metadata.ctime(), metadata.ctime_nsec());
        self.changed = self.changed.max(modified).max(changed);
        let words = (
            (metadata.dev(), metadata.ino(), metadata.mode()),
            (metadata.len(), modified, changed),
        );
        self.hasher
            .update(format!("{name}\0{words:?}\n").as_bytes());
    }
}

/// A moment so far away that it cannot be told is the last one of all, so that it proves nothing.
fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
