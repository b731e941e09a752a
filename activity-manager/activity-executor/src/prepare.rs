//! From a `Start` to what the system needs: the program looked up, strings with their NUL, standard
//! input opened. Done before the clone, so that what is wrong is said clearly.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, MemfdFlags, accessat, memfd_create, stat};
use rustix::io::Errno;
use wire::executor::{Exit, Start, Stdin};

use crate::account::Numbers;
use crate::ground;
use crate::sys::{LaunchError, Step};

/// Searched when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Bytes of the text that tells why a command did not start. It quotes what the user wrote, which may be
/// long.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// A command that can be launched.
pub(crate) struct Prepared {
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    /// `None` is `/dev/null`.
    pub(crate) stdin: Option<OwnedFd>,
}

/// Why a command cannot be launched, as its outcome tells it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotStarted {
    pub(crate) errno: i32,
    pub(crate) message: String,
}

impl From<NotStarted> for Exit {
    fn from(NotStarted { errno, message }: NotStarted) -> Exit {
        let end = message.floor_char_boundary(MESSAGE_BYTES_MAX);
        Exit::NotStarted {
            errno,
            message: message[..end].to_owned(),
        }
    }
}

/// Looks up, opens and converts what `start` names, and gives its directory to the account that the
/// command runs as.
pub(crate) fn prepare(start: &Start, account: Option<&Numbers>) -> Result<Prepared, NotStarted> {
    let directory = Path::new(&start.directory);
    if !directory.is_absolute() {
        return Err(failure(
            Errno::INVAL,
            format!("the directory is not absolute: {}", start.directory),
        ));
    }
    if let Some(account) = account {
        ground::give(directory, account).map_err(|error| NotStarted {
            errno: error.errno(),
            message: format!("could not give the directory to the account of commands: {error}"),
        })?;
    }
    let program = resolve(start, directory)?;
    let mut environment = Vec::with_capacity(start.env.len() + 1);
    for (name, value) in &start.env {
        if name != "XAVANTES_CORES" {
            environment.push(c_string(
                format!("{name}={value}").into_bytes(),
                "environment",
            )?);
        }
    }
    environment.push(c_string(
        format!("XAVANTES_CORES={}", start.cores.max(1)).into_bytes(),
        "environment",
    )?);
    Ok(Prepared {
        program: c_string(program.into_os_string().into_vec(), "program")?,
        arguments: start
            .program
            .iter()
            .map(|argument| c_string(argument.clone().into_bytes(), "command line"))
            .collect::<Result<_, _>>()?,
        environment,
        directory: c_string(start.directory.clone().into_bytes(), "directory")?,
        stdin: open_stdin(&start.stdin, directory, account)?,
    })
}

/// What the failure of a launch means to a user.
pub(crate) fn explain(start: &Start, prepared: &Prepared, error: &LaunchError) -> NotStarted {
    let cause = io::Error::from_raw_os_error(error.errno);
    let program = prepared.program.to_string_lossy();
    let message = match error.step {
        Step::Clone => format!("could not create a process: {cause}"),
        Step::Prepare => format!("could not prepare the process of {program}: {cause}"),
        Step::ChangeDirectory => {
            format!("could not enter the directory {}: {cause}", start.directory)
        }
        Step::Account => format!("could not become the account of commands: {cause}"),
        Step::Nice => format!("could not set the priority of {program}: {cause}"),
        Step::Execute => match error.errno {
            libc::ENOENT => format!(
                "could not execute {program}: the interpreter that its first line or header names was not found"
            ),
            libc::ENOEXEC => format!(
                "could not execute {program}: not an executable format (a script begins with a line such as #!/bin/sh)"
            ),
            libc::E2BIG => format!(
                "could not execute {program}: the command line and environment are too long"
            ),
            _ => format!("could not execute {program}: {cause}"),
        },
    };
    NotStarted {
        errno: error.errno,
        message,
    }
}

