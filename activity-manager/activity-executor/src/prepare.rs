//! Converts a `Start` for the system calls: candidate paths of the program, strings with their NUL,
//! standard input in memory. Nothing here opens or reads a path that a user has chosen: on a file
//! system that does not answer that would block the executor, so the child of the command does it.
//! Errors of the child are explained here.

use std::borrow::Cow;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use wire::executor::{Contained, Exit, Made, Start, Stdin};

use crate::account::{Lendable, Numbers};
use crate::child::Step;
use crate::ground::{self, GiveError};
use crate::launch::{Failure, Image};
use crate::remains::home_of;
use crate::{activation, container};

/// Searched if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Bytes of the message why a command did not start. It quotes the user's text, which may be long.
const MESSAGE_BYTES_MAX: usize = 4_096;

/// A command that can be launched.
pub(crate) struct Prepared {
    pub(crate) image: Image,
    /// Standard input; if this and the image's are `None`, it is `/dev/null`.
    pub(crate) stdin: Option<OwnedFd>,
}

/// Why a command cannot be launched, for its outcome.
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

/// The account of a command.
#[derive(Clone, Copy)]
pub(crate) enum Whose<'a> {
    /// The executor's own.
    Own,
    Account(&'a Numbers),
    /// An account that other attempts will have later. Files in its home must not remain for them,
    /// so each attempt has a home of its own.
    Lent(&'a Lendable),
}

impl<'a> Whose<'a> {
    pub(crate) fn numbers(self) -> Option<&'a Numbers> {
        match self {
            Whose::Own => None,
            Whose::Account(numbers) => Some(numbers),
            Whose::Lent(lent) => Some(&lent.numbers),
        }
    }
}

/// Converts a `start`, and gives its directory to the account that the command runs as. A command whose
/// environment is made, or which runs in a container, is started through `own`, the path of this program.
/// `container_name` is that of its container, if it has one.
pub(crate) fn prepare(
    start: &Start,
    whose: Whose<'_>,
    own: Option<&str>,
    container_name: &str,
) -> Result<Prepared, NotStarted> {
    let account = whose.numbers();
    let directory = Path::new(&start.directory);
    if !directory.is_absolute() {
        return Err(failure(
            Errno::INVAL,
            format!("the directory is not absolute: {}", start.directory),
        ));
    }
    if let Some(account) = account {
        ground::give(directory, account).map_err(not_given)?;
    }
    let command = match (&start.made, &start.container) {
        (None, None) => Cow::Borrowed(start.program.as_slice()),
        (Some(made), _) => Cow::Owned(through_environment(start, made, whose, own)?),
        (None, Some(contained)) => {
            let own = through(&contained.command, own)?;
            let contained = of_account(contained, &start.directory, whose);
            let directory = &start.directory;
            Cow::Owned(container::command_line(
                own,
                &contained,
                directory,
                container_name,
            ))
        }
    };
    let programs = candidates(&command, &start.env, directory)?;
    let mut environment = Vec::with_capacity(start.env.len() + 5);
    for (name, value) in &start.env {
        if name != "XAVANTES_CORES" {
            environment.push(variable(name, value)?);
        }
    }
    if let Whose::Lent(lent) = whose {
        let home = home_of(&start.directory);
        ground::make_for(&home, &lent.numbers).map_err(not_given)?;
        let home = home.to_string_lossy();
        let own = [
            ("HOME", &*home),
            ("TMPDIR", &home),
            ("USER", &lent.name),
            ("LOGNAME", &lent.name),
        ];
        // The definition's settings come first.
        let is_said = |name: &str| start.env.iter().any(|(said, _)| said == name);
        for (name, value) in own.into_iter().filter(|(name, _)| !is_said(name)) {
            environment.push(variable(name, value)?);
        }
    }
    let cores = start.cores.max(1);
    environment.push(variable("XAVANTES_CORES", &cores.to_string())?);
    let arguments = command.iter();
    let arguments = arguments.map(|argument| c_string(argument.as_str(), "command line"));
    let path = match &start.stdin {
        Stdin::Path(path) => Some(c_string(path.as_str(), "path of standard input")?),
        Stdin::Empty | Stdin::Bytes(_) => None,
    };
    let needs = start.needs.as_deref();
    let needs = needs.map(|path| c_string(path, "path of the environment"));
    Ok(Prepared {
        image: Image {
            programs,
            arguments: arguments.collect::<Result<_, _>>()?,
            environment,
            directory: c_string(start.directory.as_str(), "directory")?,
            stdin: path,
            needs: needs.transpose()?,
        },
        stdin: open_stdin(&start.stdin)?,
    })
}

