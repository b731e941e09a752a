//! The values that may be given for an input.

use super::Input;
use crate::{Type, Value, with_article};

impl Input {
    /// The paths beside the definition that are the default of a file, or the paths and patterns that are
    /// that of a list of files; none where it has no such default. Whoever submits reads the files: a
    /// manager does not have them.
    pub fn paths_beside(&self) -> Option<Vec<&str>> {
        let is_list = match &self.kind {
            Type::File => false,
            Type::List(item) if **item == Type::File => true,
            Type::Text
            | Type::Int
            | Type::Float
            | Type::Bool
            | Type::Json
            | Type::Directory
            | Type::List(_) => return None,
        };
        match self.default.as_ref()? {
            Value::Text(path) => Some(vec![path]),
            Value::List(paths) if is_list => paths.iter().map(text).collect(),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Artifact(..) => None,
        }
    }

    /// Checks a value given for this input against its type and bounds; the error says what is
    /// wanted.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if !self.kind.admits(value) || *value == Value::Null {
            return Err(format!(
                "{} is wanted, not {}",
                with_article(&self.kind),
                with_article(&value.type_name())
            ));
        }
        let number = match value {
            Value::Int(number) => *number as f64,
            Value::Float(number) => *number,
            Value::Null
            | Value::Bool(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Artifact(..) => return Ok(()),
        };
        match (self.minimum, self.maximum) {
            (Some(least), _) if number < least => Err(format!("{number} is less than {least}")),
            (_, Some(most)) if number > most => Err(format!("{number} is more than {most}")),
            _ => Ok(()),
        }
    }
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..) => None,
    }
}
