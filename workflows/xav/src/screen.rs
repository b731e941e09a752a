//! Standard output and standard error: colours only where a terminal shows them, control characters of others
//! made visible there, and no panic where nobody reads any more. Everything printed comes through here.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::visible;

const RED: &str = "\x1b[1;31m";
const YELLOW: &str = "\x1b[1;33m";
const GREEN: &str = "\x1b[1;32m";
const BOLD: &str = "\x1b[1m";
const FAINT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// The styles of this program. Text of others that holds another one is shown its code.
pub(crate) const STYLES: [&str; 6] = [RED, YELLOW, GREEN, BOLD, FAINT, PLAIN];

/// Bytes of what a command wrote that are shown at once.
const PIECE_BYTES: usize = 64 * 1024;

/// True if what a command wrote to standard output ended within a line.
static IS_WITHIN_LINE: AtomicBool = AtomicBool::new(false);

/// A bold word.
pub(crate) fn bold(text: &str) -> String {
    format!("{BOLD}{text}{PLAIN}")
}

/// Text that may be overlooked.
pub(crate) fn faint(text: &str) -> String {
    format!("{FAINT}{text}{PLAIN}")
}

/// Text about a success.
pub(crate) fn good(text: &str) -> String {
    format!("{GREEN}{text}{PLAIN}")
}

/// Text about a failure.
pub(crate) fn bad(text: &str) -> String {
    format!("{RED}{text}{PLAIN}")
}

/// Text that needs attention.
pub(crate) fn odd(text: &str) -> String {
    format!("{YELLOW}{text}{PLAIN}")
}

/// Writes text to standard output.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let is_terminal = io::stdout().is_terminal();
    let mut out = anstream::stdout().lock();
    out.write_all(shown(text, is_terminal).as_bytes())?;
    out.flush()
}

/// Writes a heading to standard output, on a line of its own.
pub(crate) fn heading(text: &str) -> io::Result<()> {
    match IS_WITHIN_LINE.swap(false, Ordering::Relaxed) {
        true => out(&format!("\n{text}")),
        false => out(text),
    }
}

/// Writes what commands wrote to standard output: as it is, but to a terminal.
pub(crate) fn out_bytes(from: &mut dyn io::Read) -> io::Result<u64> {
    let mut out = io::stdout().lock();
    let mut from = Ending { from, last: None };
    let n_bytes = if out.is_terminal() {
        show_bytes(&mut from, &mut out)?
    } else {
        io::copy(&mut from, &mut out)?
    };
    out.flush()?;
    if let Some(last) = from.last {
        IS_WITHIN_LINE.store(last != b'\n', Ordering::Relaxed);
    }
    Ok(n_bytes)
}

/// A reader that knows the last byte that was read.
struct Ending<'a> {
    from: &'a mut dyn io::Read,
    last: Option<u8>,
}

impl io::Read for Ending<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.from.read(buffer)?;
        self.last = buffer[..n_read].last().copied().or(self.last);
        Ok(n_read)
    }
}

fn show_bytes(from: &mut dyn io::Read, out: &mut dyn Write) -> io::Result<u64> {
    let mut stream = visible::Stream::default();
    let mut buffer = vec![0; PIECE_BYTES];
    let mut n_bytes = 0;
    loop {
        let n_read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        if n_read == 0 {
            out.write_all(stream.end().as_bytes())?;
            return Ok(n_bytes);
        }
        n_bytes += n_read as u64;
        out.write_all(stream.piece(&buffer[..n_read]).as_bytes())?;
    }
}

fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal {
        Cow::Owned(visible::text(text))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes one JSON document to standard output.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value).expect("what is shown is always JSON");
    let mut text = visible::json(&text);
    text.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes text to standard error; there is nowhere to say that it failed.
pub(crate) fn tell(text: &str) {
    let is_terminal = io::stderr().is_terminal();
    let mut err = anstream::stderr().lock();
    let _ = err
        .write_all(shown(text, is_terminal).as_bytes())
        .and_then(|()| err.flush());
}

/// Writes an error.
pub(crate) fn error(text: &str) {
    tell(&format!("{} {text}\n", bad("error:")));
}

/// Writes a warning.
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

/// True if somebody looks at standard error, and it can be drawn on.
pub(crate) fn is_live() -> bool {
    io::stderr().is_terminal()
        && shell::environment::text("TERM").is_some_and(|terminal| terminal != "dumb")
}

/// True if colours are shown on standard error.
pub(crate) fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}
