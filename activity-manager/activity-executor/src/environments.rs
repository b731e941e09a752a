//! Environments that are made of a file: virtual environments of Python and environments of conda, each
//! made once on a machine and used by all later commands that name a file of the same content.
//!
//! An environment is a directory `NAME`, where the hash of the file and of the interpreter is part of
//! the name, and a file `NAME.lock` beside it. Who uses the environment holds a shared lock of that file
//! and who makes or removes it an exclusive one; all programs that the maker starts inherit it, so that
//! nobody goes on where one of them may still write. The file says whether the environment is whole, and
//! its time of modification when it was used last. An environment cannot be made elsewhere and renamed,
//! since its programs have its path written in them.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use model::Capability;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, statat, unlinkat,
};
use rustix::io::{Errno, FdFlags};
use thiserror::Error;
use wire::executor::MadeKind;

use crate::activation::find;
use crate::environments::making::{Said, run};
use crate::ground::{remove_tree, remove_tree_at};

mod making;

/// Bytes of a file that an environment is made of: some ten thousand lines.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Time for making an environment, or for waiting until another command has made it: large packages
/// are downloaded, and some are compiled. The timeout of an activity may be shorter.
const MAKING_MAX: Duration = Duration::from_secs(3_600);

/// Time after which an environment that nobody has used is removed.
const UNUSED_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Interval of looking whether a lock can be had: `flock` has no deadline of its own.
const LOCK_LOOK: Duration = Duration::from_millis(20);

/// The content of the lock of an environment that is whole.
const WHOLE: &[u8] = b"whole\n";

/// An environment that is whole.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) kind: MadeKind,
    /// Its directory, with `bin` in it.
    pub(crate) directory: PathBuf,
    /// The shared lock. The command inherits it, so that the environment is not removed meanwhile.
    _lock: File,
}

/// Why there is no environment.
#[derive(Debug, Error)]
pub(crate) enum EnvironmentError {
    #[error("could not read the file")]
    File(#[source] io::Error),
    #[error("the file has more than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("this machine has no {programs} (searched PATH {path})")]
    NoProgram { programs: String, path: String },
    #[error("could not use {}", path.display())]
    Place {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("could not start {program}")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("`{program}` {ended}; {said}")]
    Failed {
        program: String,
        ended: String,
        said: Said,
    },
    #[error("another command has been making it for {} minutes", MAKING_MAX.as_secs() / 60)]
    Busy,
}

/// Finds the environment of a file in `root`, or makes it, with the programs of a search path. Waits for
/// whoever is making it at the same time.
pub(crate) fn find_or_make(
    kind: MadeKind,
    root: &Path,
    file: &Path,
    search_path: &OsStr,
) -> Result<Environment, EnvironmentError> {
    let content = read(file)?;
    let capability = capability(kind);
    let mut programs = capability.programs().iter();
    let found = programs.find_map(|name| find(name, search_path));
    let program = found.ok_or_else(|| EnvironmentError::NoProgram {
        programs: capability.programs_in_words(),
        path: search_path.display().to_string(),
    })?;
    let deadline = Instant::now() + MAKING_MAX;
    let name = name(kind, &content, &program, deadline)?;
    let place = Place {
        directory: root.join(&name),
        lock: root.join(format!("{name}.lock")),
    };
    let mut builder = DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(root);
    made.map_err(|source| EnvironmentError::Place {
        path: root.to_owned(),
        source,
    })?;
    let lock = place.whole(deadline, || {
        making::make(kind, &program, &place.directory, file, deadline)
    })?;
    Ok(Environment {
        kind,
        directory: place.directory,
        _lock: lock,
    })
}

/// Removes the environments below `root` that nobody has used for a month and nobody uses now: those in it, and those
/// of accounts in directories named by their numbers. A kill in the middle leaves nothing that is taken
/// for whole. One that cannot be removed keeps no other from being removed.
///
/// # Errors
/// The first directory that could not be read, or environment that could not be removed.
pub fn remove_unused_environments(root: &Path) -> io::Result<()> {
    let old = SystemTime::now().checked_sub(UNUSED_MAX);
    old.map_or(Ok(()), |old| remove_unused_since(root, old))
}

fn remove_unused_since(root: &Path, old: SystemTime) -> io::Result<()> {
    let root = match File::open(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => OwnedFd::from(other?),
    };
    let mut done = remove_unused_in(&root, old);
    for entry in Dir::read_from(&root)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.is_empty() && name.to_bytes().iter().all(u8::is_ascii_digit) {
            done = done.and(remove_unused_of_account(&root, name, old));
        }
    }
    done
}

