//! The functions of expressions, in one table.

use std::cmp::Ordering;

use model::Value;
use model::limits::VALUE_BYTES;

use crate::list::{bounds, csv, csv_makes, lines};
use crate::{numbers, strings};

/// A function, called `f(x)` or `x.f()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Size,
    Int,
    Double,
    Text,
    Bool,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Lines,
    Csv,
    Name,
    Stem,
    Split,
    Join,
    Replace,
    Lower,
    Upper,
    Trim,
    Format,
    Floor,
    Ceil,
    Round,
    Abs,
    Min,
    Max,
}

/// A comprehension, called `list.f(x, ...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Each {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

struct Known {
    name: &'static str,
    function: Function,
    /// Numbers of arguments of `f(...)`; none if it has no such form.
    alone: &'static [usize],
    /// Numbers of arguments of `x.f(...)`; none if it has no such form.
    after: &'static [usize],
}

const fn known(
    name: &'static str,
    function: Function,
    alone: &'static [usize],
    after: &'static [usize],
) -> Known {
    Known {
        name,
        function,
        alone,
        after,
    }
}

const FUNCTIONS: [Known; 26] = [
    known("size", Function::Size, &[1], &[0]),
    known("int", Function::Int, &[1], &[]),
    known("double", Function::Double, &[1], &[]),
    known("string", Function::Text, &[1], &[]),
    known("bool", Function::Bool, &[1], &[]),
    known("contains", Function::Contains, &[], &[1]),
    known("startsWith", Function::StartsWith, &[], &[1]),
    known("endsWith", Function::EndsWith, &[], &[1]),
    known("range", Function::Range, &[1, 2, 3], &[]),
    known("lines", Function::Lines, &[1], &[0]),
    known("csv", Function::Csv, &[1], &[0]),
    known("name", Function::Name, &[1], &[0]),
    known("stem", Function::Stem, &[1, 2], &[0, 1]),
    known("split", Function::Split, &[], &[1, 2]),
    known("join", Function::Join, &[], &[0, 1]),
    known("replace", Function::Replace, &[], &[2, 3]),
    known("lower", Function::Lower, &[1], &[0]),
    known("upper", Function::Upper, &[1], &[0]),
    known("trim", Function::Trim, &[1], &[0]),
    known("format", Function::Format, &[], &[1]),
    known("floor", Function::Floor, &[1], &[]),
    known("ceil", Function::Ceil, &[1], &[]),
    known("round", Function::Round, &[1, 2], &[]),
    known("abs", Function::Abs, &[1], &[]),
    known("min", Function::Min, &[1, 2, 3, 4], &[]),
    known("max", Function::Max, &[1, 2, 3, 4], &[]),
];

const COMPREHENSIONS: [(&str, Each); 6] = [
    ("all", Each::All),
    ("exists", Each::Exists),
    ("exists_one", Each::ExistsOne),
    ("existsOne", Each::ExistsOne),
    ("map", Each::Map),
    ("filter", Each::Filter),
];

/// The comprehension with a name.
pub(crate) fn comprehension(name: &str) -> Option<Each> {
    COMPREHENSIONS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, each)| *each)
}

/// The name of a function.
pub(crate) fn name(function: Function) -> &'static str {
    let mut known = FUNCTIONS.iter();
    let known = known.find(|known| known.function == function);
    known.map_or("", |known| known.name)
}

