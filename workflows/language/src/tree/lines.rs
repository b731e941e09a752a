//! The lines around a mistake of a file, as people see them: their depth, their keys, their blanks.

use std::ops::Range;

use crate::diagnostic::Diagnostic;

/// Lines above a mistake that are looked at: a page.
const ABOVE_MAX: usize = 60;

/// A line that is not blank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// The place where it begins, in bytes of the file.
    pub(super) start: usize,
    /// Blanks before its text, in bytes.
    pub(super) indent: usize,
    /// Its text without the blanks around it.
    pub(super) text: &'a str,
}

/// The line of a mistake and those above it.
pub(super) struct Lines<'a> {
    pub(super) at: Option<Line<'a>>,
    /// The nearest first, without blank ones and comments.
    above: Vec<Line<'a>>,
}

impl<'a> Lines<'a> {
    /// The lines around an offset.
    pub(super) fn around(source: &'a str, at: usize) -> Lines<'a> {
        let before = source.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = |start: usize| {
            let text = source[start..].lines().next().unwrap_or_default();
            let inside = text.trim_start_matches(' ');
            let is_shown = !inside.is_empty() && !inside.starts_with('#');
            is_shown.then(|| Line {
                start,
                indent: text.len() - inside.len(),
                text: inside.trim_end(),
            })
        };
        let mut above = Vec::new();
        let mut end = start;
        while end > 0 && above.len() < ABOVE_MAX {
            let start = source[..end - 1].rfind('\n').map_or(0, |end| end + 1);
            above.extend(line(start));
            end = start;
        }
        Lines {
            at: line(start),
            above,
        }
    }

    /// The nearest line above that is as wanted.
    pub(super) fn nearest(&self, is_wanted: impl Fn(&Line<'_>) -> bool) -> Option<Line<'a>> {
        self.above.iter().find(|line| is_wanted(line)).copied()
    }

    /// A blank that looks like a space and is none, on the line or the one above.
    pub(super) fn odd_blank(&self) -> Option<Range<usize>> {
        let lines = self.at.iter().chain(self.above.first());
        let mut found = lines.filter_map(|line| {
            let start = line.first();
            let mut places = line.text.char_indices();
            let (at, blank) = places.find(|(_, c)| is_odd_blank(*c))?;
            Some(start + at..start + at + blank.len_utf8())
        });
        found.next()
    }
}

impl<'a> Line<'a> {
    /// The place where its text begins.
    pub(super) fn first(&self) -> usize {
        self.start + self.indent
    }

    /// True if it is an item of a list.
    pub(super) fn is_item(&self) -> bool {
        self.text.starts_with("- ") || self.text == "-"
    }

    /// Its key, and the column in which that begins, from 0.
    pub(super) fn key(&self) -> Option<(&'a str, usize)> {
        let inside = self.text.trim_start_matches("- ").trim_start();
        let column = self.indent + self.text.len() - inside.len();
        Some((key_of(inside)?, column))
    }

    /// True if there is something behind its key.
    pub(super) fn has_value(&self) -> bool {
        let (_, value) = self.text.split_once(": ").unwrap_or_default();
        let value = value.trim();
        !value.is_empty() && !value.starts_with(['#', '|', '>'])
    }
}

/// The key that a text begins with.
pub(super) fn key_of(text: &str) -> Option<&str> {
    let (key, rest) = text.split_once(':')?;
    let is_end = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (is_end && !key.is_empty() && !key.contains(['"', '\'', '{', '[', ' '])).then_some(key)
}

/// Returns true if a character is a blank to the eye, and a letter to YAML.
pub(crate) fn is_odd_blank(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii() || matches!(c, '\u{200b}' | '\u{feff}')
}

/// The mistake of a blank that is none.
pub(super) fn odd_blank(source: &str, place: Range<usize>) -> Diagnostic {
    let blank = source[place.clone()].chars().next().unwrap_or_default();
    let name = match blank {
        '\u{a0}' => "a no-break space".to_owned(),
        other => format!("the blank U+{:04X}", u32::from(other)),
    };
    let message = format!("{name}, which is a letter here, where a space is expected");
    Diagnostic::error(place, message).hint("type the space again: it came with a copied text")
}
