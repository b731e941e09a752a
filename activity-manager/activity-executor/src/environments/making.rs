//! The programs that make environments, each with an end to its time and to what is kept of its words.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, PipeReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use wire::executor::MadeKind;

use super::EnvironmentError;

/// Bytes of what a program writes that are kept, the last ones: what a fault shows.
const SAID_BYTES_MAX: usize = 3 << 10;

/// Lines of these: a terminal shows some more of a fault, so the message before them too.
const SAID_LINES_MAX: usize = 15;

/// First interval of looking for the end of a program, doubled up to the second.
const LOOK_FIRST: Duration = Duration::from_millis(1);
const LOOK_LAST: Duration = Duration::from_millis(50);

/// Time for what an ended program has written to arrive. Something that it started may keep its output open.
const SAID_WAIT: Duration = Duration::from_secs(1);

/// The end of what a program said.
#[derive(Debug)]
pub(crate) struct Said(String);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_str() {
            "" => f.write_str("it said nothing"),
            said => write!(f, "the end of what it said:\n{said}"),
        }
    }
}

/// The arguments with which pip installs requirements: it asks nobody anything.
const INSTALL: [&str; 6] = [
    "-m",
    "pip",
    "install",
    "--disable-pip-version-check",
    "--no-input",
    "--requirement",
];

/// Makes an environment in `directory`, which is not there yet.
pub(super) fn make(
    kind: MadeKind,
    program: &Path,
    directory: &Path,
    file: &Path,
    deadline: Instant,
) -> Result<(), EnvironmentError> {
    let (directory_name, file) = (directory.as_os_str(), file.as_os_str());
    match kind {
        MadeKind::Venv => {
            let arguments = [&words(&["-m", "venv"])[..], &[directory_name]].concat();
            run(program, &arguments, &[], deadline)?;
            let python = directory.join("bin/python");
            let arguments = [&words(&INSTALL)[..], &[file]].concat();
            run(&python, &arguments, &[], deadline)?;
        }
        MadeKind::Conda => {
            let is_micromamba = program.file_name() == Some(OsStr::new("micromamba"));
            let create = match is_micromamba {
                true => words(&["create", "--yes", "--prefix"]),
                false => words(&["env", "create", "--prefix"]),
            };
            let rest = [directory_name, OsStr::new("--file"), file];
            let arguments = [&create[..], &rest].concat();
            // Not all versions know `--yes` here.
            let yes = [("CONDA_ALWAYS_YES", "true"), ("MAMBA_ALWAYS_YES", "true")];
            run(program, &arguments, &yes, deadline)?;
        }
    }
    Ok(())
}

fn words(words: &'static [&'static str]) -> Vec<&'static OsStr> {
    words.iter().map(OsStr::new).collect()
}

/// Runs a program to its end, and returns the end of what it said. At the deadline it is killed.
pub(super) fn run(
    program: &Path,
    arguments: &[&OsStr],
    variables: &[(&str, &str)],
    deadline: Instant,
) -> Result<Said, EnvironmentError> {
    let name = || shown(program, arguments);
    let failed = |source| EnvironmentError::Start {
        program: name(),
        source,
    };
    let (output, writer) = io::pipe().map_err(failed)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer);
    let child = command.spawn().map_err(failed)?;
    // The command has the other ends of the pipe, which would stay open.
    drop(command);
    let tail = Tail::follow(output).map_err(failed)?;
    let ended = wait(child, deadline).map_err(failed)?;
    let said = tail.said();
    match ended {
        Some(status) if status.success() => Ok(said),
        Some(status) => Err(EnvironmentError::Failed {
            program: name(),
            ended: format!("ended with {status}"),
            said,
        }),
        None => Err(EnvironmentError::Failed {
            program: name(),
            ended: "took too long and was killed".to_owned(),
            said,
        }),
    }
}

/// The name of a program with its arguments, for a message: with its whole path the message would not fit
/// into a line that a terminal shows.
fn shown(program: &Path, arguments: &[&OsStr]) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(arguments.iter().copied());
    let words: Vec<String> = words.map(|word| word.display().to_string()).collect();
    words.join(" ")
}

/// Waits for the end of a program; none where it was killed at the deadline. What else it has started is
/// ended with the command.
fn wait(mut child: Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = LOOK_FIRST;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(pause);
        pause = (2 * pause).min(LOOK_LAST);
    }
}

/// The last bytes of what a program writes.
struct Tail {
    bytes: Arc<Mutex<VecDeque<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Tail {
    fn follow(mut output: PipeReader) -> io::Result<Tail> {
        let bytes = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&bytes);
        let reader = thread::Builder::new().spawn(move || {
            let mut part = [0; 4_096];
            while let Ok(n_read @ 1..) = output.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&part[..n_read]);
                let excess = kept.len().saturating_sub(SAID_BYTES_MAX);
                kept.drain(..excess);
            }
        })?;
        Ok(Tail { bytes, reader })
    }

    fn said(self) -> Said {
        let given_up = Instant::now() + SAID_WAIT;
        while !self.reader.is_finished() && Instant::now() < given_up {
            sleep(LOOK_FIRST);
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.trim().lines().collect();
        let first = lines.len().saturating_sub(SAID_LINES_MAX);
        Said(lines[first..].join("\n"))
    }
}
