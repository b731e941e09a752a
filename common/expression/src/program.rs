//! A compiled expression.

use std::sync::Arc;

use model::{Expression, Value, with_article};

use crate::evaluate::Evaluation;
use crate::parse::{self, Name, NameKind, Node};
use crate::{ExpressionError, Meter, Scope, function};

/// A compiled expression. Cheap to clone and to keep; it contains no values.
#[derive(Clone, Debug)]
pub struct Program(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: String,
    node: Node,
    names: Vec<Name>,
}

impl Program {
    /// Compiles an expression. The error's offset counts from the beginning of its source.
    pub fn compile(expression: &Expression) -> Result<Program, ExpressionError> {
        Program::compile_source(&expression.0)
    }

    pub(crate) fn compile_source(source: &str) -> Result<Program, ExpressionError> {
        let (node, names) = parse::parse(source)?;
        Ok(Program(Arc::new(Compiled {
            source: source.to_owned(),
            node,
            names,
        })))
    }

    /// The value of the expression, within the rest of the meter's budget. An error begins with the
    /// expression itself.
    pub fn evaluate(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<Value, ExpressionError> {
        Evaluation::new(scope, meter)
            .value(&self.0.node)
            .map_err(|error| self.named(error))
    }

    /// The value of a condition; anything but true and false is an error.
    pub fn evaluate_bool(
        &self,
        scope: &dyn Scope,
        meter: &mut Meter,
    ) -> Result<bool, ExpressionError> {
        let value = self.evaluate(scope, meter)?;
        if let Value::Bool(value) = value {
            return Ok(value);
        }
        let message = format!(
            "true or false is wanted, not {}",
            with_article(&value.type_name())
        );
        Err(self.named(ExpressionError::new(self.0.node.offset, message)))
    }

    /// The source, without the braces.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// The nodes whose links it reads.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let links = self
            .0
            .names
            .iter()
            .filter(|name| name.kind == NameKind::Link);
        links.map(|name| name.name.as_str())
    }

    /// Its tree.
    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    /// The names of the variables that it may read: of the process, of the bodies that it is evaluated in,
    /// and, as `step[*].NAME`, of all bodies of a step.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let names = self.0.names.iter();
        names.filter_map(|name| match name.kind {
            NameKind::Variable => Some(name.name.as_str()),
            NameKind::Gathered => Some(name.name.rsplit_once('.')?.1),
            NameKind::Input | NameKind::Link => None,
        })
    }

    /// The names that it reads.
    pub(crate) fn names(&self) -> &[Name] {
        &self.0.names
    }

    pub(crate) fn named(&self, error: ExpressionError) -> ExpressionError {
        let source = function::shorten(self.0.source.trim());
        ExpressionError {
            message: format!("in `${{ {source} }}`: {}", error.message),
            ..error
        }
    }
}