/// Removes the unused environments of an account. A name that is no directory's is left alone.
fn remove_unused_of_account(root: &OwnedFd, number: &CStr, old: SystemTime) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(root, number, flags, Mode::empty()) {
        Ok(directory) => remove_unused_in(&directory, old),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes the unused environments of this directory alone. An account that owns it is an attacker here, and may
/// change it and its path meanwhile: each name is looked up in the open directory, and no link is followed.
fn remove_unused_in(directory: &OwnedFd, old: SystemTime) -> io::Result<()> {
    let mut done = Ok(());
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let lock = entry.file_name();
        if let Some(name) = name_of_locked(lock) {
            done = done.and(remove_if_unused(directory, name, lock, old));
        }
    }
    done
}

/// The name of the environment of a lock. None if it would be the directory itself, or the one above.
fn name_of_locked(lock: &CStr) -> Option<&str> {
    let name = lock.to_str().ok()?.strip_suffix(".lock")?;
    (!["", ".", ".."].contains(&name)).then_some(name)
}

/// Removes an environment and its lock, unless somebody uses it or has used it since.
fn remove_if_unused(
    directory: &OwnedFd,
    name: &str,
    lock: &CStr,
    old: SystemTime,
) -> io::Result<()> {
    let Some(held) = hold_unused(directory, lock, old)? else {
        return Ok(());
    };
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => {}
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {}
        // A file or a link is no environment.
        Ok(_) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    held.set_len(0)?;
    remove_tree_at(directory, Path::new(name))?;
    Ok(unlinkat(directory, lock, AtFlags::empty())?)
}

