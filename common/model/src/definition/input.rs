//! The values that may be given for an input.

use super::Input;
use crate::Value;

impl Input {
    /// Checks a value given for this input against its type and bounds; the error says what is
    /// wanted.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if !self.kind.admits(value) || *value == Value::Null {
            return Err(format!(
                "a {} is wanted, not a {}",
                self.kind,
                value.type_name()
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
            | Value::Artifact(_) => return Ok(()),
        };
        match (self.minimum, self.maximum) {
            (Some(least), _) if number < least => Err(format!("{number} is less than {least}")),
            (_, Some(most)) if number > most => Err(format!("{number} is more than {most}")),
            _ => Ok(()),
        }
    }
}
