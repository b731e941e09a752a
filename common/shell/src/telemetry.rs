//! The log of a program: a file in its state directory, nothing on the terminal.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use thiserror::Error;
use tracing_subscriber::EnvFilter;

use crate::{audit, environment};

mod bounded;
mod lines;

use bounded::Bounded;
pub(crate) use bounded::aside;

/// The variable for the form of the log: `text` or `json`.
const FORM_VARIABLE: &str = "XAVANTES_LOG_FORM";

/// The form of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogForm {
    /// A line for people.
    #[default]
    Text,
    /// A line of JSON.
    Json,
}

impl LogForm {
    /// The form with this name.
    pub fn named(word: &str) -> Option<LogForm> {
        match word {
            "text" => Some(LogForm::Text),
            "json" => Some(LogForm::Json),
            _ => None,
        }
    }
}

/// The variable for the levels: `debug`, `shell=debug,info`...
const VARIABLE: &str = "XAVANTES_LOG";

/// The default level.
const LEVEL_DEFAULT: &str = "info";

/// The log could not be opened.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The file cannot be written.
    #[error("could not open the log {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// `XAVANTES_LOG` is not understood.
    #[error("could not understand {VARIABLE}={value}: {reason}")]
    Filter {
        /// Its content.
        value: String,
        /// The error.
        reason: String,
    },
}

/// Appends the program's log to a file from here on. If the program has opened a log before, that
/// one stays.
pub fn log_to(path: &Path) -> Result<(), TelemetryError> {
    log_as(path, None)
}

/// [`log_to`] in a given form; by default that of `XAVANTES_LOG_FORM`.
pub fn log_as(path: &Path, form: Option<LogForm>) -> Result<(), TelemetryError> {
    let told = || environment::text(FORM_VARIABLE).and_then(|word| LogForm::named(&word));
    let form = form.or_else(told).unwrap_or_default();
    let value = environment::text(VARIABLE).unwrap_or_else(|| LEVEL_DEFAULT.to_owned());
    let filter = filter(&value).map_err(|error| TelemetryError::Filter {
        value,
        reason: error.to_string(),
    })?;
    let file = Bounded::open(path).map_err(|source| TelemetryError::Open {
        path: path.to_owned(),
        source,
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // A full disk is reported by those who need the disk, not by the log.
        .log_internal_errors(false)
        .with_ansi(false)
        .with_writer(Mutex::new(file));
    // A second log of the program is refused, as documented.
    let _ = match form {
        LogForm::Text => tracing::subscriber::set_global_default(log.finish()),
        LogForm::Json => {
            let log = log.event_format(lines::JsonLines).finish();
            tracing::subscriber::set_global_default(log)
        }
    };
    Ok(())
}

/// The filter of these levels. Audit lines are kept whatever the level, unless it names them.
fn filter(levels: &str) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    let names_audit = levels.split(',').any(|one| {
        let target = one.split('=').next().unwrap_or_default();
        target.trim() == audit::TARGET
    });
    match names_audit {
        true => EnvFilter::try_new(levels),
        false => EnvFilter::try_new(format!("{levels},{}=info", audit::TARGET)),
    }
}

#[test]
fn audit_lines_are_kept_unless_they_are_named() {
    let shown = |levels| {
        let filter = filter(levels).unwrap().to_string();
        let mut parts: Vec<String> = filter.split(',').map(str::to_owned).collect();
        parts.sort();
        parts.join(" ")
    };
    assert_eq!(shown("warn"), "audit=info warn");
    assert_eq!(shown("shell=debug,error"), "audit=info error shell=debug");
    assert_eq!(shown("audit=off,info"), "audit=off info");
    assert!(filter("shell=loud").is_err());
}

#[test]
fn log_lines_are_in_the_file() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("log");
    log_to(&path).unwrap();
    tracing::error!(answer = 42, "it went wrong");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("it went wrong answer=42"), "{text}");
    assert!(log_to(&dir.path().join("not there/log")).is_err());
}
