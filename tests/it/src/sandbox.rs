//! A user of his own for each test: a home, a place for definitions, and `xav` in it.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) use crate::program::{program, root};
use crate::wait;

/// A user without any processes.
pub(crate) struct Sandbox {
    dir: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A command that runs.
pub(crate) struct Started {
    child: Child,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox {
            dir: TempDir::new().unwrap(),
        }
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Leaves everything where it is, and gives the place.
    pub(crate) fn keep(self) -> PathBuf {
        self.dir.keep()
    }

    /// Writes a file and gives its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The default directory of runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.path("data/xavantes/runs")
    }

    /// The number of run directories.
    pub(crate) fn n_runs(&self) -> usize {
        fs::read_dir(self.runs()).map_or(0, Iterator::count)
    }

    /// `xav` with these arguments, as a command of this user.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path())
            .env("XDG_DATA_HOME", self.path("data"))
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XAVANTES_GRID")
            .env_remove("XAVANTES_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Does a command to its end.
    pub(crate) fn xav(&self, arguments: &[&str]) -> Done {
        self.command(arguments).output().unwrap().into()
    }

    /// Does a command whose answer is JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let done = self.xav(arguments);
        serde_json::from_str(&done.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?} is no JSON: {error}\n{done:?}"))
    }

    /// Starts a command. Its output is read at its end and must be short.
    pub(crate) fn start(&self, arguments: &[&str]) -> Started {
        Started {
            child: self.command(arguments).spawn().unwrap(),
        }
    }

    /// Does a command to its end, with a variable in its environment.
    pub(crate) fn xav_with(&self, variable: (&str, &str), arguments: &[&str]) -> Done {
        self.start_with(variable, arguments).end()
    }

    /// Starts a command with a variable in its environment.
    pub(crate) fn start_with(&self, (name, value): (&str, &str), arguments: &[&str]) -> Started {
        Started {
            child: self.command(arguments).env(name, value).spawn().unwrap(),
        }
    }

    /// The same, with a file as its standard output, so that what it has written can be told at any moment.
    pub(crate) fn start_into(
        &self,
        file: fs::File,
        (name, value): (&str, &str),
        arguments: &[&str],
    ) -> Started {
        let mut command = self.command(arguments);
        let child = command.env(name, value).stdout(file).spawn().unwrap();
        Started { child }
    }

    /// The lines of a file in it that commands append to.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until commands have written that many lines.
    #[track_caller]
    pub(crate) fn wait_for_lines(&self, name: &str, n_lines: usize) {
        wait::until(&format!("{n_lines} lines in {name}"), || {
            (self.lines(name).len() >= n_lines).then_some(())
        });
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Done {
        Done {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Started {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// True if it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has said something on standard error; what it said until then is not told at its
    /// end.
    #[track_caller]
    pub(crate) fn until_it_says(&mut self, words: &str) {
        until(self.child.stderr.as_mut().unwrap(), words);
    }

    /// The same for standard output.
    #[track_caller]
    pub(crate) fn until_it_writes(&mut self, words: &str) {
        until(self.child.stdout.as_mut().unwrap(), words);
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Done {
        let mut done = Done {
            status: None,
            stdout: String::new(),
            stderr: String::new(),
        };
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut done.stdout).unwrap();
        }
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut done.stderr)
            .unwrap();
        done.status = self.child.wait().unwrap().code();
        done
    }
}

/// Reads up to these words.
#[track_caller]
fn until(out: &mut impl Read, words: &str) {
    let mut all = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&all).contains(words) {
        let n = out.read(&mut byte).unwrap();
        let said = String::from_utf8_lossy(&all);
        assert_eq!(n, 1, "ended without {words}: {said}");
        all.push(byte[0]);
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Done {
    /// Asserts the exit status, and shows everything where it is another one.
    #[track_caller]
    pub(crate) fn expect(self, status: i32) -> Done {
        assert_eq!(
            self.status,
            Some(status),
            "\n{}\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Asserts that standard error says something.
    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Done {
        assert!(
            self.stderr.contains(words),
            "does not say `{words}`:\n{}",
            self.stderr
        );
        self
    }

    /// Asserts that standard output shows something.
    #[track_caller]
    pub(crate) fn shows(self, words: &str) -> Done {
        assert!(
            self.stdout.contains(words),
            "does not show `{words}`:\n{}",
            self.stdout
        );
        self
    }
}
