//! Copies of files that lie where they came from all the same: which may be let go, and taking them again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use activity_blobs::{LET_GO_BYTES_MIN, Store, identify_file, identify_tree};
use model::{Artifact, ArtifactKind, Hash, ProcessId};

use super::stamp::Stamp;
use super::{DIRECTORY, FILES_MAX, Known, Sources, path};
use crate::failure::Failure;
use crate::inputs::reason;

/// Bytes that may still be read at the end of a run, to see that files which were changed shortly before it began
/// are what was copied. The copies of others stay.
pub(crate) struct Allowance(u64);

impl Default for Allowance {
    fn default() -> Allowance {
        // Some tenths of a second.
        Allowance(256 << 20)
    }
}

/// A file or directory that a process was given, and its name for messages.
pub(crate) struct Wanted {
    pub(crate) what: String,
    pub(crate) artifact: Artifact,
}

impl Sources {
    /// The files and directories in a store of which copies may be let go: large ones that are still what they were
    /// when they were copied, on the file system of their copies. Another one may be on a disk that is taken away.
    pub(crate) fn repeatable(&self, store: &Store, allowance: &mut Allowance) -> Vec<Artifact> {
        let Ok(of_store) = fs::metadata(store.dir()) else {
            return Vec::new();
        };
        let is_near = |place: &Path| fs::metadata(place).is_ok_and(|at| at.dev() == of_store.dev());
        let mut repeatable = Vec::new();
        for (place, known) in &self.files {
            let Some(artifact) = known.artifact() else {
                continue;
            };
            if known.bytes > LET_GO_BYTES_MIN
                && store.contains(artifact.hash)
                && place.is_absolute()
                && is_near(place)
                && known.is_unchanged(place, allowance)
            {
                repeatable.push(artifact);
            }
        }
        repeatable
    }

    /// Makes durable what is written about processes.
    pub(crate) fn flush(directory: &Path, processes: &[ProcessId]) -> io::Result<()> {
        for process in processes {
            File::open(path(directory, *process))?.sync_all()?;
        }
        File::open(directory.join(DIRECTORY))?.sync_all()?;
        File::open(directory)?.sync_all()
    }

    /// Keeps in mind where these came from, as far as that was known of the process that had them before.
    pub(crate) fn carry(&mut self, before: &Sources, wanted: &[Wanted]) {
        let wanted: BTreeSet<String> = wanted
            .iter()
            .map(|one| one.artifact.hash.to_string())
            .collect();
        for (place, known) in &before.files {
            if wanted.contains(&known.hash) && self.files.len() < FILES_MAX {
                let place = self.files.entry(place.clone());
                place.or_insert_with(|| known.clone());
            }
        }
    }

    /// Has `take` copy again what a store lacks, each from where it came from; it answers false if something else
    /// is there. Returns what was there and is not any more, in words. What came from nowhere that is known is left
    /// out.
    pub(crate) fn take_again(
        &self,
        lacking: &[Wanted],
        take: &mut dyn FnMut(&Path, Artifact) -> Result<bool, Failure>,
    ) -> Result<Vec<String>, Failure> {
        let places = self.places();
        let mut lost = Vec::new();
        for Wanted { what, artifact } in lacking {
            let Some(found) = places.get(&artifact.hash) else {
                continue;
            };
            let mut why = Vec::new();
            for place in found {
                let place = place.as_path();
                let Some(reason) = self.files[place].missed(place, *artifact, take)? else {
                    why.clear();
                    break;
                };
                why.push(format!("{}, {reason}", place.display()));
            }
            if let Some(why) = why.first() {
                lost.push(format!("{what} was at {why}, and there is no copy of it"));
            }
        }
        Ok(lost)
    }

    /// Where each file or directory came from.
    fn places(&self) -> BTreeMap<Hash, Vec<&PathBuf>> {
        let mut places: BTreeMap<Hash, Vec<&PathBuf>> = BTreeMap::new();
        for (place, known) in &self.files {
            if let Some(artifact) = known.artifact() {
                places.entry(artifact.hash).or_default().push(place);
            }
        }
        places
    }
}

/// The places of all files of the processes of a state directory.
pub(crate) fn origins(directory: &Path) -> BTreeMap<Hash, Vec<PathBuf>> {
    let mut origins: BTreeMap<Hash, Vec<PathBuf>> = BTreeMap::new();
    let mut n_files = 0;
    let entries = fs::read_dir(directory.join(DIRECTORY))
        .into_iter()
        .flatten();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.parse().ok());
        let Some(sources) = process.and_then(|process| Sources::read(directory, process)) else {
            continue;
        };
        for (hash, places) in sources.places() {
            n_files += places.len();
            if n_files > FILES_MAX {
                return origins;
            }
            let known = origins.entry(hash).or_default();
            known.extend(places.into_iter().cloned());
            known.sort_unstable();
            known.dedup();
        }
    }
    origins
}

impl Known {
    /// True if a file is what was copied. It is read where its times do not prove that.
    fn is_unchanged(&self, place: &Path, allowance: &mut Allowance) -> bool {
        let Some(stamp) = Stamp::of(place).filter(|stamp| stamp.is_like(&self.stamp)) else {
            return false;
        };
        if stamp.proves(&self.stamp) {
            return true;
        }
        let (Some(artifact), Some(left)) = (self.artifact(), allowance.0.checked_sub(self.bytes))
        else {
            return false;
        };
        allowance.0 = left;
        let is_same = has(place, artifact).unwrap_or(false);
        is_same && Stamp::of(place).is_some_and(|stamp| stamp.is_like(&self.stamp))
    }

    /// Has the file at a place copied, if it is what it was. Returns what is wrong with it else.
    fn missed(
        &self,
        place: &Path,
        artifact: Artifact,
        take: &mut dyn FnMut(&Path, Artifact) -> Result<bool, Failure>,
    ) -> Result<Option<String>, Failure> {
        if let Err(error) = fs::metadata(place) {
            let why = reason(&error);
            return Ok(Some(format!("which cannot be read any more ({why})")));
        }
        let is_proved = Stamp::of(place).is_some_and(|stamp| stamp.proves(&self.stamp));
        // Another file is not copied.
        let is_same = (is_proved || has(place, artifact)?) && take(place, artifact)?;
        Ok((!is_same).then(|| "which has changed since".to_owned()))
    }
}

/// True if a file or a directory has the content of an artifact.
fn has(place: &Path, artifact: Artifact) -> Result<bool, Failure> {
    let is_directory = artifact.kind == ArtifactKind::Directory;
    if fs::metadata(place).is_ok_and(|there| there.is_dir() != is_directory) {
        return Ok(false);
    }
    let found = match is_directory {
        true => identify_tree(place),
        false => identify_file(place),
    };
    let found = found.map_err(|error| Failure::because(&error))?;
    Ok(found.hash == artifact.hash)
}
