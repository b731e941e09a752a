//! Conversion between values and JSON.

use std::collections::BTreeMap;

use model::{Value, with_article};

/// Converts JSON into a value. Whole numbers beyond 64 bits become floats.
pub fn from_json(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Array(items) => Value::List(items.into_iter().map(from_json).collect()),
        serde_json::Value::Object(entries) => {
            let entries = entries
                .into_iter()
                .map(|(name, value)| (name, from_json(value)));
            Value::Map(entries.collect::<BTreeMap<_, _>>())
        }
    }
}

/// Converts a value into JSON. A file, a directory and a float that is no number have no JSON form
/// and are errors.
pub fn to_json(value: &Value) -> Result<serde_json::Value, String> {
    Ok(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => match serde_json::Number::from_f64(*number) {
            Some(number) => serde_json::Value::Number(number),
            None => return Err(format!("{number} cannot be written as JSON")),
        },
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => {
            let items: Result<Vec<_>, String> = items.iter().map(to_json).collect();
            serde_json::Value::Array(items?)
        }
        Value::Map(entries) => {
            let entries: Result<serde_json::Map<_, _>, String> = entries
                .iter()
                .map(|(name, value)| Ok((name.clone(), to_json(value)?)))
                .collect();
            serde_json::Value::Object(entries?)
        }
        Value::Artifact(..) => {
            return Err(format!(
                "{} cannot be written as JSON",
                with_article(&value.type_name())
            ));
        }
    })
}