fn resolve(start: &Start, directory: &Path) -> Result<PathBuf, NotStarted> {
    let Some(name) = start.program.first().filter(|name| !name.is_empty()) else {
        return Err(failure(
            Errno::INVAL,
            "the command line is empty".to_owned(),
        ));
    };
    if name.contains('/') {
        let path = directory.join(name);
        return match look(&path) {
            Found::Program => Ok(path),
            Found::Nothing => Err(failure(Errno::NOENT, format!("command not found: {name}"))),
            Found::NotExecutable => Err(denied(&path)),
        };
    }
    let searched = start
        .env
        .iter()
        .rev()
        .find(|(variable, _)| variable == "PATH")
        .map_or(DEFAULT_PATH, |(_, value)| value.as_str());
    let mut refused = None;
    let places = searched.split(':').filter(|place| !place.is_empty());
    for place in std::iter::once(Path::new("")).chain(places.map(Path::new)) {
        let path = directory.join(place).join(name);
        match look(&path) {
            Found::Program => return Ok(path),
            Found::Nothing => {}
            Found::NotExecutable => {
                refused.get_or_insert(path);
            }
        }
    }
    Err(match refused {
        Some(path) => denied(&path),
        None => failure(
            Errno::NOENT,
            format!(
                "command not found: {name} (searched {} and PATH {searched})",
                start.directory
            ),
        ),
    })
}

enum Found {
    Program,
    Nothing,
    NotExecutable,
}

fn look(path: &Path) -> Found {
    match accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()) {
        Ok(()) => match stat(path) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => Found::Program,
            Ok(_) => Found::NotExecutable,
            Err(_) => Found::Nothing,
        },
        Err(Errno::ACCESS | Errno::PERM) => Found::NotExecutable,
        Err(_) => Found::Nothing,
    }
}

fn open_stdin(
    stdin: &Stdin,
    directory: &Path,
    account: Option<&Numbers>,
) -> Result<Option<OwnedFd>, NotStarted> {
    match stdin {
        Stdin::Empty => Ok(None),
        Stdin::Path(path) => {
            let path = directory.join(path);
            // Opening a pipe or socket could wait for ever.
            match stat(&path).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                Ok(FileType::RegularFile | FileType::CharacterDevice) | Err(_) => {}
                Ok(_) => {
                    let message = format!("standard input {} is not a file", path.display());
                    return Err(failure(Errno::INVAL, message));
                }
            }
            match File::open(&path) {
                // Root opens everything; the command has what its account may read.
                Ok(file)
                    if account.is_none_or(|account| account.may_read(&file).unwrap_or(false)) =>
                {
                    Ok(Some(file.into()))
                }
                Ok(_) => Err(denied_reading(&path)),
                Err(error) => Err(NotStarted {
                    errno: error.raw_os_error().unwrap_or(0),
                    message: format!("could not open standard input {}: {error}", path.display()),
                }),
            }
        }
        Stdin::Bytes(bytes) => match memory_file(bytes) {
            Ok(file) => Ok(Some(file)),
            Err(error) => Err(NotStarted {
                errno: error.raw_os_error().unwrap_or(0),
                message: format!(
                    "could not hold {} bytes of standard input: {error}",
                    bytes.len()
                ),
            }),
        },
    }
}

fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn c_string(bytes: Vec<u8>, what: &str) -> Result<CString, NotStarted> {
    CString::new(bytes)
        .map_err(|_| failure(Errno::INVAL, format!("the {what} contains a NUL character")))
}

fn denied_reading(path: &Path) -> NotStarted {
    failure(
        Errno::ACCESS,
        format!(
            "could not open standard input {}: the account of commands may not read it",
            path.display()
        ),
    )
}

fn denied(path: &Path) -> NotStarted {
    failure(
        Errno::ACCESS,
        format!(
            "permission denied: {} is not an executable file",
            path.display()
        ),
    )
}

fn failure(errno: Errno, message: String) -> NotStarted {
    NotStarted {
        errno: errno.raw_os_error(),
        message,
    }
}
