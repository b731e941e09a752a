//! Diagnostics: mistakes of a file with their places, for people and for programs.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::Serialize;

use crate::limits::DIAGNOSTICS_MAX;

/// The codes of the colours of [`Diagnostics::render`], beside those of bold text and of an end.
pub const STYLES: [&str; 5] = ["\x1b[91m", "\x1b[92m", "\x1b[33m", "\x1b[94m", "\x1b[96m"];

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file is not a definition.
    Error,
    /// It is one, but probably not what was meant.
    Warning,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Where, in bytes of the file; none where it is about the file as a whole.
    pub span: Option<Range<usize>>,
    /// What, in a sentence without a full stop.
    pub message: String,
    /// The text under the place: the expected content. May be empty.
    pub label: String,
    /// The correction, where it is known.
    pub hint: Option<String>,
    /// Another place that it is about, in bytes of the file, and what is there.
    pub also: Option<(Range<usize>, String)>,
}

/// All diagnostics of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    file: String,
    source: String,
    list: Vec<Diagnostic>,
    n_more: usize,
}

/// A diagnostic as programs read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The file's name.
    pub file: String,
    /// The line, from 1; 0 where it is about the file as a whole.
    pub line: usize,
    /// The column in characters, from 1; 0 where it is about the file as a whole.
    pub column: usize,
    /// Error or warning.
    pub severity: Severity,
    /// The mistake.
    pub message: String,
    /// The expected content of the place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Another place that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<Also>,
}

/// Another place that a diagnostic is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Also {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is there.
    pub label: String,
}

impl Diagnostic {
    pub(crate) fn error(span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            span: Some(span),
            message: message.into(),
            label: String::new(),
            hint: None,
            also: None,
        }
    }

    pub(crate) fn of_file(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            span: None,
            ..Diagnostic::error(0..0, message)
        }
    }

    pub(crate) fn label(self, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            label: label.into(),
            ..self
        }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Diagnostic {
        Diagnostic {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(crate) fn warning(self) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..self
        }
    }

    pub(crate) fn also(self, span: Range<usize>, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            also: Some((span, label.into())),
            ..self
        }
    }

    pub(crate) fn hint_if(self, hint: Option<String>) -> Diagnostic {
        Diagnostic {
            hint: hint.or(self.hint),
            ..self
        }
    }
}

impl Diagnostics {
    pub(crate) fn new(file: &str) -> Diagnostics {
        Diagnostics {
            file: file.to_owned(),
            source: String::new(),
            list: Vec::new(),
            n_more: 0,
        }
    }

