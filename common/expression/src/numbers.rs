//! Functions of numbers.

use std::cmp::Ordering;

use model::Value;

/// Digits behind the point to which a number can be rounded: a float has no more.
const DIGITS_MAX: i64 = 15;

/// A number made whole; whole numbers stay what they are. None of another value.
pub(crate) fn rounded(number: &Value, how: fn(f64) -> f64) -> Option<Value> {
    match number {
        Value::Int(number) => Some(Value::Int(*number)),
        Value::Float(number) => Some(Value::Float(how(*number))),
        Value::Null
        | Value::Bool(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..) => None,
    }
}

/// A number without its sign. None of another value.
pub(crate) fn abs(number: &Value) -> Option<Result<Value, String>> {
    if let Value::Int(i64::MIN) = number {
        return Some(Err(format!("`abs` of {} has more than 64 bits", i64::MIN)));
    }
    match number {
        Value::Int(number) => Some(Ok(Value::Int(number.abs()))),
        Value::Float(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..) => rounded(number, f64::abs).map(Ok),
    }
}

/// A number rounded to so many digits behind the point. None if one is no number.
pub(crate) fn round_to(number: &Value, digits: &Value) -> Option<Result<Value, String>> {
    let Value::Int(digits) = digits else {
        return None;
    };
    if !(0..=DIGITS_MAX).contains(digits) {
        return Some(Err(format!(
            "{digits} digits behind the point; from 0 to {DIGITS_MAX}"
        )));
    }
    match number {
        // By its decimal form: 2.675 is less than it looks, and rounds down.
        Value::Float(number) if number.is_finite() => {
            let text = format!("{number:.precision$}", precision = *digits as usize);
            Some(Ok(Value::Float(text.parse().unwrap_or(*number))))
        }
        Value::Float(_)
        | Value::Int(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Artifact(..) => rounded(number, f64::round).map(Ok),
    }
}

/// The least or the greatest of numbers, or of texts, or of a list of them. The error says what is wrong
/// with them.
pub(crate) fn extreme(values: &[&Value], wanted: Ordering) -> Result<Value, String> {
    let items: Vec<&Value> = match values {
        [Value::List(items)] => items.iter().collect(),
        _ => values.to_vec(),
    };
    let Some((first, rest)) = items.split_first() else {
        return Err("an empty list has no least and no greatest item".to_owned());
    };
    let mut found = *first;
    for value in rest {
        let Some(order) = compare(value, found) else {
            let (one, other) = (value.type_name(), found.type_name());
            return Err(format!("{one} and {other} have no order"));
        };
        if order == wanted {
            found = value;
        }
    }
    match compare(found, found) {
        Some(_) => Ok(found.clone()),
        None => Err(format!("{} has no order", found.type_name())),
    }
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
