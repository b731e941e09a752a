//! The parser's events become a tree, within the limits on files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle, options};

use super::item::{Item, Kind};
use super::{Id, Tree, shorten};
use crate::diagnostic::{Diagnostic, Diagnostics, line_and_column};
use crate::keys::is_step;
use crate::limits::{DEPTH_MAX, DIAGNOSTICS_MAX, ITEMS_MAX};
#[cfg(test)]
use crate::{limits::FILE_BYTES_MAX, wfformat};

impl<'a> Tree<'a> {
    /// Parses a text; none, and at least one diagnostic, where that is not possible.
    pub(crate) fn parse(source: &'a str, diagnostics: &mut Diagnostics) -> Option<Tree<'a>> {
        Tree::parse_some(source, ITEMS_MAX, diagnostics)
    }

    /// The same with so many items at most.
    fn parse_some(
        source: &'a str,
        items_max: usize,
        diagnostics: &mut Diagnostics,
    ) -> Option<Tree<'a>> {
        let mut builder = Builder {
            tree: Tree {
                source,
                items: Vec::new(),
                made: Vec::new(),
                children: Vec::new(),
                root: Id(u32::MAX),
                repeated: Vec::new(),
            },
            items_max,
            diagnostics,
            open: Vec::new(),
            waiting: Vec::new(),
            n_documents: 0,
            is_known: true,
        };
        let options = options! {
            emit_unresolved_aliases: true,
            emit_anchor_events: true,
            disallow_directives: true,
            flow_nesting_limit: DEPTH_MAX,
            block_nesting_limit: DEPTH_MAX,
        };
        for next in Parser::new_from_str_with_options(source, options) {
            match next {
                Ok((event, span)) => builder.take(event, &span).ok()?,
                Err(error) => {
                    let explained = builder.tree.explain(&error);
                    builder.diagnostics.add(explained);
                    return None;
                }
            }
        }
        builder.finish()
    }
}

/// Nothing more is read. What is wrong has been said.
struct Refused;

/// A collection that has been opened and not closed.
struct Open {
    id: Id,
    is_map: bool,
    /// The place of its first child among those that wait.
    first: usize,
}

struct Builder<'a, 'd> {
    tree: Tree<'a>,
    items_max: usize,
    diagnostics: &'d mut Diagnostics,
    open: Vec<Open>,
    /// The children so far of all collections that are open, those of inner ones last.
    waiting: Vec<Id>,
    n_documents: usize,
    /// A complaint about the text does not end the parse; an unknown value does.
    is_known: bool,
}

