//! The programs that commands name: which files they are, and whether these are still the same.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::Wall;
use process_core::Program;

/// Bits of a file's mode that let somebody execute it.
const EXECUTABLE: u32 = 0o111;

/// The time by which the clock of a file system may be behind: it ticks every 10 ms or more often.
const TICK: i64 = 10_000_000;

const NANOS_OF_SECOND: i64 = 1_000_000_000;
const NANOS_OF_MICRO: i64 = 1_000;

/// The programs that were looked for, as they were then.
pub(super) struct Programs {
    places: Vec<PathBuf>,
    known: BTreeMap<String, Option<Found>>,
}

#[derive(Clone)]
struct Found {
    program: Program,
    /// When its file was last replaced, written to or given other permissions, in nanoseconds since 1970.
    changed: i64,
}

impl Default for Programs {
    fn default() -> Programs {
        Programs::in_places(&shell::environment::search_path())
    }
}

impl Programs {
    fn in_places(places: &std::ffi::OsStr) -> Programs {
        Programs {
            places: std::env::split_paths(places).collect(),
            known: BTreeMap::new(),
        }
    }

    /// The programs among these words; none if one of them has changed since `started`, so that another
    /// one may have run.
    pub(super) fn named(&mut self, words: Vec<String>, started: Wall) -> Option<Vec<Program>> {
        let started = i64::try_from(started.0).ok()?.checked_mul(NANOS_OF_MICRO)?;
        let mut programs = Vec::new();
        for word in words {
            if let Some(found) = self.find(&word) {
                if found.changed.saturating_add(TICK) >= started {
                    return None;
                }
                programs.push(found.program.clone());
            }
        }
        Some(programs)
    }

    /// Returns true if these programs are as they were.
    pub(super) fn are_same(&mut self, programs: &[Program]) -> bool {
        programs.iter().all(|program| {
            let found = self.find(&program.name);
            found.is_some_and(|found| found.program == *program)
        })
    }

    fn find(&mut self, name: &str) -> Option<&Found> {
        if !self.known.contains_key(name) {
            let found = match name.contains('/') {
                true => Path::new(name)
                    .is_absolute()
                    .then(|| look(Path::new(name), name))
                    .flatten(),
                false => {
                    let mut places = self.places.iter();
                    places.find_map(|place| look(&place.join(name), name))
                }
            };
            self.known.insert(name.to_owned(), found);
        }
        self.known.get(name)?.as_ref()
    }
}

fn look(path: &Path, name: &str) -> Option<Found> {
    let metadata = fs::metadata(path).ok()?;
    let is_program = metadata.is_file() && metadata.permissions().mode() & EXECUTABLE != 0;
    let nanos = |seconds: i64, nanos: i64| {
        seconds
            .saturating_mul(NANOS_OF_SECOND)
            .saturating_add(nanos)
    };
    is_program.then(|| Found {
        program: Program {
            name: name.to_owned(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            written: nanos(metadata.mtime(), metadata.mtime_nsec()),
        },
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests;
