//! Files and directories that survive a power cut.
//!
//! A name is durable when its directory was flushed after it was made. So a new directory is
//! flushed into its parent, and that into the next one, up to the first existing one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates a directory and its missing parents with this mode, durably. An existing one is left as
/// it is.
pub fn create_directory(directory: &Path, mode: u32) -> io::Result<()> {
    let made: Vec<&Path> = directory
        .ancestors()
        .take_while(|one| !one.as_os_str().is_empty() && !one.exists())
        .collect();
    if made.is_empty() {
        // Something else may have the name.
        return match fs::metadata(directory)?.is_dir() {
            true => Ok(()),
            false => Err(ErrorKind::NotADirectory.into()),
        };
    }
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(directory)?;
    made.into_iter().try_for_each(flush_name)
}

/// Writes a file atomically and durably with this mode: after a crash it has its old or its new
/// content. The file is first written beside its place, under its name with another extension.
pub fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let draft = path.with_added_extension("draft");
    // A file that a crash has left may have another mode.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&draft)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| fs::rename(&draft, path));
    if let Err(error) = renamed {
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    flush_name(path)
}

/// Makes a rename, a removal or another change of a name durable by flushing its directory.
pub fn flush_name(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    flush_directory(directory)
}

/// Makes all names in a directory durable.
pub fn flush_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn directories_are_made_with_all_above_them() {
        let place = TempDir::new().unwrap();
        let deep = place.path().join("a/b/c");
        create_directory(&deep, 0o700).unwrap();
        create_directory(&deep, 0o755).unwrap();
        assert_eq!(
            fs::metadata(&deep).unwrap().permissions().mode() & 0o777,
            0o700
        );
        write(&deep.join("file"), b"", 0o600).unwrap();
        let taken = create_directory(&deep.join("file"), 0o700).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::NotADirectory);
    }

    #[test]
    fn a_file_is_replaced_whatever_a_crash_has_left() {
        let place = TempDir::new().unwrap();
        let path = place.path().join("am.toml");
        fs::write(place.path().join("am.toml.draft"), "half").unwrap();
        write(&path, b"one", 0o600).unwrap();
        write(&path, b"two", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }
}
