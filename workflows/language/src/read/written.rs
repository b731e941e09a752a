//! Values that are written out where an expression can stand.

use model::{Expression, Value};

use super::Reader;
use crate::tree::Id;

impl Reader<'_, '_> {
    /// An expression, or a value that is written out as an expression.
    pub(super) fn assigned(&mut self, at: Id) -> Option<Expression> {
        if let Some(text) = self.tree.text(at) {
            if text.trim_start().starts_with("${") {
                return self.expression(at, "one `${...}` or a value");
            }
            if text.replace("$${", "").contains("${") {
                let message = "text around `${...}` where one expression is expected";
                self.hint(
                    at,
                    message,
                    "put it together inside: `${ 'n = ' + string(n) }`",
                );
                return None;
            }
        }
        let value = self.tree.value(at);
        if holds_expression(&value) {
            let message = "an expression inside a list or a mapping";
            self.hint(
                at,
                message,
                "write the whole value as one expression: `${ [a, b] }`",
            );
            return None;
        }
        let mut source = String::new();
        write_literal(&value, &mut source);
        Some(Expression(source))
    }
}

fn holds_expression(value: &Value) -> bool {
    let open = |text: &str| text.replace("$${", "").contains("${");
    match value {
        Value::Text(text) => open(text),
        Value::List(items) => items.iter().any(holds_expression),
        Value::Map(entries) => entries
            .iter()
            .any(|(name, value)| open(name) || holds_expression(value)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Artifact(..) => {
            false
        }
    }
}

/// A value as the expression language writes it.
fn write_literal(value: &Value, source: &mut String) {
    match value {
        Value::Null | Value::Artifact(..) => source.push_str("null"),
        Value::Bool(value) => source.push_str(&value.to_string()),
        Value::Int(number) => source.push_str(&number.to_string()),
        Value::Float(number) => source.push_str(&format!("{number:?}")),
        Value::Text(text) => write_text(text, source),
        Value::List(items) => {
            source.push('[');
            for (index, item) in items.iter().enumerate() {
                source.push_str(if index > 0 { ", " } else { "" });
                write_literal(item, source);
            }
            source.push(']');
        }
        Value::Map(entries) => {
            source.push('{');
            for (index, (name, value)) in entries.iter().enumerate() {
                source.push_str(if index > 0 { ", " } else { "" });
                write_text(name, source);
                source.push_str(": ");
                write_literal(value, source);
            }
            source.push('}');
        }
    }
}

fn write_text(text: &str, source: &mut String) {
    source.push('"');
    for c in text.replace("$${", "${").chars() {
        match c {
            '"' => source.push_str("\\\""),
            '\\' => source.push_str("\\\\"),
            '\n' => source.push_str("\\n"),
            '\r' => source.push_str("\\r"),
            '\t' => source.push_str("\\t"),
            c => source.push(c),
        }
    }
    source.push('"');
}
