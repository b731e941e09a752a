//! `${...}`: what stands between the braces is an expression of CEL (the common expression
//! language), read, checked over a whole definition and evaluated within bounds.
//!
//! It is not a scripting language: nothing loops without end, reads a clock or changes a variable,
//! and whatever is given to it, the answer is a value or an error with its place in the text. Of
//! CEL it leaves out unsigned numbers, bytes, regular expressions, timestamps and optional values,
//! and comprehensions over maps; what is there means what CEL says it means, which the tests hold
//! against another implementation. It is our own because that one cannot be stopped in the middle
//! of an evaluation, tells no place of a runtime error, and takes longer to read a definition's
//! expressions than all the rest of reading it.
//! Read [`Program`] first, then [`Text`], [`Scope`], [`Meter`] and [`check`].

mod capture;
mod check;
mod error;
mod evaluate;
mod function;
mod json;
mod meter;
mod nearest;
mod parse;
mod program;
mod programs;
mod scope;
mod shell;
mod text;
mod token;

pub use capture::parse_captured;
pub use check::{Finding, check, check_draft, check_positions};
pub use error::ExpressionError;
pub use json::{from_json, to_json};
pub use meter::Meter;
pub use nearest::nearest;
pub use program::Program;
pub use programs::Programs;
pub use scope::{ProcessScope, Scope};
pub use text::{Text, whole_expression};

/// What an expression may be and do at most.
pub mod limits {
    /// Bytes of an expression's source.
    pub const SOURCE_BYTES_MAX: usize = model::limits::EXPRESSION_BYTES_MAX;
    /// Words and signs of one expression: far more than anybody reads.
    pub const TOKENS_MAX: usize = 500;
    /// Brackets, signs before a term and conditions within each other. It bounds the stack.
    pub const NESTING_MAX: usize = 32;
    /// Comprehensions (`map`, `filter`, `all`, ...) within each other: time grows with that power.
    pub const COMPREHENSIONS_MAX: usize = 2;
    /// Steps of one decision (see [`Meter`](crate::Meter)): some 3 ms, 10 at worst, in which a
    /// manager does nothing else.
    pub const STEPS_MAX: u64 = 100_000;
    /// Bytes of the values that one decision makes, those in between included.
    pub const VALUE_BYTES_MAX: usize = 16 << 20;
    /// Bytes of a text after its expressions were put in.
    pub const TEXT_BYTES_MAX: usize = 16 << 20;
}

#[cfg(test)]
mod tests;