    /// Keeps the text of the file to show places in it, if there is anything to show.
    pub(crate) fn keep_source(&mut self, source: Option<&str>) {
        if let Some(source) = source.filter(|_| !self.list.is_empty()) {
            source.clone_into(&mut self.source);
        }
    }

    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < DIAGNOSTICS_MAX {
            self.list.push(diagnostic);
        } else {
            self.n_more += 1;
        }
    }

    pub(crate) fn sort(&mut self) {
        let place = |diagnostic: &Diagnostic| {
            let span = diagnostic.span.as_ref();
            (span.map(|span| (span.start, span.end)), diagnostic.severity)
        };
        self.list.sort_by_key(place);
        self.list.dedup();
    }

    /// The number of all diagnostics, including those that are only counted.
    pub(crate) fn n_all(&self) -> usize {
        self.list.len() + self.n_more
    }

    /// True if a place of the file and one that was complained of lie within each other.
    pub(crate) fn covers(&self, span: &Range<usize>) -> bool {
        let mut places = self.spans();
        self.holds(span) || places.any(|other| span.start <= other.start && other.end <= span.end)
    }

    /// True if a place of the file lies within one that was complained of.
    pub(crate) fn holds(&self, span: &Range<usize>) -> bool {
        let mut places = self.spans();
        places.any(|other| other.start <= span.start && span.end <= other.end)
    }

    fn spans(&self) -> impl Iterator<Item = &Range<usize>> {
        self.list
            .iter()
            .filter_map(|diagnostic| diagnostic.span.as_ref())
    }

    /// The diagnostics in the order of the file.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of diagnostics beyond those that are listed.
    pub fn n_more(&self) -> usize {
        self.n_more
    }

    /// True if one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.list
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The diagnostics as programs read them, in the order of the file.
    pub fn reports(&self) -> Vec<Report> {
        let report = |diagnostic: &Diagnostic| {
            let place = diagnostic
                .span
                .as_ref()
                .map(|span| line_and_column(&self.source, span.start));
            let (line, column) = place.unwrap_or_default();
            let also = diagnostic.also.as_ref().map(|(span, label)| {
                let (line, column) = line_and_column(&self.source, span.start);
                Also {
                    line,
                    column,
                    label: label.clone(),
                }
            });
            Report {
                also,
                file: self.file.clone(),
                line,
                column,
                severity: diagnostic.severity,
                message: diagnostic.message.clone(),
                label: diagnostic.label.clone(),
                hint: diagnostic.hint.clone(),
            }
        };
        self.list.iter().map(report).collect()
    }

    /// The diagnostics as people read them: each with its line and a mark under the place.
    /// `colours` puts in ANSI codes.
    pub fn render(&self, colours: bool) -> String {
        let renderer = if colours {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        let mut text = String::new();
        for equal in self.folded() {
            text.push_str(&self.render_some(&equal, &renderer));
            text.push_str("\n\n");
        }
        if self.n_more > 0 {
            text.push_str(&format!("{}: {} more\n\n", self.file, self.n_more));
        }
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// The diagnostics, those that say the same of one line together.
    fn folded(&self) -> Vec<Vec<&Diagnostic>> {
        let mut folded: Vec<Vec<&Diagnostic>> = Vec::new();
        // Where those of the present line begin in the list above.
        let mut line_start = 0;
        let mut before: Option<&Range<usize>> = None;
        for diagnostic in &self.list {
            let is_same_line = match (before, &diagnostic.span) {
                (Some(before), Some(span)) => {
                    let between = self.source.get(before.start..span.start);
                    between.is_some_and(|text| !text.contains('\n'))
                }
                (Some(_) | None, _) => false,
            };
            if !is_same_line {
                line_start = folded.len();
            }
            before = diagnostic.span.as_ref();
            let says = |one: &Diagnostic| {
                one.severity == diagnostic.severity
                    && one.message == diagnostic.message
                    && one.label == diagnostic.label
                    && one.hint == diagnostic.hint
                    && one.also.is_none()
                    && diagnostic.also.is_none()
            };
            let mut of_line = folded[line_start..].iter_mut();
            match of_line.find(|equal| says(equal[0])) {
                Some(equal) => equal.push(diagnostic),
                None => folded.push(vec![diagnostic]),
            }
        }
        folded
    }

    /// One diagnostic, or several that say the same of one line.
    fn render_some(&self, equal: &[&Diagnostic], renderer: &Renderer) -> String {
        let diagnostic = equal[0];
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let message = match diagnostic.span {
            Some(_) if equal.len() > 1 => {
                format!(
                    "{} ({} times in this line)",
                    diagnostic.message,
                    equal.len()
                )
            }
            Some(_) => diagnostic.message.clone(),
            None => format!("{}: {}", self.file, diagnostic.message),
        };
        let mut group = Group::with_title(level.primary_title(message));
        if let Some(span) = &diagnostic.span {
            let excerpt = self.excerpt(span);
            let mut annotation = AnnotationKind::Primary.span(excerpt.span.clone());
            if !diagnostic.label.is_empty() {
                annotation = annotation.label(diagnostic.label.as_str());
            }
            let first = excerpt.span.start;
            let others = equal[1..].iter().filter_map(|other| {
                let other = other.span.as_ref()?;
                let start = first + (other.start - span.start);
                let end = (start + other.len()).min(excerpt.text.len());
                (start < end).then(|| AnnotationKind::Primary.span(start..end))
            });
            group = group.element(
                Snippet::source(excerpt.text)
                    .path(self.file.as_str())
                    .line_start(excerpt.line)
                    .annotation(annotation)
                    .annotations(others),
            );
        }
        if let Some((span, label)) = &diagnostic.also {
            let excerpt = self.excerpt(span);
            let annotation = AnnotationKind::Context.span(excerpt.span);
            group = group.element(
                Snippet::source(excerpt.text)
                    .path(self.file.as_str())
                    .line_start(excerpt.line)
                    .annotation(annotation.label(label.as_str())),
            );
        }
        if let Some(hint) = &diagnostic.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        renderer.render(&[group])
    }

    /// The line of a span, cut where it is long, and the span in it.
    fn excerpt(&self, span: &Range<usize>) -> Excerpt<'_> {
        const BEFORE_BYTES: usize = 4_000;
        const AFTER_BYTES: usize = 1_000;
        let source = &self.source;
        let floor = |mut at: usize| {
            at = at.min(source.len());
            while !source.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let at = floor(span.start);
        let (line, _) = line_and_column(source, at);
        let line_start = source[..at].rfind('\n').map_or(0, |found| found + 1);
        let line_end = source[at..]
            .find('\n')
            .map_or(source.len(), |found| at + found);
        let start = floor(line_start.max(at.saturating_sub(BEFORE_BYTES)));
        let end = floor(line_end.min(at + AFTER_BYTES));
        let end = start + source[start..end].trim_end_matches('\r').len();
        let span_end = floor(span.end.max(span.start)).clamp(at.min(end), end);
        let span = at.min(end) - start..span_end - start;
        Excerpt {
            text: &source[start..end],
            line,
            span,
        }
    }
}

/// The line and column of an offset, both from 1, the column in characters.
pub(crate) fn line_and_column(source: &str, offset: usize) -> (usize, usize) {
    let before = &source.as_bytes()[..offset.min(source.len())];
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
    (line, column)
}

struct Excerpt<'a> {
    text: &'a str,
    line: usize,
    span: Range<usize>,
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}