/// The exclusive lock of an environment that nobody has used since. None if somebody uses it, or if the name is not
/// that of a lock.
fn hold_unused(directory: &OwnedFd, lock: &CStr, old: SystemTime) -> io::Result<Option<File>> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let held = match openat(directory, lock, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        // It has gone, or is a link, a directory or a socket.
        Err(Errno::NOENT | Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_unused = || {
        let found = held.metadata()?;
        let is_own = found.is_file() && found.nlink() == 1;
        Ok::<bool, io::Error>(is_own && found.modified()? < old)
    };
    if !is_unused()? || flock(&held, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    // Somebody may have used it before it was held here.
    let is_still_unused = is_unused()?;
    Ok(is_still_unused.then_some(held))
}

/// The paths of an environment.
struct Place {
    directory: PathBuf,
    lock: PathBuf,
}

impl Place {
    /// The shared lock of the environment, when it is whole; made by `make` where it is not.
    fn whole(
        &self,
        deadline: Instant,
        make: impl Fn() -> Result<(), EnvironmentError>,
    ) -> Result<File, EnvironmentError> {
        loop {
            // A whole one first: whoever uses it keeps others from an exclusive lock.
            if let Some(mut lock) = self.try_hold(FlockOperation::NonBlockingLockShared)?
                && self.is_whole(&mut lock)?
            {
                return self.used(lock);
            }
            if let Some(mut lock) = self.try_hold(FlockOperation::NonBlockingLockExclusive)? {
                if !self.is_whole(&mut lock)? {
                    self.remake(&mut lock, &make)?;
                }
                flock(&lock, FlockOperation::LockShared)
                    .map_err(|error| self.failed(error.into()))?;
                return self.used(lock);
            }
            if Instant::now() >= deadline {
                return Err(EnvironmentError::Busy);
            }
            sleep(LOCK_LOOK);
        }
    }

    fn used(&self, lock: File) -> Result<File, EnvironmentError> {
        let noted = lock.set_modified(SystemTime::now());
        noted.map_err(|error| self.failed(error))?;
        Ok(lock)
    }

    /// Makes the environment, and says that it is whole when all of it is on the disk.
    fn remake(
        &self,
        lock: &mut File,
        make: impl Fn() -> Result<(), EnvironmentError>,
    ) -> Result<(), EnvironmentError> {
        let failed = |error: io::Error| self.failed(error);
        lock.set_len(0).map_err(failed)?;
        remove_tree(&self.directory).map_err(failed)?;
        let made = make();
        if made.is_err() {
            // Whoever tries next removes what is left of it.
            let _ = remove_tree(&self.directory);
        }
        made?;
        let directory = File::open(&self.directory).map_err(failed)?;
        rustix::fs::syncfs(&directory).map_err(|error| failed(error.into()))?;
        lock.rewind()
            .and_then(|()| lock.write_all(WHOLE))
            .and_then(|()| lock.sync_all())
            .map_err(failed)
    }

    fn is_whole(&self, lock: &mut File) -> Result<bool, EnvironmentError> {
        let mut said = Vec::new();
        let read = lock.rewind().and_then(|()| {
            let most = WHOLE.len() as u64 + 1;
            lock.take(most).read_to_end(&mut said)
        });
        read.map_err(|error| self.failed(error))?;
        Ok(said == WHOLE && self.directory.is_dir())
    }

    /// The lock, where nobody keeps it from being held so and its file is still that of its name.
    fn try_hold(&self, how: FlockOperation) -> Result<Option<File>, EnvironmentError> {
        let lock = self.open().map_err(|error| self.failed(error))?;
        match flock(&lock, how) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
            Err(error) => return Err(self.failed(error.into())),
        }
        let metadata = lock.metadata().map_err(|error| self.failed(error))?;
        if metadata.nlink() == 0 {
            return Ok(None);
        }
        // Programs that are started from here on hold it too.
        let inherited = rustix::io::fcntl_setfd(&lock, FdFlags::empty());
        inherited.map_err(|error| self.failed(error.into()))?;
        Ok(Some(lock))
    }

    fn open(&self) -> io::Result<File> {
        // Its owner may have put anything in its place.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags.bits() as i32)
            .open(&self.lock)
    }

    fn failed(&self, source: io::Error) -> EnvironmentError {
        EnvironmentError::Place {
            path: self.lock.clone(),
            source,
        }
    }
}

fn capability(kind: MadeKind) -> Capability {
    match kind {
        MadeKind::Venv => Capability::Venv,
        MadeKind::Conda => Capability::Conda,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, EnvironmentError> {
    let mut content = Vec::new();
    let file = File::open(path).map_err(EnvironmentError::File)?;
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut content);
    read.map_err(EnvironmentError::File)?;
    match content.len() as u64 > FILE_BYTES_MAX {
        true => Err(EnvironmentError::TooLarge),
        false => Ok(content),
    }
}

/// The name of an environment: its kind, and a hash of the content of its file and of the interpreter.
fn name(
    kind: MadeKind,
    content: &[u8],
    program: &Path,
    deadline: Instant,
) -> Result<String, EnvironmentError> {
    let interpreter = match kind {
        MadeKind::Venv => interpreter(program, deadline)?,
        // conda brings an interpreter of its own.
        MadeKind::Conda => OsString::new(),
    };
    let mut hash = blake3::Hasher::new();
    hash.update(&(content.len() as u64).to_le_bytes());
    hash.update(content);
    hash.update(interpreter.as_encoded_bytes());
    let kind = capability(kind).label();
    let hash = hash.finalize().to_hex();
    Ok(format!("{kind}-{}", &hash[..32]))
}

/// The mark that tells one version of an interpreter from another: its file, without running it; or, where that
/// is a script that chooses an interpreter, the answer of the chosen one.
fn interpreter(program: &Path, deadline: Instant) -> Result<OsString, EnvironmentError> {
    let failed = |source| EnvironmentError::Place {
        path: program.to_owned(),
        source,
    };
    let path = program.canonicalize().map_err(failed)?;
    let mut file = File::open(&path).map_err(failed)?;
    let mut start = [0; 2];
    let is_script = file.read_exact(&mut start).is_ok() && start == *b"#!";
    if is_script {
        let ask = "import sys; print(sys.executable, sys.version)";
        let said = run(
            program,
            &["-I", "-S", "-c", ask].map(OsStr::new),
            &[],
            deadline,
        )?;
        return Ok(said.to_string().into());
    }
    let metadata = file.metadata().map_err(failed)?;
    let mut told = path.into_os_string();
    let (size, seconds, nanos) = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    told.push(format!(" {size} {seconds} {nanos}"));
    Ok(told)
}

#[cfg(test)]
mod tests;
