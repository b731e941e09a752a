//! YAML to a tree in which everything has a place. What YAML has beyond mappings, lists and text
//! (anchors, aliases, tags, several documents) is refused here.

mod build;
mod explain;
mod item;
mod lines;
mod scalar;

use std::ops::Range;

use granit_parser::ScalarStyle;
use model::Value;

use self::item::{Item, Kind};
pub(crate) use self::lines::is_odd_blank;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::limits::FILE_BYTES_MAX;

/// The place of an item in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

/// A whole file.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    source: &'a str,
    items: Vec<Item>,
    /// Texts that are not in the file as they are: with escapes, or over several lines.
    made: Vec<Box<str>>,
    /// The children of all collections, those of one side by side; of a mapping key, value, key...
    children: Vec<Id>,
    root: Id,
    /// Keys that were there before, and their values: left out of their mappings.
    repeated: Vec<(Id, Id)>,
}

/// The bytes of a file as text, where they are text.
pub(crate) fn source<'a>(bytes: &'a [u8], diagnostics: &mut Diagnostics) -> Option<&'a str> {
    if bytes.len() > FILE_BYTES_MAX {
        let (size, most) = (bytes.len(), FILE_BYTES_MAX >> 20);
        let message =
            format!("the file has {size} bytes; at most {FILE_BYTES_MAX} ({most} MiB) are read");
        diagnostics.add(Diagnostic::of_file(message));
        return None;
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let error = Diagnostic::of_file("the file is UTF-16 text");
        diagnostics.add(error.hint("save it as UTF-8"));
        return None;
    }
    let line = |offset: usize| {
        1 + bytes[..offset]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    };
    let text = match str::from_utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err(error) => {
            let at = error.valid_up_to();
            let (byte, line) = (bytes[at], line(at));
            let message = format!(
                "not a text file: byte {at} (line {line}) is 0x{byte:02x}, which is not UTF-8"
            );
            diagnostics.add(Diagnostic::of_file(message));
            return None;
        }
    };
    let odd = |byte: u8| byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t');
    if let Some(at) = bytes.iter().position(|byte| odd(*byte)) {
        let (byte, line) = (bytes[at], line(at));
        let message = format!(
            "not a text file: byte {at} (line {line}) is the control character 0x{byte:02x}"
        );
        diagnostics.add(Diagnostic::of_file(message));
        return None;
    }
    Some(text)
}