/// The function of a call. The error contains the probably meant name.
pub(crate) fn find(
    name: &str,
    method: bool,
    n_arguments: usize,
) -> Result<Function, (String, Option<String>)> {
    let Some(known) = FUNCTIONS.iter().find(|known| known.name == name) else {
        let names = FUNCTIONS.iter().map(|known| known.name);
        let names = names
            .chain(COMPREHENSIONS.map(|(name, _)| name))
            .chain(["has"]);
        let hint = crate::nearest(name, names).map(|meant| format!("did you mean `{meant}`?"));
        return Err((format!("unknown function `{name}`"), hint));
    };
    let wanted = match method {
        true => known.after,
        false => known.alone,
    };
    if wanted.contains(&n_arguments) {
        return Ok(known.function);
    }
    Err(match (wanted, method) {
        ([], true) => (
            format!("`{name}` does not stand after a dot"),
            Some(format!("write `{name}(x)`")),
        ),
        ([], false) => (
            format!("`{name}` stands after a dot"),
            Some(format!("write `text.{name}(x)`")),
        ),
        (wanted, _) => {
            let wanted: Vec<String> = wanted.iter().map(usize::to_string).collect();
            let wanted = wanted.join(" or ");
            (
                format!("`{name}` takes {wanted} arguments here, not {n_arguments}"),
                None,
            )
        }
    })
}

