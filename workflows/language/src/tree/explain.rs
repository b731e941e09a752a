//! The parser's complaints, in words for readers who do not know YAML by heart.

use granit_parser::{ErrorKind, ScanError};

use super::lines::{Line, Lines, key_of, odd_blank};
use super::{Tree, shorten};
use crate::diagnostic::{Diagnostic, line_and_column};
use crate::keys::is_step;
use crate::limits::DEPTH_MAX;

impl Tree<'_> {
    pub(super) fn explain(&self, error: &ScanError) -> Diagnostic {
        let at = error
            .marker()
            .byte_offset()
            .unwrap_or(0)
            .min(self.source.len());
        let rest = self.source.get(at..).unwrap_or_default();
        let end = at
            + rest
                .chars()
                .next()
                .filter(|c| *c != '\n')
                .map_or(0, char::len_utf8);
        let kind = error.kind();
        if let Some(explained) = self.explain_by_lines(kind, at) {
            return explained;
        }
        if let Some(open) = self.bare_expression(at) {
            let message = "inside { } and [ ] an expression is put in quotes";
            let place = Diagnostic::error(open..open + 2, message);
            return place.hint("write \"${ ... }\"");
        }
        let before = self.source.get(..at).unwrap_or_default();
        let after_tab = before.ends_with('\t');
        let (at, end) = if after_tab { (at - 1, at) } else { (at, end) };
        if matches!(
            kind,
            ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent
        ) {
            let open = self.open_quote(at).unwrap_or(at);
            let place = Diagnostic::error(open..open + 1, "a quote that is not closed");
            return place.hint("text on several lines is indented deeper than its key");
        }
        let place = Diagnostic::error(at..end, kind.to_string());
        let known = |message: &str, hint: &str| Diagnostic {
            message: message.to_owned(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
            ..place.clone()
        };
        const TAB: &str = "a tab where the line's depth is told by blanks";
        let deep = format!("nested deeper than {DEPTH_MAX}");
        let list = [
            (ErrorKind::TabNotAllowed, TAB, "indent with spaces"),
            (ErrorKind::TabInBlockIndentation, TAB, "indent with spaces"),
            (ErrorKind::TabInIndentation, TAB, "indent with spaces"),
            (ErrorKind::TabAtBlockScalarStart, TAB, "indent with spaces"),
            (ErrorKind::RecursionLimitExceeded, deep.as_str(), ""),
            (
                ErrorKind::MappingValueNotAllowed,
                "a second `:` where one value is expected",
                "text with `: ` in it is put in quotes",
            ),
            (
                ErrorKind::ExpectedBlockMappingKey,
                "this line does not fit the lines above it",
                "the keys of one mapping begin in the same column, each as `key: value`",
            ),
            (
                ErrorKind::SimpleKeyExpected,
                "a key without its `:`",
                "keys are written `key: value`",
            ),
            (
                ErrorKind::InvalidSimpleKey,
                "a key without its `:`",
                "keys are written `key: value`",
            ),
            (
                ErrorKind::ExpectedFlowMappingSeparator,
                "`,` or `}` is expected here",
                "inside { } text with , [ ] { } or `: ` in it is put in quotes",
            ),
            (
                ErrorKind::ExpectedFlowSequenceSeparator,
                "`,` or `]` is expected here",
                "inside [ ] text with , [ ] { } or `: ` in it is put in quotes",
            ),
            (
                ErrorKind::UnknownQuotedScalarEscape,
                "an escape that does not exist",
                "inside \"...\" a backslash is written `\\\\`; inside '...' it stands for itself",
            ),
            (
                ErrorKind::DirectiveDisallowed,
                "directives (`%...`) have no meaning here",
                "",
            ),
            (
                ErrorKind::UnclosedFlowCollection { open: '{' },
                "a `{` that is not closed",
                "write `}` at the end of what it holds",
            ),
            (
                ErrorKind::UnclosedFlowCollection { open: '[' },
                "a `[` that is not closed",
                "write `]` at the end of what it holds",
            ),
            (
                ErrorKind::MisplacedFlowCollectionEnd,
                "a closing bracket without its opening one",
                "",
            ),
            (
                ErrorKind::BlockSequenceEntryNotAllowed,
                "a list item (`- `) cannot stand here",
                "a list begins on a line of its own",
            ),
        ];
        match list.iter().find(|(known, ..)| known == kind) {
            Some((_, message, hint)) => known(message, hint),
            None => place,
        }
    }

    /// What the lines around an error say that the parser does not: its message tells where it gave up,
    /// which is often behind the mistake.
    fn explain_by_lines(&self, kind: &ErrorKind, at: usize) -> Option<Diagnostic> {
        let lines = Lines::around(self.source, at);
        let is_block = matches!(
            kind,
            ErrorKind::MappingValueNotAllowed
                | ErrorKind::ExpectedBlockMappingKey
                | ErrorKind::ExpectedBlockSequenceEntry
                | ErrorKind::SimpleKeyExpected
                | ErrorKind::InvalidSimpleKey
                | ErrorKind::InvalidIndentation
        );
        if is_block && let Some(place) = lines.odd_blank() {
            return Some(odd_blank(self.source, place));
        }
        let is_flow = matches!(
            kind,
            ErrorKind::ExpectedFlowMappingSeparator
                | ErrorKind::ExpectedFlowSequenceSeparator
                | ErrorKind::InvalidColonPlacement
                | ErrorKind::UnexpectedEofFlowSequence
                | ErrorKind::UnexpectedEofFlowMapping
                | ErrorKind::InvalidIndentation
                | ErrorKind::UnclosedFlowCollection { .. }
        );
        if is_flow && let Some(open) = self.open_bracket(at) {
            let bracket = &self.source[open..open + 1];
            let closing = if bracket == "{" { "}" } else { "]" };
            let (line, _) = line_and_column(self.source, open);
            let place =
                Diagnostic::error(open..open + 1, format!("a `{bracket}` that is not closed"));
            let hint =
                format!("write `{closing}` at the end of what it holds, in line {line} or below");
            return Some(place.hint(hint));
        }
        let line = lines.at?;
        if *kind == ErrorKind::ExpectedBlockSequenceEntry {
            return Some(self.not_an_item(&lines, line));
        }
        if *kind == ErrorKind::MappingValueNotAllowed {
            return self.too_deep(&lines, line);
        }
        if *kind != ErrorKind::ExpectedBlockMappingKey || !line.is_item() {
            return None;
        }
        let above = lines.nearest(|other| other.is_item())?;
        let (n_above, _) = line_and_column(self.source, above.start);
        let message = "this item does not begin where the others of its list do";
        let place = Diagnostic::error(line.first()..line.first() + 1, message);
        let column = above.indent + 1;
        Some(place.hint(format!(
            "begin it in column {column}, as the one in line {n_above}"
        )))
    }

    /// A line among the items of a list that does not begin with `- `.
    fn not_an_item(&self, lines: &Lines<'_>, line: Line<'_>) -> Diagnostic {
        let end = line.first() + key_of(line.text).map_or(1, str::len);
        let place = Diagnostic::error(
            line.first()..end,
            "a line without `- ` where the next item of a list is expected",
        );
        let item = lines.nearest(|other| other.is_item() && other.indent == line.indent);
        let key = key_of(line.text).unwrap_or_default();
        if is_step(key) {
            return place.hint(format!(
                "each step of a list begins with `- `: write `- {key}:`"
            ));
        }
        match item {
            Some(item) => {
                let (n_item, _) = line_and_column(self.source, item.start);
                let column = item.indent + 3;
                place.hint(format!(
                    "if it belongs to the item in line {n_item}, begin it in column {column}; if it is an item of its own, write `- ` before it"
                ))
            }
            None => place.hint("write `- ` before it, or indent it as what it belongs to"),
        }
    }

    /// A key that is indented deeper than the line above, which has its value already.
    fn too_deep(&self, lines: &Lines<'_>, line: Line<'_>) -> Option<Diagnostic> {
        let key = key_of(line.text)?;
        let above = lines.nearest(|_| true)?;
        let (key_above, column) = above.key()?;
        if !above.has_value() || line.indent <= column {
            return None;
        }
        let (n_above, _) = line_and_column(self.source, above.start);
        let place = Diagnostic::error(
            line.first()..line.first() + key.len(),
            format!(
                "`{}` is indented deeper than line {n_above}, which has its value already",
                shorten(key)
            ),
        );
        Some(place.hint(format!(
            "begin it in column {}, as `{}` above",
            column + 1,
            shorten(key_above)
        )))
    }

    /// The bracket before an error that was opened on a line above and is not closed.
    fn open_bracket(&self, at: usize) -> Option<usize> {
        let line_start = self.source.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
        let mut open: Vec<(usize, char)> = Vec::new();
        let mut quote = None;
        let mut before = '\n';
        let mut is_comment = false;
        for (place, c) in self.source.get(..at)?.char_indices() {
            if is_comment {
                is_comment = c != '\n';
                before = c;
                continue;
            }
            let begins = before.is_whitespace() || matches!(before, '[' | '{' | ',' | ':');
            match (quote, c) {
                (Some(mark), c) if c == mark => quote = None,
                // An apostrophe in a text is no quote: none of a block goes over lines here.
                (Some(_), '\n') if open.is_empty() => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') if begins => quote = Some(c),
                (None, '#') if before.is_whitespace() => is_comment = true,
                (None, '[' | '{') if !open.is_empty() || (begins && before != '\n') => {
                    open.push((place, c));
                }
                (None, ']') if open.last().is_some_and(|(_, open)| *open == '[') => {
                    open.pop();
                }
                (None, '}') if open.last().is_some_and(|(_, open)| *open == '{') => {
                    open.pop();
                }
                (None, _) => {}
            }
            before = c;
        }
        let (place, _) = *open.first()?;
        (place < line_start).then_some(place)
    }

    /// The quote before an error that nothing closes: on the nearest line with an odd number of
    /// them.
    fn open_quote(&self, at: usize) -> Option<usize> {
        let mut end = at;
        for line in self.source.get(..at)?.rsplit('\n') {
            let start = end - line.len();
            for quote in ['"', '\''] {
                let marks: Vec<usize> = line.match_indices(quote).map(|(place, _)| place).collect();
                if marks.len() % 2 == 1 {
                    return marks.last().map(|place| start + place);
                }
            }
            end = start.saturating_sub(1);
        }
        None
    }

    /// Where on the line of an error an expression without quotes inside brackets begins.
    fn bare_expression(&self, at: usize) -> Option<usize> {
        let line_start = self
            .source
            .get(..at)?
            .rfind('\n')
            .map_or(0, |found| found + 1);
        let mut quote = None;
        let mut n_open = 0usize;
        let line = self.source[line_start..].lines().next().unwrap_or_default();
        for (offset, c) in line.char_indices() {
            if line_start + offset > at {
                return None;
            }
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '$') if n_open > 0 && line[offset..].starts_with("${") => {
                    return Some(line_start + offset);
                }
                (None, '{' | '[') => n_open += 1,
                (None, '}' | ']') => n_open = n_open.saturating_sub(1),
                (None, _) => {}
            }
        }
        None
    }
}
