//! The failure of a command, in the words that its user reads.

use std::error::Error;
use std::fmt::{self, Display};

use crate::screen;

/// Exit statuses beside 0.
pub(crate) mod status {
    /// The process ended with a fault, or the command could not be done.
    pub(crate) const FAULTED: u8 = 1;
    /// The definition, an input or the command line is wrong; nothing was stored or started.
    pub(crate) const REFUSED: u8 = 2;
    /// Ctrl-C; the process can be resumed.
    pub(crate) const INTERRUPTED: u8 = 130;
    /// Whoever read the output has gone.
    pub(crate) const PIPE_BROKEN: u8 = 141;
    /// SIGTERM or SIGHUP; the process can be resumed.
    pub(crate) const TERMINATED: u8 = 143;
}

/// Why a command ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The program's exit status.
    pub(crate) status: u8,
    /// The attempted action and the reason of its failure, in one line; empty if both were printed already.
    pub(crate) message: String,
    /// Advice for the user.
    pub(crate) help: Option<String>,
}

/// The result of a command: its exit status, or the failure that ended it.
pub(crate) type Outcome = Result<u8, Failure>;

impl Failure {
    /// Something could not be done.
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure {
            status: status::FAULTED,
            message: message.into(),
            help: None,
        }
    }

    /// A mistake of the user; nothing was stored or started.
    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure {
            status: status::REFUSED,
            ..Failure::new(message)
        }
    }

    /// All has been said.
    pub(crate) fn said(status: u8) -> Failure {
        Failure {
            status,
            message: String::new(),
            help: None,
        }
    }

    /// An error with its causes, in one line.
    pub(crate) fn because(error: &dyn Error) -> Failure {
        Failure::new(chain(error))
    }

    /// The same with an advice.
    pub(crate) fn help(self, help: impl Into<String>) -> Failure {
        Failure {
            help: Some(help.into()),
            ..self
        }
    }

    /// Says it on standard error, and on standard output as JSON where that was wanted.
    pub(crate) fn tell(&self, as_json: bool) {
        if self.message.is_empty() {
            return;
        }
        screen::error(&self.to_string());
        if as_json {
            // A reader that has gone needs no error.
            let _ = screen::json(&serde_json::json!({ "error": self.message, "help": self.help }));
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  {help}"),
            None => Ok(()),
        }
    }
}

impl From<std::io::Error> for Failure {
    /// For standard output, which is the only thing that is written without a context of its own.
    fn from(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure::said(status::PIPE_BROKEN);
        }
        Failure::new(format!("could not write to standard output: {error}"))
    }
}

/// An error and its causes in one line; a cause that its error has told already is left out.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}
