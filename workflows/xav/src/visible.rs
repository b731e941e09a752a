//! Text for a terminal, with control characters made visible. Names, outputs and messages of others may hold
//! escape sequences that fill a clipboard, and marks that turn the direction of a line; a terminal is shown
//! their codes instead. A file or a pipe gets every byte as it is.

use std::fmt::Write;

use crate::screen::STYLES;

/// Bytes of a letter at most, in UTF-8.
const LETTER_BYTES_MAX: usize = 4;

/// True if a letter does something else than to be shown: control characters of both ranges, marks that
/// turn or isolate the direction of text, and the separators of lines and paragraphs. Line ends and tabs
/// are left to the caller.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Shows our own text, with words of others in it: the program's own styles stay, every other hidden letter becomes its code.
pub(crate) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let n_bytes = match style_bytes(rest) {
            0 => {
                push(letter, &mut out);
                letter.len_utf8()
            }
            n_bytes => {
                out.push_str(&rest[..n_bytes]);
                n_bytes
            }
        };
        rest = &rest[n_bytes..];
    }
    out
}

/// The output of a command, which comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// The beginning of a letter whose end has not come.
    begun: Vec<u8>,
}

impl Stream {
    /// Shows another piece.
    pub(crate) fn piece(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let mut out = String::with_capacity(self.begun.len());
        let all = std::mem::take(&mut self.begun);
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            chunk
                .valid()
                .chars()
                .for_each(|letter| push(letter, &mut out));
            let is_last = chunks.peek().is_none();
            if is_last && is_begun(chunk.invalid()) {
                self.begun = chunk.invalid().to_vec();
            } else {
                show_bytes(chunk.invalid(), &mut out);
            }
        }
        out
    }

    /// Shows what was begun and does not come to an end.
    pub(crate) fn end(&mut self) -> String {
        let mut out = String::new();
        show_bytes(&std::mem::take(&mut self.begun), &mut out);
        out
    }
}

/// JSON that says the same and holds nothing hidden.
pub(crate) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        // Line ends are between its parts; within texts they are escapes already.
        if is_hidden(letter) && letter != '\n' {
            write!(out, "\\u{:04x}", u32::from(letter)).expect("a String takes every text");
        } else {
            out.push(letter);
        }
    }
    out
}

fn push(letter: char, out: &mut String) {
    if is_hidden(letter) && letter != '\n' && letter != '\t' {
        out.extend(letter.escape_default());
    } else {
        out.push(letter);
    }
}

fn show_bytes(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        write!(out, "\\x{byte:02x}").expect("a String takes every text");
    }
}

/// True if bytes that are no letter may be the beginning of one.
fn is_begun(bytes: &[u8]) -> bool {
    let error = std::str::from_utf8(bytes).err();
    bytes.len() < LETTER_BYTES_MAX && error.is_some_and(|error| error.error_len().is_none())
}

/// Bytes of the style of this program that a text begins with; 0 where it begins otherwise. Other styles
/// could hide text from its reader.
fn style_bytes(text: &str) -> usize {
    let drawn = language::STYLES.iter().chain(&schedule::draw::STYLES);
    let mut styles = STYLES.iter().chain(drawn);
    let found = styles.find(|style| text.starts_with(**style));
    found.map_or(0, |style| style.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills the clipboard, moves the cursor, does so with the one-byte form, turns a line around,
    /// isolates one.
    const EVIL: &str = "a\x1b]52;c;eA==\x07b\x1b[2Jc\u{9b}2Jd\u{202e}e\u{2066}f\r\n\tg";
    const SHOWN: &str =
        "a\\u{1b}]52;c;eA==\\u{7}b\\u{1b}[2Jc\\u{9b}2Jd\\u{202e}e\\u{2066}f\\r\n\tg";

    #[test]
    fn what_plays_with_a_terminal_is_shown() {
        assert_eq!(text(EVIL), SHOWN);
        let mut stream = Stream::default();
        assert_eq!(stream.piece(EVIL.as_bytes()) + &stream.end(), SHOWN);
    }

    #[test]
    fn our_own_colours_stay_and_those_of_others_do_not() {
        let ours = "\x1b[1;31merror:\x1b[0m ü";
        assert_eq!(text(ours), ours);
        assert_eq!(text("\x1b[31"), "\\u{1b}[31");
        assert_eq!(
            text("\x1b[8mhidden"),
            "\\u{1b}[8mhidden",
            "only the program's own styles"
        );
        assert_eq!(Stream::default().piece(b"\x1b[31m"), "\\u{1b}[31m");
    }

    #[test]
    fn mistakes_and_charts_keep_their_colours() {
        let text_of_mistakes = "\
xavantes: 1
name: n
body:
  parallel:
    - activity: größe
      runs: [echo]
    - activity: a
      run: [echo]
    - activity: a
      run: [echo, '${ no }']
";
        let Err(mistakes) = language::compile("n.yaml", text_of_mistakes.as_bytes()) else {
            panic!("it is no definition");
        };
        let shown = mistakes.render(true);
        assert!(shown.contains('\u{1b}'), "{shown:?}");
        assert_eq!(text(&shown), shown);
        for style in schedule::draw::STYLES {
            assert_eq!(text(style), style);
        }
        // A style that hides what it is put on is nobody's.
        assert_ne!(text("\x1b[30;48;5;16m"), "\x1b[30;48;5;16m");
    }

    #[test]
    fn a_stream_is_the_same_however_it_is_cut() {
        let bytes = [
            EVIL.as_bytes(),
            b"\xff\x9b\xe2\x80",
            "ü😀\u{202e}".as_bytes(),
            b"\xf0\x9f",
        ]
        .concat();
        let mut whole = Stream::default();
        let shown = whole.piece(&bytes) + &whole.end();
        assert!(
            shown.ends_with("\\xff\\x9b\\xe2\\x80ü😀\\u{202e}\\xf0\\x9f"),
            "{shown}"
        );
        for n_bytes in 1..5 {
            let mut stream = Stream::default();
            let mut pieces: String = bytes
                .chunks(n_bytes)
                .map(|piece| stream.piece(piece))
                .collect();
            pieces += &stream.end();
            assert_eq!(pieces, shown, "in pieces of {n_bytes}");
        }
    }

    #[test]
    fn json_says_the_same_without_what_is_hidden() {
        let value = serde_json::json!({ "said": EVIL });
        let shown = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(
            !shown
                .chars()
                .any(|letter| is_hidden(letter) && letter != '\n'),
            "{shown}"
        );
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }
}
