//! Files and directories that survive a power cut.
//!
//! A name is durable when its directory was flushed after it was made. So a new directory is
//! flushed into its parent, and that into the next one, up to the first existing one.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Names and contents that a power cut may take away until they are flushed. Several changes of one
/// directory are flushed together, beside other work that nobody is told of before.
#[must_use = "what is not flushed may be lost"]
#[derive(Debug, Default)]
pub struct Unflushed {
    contents: Vec<File>,
    /// Those in which names were made.
    directories: BTreeSet<PathBuf>,
}

impl Unflushed {
    /// Adds the names in a directory.
    pub fn add_names_in(&mut self, directory: &Path) {
        self.directories.insert(directory.to_owned());
    }

    /// Adds the name of a file or directory.
    pub fn add_name_of(&mut self, path: &Path) {
        self.add_names_in(directory_of(path));
    }

    /// Makes everything durable.
    pub fn flush(self) -> io::Result<()> {
        self.contents.iter().try_for_each(File::sync_all)?;
        let mut directories = self.directories.iter();
        directories.try_for_each(|one| flush_directory(one))
    }
}

/// Creates a directory and its missing parents with this mode, durably. An existing one is left as
/// it is.
pub fn create_directory(directory: &Path, mode: u32) -> io::Result<()> {
    let mut unflushed = Unflushed::default();
    make_directory(directory, mode, &mut unflushed)?;
    unflushed.flush()
}

/// The same, durable once `unflushed` is flushed.
pub fn make_directory(directory: &Path, mode: u32, unflushed: &mut Unflushed) -> io::Result<()> {
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
    let above = made.into_iter().map(directory_of);
    unflushed.directories.extend(above.map(Path::to_owned));
    Ok(())
}

/// Writes a file atomically and durably with this mode: after a crash it has its old or its new
/// content. The file is first written beside its place, under its name with another extension.
pub fn write(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    put(path, content, mode, File::sync_all)?;
    flush_name(path)
}

/// Writes a file that is durable once `unflushed` is flushed: before that, a power cut may leave an
/// empty file, and a crash its old or its new content.
pub fn place_unflushed(
    path: &Path,
    content: &[u8],
    mode: u32,
    unflushed: &mut Unflushed,
) -> io::Result<()> {
    let file = put(path, content, mode, |_| Ok(()))?;
    unflushed.contents.push(file);
    unflushed.add_name_of(path);
    Ok(())
}

fn put(
    path: &Path,
    content: &[u8],
    mode: u32,
    flush: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<File> {
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
    let written = file.write_all(content).and_then(|()| flush(&file));
    let renamed = written.and_then(|()| fs::rename(&draft, path));
    if let Err(error) = renamed {
        let _ = fs::remove_file(&draft);
        return Err(error);
    }
    Ok(file)
}

/// Makes a rename, a removal or another change of a name durable by flushing its directory.
pub fn flush_name(path: &Path) -> io::Result<()> {
    flush_directory(directory_of(path))
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
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
    fn what_is_flushed_later_is_there_at_once() {
        let place = TempDir::new().unwrap();
        let (mut unflushed, deep) = (Unflushed::default(), place.path().join("a/b"));
        make_directory(&deep, 0o700, &mut unflushed).unwrap();
        place_unflushed(&deep.join("file"), b"text", 0o600, &mut unflushed).unwrap();
        assert_eq!(fs::read(deep.join("file")).unwrap(), b"text");
        let above = [place.path(), &place.path().join("a"), &deep].map(Path::to_owned);
        assert_eq!(unflushed.directories, BTreeSet::from(above));
        assert_eq!(unflushed.contents.len(), 1);
        unflushed.flush().unwrap();
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
