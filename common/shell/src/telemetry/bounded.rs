//! A log of bounded size: a full file is set aside, and the one set aside before is deleted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes after which a new file begins: weeks of a daemon without trouble.
const BYTES_MAX: u64 = 16 << 20;

/// Appends to a file. Beside it is at most one older file, its name with `.1`.
#[derive(Debug)]
pub(super) struct Bounded {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl Bounded {
    pub(super) fn open(path: &Path) -> io::Result<Bounded> {
        Bounded::of(path, BYTES_MAX)
    }

    fn of(path: &Path, bytes_max: u64) -> io::Result<Bounded> {
        let file = append(path)?;
        Ok(Bounded {
            path: path.to_owned(),
            bytes: file.metadata()?.len(),
            file,
            bytes_max,
        })
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        fs::rename(&self.path, aside(&self.path))?;
        self.file = append(&self.path)?;
        Ok(())
    }
}

impl Write for Bounded {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            // If that fails, the log goes on in the same file, and the next try is as far away.
            let _ = self.begin_anew();
            self.bytes = 0;
        }
        let written = self.file.write(line)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The path of the older part of a log.
pub(crate) fn aside(path: &Path) -> PathBuf {
    let mut aside = path.to_owned().into_os_string();
    aside.push(".1");
    aside.into()
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_than_two_files_and_no_line_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        let line = |number: u32| format!("line {number}\n");
        let write = |numbers: std::ops::Range<u32>| {
            let mut log = Bounded::of(&path, 25).unwrap();
            for number in numbers {
                log.write_all(line(number).as_bytes()).unwrap();
            }
        };
        write(0..2);
        // A restarted program continues the same file.
        write(2..4);
        let aside = directory.path().join("log.1");
        assert_eq!(read(&aside), line(0) + &line(1) + &line(2));
        assert_eq!(read(&path), line(3));
        write(4..8);
        assert_eq!(read(&aside), line(3) + &line(4) + &line(5));
        assert_eq!(read(&path), line(6) + &line(7));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
        // A line longer than a file is written whole.
        let long = "x".repeat(40);
        Bounded::of(&path, 25)
            .unwrap()
            .write_all(long.as_bytes())
            .unwrap();
        assert_eq!(read(&path), long);
    }
}
