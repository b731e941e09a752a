//! A cache of compiled expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Expression, Template};

use crate::{ExpressionError, Program, Text};

/// Bytes of the sources whose programs are kept. A program takes some ten times its source.
const SOURCE_BYTES_ALL_MAX: usize = 2 << 20;
/// The overhead of a program, in bytes of sources.
const PROGRAM_BYTES: usize = 64;

/// Programs by source, so that an expression is compiled once however often it is evaluated and
/// used. A full cache is emptied: expressions in use are compiled once more.
#[derive(Debug, Default)]
pub struct Programs {
    by_source: BTreeMap<Arc<str>, Program>,
    source_bytes: usize,
    n_compiled: u64,
}

impl Programs {
    /// The program of an expression.
    pub fn of(&mut self, expression: &Expression) -> Result<Program, ExpressionError> {
        self.of_source(&expression.0)
    }

    /// Compiles a text with its expressions.
    pub fn text(&mut self, template: &Template) -> Result<Text, ExpressionError> {
        Text::compile_with(template, |source| self.of_source(source))
    }

    /// Number of programs compiled so far.
    pub fn n_compiled(&self) -> u64 {
        self.n_compiled
    }

    pub(crate) fn of_source(&mut self, source: &str) -> Result<Program, ExpressionError> {
        if let Some(program) = self.by_source.get(source) {
            return Ok(program.clone());
        }
        let program = Program::compile_source(source)?;
        self.n_compiled += 1;
        let bytes = source.len() + PROGRAM_BYTES;
        if self.source_bytes + bytes > SOURCE_BYTES_ALL_MAX {
            self.by_source.clear();
            self.source_bytes = 0;
        }
        self.source_bytes += bytes;
        self.by_source.insert(source.into(), program.clone());
        Ok(program)
    }
}