/// The command line by which a command is started in its environment. Each account has environments of
/// its own, since nobody else may write what it executes; those of an account that other attempts have
/// later last as long as the attempt.
fn through_environment(
    start: &Start,
    made: &Made,
    whose: Whose<'_>,
    own: Option<&str>,
) -> Result<Vec<String>, NotStarted> {
    let own = through(&start.program, own)?;
    let root = match whose {
        Whose::Own => made.root.clone(),
        Whose::Account(account) => {
            let root = format!("{}/{}", made.root, account.user);
            let path = Path::new(&root);
            ground::make_once_for(path, account).map_err(not_given)?;
            root
        }
        Whose::Lent(_) => {
            let home = home_of(&start.directory);
            home.join("environments").to_string_lossy().into_owned()
        }
    };
    Ok(activation::command_line(own, made, &root, &start.program))
}

/// A container with the environment that podman has as an account.
fn of_account<'a>(
    contained: &'a Contained,
    directory: &str,
    whose: Whose<'_>,
) -> Cow<'a, Contained> {
    match whose {
        Whose::Own | Whose::Account(_) => Cow::Borrowed(contained),
        Whose::Lent(lent) => {
            let own = [
                ("HOME", home_of(directory).to_string_lossy().into_owned()),
                ("USER", lent.name.clone()),
                ("LOGNAME", lent.name.clone()),
            ];
            let mut contained = contained.clone();
            contained
                .env
                .retain(|(name, _)| own.iter().all(|(of_account, _)| name != of_account));
            let own = own
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value));
            contained.env.extend(own);
            Cow::Owned(contained)
        }
    }
}

/// This program, through which a command that is not empty is started.
fn through<'a>(command: &[String], own: Option<&'a str>) -> Result<&'a str, NotStarted> {
    let own = own.ok_or_else(|| {
        let message = "it cannot be started in an environment or container: the path of this program is not text";
        failure(Errno::ILSEQ, message.to_owned())
    })?;
    if command.first().is_none_or(String::is_empty) {
        let message = "the command line is empty".to_owned();
        return Err(failure(Errno::INVAL, message));
    }
    Ok(own)
}

/// A variable with its value, in one piece of memory: each command has several.
fn variable(name: &str, value: &str) -> Result<CString, NotStarted> {
    let n_bytes = name.len() + "=".len() + value.len();
    let mut bytes = Vec::with_capacity(n_bytes + 1);
    for part in [name, "=", value] {
        bytes.extend_from_slice(part.as_bytes());
    }
    c_string(bytes, "environment")
}

/// The candidate paths of the program in search order. The child checks whether they exist, as the
/// command's account.
fn candidates(
    command: &[String],
    env: &[(String, String)],
    directory: &Path,
) -> Result<Vec<CString>, NotStarted> {
    let Some(name) = command.first().filter(|name| !name.is_empty()) else {
        let message = "the command line is empty".to_owned();
        return Err(failure(Errno::INVAL, message));
    };
    let path = |place: &str| {
        let path = directory.join(place).join(name);
        c_string(path.into_os_string().into_vec(), "program")
    };
    if name.contains('/') {
        return Ok(vec![path("")?]);
    }
    let places = search_path(env).split(':');
    let places = places.filter(|place| !place.is_empty());
    std::iter::once("").chain(places).map(path).collect()
}

