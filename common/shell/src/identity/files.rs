//! Small files of an identity: written atomically, and secret where they must be.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use journal::durable;
use thiserror::Error;

use crate::environment;

/// Mode of what only the daemon's account may read.
pub(crate) const SECRET: u32 = 0o600;
/// Mode of what everybody may read.
pub(crate) const PUBLIC: u32 = 0o644;
/// Mode of a directory that is made for them.
const DIRECTORY: u32 = 0o700;

/// Bytes of the longest certificate or key file.
const SMALL_BYTES_MAX: u64 = 64 << 10;

/// Why a file of an identity cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// The system refuses.
    #[error("could not {action} {}", path.display())]
    System {
        /// The operation that failed.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A secret can be read by others.
    #[error(
        "{} has mode {mode:o}: a key must be readable by its owner alone (chmod 600)",
        path.display()
    )]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is much longer than such files are.
    #[error("{} is longer than {bytes_max} bytes", path.display())]
    Long {
        /// The file.
        path: PathBuf,
        /// The bound.
        bytes_max: u64,
    },
}

/// Writes a file durably under its name, creating its directory if needed. After a crash the file
/// has its old or its new content.
pub(crate) fn write(path: &Path, text: &[u8], mode: u32) -> Result<(), FileError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| FileError::System {
            action,
            path,
            source,
        }
    };
    let directory = path.parent().unwrap_or(Path::new(""));
    if !directory.as_os_str().is_empty() {
        durable::create_directory(directory, DIRECTORY).map_err(failed("create", directory))?;
    }
    durable::write(path, text, mode).map_err(failed("write", path))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    durable::flush_directory(directory)
}

/// Reads a file that everybody may see.
pub(crate) fn read(path: &Path) -> Result<String, FileError> {
    read_up_to(path, SMALL_BYTES_MAX)
}

/// Reads a file that everybody may see, up to so many bytes.
pub(crate) fn read_up_to(path: &Path, bytes_max: u64) -> Result<String, FileError> {
    let failed = |source| FileError::System {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(bytes_max + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > bytes_max {
        let path = path.to_owned();
        return Err(FileError::Long { path, bytes_max });
    }
    Ok(text)
}

/// Reads a file that only its owner may see, and refuses it where others may. If it is missing, the secret of
/// its name that the service manager has given to this program is read instead.
pub(crate) fn read_secret(path: &Path) -> Result<String, FileError> {
    let failed = |source| FileError::System {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let (path, others) = match fs::metadata(path) {
        Ok(_) => (path.to_owned(), 0o077),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match given(path) {
            Some(given) => (given, OTHERS_OF_GIVEN),
            None => return Err(failed(error)),
        },
        Err(error) => return Err(failed(error)),
    };
    let mode = fs::metadata(&path).map_err(failed)?.mode() & 0o7777;
    if mode & others != 0 {
        return Err(FileError::Mode { path, mode });
    }
    read(&path)
}

/// The permissions that a secret from the service manager must not have. Systemd lets the service's account
/// read it by an access control list, whose mask stands where the group's permissions do.
const OTHERS_OF_GIVEN: u32 = 0o037;

/// The secret of the same name that the service manager has given to this program (`LoadCredential=`).
fn given(path: &Path) -> Option<PathBuf> {
    let given = environment::credentials_directory()?.join(path.file_name()?);
    given.exists().then_some(given)
}

/// Writes a file for its owner alone.
pub fn write_secret(path: &Path, text: &str) -> Result<(), FileError> {
    write(path, text.as_bytes(), SECRET)
}
