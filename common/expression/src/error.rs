//! The one error of this crate.

use thiserror::Error;

/// What is wrong with an expression, or what went wrong when it was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// What, in a sentence without a full stop. Where it happened while evaluating, the sentence
    /// begins with the expression.
    pub message: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
    /// Where, in bytes from the beginning of the text that was compiled.
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
