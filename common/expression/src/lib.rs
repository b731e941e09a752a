//! `${...}`: expressions in CEL (the common expression language), parsed, checked over a whole
//! definition and evaluated within bounds.
//!
//! It is not a scripting language: nothing loops without end, reads a clock or changes a variable,
//! and every input gives a value or an error with its offset in the text. Unlike full CEL it has no
//! unsigned numbers, bytes, regular expressions, timestamps nor optional values. The rest has CEL's meaning, which the tests compare with another implementation. That
//! one is not used because it cannot be stopped during an evaluation, reports no offset of a
//! runtime error, and takes longer to parse a definition's expressions than the rest of reading it.
//! Read [`Program`] first, then [`Text`], [`Scope`], [`Meter`] and [`check`].

mod capture;
mod check;
mod error;
mod evaluate;
mod function;
mod infer;
mod json;
mod kinds;
mod list;
mod meter;
mod nearest;
mod numbers;
mod parse;
mod pick;
mod program;
mod programs;
mod scope;
mod shell;
mod signature;
mod strings;
mod text;
mod token;

pub use capture::parse_captured;
pub use check::{Finding, check, check_draft};
pub use error::{ExpressionError, Severity};
pub use json::{from_json, to_json};
pub use meter::Meter;
pub use nearest::nearest;
pub use pick::{Among, PickError, pick};
pub use program::Program;
pub use programs::Programs;
pub use scope::{Bodies, ProcessScope, Scope};
pub use text::{Text, whole_expression};

/// The limits of an expression.
pub mod limits {
    /// Bytes of an expression's source.
    pub const SOURCE_BYTES_MAX: usize = model::limits::EXPRESSION_BYTES_MAX;
    /// Tokens of one expression: far more than anybody reads.
    pub const TOKENS_MAX: usize = 500;
    /// Nested brackets, signs before a term and conditions. It bounds the stack.
    pub const NESTING_MAX: usize = 32;
    /// Nested comprehensions (`map`, `filter`, `all`, ...): the time grows with that power.
    pub const COMPREHENSIONS_MAX: usize = 2;
    /// Steps of one decision (see [`Meter`](crate::Meter)): some 3 ms, 10 at worst, in which a
    /// manager does nothing else.
    pub const STEPS_MAX: u64 = 100_000;
    /// Bytes of the values of one decision, including intermediate ones.
    pub const VALUE_BYTES_MAX: usize = 16 << 20;
    /// Numbers of one `range`: a for-each has no more items.
    pub const RANGE_MAX: usize = model::limits::ITEMS_MAX;
    /// Bytes of a text with the values of its expressions.
    pub const TEXT_BYTES_MAX: usize = 16 << 20;
}

#[cfg(test)]
mod tests;
