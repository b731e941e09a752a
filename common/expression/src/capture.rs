//! Converting a command's output into a value.

use std::num::{IntErrorKind, ParseIntError};

use model::{Parse, Value};

use crate::function::shorten;
use crate::json::from_json;

/// Converts stdout or stderr into a value. The error names the expected and the found form.
pub fn parse_captured(parse: Parse, bytes: &[u8]) -> Result<Value, String> {
    let text = str::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8 text", error.valid_up_to()))?;
    let whole = text
        .strip_suffix('\n')
        .map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    match parse {
        Parse::Text => Ok(Value::Text(whole.to_owned())),
        Parse::Int => match text.trim().parse::<i64>() {
            Ok(number) => Ok(Value::Int(number)),
            Err(error) if is_too_large(&error) => {
                Err(format!("{} does not fit into 64 bits", shown(text)))
            }
            Err(_) => Err(format!("a whole number is wanted, not {}", shown(text))),
        },
        Parse::Float => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            Ok(_) | Err(_) => Err(format!("a number is wanted, not {}", shown(text))),
        },
        Parse::Json => match serde_json::from_str(text) {
            Ok(json) => Ok(from_json(json)),
            Err(error) => Err(format!("JSON is wanted: {error}")),
        },
        Parse::Lines => Ok(Value::List(
            text.lines()
                .map(|line| Value::Text(line.to_owned()))
                .collect(),
        )),
    }
}

/// Returns true if a text could not be read because its whole number is too large or too small for the language.
fn is_too_large(error: &ParseIntError) -> bool {
    use IntErrorKind::{NegOverflow, PosOverflow};
    matches!(error.kind(), PosOverflow | NegOverflow)
}

fn shown(text: &str) -> String {
    match text.trim() {
        "" => "nothing".to_owned(),
        text => format!("`{}`", shorten(text).escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_becomes_a_value_of_the_wanted_kind() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (parse, written, value) in [
            (Parse::Text, "a\nb\n", Ok(text("a\nb"))),
            (Parse::Text, "a\r\n", Ok(text("a"))),
            (Parse::Text, "", Ok(text(""))),
            (Parse::Int, " 42\n", Ok(Value::Int(42))),
            (
                Parse::Int,
                "9223372036854775808",
                Err("`9223372036854775808` does not fit into 64 bits"),
            ),
            (
                Parse::Int,
                "4.2\n",
                Err("a whole number is wanted, not `4.2`"),
            ),
            (
                Parse::Int,
                "\n",
                Err("a whole number is wanted, not nothing"),
            ),
            (Parse::Float, "1e3\n", Ok(Value::Float(1000.0))),
            (Parse::Float, "nan", Err("a number is wanted, not `nan`")),
            (
                Parse::Json,
                "[1, 2.5]",
                Ok(Value::List(vec![Value::Int(1), Value::Float(2.5)])),
            ),
            (
                Parse::Json,
                "[1",
                Err("JSON is wanted: EOF while parsing a list at line 1 column 2"),
            ),
            (
                Parse::Lines,
                "a\r\nb\n",
                Ok(Value::List(vec![text("a"), text("b")])),
            ),
            (Parse::Lines, "", Ok(Value::List(vec![]))),
        ] {
            let wanted = value.map_err(str::to_owned);
            assert_eq!(
                parse_captured(parse, written.as_bytes()),
                wanted,
                "{written:?}"
            );
        }
        let error = parse_captured(Parse::Text, b"ab\xff").unwrap_err();
        assert_eq!(error, "byte 2 is not UTF-8 text");
        let deep = "[".repeat(100_000);
        assert!(parse_captured(Parse::Json, deep.as_bytes()).is_err());
    }
}