impl Function {
    /// Calls the function. The error is a sentence.
    pub(crate) fn call(self, arguments: &[&Value]) -> Result<Value, String> {
        let wrong = |what: &str| {
            let kinds: Vec<&str> = arguments.iter().map(|value| value.type_name()).collect();
            Err(format!("{what} cannot take {}", kinds.join(" and ")))
        };
        match (self, arguments) {
            (Function::Size, [Value::Text(text)]) => Ok(Value::Int(text.chars().count() as i64)),
            (Function::Size, [Value::List(items)]) => Ok(Value::Int(items.len() as i64)),
            (Function::Size, [Value::Map(items)]) => Ok(Value::Int(items.len() as i64)),
            (Function::Size, [Value::Artifact(artifact, _)]) => Ok(Value::Int(
                i64::try_from(artifact.bytes.0).unwrap_or(i64::MAX),
            )),
            (Function::Size, _) => wrong("`size`"),
            (Function::Int, [Value::Int(number)]) => Ok(Value::Int(*number)),
            (Function::Int, [Value::Float(number)]) => {
                // 2^63 itself is the first that does not fit.
                const LIMIT: f64 = 9_223_372_036_854_775_808.0;
                match number.is_finite() && number.trunc() >= -LIMIT && number.trunc() < LIMIT {
                    true => Ok(Value::Int(number.trunc() as i64)),
                    false => Err(format!("{number} is no whole number of 64 bits")),
                }
            }
            (Function::Int, [Value::Text(text)]) => match text.trim().parse() {
                Ok(number) => Ok(Value::Int(number)),
                Err(_) => Err(format!("`{}` is not a whole number", shorten(text))),
            },
            (Function::Int, _) => wrong("`int`"),
            (Function::Double, [Value::Int(number)]) => Ok(Value::Float(*number as f64)),
            (Function::Double, [Value::Float(number)]) => Ok(Value::Float(*number)),
            (Function::Double, [Value::Text(text)]) => match text.trim().parse() {
                Ok(number) => Ok(Value::Float(number)),
                Err(_) => Err(format!("`{}` is not a number", shorten(text))),
            },
            (Function::Double, _) => wrong("`double`"),
            (Function::Text, [Value::Text(text)]) => Ok(Value::Text(text.clone())),
            (Function::Text, [Value::Int(number)]) => Ok(Value::Text(number.to_string())),
            (Function::Text, [Value::Float(number)]) => Ok(Value::Text(float_text(*number))),
            (Function::Text, [Value::Bool(value)]) => Ok(Value::Text(value.to_string())),
            (Function::Text, _) => wrong("`string`"),
            (Function::Bool, [Value::Bool(value)]) => Ok(Value::Bool(*value)),
            (Function::Bool, [Value::Text(text)]) => match text.as_str() {
                "true" | "True" | "TRUE" | "t" | "1" => Ok(Value::Bool(true)),
                "false" | "False" | "FALSE" | "f" | "0" => Ok(Value::Bool(false)),
                _ => Err(format!("`{}` is neither true nor false", shorten(text))),
            },
            (Function::Bool, _) => wrong("`bool`"),
            (Function::Contains, [Value::Text(text), Value::Text(part)]) => {
                Ok(Value::Bool(text.contains(part.as_str())))
            }
            (Function::Contains, _) => wrong("`contains`"),
            (Function::StartsWith, [Value::Text(text), Value::Text(part)]) => {
                Ok(Value::Bool(text.starts_with(part.as_str())))
            }
            (Function::StartsWith, _) => wrong("`startsWith`"),
            (Function::EndsWith, [Value::Text(text), Value::Text(part)]) => {
                Ok(Value::Bool(text.ends_with(part.as_str())))
            }
            (Function::EndsWith, _) => wrong("`endsWith`"),
            (Function::Range, arguments) => match bounds(arguments) {
                Some(range) => range?.list(),
                None => wrong("`range`"),
            },
            (Function::Lines, [Value::Text(text)]) => Ok(lines(text)),
            (Function::Lines, _) => wrong("`lines`"),
            (Function::Csv, [Value::Text(text)]) => csv(text),
            (Function::Csv, _) => wrong("`csv`"),
            (Function::Name, [file]) => match file_name(file)? {
                Some(name) => Ok(Value::Text(name.to_owned())),
                None => wrong("`name`"),
            },
            (Function::Stem, [file]) => match file_name(file)? {
                Some(name) => Ok(Value::Text(stem(name).to_owned())),
                None => wrong("`stem`"),
            },
            (Function::Stem, [file, Value::Text(ending)]) => match file_name(file)? {
                Some(name) => {
                    let cut = name.strip_suffix(ending.as_str());
                    let cut = cut.filter(|cut| !cut.is_empty());
                    Ok(Value::Text(cut.unwrap_or(name).to_owned()))
                }
                None => wrong("`stem`"),
            },
            (Function::Name, _) => wrong("`name`"),
            (Function::Stem, _) => wrong("`stem`"),
            (Function::Split, [Value::Text(text), Value::Text(separator)]) => {
                Ok(strings::split(text, separator, -1))
            }
            (Function::Split, [Value::Text(text), Value::Text(separator), Value::Int(limit)]) => {
                Ok(strings::split(text, separator, *limit))
            }
            (Function::Split, _) => wrong("`split`"),
            (Function::Join, [Value::List(items)]) => strings::join(items, ""),
            (Function::Join, [Value::List(items), Value::Text(separator)]) => {
                strings::join(items, separator)
            }
            (Function::Join, _) => wrong("`join`"),
            (Function::Replace, [Value::Text(text), Value::Text(part), Value::Text(by)]) => {
                Ok(strings::replace(text, part, by, -1))
            }
            (
                Function::Replace,
                [
                    Value::Text(text),
                    Value::Text(part),
                    Value::Text(by),
                    Value::Int(limit),
                ],
            ) => Ok(strings::replace(text, part, by, *limit)),
            (Function::Replace, _) => wrong("`replace`"),
            (Function::Lower, [Value::Text(text)]) => Ok(Value::Text(text.to_lowercase())),
            (Function::Lower, _) => wrong("`lower`"),
            (Function::Upper, [Value::Text(text)]) => Ok(Value::Text(text.to_uppercase())),
            (Function::Upper, _) => wrong("`upper`"),
            (Function::Trim, [Value::Text(text)]) => Ok(Value::Text(text.trim().to_owned())),
            (Function::Trim, _) => wrong("`trim`"),
            (Function::Format, [Value::Text(template), Value::List(values)]) => {
                strings::format(template, values)
            }
            (Function::Format, _) => wrong("`format`"),
            (Function::Floor, [number]) => {
                numbers::rounded(number, f64::floor).map_or_else(|| wrong("`floor`"), Ok)
            }
            (Function::Floor, _) => wrong("`floor`"),
            (Function::Ceil, [number]) => {
                numbers::rounded(number, f64::ceil).map_or_else(|| wrong("`ceil`"), Ok)
            }
            (Function::Ceil, _) => wrong("`ceil`"),
            // Halves go away from zero.
            (Function::Round, [number]) => {
                numbers::rounded(number, f64::round).map_or_else(|| wrong("`round`"), Ok)
            }
            (Function::Round, [number, digits]) => {
                numbers::round_to(number, digits).unwrap_or_else(|| wrong("`round`"))
            }
            (Function::Round, _) => wrong("`round`"),
            (Function::Abs, [number]) => numbers::abs(number).unwrap_or_else(|| wrong("`abs`")),
            (Function::Abs, _) => wrong("`abs`"),
            (Function::Min, arguments) => numbers::extreme(arguments, Ordering::Less),
            (Function::Max, arguments) => numbers::extreme(arguments, Ordering::Greater),
        }
    }