impl<'a> Builder<'a, '_> {
    fn take(&mut self, event: Event<'a>, span: &Span) -> Result<(), Refused> {
        let range = range(span);
        if let Some(tag) = event.tag() {
            let place = span
                .tag_span()
                .map_or(range.clone(), |span| self::range(&span));
            let message = format!("the tag `{}` has no meaning here", tag.original());
            self.diagnostics
                .add(Diagnostic::error(place, message).hint("leave it out"));
        }
        let kind = match event {
            Event::Scalar(text, style, ..) => self.scalar(text, style),
            Event::SequenceStart(style, ..) => {
                self.check_depth(style, &range)?;
                Kind::List {
                    first: 0,
                    n_items: 0,
                }
            }
            Event::MappingStart(style, ..) => {
                self.check_depth(style, &range)?;
                Kind::Map {
                    first: 0,
                    n_entries: 0,
                }
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(closed) = self.open.pop() {
                    self.close(closed, range.end);
                }
                return Ok(());
            }
            Event::DocumentStart(..) => return self.document(range),
            Event::Anchor(_, name) => {
                let message = format!("the anchor `&{name}` has no meaning here");
                let error = Diagnostic::error(range, message);
                self.diagnostics
                    .add(error.hint("write out what is meant at each place"));
                self.is_known = false;
                return Ok(());
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => self.alias(&range),
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd | _ => {
                return Ok(());
            }
        };
        self.push(kind, range)
    }

    fn document(&mut self, range: Range<usize>) -> Result<(), Refused> {
        self.n_documents += 1;
        if self.n_documents > 1 {
            let message = "a second document; one file holds one definition";
            self.diagnostics.add(Diagnostic::error(range, message));
            return Err(Refused);
        }
        Ok(())
    }

    fn alias(&mut self, range: &Range<usize>) -> Kind {
        let written = self.tree.source.get(range.clone()).unwrap_or_default();
        let message = format!("the alias `{written}` has no meaning here");
        let hint = "write out what is meant; text that begins with `*` is put in quotes";
        self.diagnostics
            .add(Diagnostic::error(range.clone(), message).hint(hint));
        self.is_known = false;
        self.scalar(Cow::Borrowed(""), ScalarStyle::Plain)
    }

    /// Text that is a part of the file is not copied.
    fn scalar(&mut self, text: Cow<'a, str>, style: ScalarStyle) -> Kind {
        if text.is_empty() {
            return Kind::Written {
                first: 0,
                n_bytes: 0,
                style,
            };
        }
        let source = self.tree.source;
        if let Cow::Borrowed(text) = text {
            let first = (text.as_ptr() as usize).wrapping_sub(source.as_ptr() as usize);
            if first < source.len() && text.len() <= source.len() - first {
                return Kind::Written {
                    first: first as u32,
                    n_bytes: text.len() as u32,
                    style,
                };
            }
        }
        let place = self.tree.made.len() as u32;
        self.tree.made.push(text.into_owned().into_boxed_str());
        Kind::Made { place, style }
    }

    fn check_depth(&mut self, style: StructureStyle, range: &Range<usize>) -> Result<(), Refused> {
        if self.open.len() < DEPTH_MAX {
            return Ok(());
        }
        let what = if style == StructureStyle::Flow {
            "brackets"
        } else {
            "blocks"
        };
        let message = format!("{what} nested deeper than {DEPTH_MAX}");
        self.diagnostics
            .add(Diagnostic::error(range.clone(), message));
        Err(Refused)
    }

    fn push(&mut self, kind: Kind, range: Range<usize>) -> Result<(), Refused> {
        if self.tree.items.len() >= self.items_max {
            let most = self.items_max;
            let message = format!("more than {most} mappings, lists and texts in one file");
            self.diagnostics.add(Diagnostic::error(range, message));
            return Err(Refused);
        }
        let id = Id(self.tree.items.len() as u32);
        if self.open.is_empty() {
            self.tree.root = id;
        } else {
            self.waiting.push(id);
        }
        let is_map = matches!(kind, Kind::Map { .. });
        if is_map || matches!(kind, Kind::List { .. }) {
            self.open.push(Open {
                id,
                is_map,
                first: self.waiting.len(),
            });
        }
        self.tree.items.push(Item::new(range, kind));
        Ok(())
    }

    fn close(&mut self, closed: Open, end: usize) {
        let tree = &mut self.tree;
        let children = &self.waiting[closed.first..];
        // A block ends where the next thing begins; what is shown is where its last part ends.
        let last = children.last().map(|last| tree.item(*last).end);
        let start_of_first = children.first().map(|first| tree.item(*first).start);
        let first = tree.children.len() as u32;
        if closed.is_map {
            let Keys {
                are_texts,
                repeated,
            } = check_keys(tree, children, self.diagnostics);
            self.is_known &= are_texts;
            let mut places = repeated.into_iter().peekable();
            for (index, entry) in children.chunks_exact(2).enumerate() {
                if places.next_if_eq(&index).is_some() {
                    tree.repeated.push((entry[0], entry[1]));
                } else {
                    tree.children.extend_from_slice(entry);
                }
            }
        } else {
            tree.children.extend_from_slice(children);
        }
        self.waiting.truncate(closed.first);
        let n_children = tree.children.len() as u32 - first;
        let item = &mut tree.items[closed.id.0 as usize];
        let bracket = tree.source.as_bytes().get(item.start as usize);
        let is_flow = matches!(bracket, Some(b'{' | b'['));
        item.end = if is_flow {
            end as u32
        } else {
            last.unwrap_or(end as u32)
        };
        if closed.is_map && !is_flow {
            item.start = start_of_first.unwrap_or(item.start);
        }
        item.turn_into(match closed.is_map {
            true => Kind::Map {
                first,
                n_entries: n_children / 2,
            },
            false => Kind::List {
                first,
                n_items: n_children,
            },
        });
    }

    fn finish(self) -> Option<Tree<'a>> {
        let tree = self.tree;
        if tree.root.0 == u32::MAX || tree.is_null(tree.root) {
            let error = Diagnostic::of_file("the file holds no definition");
            self.diagnostics
                .add(error.hint("a definition begins with `xavantes: 1`"));
            return None;
        }
        self.is_known.then_some(tree)
    }
}

