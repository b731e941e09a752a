//! YAML to a tree in which everything has a place. What YAML has beyond mappings, lists and text
//! (anchors, aliases, tags, several documents) is refused here.

mod explain;
mod scalar;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, options};
use model::Value;

use crate::diagnostic::{Diagnostic, Diagnostics, line_and_column};
use crate::limits::{DEPTH_MAX, DIAGNOSTICS_MAX, FILE_BYTES_MAX, ITEMS_MAX};

/// The place of an item in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

/// A whole file.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    source: &'a str,
    items: Vec<Item<'a>>,
    /// The children of all collections, those of one side by side; of a mapping key, value, key...
    children: Vec<Id>,
    root: Id,
    /// Keys that were there before, and their values: left out of their mappings.
    repeated: Vec<(Id, Id)>,
}

#[derive(Debug)]
struct Item<'a> {
    start: u32,
    end: u32,
    kind: Kind<'a>,
}

#[derive(Debug)]
enum Kind<'a> {
    Scalar(Cow<'a, str>, ScalarStyle),
    List { first: u32, n_items: u32 },
    Map { first: u32, n_entries: u32 },
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

/// A collection that has been opened and not closed.
struct Open {
    id: Id,
    map: bool,
    children: Vec<Id>,
}

impl<'a> Tree<'a> {
    /// Parses a text; none, and at least one diagnostic, where that is not possible.
    pub(crate) fn parse(source: &'a str, diagnostics: &mut Diagnostics) -> Option<Tree<'a>> {
        let mut tree = Tree {
            source,
            items: Vec::new(),
            children: Vec::new(),
            root: Id(u32::MAX),
            repeated: Vec::new(),
        };
        // A complaint about the text does not end the parse; an unknown value does.
        let mut is_known = true;
        let options = options! {
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            emit_comments: false,
            disallow_directives: true,
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
        };
        let mut open: Vec<Open> = Vec::new();
        let mut n_documents = 0;
        for next in Parser::new_from_str_with_options(source, options) {
            let (event, span) = match next {
                Ok(next) => next,
                Err(error) => {
                    diagnostics.add(tree.explain(&error));
                    return None;
                }
            };
            let range = range(&span);
            if let Some(tag) = event.tag() {
                let place = span
                    .tag_span()
                    .map_or(range.clone(), |span| self::range(&span));
                let message = format!("the tag `{}` has no meaning here", tag.original());
                diagnostics.add(Diagnostic::error(place, message).hint("leave it out"));
            }
            let kind = match event {
                Event::DocumentStart(..) => {
                    n_documents += 1;
                    if n_documents > 1 {
                        let message = "a second document; one file holds one definition";
                        diagnostics.add(Diagnostic::error(range, message));
                        return None;
                    }
                    continue;
                }
                Event::Anchor(_, name) => {
                    let message = format!("the anchor `&{name}` has no meaning here");
                    diagnostics.add(
                        Diagnostic::error(range, message)
                            .hint("write out what is meant at each place"),
                    );
                    is_known = false;
                    continue;
                }
                Event::Alias(_) | Event::UnresolvedAlias(_) => {
                    let written = source.get(range.clone()).unwrap_or_default();
                    let message = format!("the alias `{written}` has no meaning here");
                    let hint =
                        "write out what is meant; text that begins with `*` is put in quotes";
                    diagnostics.add(Diagnostic::error(range.clone(), message).hint(hint));
                    is_known = false;
                    Kind::Scalar(Cow::Borrowed(""), ScalarStyle::Plain)
                }
                Event::Scalar(text, style, ..) => Kind::Scalar(text, style),
                Event::SequenceStart(style, ..) | Event::MappingStart(style, ..)
                    if open.len() >= DEPTH_MAX =>
                {
                    let what = if style == StructureStyle::Flow {
                        "brackets"
                    } else {
                        "blocks"
                    };
                    let message = format!("{what} nested deeper than {DEPTH_MAX}");
                    diagnostics.add(Diagnostic::error(range, message));
                    return None;
                }
                Event::SequenceStart(..) => Kind::List {
                    first: 0,
                    n_items: 0,
                },
                Event::MappingStart(..) => Kind::Map {
                    first: 0,
                    n_entries: 0,
                },
                Event::SequenceEnd | Event::MappingEnd => {
                    if let Some(closed) = open.pop() {
                        is_known &= tree.close(closed, range.end, diagnostics);
                    }
                    continue;
                }
                Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentEnd
                | Event::Comment(..)
                | _ => continue,
            };
            if tree.items.len() >= ITEMS_MAX {
                let message =
                    format!("more than {ITEMS_MAX} mappings, lists and texts in one file");
                diagnostics.add(Diagnostic::error(range, message));
                return None;
            }
            let id = Id(tree.items.len() as u32);
            match open.last_mut() {
                Some(parent) => parent.children.push(id),
                None => tree.root = id,
            }
            match kind {
                Kind::Scalar(..) => {}
                Kind::List { .. } => open.push(Open {
                    id,
                    map: false,
                    children: Vec::new(),
                }),
                Kind::Map { .. } => open.push(Open {
                    id,
                    map: true,
                    children: Vec::new(),
                }),
            }
            tree.items.push(Item {
                start: range.start as u32,
                end: range.end as u32,
                kind,
            });
        }
        if tree.root.0 == u32::MAX || tree.is_null(tree.root) {
            let error = Diagnostic::of_file("the file holds no definition");
            diagnostics.add(error.hint("a definition begins with `xavantes: 1`"));
            return None;
        }
        is_known.then_some(tree)
    }

    /// True if all keys of a mapping are texts; those that are there twice are left out.
    fn close(&mut self, mut closed: Open, end: usize, diagnostics: &mut Diagnostics) -> bool {
        let first = self.children.len() as u32;
        // A block ends where the next thing begins; what is shown is where its last part ends.
        let last = closed
            .children
            .last()
            .map(|last| self.items[last.0 as usize].end as usize);
        let start_of_first = closed
            .children
            .first()
            .map(|first| self.items[first.0 as usize].start);
        let are_texts = !closed.map || self.check_keys(&mut closed.children, diagnostics);
        let source = self.source;
        let item = &mut self.items[closed.id.0 as usize];
        let bracket = source.as_bytes().get(item.start as usize);
        let flow = matches!(bracket, Some(b'{' | b'['));
        item.end = if flow {
            end as u32
        } else {
            last.unwrap_or(end) as u32
        };
        if closed.map && !flow {
            item.start = start_of_first.unwrap_or(item.start);
        }
        let n_children = closed.children.len() as u32;
        item.kind = match closed.map {
            true => Kind::Map {
                first,
                n_entries: n_children / 2,
            },
            false => Kind::List {
                first,
                n_items: n_children,
            },
        };
        self.children.extend(closed.children);
        are_texts
    }

    /// True if all keys are texts. Of those that are there twice the first stays.
    fn check_keys(&mut self, children: &mut Vec<Id>, diagnostics: &mut Diagnostics) -> bool {
        const FEW: usize = 8;
        let keys: Vec<Id> = children.iter().step_by(2).copied().collect();
        let mut seen: HashMap<&str, Id> = HashMap::new();
        let mut are_texts = true;
        let mut repeated = Vec::new();
        for (index, &key) in keys.iter().enumerate() {
            let Some(text) = self.text(key) else {
                let what = self.describe(key);
                let message = format!("{what} where the name of a key is expected");
                let error = Diagnostic::error(self.span(key), message);
                diagnostics
                    .add(error.hint("text with `{` or `[` at its beginning is put in quotes"));
                are_texts = false;
                continue;
            };
            let first = if keys.len() <= FEW {
                keys[..index]
                    .iter()
                    .copied()
                    .find(|other| self.text(*other) == Some(text))
            } else {
                let first = *seen.entry(text).or_insert(key);
                (first != key).then_some(first)
            };
            if let Some(first) = first {
                repeated.push(index);
                // Finding the line costs a pass over the text.
                if diagnostics.list().len() >= DIAGNOSTICS_MAX {
                    diagnostics.add(Diagnostic::error(self.span(key), ""));
                    continue;
                }
                let (line, column) = line_and_column(self.source, self.span(first).start);
                let message = format!("the key `{}` is there twice", shorten(text));
                let error = Diagnostic::error(self.span(key), message);
                diagnostics.add(error.label(format!("first in line {line}, column {column}")));
            }
        }
        let mut places = repeated.iter().peekable();
        let mut kept = Vec::with_capacity(children.len());
        for (index, entry) in children.chunks_exact(2).enumerate() {
            if places.next_if_eq(&&index).is_some() {
                self.repeated.push((entry[0], entry[1]));
            } else {
                kept.extend_from_slice(entry);
            }
        }
        *children = kept;
        are_texts
    }

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
        match &self.item(id).kind {
            Kind::Scalar(text, _) => Some(text),
            Kind::List { .. } | Kind::Map { .. } => None,
        }
    }

    /// True if it is a scalar without quotes.
    pub(crate) fn is_plain(&self, id: Id) -> bool {
        matches!(self.item(id).kind, Kind::Scalar(_, ScalarStyle::Plain))
    }

    /// True if it is nothing: an empty value, `null` or `~`.
    pub(crate) fn is_null(&self, id: Id) -> bool {
        self.is_plain(id) && matches!(self.text(id), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// The items of a list.
    pub(crate) fn list(&self, id: Id) -> Option<&[Id]> {
        match self.item(id).kind {
            Kind::List { first, n_items } => {
                Some(&self.children[first as usize..(first + n_items) as usize])
            }
            Kind::Scalar(..) | Kind::Map { .. } => None,
        }
    }

    /// The keys and values of a mapping.
    pub(crate) fn map(&self, id: Id) -> Option<impl ExactSizeIterator<Item = (Id, Id)> + '_> {
        match self.item(id).kind {
            Kind::Map { first, n_entries } => {
                let entries = &self.children[first as usize..(first + 2 * n_entries) as usize];
                Some(entries.chunks_exact(2).map(|entry| (entry[0], entry[1])))
            }
            Kind::Scalar(..) | Kind::List { .. } => None,
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
        match &self.item(id).kind {
            Kind::List { .. } => "a list",
            Kind::Map { .. } => "a mapping",
            Kind::Scalar(..) => match self.value(id) {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Int(_) | Value::Float(_) => "a number",
                Value::Text(_) | Value::List(_) | Value::Map(_) | Value::Artifact(_) => "text",
            },
        }
    }

    /// The value that is written: plain scalars by the rules of YAML 1.2 and JSON.
    pub(crate) fn value(&self, id: Id) -> Value {
        match &self.item(id).kind {
            Kind::Scalar(text, ScalarStyle::Plain) => scalar::plain(text),
            Kind::Scalar(text, _) => Value::Text(text.clone().into_owned()),
            Kind::List { .. } => {
                let items = self.list(id).unwrap_or_default();
                Value::List(items.iter().map(|item| self.value(*item)).collect())
            }
            Kind::Map { .. } => {
                let entries = self.map(id).into_iter().flatten();
                let name = |key: Id| self.text(key).unwrap_or_default().to_owned();
                Value::Map(
                    entries
                        .map(|(key, value)| (name(key), self.value(value)))
                        .collect(),
                )
            }
        }
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
        let Kind::Scalar(text, style) = &self.item(id).kind else {
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

    fn item(&self, id: Id) -> &Item<'a> {
        &self.items[id.0 as usize]
    }
}

fn range(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}

/// The beginning of a text that somebody else chose, short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
