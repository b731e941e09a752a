//! The parser's complaints, in words for readers who do not know YAML by heart.

use granit_parser::{ErrorKind, ScanError};

use super::Tree;
use crate::diagnostic::Diagnostic;
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
                "",
            ),
            (
                ErrorKind::UnclosedFlowCollection { open: '[' },
                "a `[` that is not closed",
                "",
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
