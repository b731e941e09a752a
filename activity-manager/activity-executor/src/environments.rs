//! Environments that are made of a file: virtual environments of Python and environments of conda, each
//! made once on a machine and used by all later commands that name a file of the same content.
//!
//! An environment is a directory `NAME`, where the hash of the file and of the interpreter is part of
//! the name, and a file `NAME.lock` beside it. Who uses the environment holds a shared lock of that file
//! and who makes or removes it an exclusive one; all programs that the maker starts inherit it, so that
//! nobody goes on where one of them may still write. The file says whether the environment is whole, and
//! its time of modification when it was used last. An environment cannot be made elsewhere and renamed,
//! since its programs have its path written in them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use model::Capability;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, FdFlags};
use thiserror::Error;
use wire::executor::MadeKind;

use crate::activation::find;
use crate::environments::making::{Said, run};
use crate::ground::remove_tree;

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
/// for whole.
///
/// # Errors
/// The first directory that could not be read, or environment that could not be removed.
pub fn remove_unused_environments(root: &Path) -> io::Result<()> {
    let old = SystemTime::now().checked_sub(UNUSED_MAX);
    old.map_or(Ok(()), |old| remove_unused_since(root, old))
}

fn remove_unused_since(root: &Path, old: SystemTime) -> io::Result<()> {
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().unwrap_or_default();
        let is_of_account = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if is_of_account && entry.file_type()?.is_dir() {
            remove_unused_since(&path, old)?;
        }
        let is_old = || {
            let metadata = entry.metadata()?;
            Ok::<bool, io::Error>(metadata.is_file() && metadata.modified()? < old)
        };
        if let Some(name) = name.strip_suffix(".lock")
            && is_old()?
        {
            let directory = root.join(name);
            let lock = path;
            Place { directory, lock }.remove_unused(old)?;
        }
    }
    Ok(())
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
        let lock = self.open(true).map_err(|error| self.failed(error))?;
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

    fn open(&self, creates: bool) -> io::Result<File> {
        // Its owner may have put anything in its place.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(creates)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags.bits() as i32)
            .open(&self.lock)
    }

    fn remove_unused(&self, old: SystemTime) -> io::Result<()> {
        let lock = match self.open(false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            // Somebody uses it.
            return Ok(());
        }
        let metadata = lock.metadata()?;
        if metadata.nlink() != 1 || metadata.modified()? >= old {
            return Ok(());
        }
        lock.set_len(0)?;
        remove_tree(&self.directory)?;
        fs::remove_file(&self.lock)
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