fn search_path(environment: &[(String, String)]) -> &str {
    let mut variables = environment.iter().rev();
    let path = variables.find(|(variable, _)| variable == "PATH");
    path.map_or(DEFAULT_PATH, |(_, value)| value.as_str())
}

/// The meaning of a child's failure for a user.
pub(crate) fn explain(image: &Image, error: &Failure) -> NotStarted {
    let cause = io::Error::from_raw_os_error(error.errno);
    let directory = image.directory.to_string_lossy();
    let named = image.arguments.first();
    let named = named.map(|name| name.to_string_lossy()).unwrap_or_default();
    let program = image.programs.get(error.program);
    let program = program.map_or(named.clone(), |program| program.to_string_lossy());
    let message = match error.step {
        Step::Prepare => format!("could not prepare the process of {named}: {cause}"),
        Step::Join => format!("could not put {named} into its cgroup: {cause}"),
        Step::Limit => format!("could not set the limits of {named}: {cause}"),
        Step::Priority => format!("could not set the priority of {named}: {cause}"),
        Step::Bind => format!("could not bind {named} to its CPUs: {cause}"),
        Step::ChangeDirectory => format!("could not enter the directory {directory}: {cause}"),
        Step::Account => format!("could not become the account of commands: {cause}"),
        Step::Stdin => {
            let path = image.stdin.as_deref().unwrap_or_default();
            let path = Path::new(&*directory).join(&*path.to_string_lossy());
            let path = path.display();
            match error.errno {
                // The system itself refuses a socket.
                libc::EINVAL | libc::ENXIO => format!("standard input {path} is not a file"),
                libc::EACCES if error.has_account => format!(
                    "could not open standard input {path}: the account of commands may not read it"
                ),
                _ => format!("could not open standard input {path}: {cause}"),
            }
        }
        Step::Environment => {
            let needed = image.needs.as_deref().unwrap_or_default();
            let needed = needed.to_string_lossy();
            match error.errno {
                libc::ENOENT | libc::ENOTDIR => {
                    format!("its environment is not on this machine: no directory {needed}")
                }
                _ => format!("its environment is not to be used: {needed}: {cause}"),
            }
        }
        Step::Find => match error.errno {
            libc::ENOENT if named.contains('/') => format!("command not found: {named}"),
            libc::ENOENT => {
                let path = search_path_of(&image.environment);
                format!("command not found: {named} (searched {directory} and PATH {path})")
            }
            _ => format!("permission denied: {program} is not an executable file"),
        },
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

fn search_path_of(environment: &[CString]) -> Cow<'_, str> {
    let mut variables = environment.iter().rev();
    let path = variables.find_map(|variable| variable.to_bytes().strip_prefix(b"PATH="));
    path.map_or(DEFAULT_PATH.into(), String::from_utf8_lossy)
}

/// The standard input that can be opened here: a path is opened by the command's process.
fn open_stdin(stdin: &Stdin) -> Result<Option<OwnedFd>, NotStarted> {
    let Stdin::Bytes(bytes) = stdin else {
        return Ok(None);
    };
    match memory_file(bytes) {
        Ok(file) => Ok(Some(file)),
        Err(error) => Err(NotStarted {
            errno: error.raw_os_error().unwrap_or(0),
            message: format!(
                "could not hold {} bytes of standard input: {error}",
                bytes.len()
            ),
        }),
    }
}

fn not_given(error: GiveError) -> NotStarted {
    NotStarted {
        errno: error.errno(),
        message: format!("could not give the directory to the account of commands: {error}"),
    }
}

fn memory_file(bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn c_string(text: impl Into<Vec<u8>>, what: &str) -> Result<CString, NotStarted> {
    CString::new(text)
        .map_err(|_| failure(Errno::INVAL, format!("the {what} contains a NUL character")))
}

fn failure(errno: Errno, message: String) -> NotStarted {
    NotStarted {
        errno: errno.raw_os_error(),
        message,
    }
}
