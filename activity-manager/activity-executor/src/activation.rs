//! The program that a command is started through where its environment is made of a file: it finds or
//! makes the environment (`environments.rs`), and becomes the command.
//!
//! It runs as the command does: with its account, directory, limits and time, held together with all
//! that it starts. So whoever stops the command stops pip too, and nothing here needs a manager.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use wire::executor::{Made, MadeKind};

use crate::environments::{self, Environment, EnvironmentError};
use crate::program;

/// The argument behind [`program::ARGUMENT`] by which a program becomes this.
pub(crate) const ARGUMENT: &str = "__activate";

/// Between the arguments of this program and those of the command.
const END: &str = "--";

/// Exit status where the environment cannot be made. Those of a command that is not found or may not be
/// executed are the shell's.
const NO_ENVIRONMENT: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// The search path where none is set.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The command line that runs a command in an environment, by the program that can be this one. `root`
/// is the directory of the environments of the command's account.
pub(crate) fn command_line(
    program: &str,
    made: &Made,
    root: &str,
    command: &[String],
) -> Vec<String> {
    let own = [
        program,
        program::ARGUMENT,
        ARGUMENT,
        word(made.kind),
        root,
        &made.file,
        END,
    ];
    let own = own.into_iter().map(str::to_owned);
    own.chain(command.iter().cloned()).collect()
}

fn word(kind: MadeKind) -> &'static str {
    match kind {
        MadeKind::Venv => "venv",
        MadeKind::Conda => "conda",
    }
}

/// Becomes the command. Returns where that fails, after a message on standard error.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let [kind, root, file, end, command @ ..] = arguments.as_slice() else {
        return fail(NO_ENVIRONMENT, "arguments are missing");
    };
    let kinds = [MadeKind::Venv, MadeKind::Conda];
    let kind = kinds.into_iter().find(|known| word(*known) == kind);
    let (Some(kind), true, [name, arguments @ ..]) = (kind, end == END, command) else {
        return fail(
            NO_ENVIRONMENT,
            "its arguments are not those of an environment",
        );
    };
    let made = environments::find_or_make(kind, Path::new(root), Path::new(file), &search_path());
    match made {
        Ok(environment) => execute(&environment, name, arguments),
        Err(error) => fail(NO_ENVIRONMENT, &told(&error, file)),
    }
}

/// The message of an error, with what the program said last.
fn told(error: &EnvironmentError, file: &OsStr) -> String {
    let mut text = format!(
        "the environment of {} cannot be had: {error}",
        file.display()
    );
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// Executes the command in the environment, whose lock stays held by what is executed.
fn execute(environment: &Environment, name: &OsStr, arguments: &[OsString]) -> ExitCode {
    let programs = environment.directory.join("bin");
    let mut path = programs.into_os_string();
    path.push(":");
    path.push(search_path());
    // As a command without an environment is looked up: in its directory, then in its `PATH`.
    let found = match name.as_encoded_bytes().contains(&b'/') {
        true => Some(PathBuf::from(name)),
        false => [OsStr::new("."), &path]
            .into_iter()
            .find_map(|places| find(name, places)),
    };
    let Some(program) = found else {
        let message = format!(
            "command not found: {} (searched PATH {})",
            name.display(),
            path.display()
        );
        return fail(NOT_FOUND, &message);
    };
    let variable = match environment.kind {
        MadeKind::Venv => "VIRTUAL_ENV",
        MadeKind::Conda => "CONDA_PREFIX",
    };
    let error = Command::new(&program)
        .arg0(name)
        .args(arguments)
        .env("PATH", &path)
        .env(variable, &environment.directory)
        // This variable would lead the environment's own Python to the modules of another one.
        .env_remove("PYTHONHOME")
        .exec();
    if error.kind() == io::ErrorKind::NotFound {
        let message = format!(
            "could not execute {}: it, or the interpreter that its first line names, was not found",
            program.display()
        );
        return fail(NOT_FOUND, &message);
    }
    let message = format!("could not execute {}: {error}", program.display());
    fail(NOT_EXECUTABLE, &message)
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into())
}

/// The first executable file of this name in a list of directories, by its path there.
pub(crate) fn find(name: impl AsRef<Path>, places: &OsStr) -> Option<PathBuf> {
    let candidates = env::split_paths(places)
        .filter(|place| !place.as_os_str().is_empty())
        .map(|place| place.join(name.as_ref()));
    let mut executable = candidates.filter(|path| {
        let metadata = path.metadata();
        metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    });
    executable.next()
}

fn fail(status: u8, message: &str) -> ExitCode {
    // Nobody else can be told where standard error is closed.
    let _ = writeln!(io::stderr(), "xavantes: {message}");
    ExitCode::from(status)
}

#[cfg(test)]
mod tests;
