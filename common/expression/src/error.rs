//! The error of this crate.

use thiserror::Error;

/// A problem with an expression, or a failure of its evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// The problem, in a sentence without a full stop. For a failed evaluation, the sentence begins
    /// with the expression.
    pub message: String,
    /// A correction, if one is known.
    pub hint: Option<String>,
    /// The offset in bytes in the compiled text.
    pub offset: usize,
}

impl ExpressionError {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> ExpressionError {
        ExpressionError {
            message: message.into(),
            hint: None,
            offset,
        }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> ExpressionError {
        ExpressionError {
            hint: Some(hint.into()),
            ..self
        }
    }

    pub(crate) fn moved(self, by: usize) -> ExpressionError {
        ExpressionError {
            offset: self.offset + by,
            ..self
        }
    }
}

/// The certainty of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is wrong: it could not be evaluated.
    Error,
    /// It can be evaluated, and is probably not what was meant.
    Warning,
}
