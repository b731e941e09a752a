//! Standard output and standard error: colours only where a terminal shows them, and no panic where
//! nobody reads any more.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const GREEN: &str = "\x1b[1;32m";
const BOLD: &str = "\x1b[1m";
const FAINT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// A bold word.
pub(crate) fn bold(text: &str) -> String {
    format!("{BOLD}{text}{PLAIN}")
}

/// What may be overlooked.
pub(crate) fn faint(text: &str) -> String {
    format!("{FAINT}{text}{PLAIN}")
}

/// What went well.
pub(crate) fn good(text: &str) -> String {
    format!("{GREEN}{text}{PLAIN}")
}

/// What went wrong.
pub(crate) fn bad(text: &str) -> String {
    format!("{RED}{text}{PLAIN}")
}

/// What is to be looked at.
pub(crate) fn odd(text: &str) -> String {
    format!("{YELLOW}{text}{PLAIN}")
}

/// Writes text to standard output.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes bytes to standard output as they are.
pub(crate) fn out_bytes(from: &mut dyn io::Read) -> io::Result<u64> {
    let mut out = io::stdout().lock();
    let n_bytes = io::copy(from, &mut out)?;
    out.flush()?;
    Ok(n_bytes)
}

/// Writes one JSON document to standard output.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value).expect("a value is always JSON");
    text.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes text to standard error; there is nowhere to say that it failed.
pub(crate) fn tell(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Says what went wrong.
pub(crate) fn error(text: &str) {
    tell(&format!("{} {text}\n", bad("error:")));
}

/// Says what is to be looked at.
pub(crate) fn warn(text: &str) {
    tell(&format!("{} {text}\n", odd("warning:")));
}

/// Characters of a line of what is printed, by `COLUMNS` or the terminal; a hundred where nobody
/// looks.
pub(crate) fn width() -> usize {
    const WIDTHS: std::ops::RangeInclusive<usize> = 80..=200;
    let told = shell::environment::text("COLUMNS").and_then(|columns| columns.parse().ok());
    let of_terminal = || {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        (size.ws_col > 0).then_some(usize::from(size.ws_col))
    };
    let width = told.or_else(of_terminal).unwrap_or(100);
    width.clamp(*WIDTHS.start(), *WIDTHS.end())
}

/// Whether somebody looks at standard error, and it can be drawn on.
pub(crate) fn is_live() -> bool {
    io::stderr().is_terminal()
        && shell::environment::text("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// Whether colours are shown on standard error.
pub(crate) fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}
