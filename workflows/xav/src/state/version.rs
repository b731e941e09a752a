//! The file `version` of a state directory: which layout it has, and who made it. A directory without
//! a sound one is no state directory, unless a journal lies beside it: then the file was lost in a
//! power cut, or was damaged, and is written again.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use journal::durable::{self, Unflushed};

use super::{StateError, read_text};
use crate::screen;

/// The layout of state directories that this program writes, and the highest that it reads. There
/// was none before it.
pub(super) const LAYOUT: u32 = 1;

const NAME: &str = "version";

/// Other entries that a run makes in a state directory before it has recorded anything. The machines'
/// own directories have names that begin with one of these.
const MADE_FIRST: [&str; 7] = [
    "version",
    "version.draft",
    "lock",
    "gm",
    "pm",
    "xav.log",
    "garbage",
];
const MACHINE: &str = "am";

/// The content of the file.
pub(super) struct Version {
    pub(super) layout: u32,
    /// The version of the program that made the directory.
    pub(super) program: String,
    /// When it was made.
    pub(super) made: SystemTime,
}

/// The file as it was found.
enum VersionFile {
    Sound(Version),
    /// The defect.
    Unsound(&'static str),
}

/// Reads the file of a directory, and writes it again where it is lost or damaged beside a journal.
pub(super) fn read_or_mend(directory: &Path) -> Result<Version, StateError> {
    let found = read(directory).map_err(|source| StateError::Io {
        action: "read",
        path: directory.join(NAME),
        source,
    })?;
    let why = match found {
        VersionFile::Sound(version) => return Ok(version),
        VersionFile::Unsound(why) => why,
    };
    if !has_journal(directory) {
        let path = directory.to_owned();
        return Err(StateError::Other { path });
    }
    let (shown, program) = (directory.join(NAME), env!("CARGO_PKG_VERSION"));
    let done = match write(directory) {
        Ok(()) => "it was written again".to_owned(),
        Err(error) => format!("it could not be written again ({error}), and is not needed to read"),
    };
    screen::warn(&format!(
        "{} {why}, as a power cut may leave it; the journal beside it is there: {done}",
        shown.display()
    ));
    let made = fs::metadata(directory).and_then(|metadata| metadata.modified());
    Ok(Version {
        layout: LAYOUT,
        program: program.to_owned(),
        made: made.unwrap_or(SystemTime::UNIX_EPOCH),
    })
}

/// Writes the file durably.
fn write(directory: &Path) -> io::Result<()> {
    durable::write(&directory.join(NAME), text().as_bytes(), 0o600)
}

/// Writes the file of a directory that is being made.
pub(super) fn place(directory: &Path, unflushed: &mut Unflushed) -> io::Result<()> {
    let path = directory.join(NAME);
    durable::place_unflushed(&path, text().as_bytes(), 0o600, unflushed)
}

fn text() -> String {
    let program = env!("CARGO_PKG_VERSION");
    format!("xavantes state {LAYOUT}\nmade by xavantes {program}\n")
}

/// True if processes may be recorded in a directory.
pub(super) fn has_journal(directory: &Path) -> bool {
    journal::is_begun(&directory.join("pm").join("journal"))
}

/// True if a directory is empty, or has nothing in it but what a run makes before it records
/// anything: that run was interrupted there, and was told of nothing.
pub(super) fn is_unfinished(directory: &Path) -> io::Result<bool> {
    let is_sound = matches!(read(directory)?, VersionFile::Sound(_));
    let names: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name().into()))
        .collect::<io::Result<_>>()?;
    let is_own = |name: &PathBuf| {
        let name = name.to_string_lossy();
        MADE_FIRST.contains(&&*name) || name.starts_with(MACHINE)
    };
    Ok(!is_sound && !has_journal(directory) && names.iter().all(is_own))
}

fn read(directory: &Path) -> io::Result<VersionFile> {
    let file = match File::open(directory.join(NAME)) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(VersionFile::Unsound("is missing"));
        }
        Err(error) => return Err(error),
    };
    let made = file.metadata()?.modified()?;
    let text = read_text(&file)?;
    Ok(match parse(&text) {
        Some((layout, program)) => VersionFile::Sound(Version {
            layout,
            program,
            made,
        }),
        None if text.is_empty() => VersionFile::Unsound("is empty"),
        None => VersionFile::Unsound("is damaged"),
    })
}

fn parse(text: &str) -> Option<(u32, String)> {
    let (first, second) = text.split_once('\n')?;
    let layout = first.strip_prefix("xavantes state ")?.parse().ok()?;
    let program = second.strip_prefix("made by xavantes ")?.trim_end();
    Some((layout, program.to_owned()))
}