    /// Bytes, and texts, lists and maps, that a call makes at most; the error says that no call may
    /// make so much.
    pub(crate) fn makes(self, arguments: &[&Value]) -> Result<(usize, usize), String> {
        match (self, arguments) {
            (Function::Text, _) => Ok((arguments.iter().map(|value| value.size()).sum(), 1)),
            (Function::Range, arguments) => match bounds(arguments) {
                Some(range) => Ok((range?.n_items()? * VALUE_BYTES, 1)),
                None => Ok((0, 0)),
            },
            (Function::Lines, [Value::Text(text)]) => {
                let n_lines = text.lines().count();
                Ok((text.len() + (n_lines + 1) * VALUE_BYTES, n_lines + 1))
            }
            (Function::Csv, [Value::Text(text)]) => Ok(csv_makes(text)),
            (Function::Name | Function::Stem | Function::Trim, _) => {
                Ok((arguments.iter().map(|value| value.size()).sum(), 1))
            }
            (Function::Split, [Value::Text(text), Value::Text(separator), ..]) => {
                Ok(strings::split_makes(text, separator))
            }
            (Function::Join, [Value::List(items), separator @ ..]) => {
                let separator = match separator {
                    [Value::Text(separator)] => separator.as_str(),
                    _ => "",
                };
                Ok((strings::join_makes(items, separator), 1))
            }
            (Function::Replace, [Value::Text(text), Value::Text(part), Value::Text(by), ..]) => {
                Ok((strings::replace_makes(text, part, by), 1))
            }
            (Function::Lower | Function::Upper, [Value::Text(text)]) => {
                Ok((strings::case_makes(text), 1))
            }
            (Function::Format, [Value::Text(template), Value::List(values)]) => {
                Ok((strings::format_makes(template, values), 1))
            }
            // One of them is copied.
            (Function::Min | Function::Max, arguments) => {
                Ok((arguments.iter().map(|value| value.size()).sum(), 1))
            }
            (
                Function::Size
                | Function::Int
                | Function::Double
                | Function::Bool
                | Function::Contains
                | Function::StartsWith
                | Function::EndsWith
                | Function::Lines
                | Function::Csv
                | Function::Split
                | Function::Join
                | Function::Replace
                | Function::Lower
                | Function::Upper
                | Function::Format
                | Function::Floor
                | Function::Ceil
                | Function::Round
                | Function::Abs,
                _,
            ) => Ok((0, 0)),
        }
    }
}

/// The name of a file that a user gave, or the last part of a path as text; none of another value. A
/// file that an activity made has none.
fn file_name(value: &Value) -> Result<Option<&str>, String> {
    match value {
        Value::Artifact(_, Some(name)) => Ok(Some(name)),
        Value::Artifact(_, None) => Err(format!(
            "this {} has no name: only those have one that were given as inputs",
            value.type_name()
        )),
        Value::Text(path) => {
            let path = path.trim_end_matches('/');
            Ok(Some(path.rsplit('/').next().unwrap_or(path)))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_) => Ok(None),
    }
}

/// A name without its last ending: `a.tar` of `a.tar.gz`; `.profile` has none.
fn stem(name: &str) -> &str {
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[..dot],
        Some(_) | None => name,
    }
}

/// The shortest text that parses to the same number; whole numbers without a point, very large and
/// very small ones with an exponent.
pub(crate) fn float_text(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && size.is_finite() && !(1e-5..1e17).contains(&size) {
        format!("{number:e}")
    } else {
        format!("{number}")
    }
}

/// The beginning of a text, short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
