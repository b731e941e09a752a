//! Outcomes that outlive their executor: a file in its state directory, written when it ends, read
//! by the next one. A header (magic, time, number of outcomes), then each outcome with length and
//! CRC32; little endian.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use model::{Span, Wall};
use thiserror::Error;
use wire::executor::{Ended, FRAME_BYTES_MAX};

/// Age at which outcomes are useless: their daemon has long given the attempts up.
const KEEP: Span = Span::from_secs(600);

const MAGIC: [u8; 4] = *b"XAO1";

/// Writes the outcomes durably, or removes the file when there are none.
pub(crate) fn save<'a>(
    state: &Path,
    now: Wall,
    outcomes: impl ExactSizeIterator<Item = &'a Ended>,
) -> Result<(), OutcomesError> {
    let path = path(state);
    let failed = |source| OutcomesError::Write {
        path: path.clone(),
        source,
    };
    if outcomes.len() == 0 {
        return remove(state).map_err(failed);
    }
    let unfinished = state.join("outcomes.tmp");
    write(&unfinished, now, outcomes)
        .and_then(|()| fs::rename(&unfinished, &path))
        .and_then(|()| File::open(state)?.sync_all())
        .map_err(failed)
}

/// Outcomes of an earlier executor, if they are young enough. A damaged file is set aside.
pub(crate) fn load(state: &Path, now: Wall) -> Result<Vec<Ended>, OutcomesError> {
    let path = path(state);
    let mut bytes = Vec::new();
    match File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(OutcomesError::Read { path, source }),
    }
    let Some((written, outcomes)) = parse(&bytes) else {
        let aside = state.join("outcomes.damaged");
        fs::rename(&path, &aside).map_err(|source| OutcomesError::Read { path, source })?;
        return Err(OutcomesError::Damaged { aside });
    };
    if now.since(written) > KEEP {
        remove(state).map_err(|source| OutcomesError::Read { path, source })?;
        return Ok(Vec::new());
    }
    Ok(outcomes)
}

/// Removes the file, if there is one.
pub(crate) fn remove(state: &Path) -> io::Result<()> {
    match fs::remove_file(path(state)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Why outcomes were not saved or loaded.
#[derive(Debug, Error)]
pub(crate) enum OutcomesError {
    /// The disk failed.
    #[error("could not write the outcomes to {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file exists and is unreadable.
    #[error("could not read the outcomes of {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The file is damaged.
    #[error("could not read outcomes: the file was damaged and is now {}", aside.display())]
    Damaged {
        /// Its new path.
        aside: PathBuf,
    },
}

fn path(state: &Path) -> PathBuf {
    state.join("outcomes")
}

fn write<'a>(
    path: &Path,
    now: Wall,
    outcomes: impl ExactSizeIterator<Item = &'a Ended>,
) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(&MAGIC)?;
    out.write_all(&now.0.to_le_bytes())?;
    out.write_all(&(outcomes.len() as u64).to_le_bytes())?;
    let mut body = Vec::new();
    for outcome in outcomes {
        body.clear();
        minicbor::encode(outcome, &mut body).expect("a vector takes every byte");
        out.write_all(&(body.len() as u32).to_le_bytes())?;
        out.write_all(&crc32fast::hash(&body).to_le_bytes())?;
        out.write_all(&body)?;
    }
    out.into_inner()?.sync_all()
}

fn parse(bytes: &[u8]) -> Option<(Wall, Vec<Ended>)> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let (written, rest) = rest.split_first_chunk::<8>()?;
    let (count, mut rest) = rest.split_first_chunk::<8>()?;
    let mut outcomes = Vec::new();
    for _ in 0..u64::from_le_bytes(*count) {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (crc, after) = after.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_BYTES_MAX || length > after.len() {
            return None;
        }
        let (body, after) = after.split_at(length);
        if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
            return None;
        }
        outcomes.push(minicbor::decode(body).ok()?);
        rest = after;
    }
    rest.is_empty()
        .then_some((Wall(u64::from_le_bytes(*written)), outcomes))
}

#[cfg(test)]
mod tests;
