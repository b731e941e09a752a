//! Values, types and keys of definitions as YAML on one line.

use std::fmt::Write;

use model::{Activation, Bytes, Expression, Input, Retry, Span, Value, Variable};

pub(super) fn of_input(input: &Input) -> String {
    let mut pairs = vec![format!("type: {}", input.kind)];
    if let Some(default) = &input.default {
        pairs.push(format!("default: {}", value(default)));
    }
    for (name, bound) in [("minimum", input.minimum), ("maximum", input.maximum)] {
        pairs.extend(bound.map(|bound| format!("{name}: {}", float(bound))));
    }
    match pairs.len() {
        1 => input.kind.to_string(),
        _ => format!("{{ {} }}", pairs.join(", ")),
    }
}

pub(super) fn of_variable(variable: &Variable) -> String {
    let (kind, initial) = (&variable.kind, &variable.initial);
    if *initial == Value::Null {
        return kind.to_string();
    }
    format!("{{ type: {kind}, value: {} }}", value(initial))
}

/// The key of what commands run with, and what stands below it.
pub(super) fn of_activation(
    activation: Option<&Activation>,
) -> (&'static str, Vec<(String, String)>) {
    let (key, path) = match activation {
        None => return ("environment", Vec::new()),
        Some(Activation::Container(container)) => {
            let mut pairs = vec![("image".to_owned(), scalar(&container.image))];
            if container.has_network {
                pairs.push(("network".to_owned(), "true".to_owned()));
            }
            return ("container", pairs);
        }
        Some(Activation::Path(path)) => ("path", path),
        Some(Activation::Venv(path)) => ("venv", path),
        Some(Activation::Conda(path)) => ("conda", path),
    };
    ("environment", vec![(key.to_owned(), scalar(path))])
}

pub(super) fn of_limits(limits: &[(String, u32)]) -> Vec<(String, String)> {
    let limits = limits.iter();
    limits
        .map(|(name, n_units)| (name.clone(), n_units.to_string()))
        .collect()
}

pub(super) fn of_retry(retry: &Retry) -> Vec<(String, String)> {
    let mut pairs = vec![("attempts".to_owned(), retry.attempts.to_string())];
    if retry.backoff != Span::ZERO {
        pairs.push(("backoff".to_owned(), duration(retry.backoff)));
    }
    if !retry.on.is_empty() {
        let on = retry.on.iter().map(ToString::to_string);
        pairs.push((
            "on".to_owned(),
            format!("[{}]", on.collect::<Vec<_>>().join(", ")),
        ));
    }
    if let Some(percent) = retry.memory_percent {
        let factor = f64::from(percent) / 100.0;
        pairs.push(("memory".to_owned(), format!("x{factor}")));
    }
    pairs
}

pub(super) fn expression(expression: &Expression) -> String {
    quoted(&format!("${{{}}}", expression.0))
}

/// A value in the form that JSON and YAML share.
pub(super) fn value(of: &Value) -> String {
    match of {
        Value::Null | Value::Artifact(..) => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => float(*number),
        Value::Text(text) => quoted(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(name, of)| format!("{}: {}", quoted(name), value(of)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn float(number: f64) -> String {
    format!("{number:?}")
}

/// A duration in its largest unit of which it is a whole number.
pub(super) fn duration(span: Span) -> String {
    let units = [
        (3_600_000_000, "h"),
        (60_000_000, "m"),
        (1_000_000, "s"),
        (1_000, "ms"),
    ];
    let whole = units
        .into_iter()
        .find(|&(worth, _)| span.0 > 0 && span.0.is_multiple_of(worth));
    let (worth, name) = whole.unwrap_or((1, "us"));
    format!("{}{name}", span.0 / worth)
}

/// A size in its largest unit of which it is a whole number.
pub(super) fn size(bytes: Bytes) -> String {
    let units = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    let whole = units
        .into_iter()
        .find(|&(worth, _)| bytes.0 > 0 && bytes.0.is_multiple_of(worth));
    let (worth, name) = whole.unwrap_or((1, "B"));
    format!("{}{name}", bytes.0 / worth)
}

/// A key: what only old YAML takes for true or false is text here, as in the language's own `on`.
pub(super) fn key(name: &str) -> String {
    match is_plain(name) && !is_word(name, &["null", "true", "false"]) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// Text without quotes where it cannot be taken for anything else, also inside brackets and by
/// readers of old YAML.
pub(super) fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    match is_plain(text) && !is_word(text, &WORDS) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

fn is_plain(text: &str) -> bool {
    let first = text.strip_prefix("./").unwrap_or(text);
    first.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-./+=".contains(&byte))
}

fn is_word(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Text in double quotes, what cannot be seen as escapes.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if is_printable(c) => quoted.push(c),
            c => {
                let _ = match u32::from(c) {
                    code @ ..=0xffff => write!(quoted, "\\u{code:04x}"),
                    code => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// True if YAML takes a character as it is, and a line of text stays one line.
pub(super) fn is_printable(c: char) -> bool {
    let odd = c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        );
    !odd
}