impl Tree<'_> {
    /// Keys that are in their mappings already, and their values, which are in none.
    pub(crate) fn repeated(&self) -> &[(Id, Id)] {
        &self.repeated
    }

    /// The outermost item.
    pub(crate) fn root(&self) -> Id {
        self.root
    }

    /// The text of a scalar, as it is after quotes and escapes.
    pub(crate) fn text(&self, id: Id) -> Option<&str> {
        self.scalar(id).map(|(text, _)| text)
    }

    /// True if it is a scalar without quotes.
    pub(crate) fn is_plain(&self, id: Id) -> bool {
        matches!(self.scalar(id), Some((_, ScalarStyle::Plain)))
    }

    /// True if it is nothing: an empty value, `null` or `~`.
    pub(crate) fn is_null(&self, id: Id) -> bool {
        self.is_plain(id) && matches!(self.text(id), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// The items of a list.
    pub(crate) fn list(&self, id: Id) -> Option<&[Id]> {
        match self.item(id).kind() {
            Kind::List { first, n_items } => {
                Some(&self.children[first as usize..(first + n_items) as usize])
            }
            Kind::Written { .. } | Kind::Made { .. } | Kind::Map { .. } => None,
        }
    }

    /// The keys and values of a mapping.
    pub(crate) fn map(&self, id: Id) -> Option<impl ExactSizeIterator<Item = (Id, Id)> + '_> {
        match self.item(id).kind() {
            Kind::Map { first, n_entries } => {
                let entries = &self.children[first as usize..(first + 2 * n_entries) as usize];
                Some(entries.chunks_exact(2).map(|entry| (entry[0], entry[1])))
            }
            Kind::Written { .. } | Kind::Made { .. } | Kind::List { .. } => None,
        }
    }

    /// The entry of a mapping with this key.
    pub(crate) fn entry(&self, id: Id, key: &str) -> Option<(Id, Id)> {
        self.map(id)?
            .find(|(name, _)| self.text(*name) == Some(key))
    }

    /// Where it lies in the file.
    pub(crate) fn span(&self, id: Id) -> Range<usize> {
        let item = self.item(id);
        item.start as usize..item.end.max(item.start) as usize
    }

    /// Its kind, for messages.
    pub(crate) fn describe(&self, id: Id) -> &'static str {
        match self.item(id).kind() {
            Kind::List { .. } => "a list",
            Kind::Map { .. } => "a mapping",
            Kind::Written { .. } | Kind::Made { .. } => match self.value(id) {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Int(_) | Value::Float(_) => "a number",
                Value::Text(_) | Value::List(_) | Value::Map(_) | Value::Artifact(..) => "text",
            },
        }
    }

    /// The value that is written: plain scalars by the rules of YAML 1.2 and JSON.
    pub(crate) fn value(&self, id: Id) -> Value {
        match self.scalar(id) {
            Some((text, ScalarStyle::Plain)) => return scalar::plain(text),
            Some((text, _)) => return Value::Text(text.to_owned()),
            None => {}
        }
        if let Some(items) = self.list(id) {
            return Value::List(items.iter().map(|item| self.value(*item)).collect());
        }
        let entries = self.map(id).into_iter().flatten();
        let name = |key: Id| self.text(key).unwrap_or_default().to_owned();
        Value::Map(
            entries
                .map(|(key, value)| (name(key), self.value(value)))
                .collect(),
        )
    }

    /// The value, where it is a whole number of this type.
    pub(crate) fn integer<N: TryFrom<i64>>(&self, id: Id) -> Option<N> {
        let Value::Int(number) = self.value(id) else {
            return None;
        };
        N::try_from(number).ok()
    }

    /// The value, where it is a number.
    pub(crate) fn number(&self, id: Id) -> Option<f64> {
        if let Value::Int(number) = self.value(id) {
            Some(number as f64)
        } else if let Value::Float(number) = self.value(id) {
            Some(number)
        } else {
            None
        }
    }

    /// The place in the file of a byte of a scalar's text.
    pub(crate) fn place_in(&self, id: Id, offset: usize) -> usize {
        let Range { start, end } = self.span(id);
        let Some((text, style)) = self.scalar(id) else {
            return start;
        };
        let raw = &self.source[start..end];
        let found = match style {
            ScalarStyle::Plain => scalar::walk(raw, text, offset, None),
            ScalarStyle::SingleQuoted => {
                scalar::walk(raw.get(1..).unwrap_or(""), text, offset, Some('\'')).map(|at| at + 1)
            }
            ScalarStyle::DoubleQuoted => {
                scalar::walk(raw.get(1..).unwrap_or(""), text, offset, Some('"')).map(|at| at + 1)
            }
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let header = raw.starts_with(['|', '>']);
                let line_start = self.source[..start].rfind('\n').map_or(0, |at| at + 1);
                let first = match header {
                    true => raw.find('\n').map_or(end, |at| start + at + 1),
                    false => line_start,
                };
                return scalar::block(&self.source[first..end], text, offset)
                    .map_or(start, |at| first + at);
            }
        };
        found.map_or(start, |at| start + at)
    }

    /// The text of a scalar and how it is written.
    fn scalar(&self, id: Id) -> Option<(&str, ScalarStyle)> {
        match self.item(id).kind() {
            Kind::Written {
                first,
                n_bytes,
                style,
            } => {
                let (first, n_bytes) = (first as usize, n_bytes as usize);
                Some((&self.source[first..first + n_bytes], style))
            }
            Kind::Made { place, style } => Some((&self.made[place as usize], style)),
            Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    fn item(&self, id: Id) -> Item {
        self.items[id.0 as usize]
    }
}

/// The beginning of a text that somebody else chose, short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