/// The keys of a mapping.
struct Keys {
    are_texts: bool,
    /// Entries whose keys are there before. Of those that are there twice the first stays.
    repeated: Vec<usize>,
}

fn check_keys(tree: &Tree<'_>, children: &[Id], diagnostics: &mut Diagnostics) -> Keys {
    const FEW: usize = 8;
    let keys = || children.iter().step_by(2).copied();
    let is_few = children.len() <= 2 * FEW;
    let mut seen: HashMap<&str, Id> = HashMap::new();
    let mut checked = Keys {
        are_texts: true,
        repeated: Vec::new(),
    };
    for (index, key) in keys().enumerate() {
        let Some(text) = tree.text(key) else {
            let what = tree.describe(key);
            let message = format!("{what} where the name of a key is expected");
            let error = Diagnostic::error(tree.span(key), message);
            diagnostics.add(error.hint("text with `{` or `[` at its beginning is put in quotes"));
            checked.are_texts = false;
            continue;
        };
        let first = if is_few {
            keys()
                .take(index)
                .find(|other| tree.text(*other) == Some(text))
        } else {
            let first = *seen.entry(text).or_insert(key);
            (first != key).then_some(first)
        };
        if let Some(first) = first {
            checked.repeated.push(index);
            report_repeated(tree, key, first, diagnostics);
        }
    }
    checked
}

fn report_repeated(tree: &Tree<'_>, key: Id, first: Id, diagnostics: &mut Diagnostics) {
    // Finding the line costs a pass over the text.
    if diagnostics.list().len() >= DIAGNOSTICS_MAX {
        diagnostics.add(Diagnostic::error(tree.span(key), ""));
        return;
    }
    let (line, column) = line_and_column(tree.source, tree.span(first).start);
    let text = tree.text(key).unwrap_or_default();
    let message = format!("the key `{}` is there twice", shorten(text));
    let error = Diagnostic::error(tree.span(key), message);
    let error = error.label(format!("first in line {line}, column {column}"));
    diagnostics.add(match is_step(text) {
        true => error.hint(format!("a second step begins with `- `: write `- {text}:`")),
        false => error,
    });
}

fn range(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}

#[test]
fn items_beyond_the_limit_are_refused_where_they_begin() {
    let read = |items_max| {
        let mut diagnostics = Diagnostics::new("p.yaml");
        let tree = Tree::parse_some("a: [b, c]\n", items_max, &mut diagnostics);
        (tree.map(|tree| tree.items.len()), diagnostics)
    };
    assert_eq!(read(5).0, Some(5));
    let (tree, diagnostics) = read(4);
    let [first] = diagnostics.list() else {
        panic!("{diagnostics:?}");
    };
    assert_eq!(tree, None);
    assert_eq!(first.span, Some(7..8));
    assert_eq!(
        first.message,
        "more than 4 mappings, lists and texts in one file"
    );
}

/// A file that is as long as may be and says nothing but what a definition needs.
#[test]
fn limits_on_files_and_definitions_fit_each_other() {
    let size = |n_activities: usize, n_links: usize| {
        let mut text = "xavantes: 1\nname: p\nbody:\n  parallel:\n".to_owned();
        for n in 0..n_activities {
            text.push_str(&format!("    - activity: a{:06}\n      run: [x]\n", n));
        }
        text.push_str("  links:\n");
        for n in 0..n_links {
            text.push_str(&format!("    - {{ from: a{n:06}, to: b{n:06} }}\n"));
        }
        let mut diagnostics = Diagnostics::new("p.yaml");
        let tree = Tree::parse(&text, &mut diagnostics).unwrap();
        (tree.items.len(), text.len())
    };
    let (items, bytes) = size(1, 1);
    let activity = size(2, 1);
    let (activity_items, activity_bytes) = (activity.0 - items, activity.1 - bytes);
    let link = size(1, 2);
    let (link_items, link_bytes) = (link.0 - items, link.1 - bytes);
    for (n_activities, n_links) in [
        (wfformat::limits::TASKS_MAX, 2_000_000),
        (2_000, 1_000 * 1_000),
        (model::limits::NODES_MAX, 0),
    ] {
        assert!(n_activities * activity_items + n_links * link_items <= ITEMS_MAX);
        assert!(n_activities * activity_bytes + n_links * link_bytes <= FILE_BYTES_MAX);
    }
}
