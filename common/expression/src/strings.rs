//! Functions of texts: taking apart, putting together, replacing, writing numbers into them.

use model::limits::VALUE_BYTES;
use model::{Value, with_article};

use crate::function::{float_text, shorten};
use crate::json::to_json;

/// Letters and digits that `%` may write at least, and digits behind a point.
const WIDTH_MAX: usize = 100;
/// Bytes that a number takes at most in any of its forms, beside its width: 1e308 has 309 digits.
const NUMBER_BYTES: usize = 512;
/// A character takes so many bytes in JSON at most, and no letter has more in lower or upper case.
const GROWTH: usize = 6;

/// The parts of a text between separators; of an empty separator its characters. With a limit the last
/// part has the rest, and a negative one is none.
pub(crate) fn split(text: &str, separator: &str, limit: i64) -> Value {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let part = |part: &str| Value::Text(part.to_owned());
    let parts: Vec<Value> = match (limit, separator) {
        (0, _) => Vec::new(),
        (_, "") => characters(text, limit).map(part).collect(),
        _ => text.splitn(limit, separator).map(part).collect(),
    };
    Value::List(parts)
}

/// The characters of a text, up to a limit; the last part has the rest.
fn characters(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut left = limit;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        left -= 1;
        let end = if left == 0 {
            rest.len()
        } else {
            first.len_utf8()
        };
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Bytes, and texts and lists, that a split makes.
pub(crate) fn split_makes(text: &str, separator: &str) -> (usize, usize) {
    let n_parts = match separator {
        "" => text.chars().count(),
        _ => text.matches(separator).count() + 1,
    };
    (text.len() + (n_parts + 1) * VALUE_BYTES, n_parts + 1)
}

/// Texts and numbers in a row, with a separator between each two.
pub(crate) fn join(items: &[Value], separator: &str) -> Result<Value, String> {
    let mut joined = String::new();
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            joined.push_str(separator);
        }
        match plain(item) {
            Some(text) => joined.push_str(&text),
            None => {
                let kind = item.type_name();
                return Err(format!("`join` cannot take {kind}, item {place}"));
            }
        }
    }
    Ok(Value::Text(joined))
}

/// Bytes that are joined at most.
pub(crate) fn join_makes(items: &[Value], separator: &str) -> usize {
    let sizes = items.iter().map(|item| item.size().max(NUMBER_BYTES / 16));
    sizes.sum::<usize>() + separator.len() * items.len()
}

/// A text with another part in the place of each of its kind, up to a limit; a negative one is none.
pub(crate) fn replace(text: &str, part: &str, by: &str, limit: i64) -> Value {
    Value::Text(match usize::try_from(limit) {
        Ok(limit) => text.replacen(part, by, limit),
        Err(_) => text.replace(part, by),
    })
}

/// Bytes that a replacement makes at most.
pub(crate) fn replace_makes(text: &str, part: &str, by: &str) -> usize {
    text.len() + text.matches(part).count() * by.len()
}

/// Bytes of a text in lower or upper case at most.
pub(crate) fn case_makes(text: &str) -> usize {
    text.len() * GROWTH
}

/// A template with a value in the place of each `%`: `%s` any value, `%d` a whole number, `%f` and `%e` a
/// number, `%x`, `%X`, `%o` and `%b` a whole number in another base, `%%` the sign itself. Between the sign
/// and the letter may stand `-` or `0`, a width, and a precision: `%03d`, `%-10s`, `%.2f`.
pub(crate) fn format(template: &str, values: &[Value]) -> Result<Value, String> {
    let mut values_left = values.iter().enumerate();
    let mut made = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        made.push_str(&rest[..at]);
        let (form, after) = Form::read(&rest[at + 1..])?;
        rest = after;
        if form.letter == '%' {
            made.push('%');
            continue;
        }
        let Some((place, value)) = values_left.next() else {
            let n_values = values.len();
            return Err(format!(
                "`format` has {n_values} values, and more are wanted"
            ));
        };
        let written = form.write(value);
        let written = written.map_err(|why| format!("value {place} of `format`: {why}"))?;
        made.push_str(&written);
    }
    made.push_str(rest);
    match values_left.next() {
        None => Ok(Value::Text(made)),
        Some((place, _)) => Err(format!(
            "`format` has {} values, and takes {place}",
            values.len()
        )),
    }
}

/// Bytes that a template makes at most.
pub(crate) fn format_makes(template: &str, values: &[Value]) -> usize {
    let values = values.iter();
    let sizes = values.map(|value| value.size() * GROWTH + NUMBER_BYTES + 2 * WIDTH_MAX);
    template.len() + sizes.sum::<usize>()
}

/// The form that stands behind a `%`.
struct Form {
    letter: char,
    is_left: bool,
    is_zero: bool,
    width: usize,
    precision: Option<usize>,
}

impl Form {
    /// Reads it off a template. Returns what follows too.
    fn read(template: &str) -> Result<(Form, &str), String> {
        let mut rest = template;
        let mut take = |wanted: char| {
            let found = rest.strip_prefix(wanted);
            rest = found.unwrap_or(rest);
            found.is_some()
        };
        let (is_left, is_zero) = (take('-'), take('0'));
        let (width, after) = digits(rest)?;
        rest = after;
        let mut precision = None;
        if let Some(behind) = rest.strip_prefix('.') {
            let (number, after) = digits(behind)?;
            (precision, rest) = (Some(number.unwrap_or(0)), after);
        }
        let mut letters = rest.chars();
        match letters.next() {
            Some(letter @ ('s' | 'd' | 'f' | 'e' | 'x' | 'X' | 'o' | 'b' | '%')) => Ok((
                Form {
                    letter,
                    is_left,
                    is_zero,
                    width: width.unwrap_or(0),
                    precision,
                },
                letters.as_str(),
            )),
            _ => {
                let written = shorten(template);
                let known = "s, d, f, e, x, X, o, b and %";
                Err(format!("`%{written}` in a `format`; there are {known}"))
            }
        }
    }

    fn write(&self, value: &Value) -> Result<String, String> {
        let unfit = |wanted: &str| {
            let (letter, kind) = (self.letter, with_article(&value.type_name()));
            Err(format!("%{letter} takes {wanted}, not {kind}"))
        };
        let text = match (self.letter, value) {
            ('s', _) => {
                let text = match plain(value) {
                    Some(text) => text,
                    None => to_json(value)?.to_string(),
                };
                match self.precision {
                    Some(n_letters) => text.chars().take(n_letters).collect(),
                    None => text,
                }
            }
            ('d', Value::Int(number)) => number.to_string(),
            ('x', Value::Int(number)) => signed(*number, format!("{:x}", number.unsigned_abs())),
            ('X', Value::Int(number)) => signed(*number, format!("{:X}", number.unsigned_abs())),
            ('o', Value::Int(number)) => signed(*number, format!("{:o}", number.unsigned_abs())),
            ('b', Value::Int(number)) => signed(*number, format!("{:b}", number.unsigned_abs())),
            ('d' | 'x' | 'X' | 'o' | 'b', _) => return unfit("a whole number"),
            (_, Value::Int(number)) => self.real(*number as f64),
            (_, Value::Float(number)) => self.real(*number),
            _ => return unfit("a number"),
        };
        Ok(self.padded(text))
    }

    fn real(&self, number: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        match self.letter {
            'e' => format!("{number:.precision$e}"),
            _ => format!("{number:.precision$}"),
        }
    }

    fn padded(&self, text: String) -> String {
        let n_missing = self.width.saturating_sub(text.chars().count());
        let has_digits = !matches!(text.trim_start_matches('-'), "inf" | "NaN");
        let is_number = self.letter != 's' && has_digits;
        match (self.is_left, self.is_zero && is_number) {
            (true, _) => text + &" ".repeat(n_missing),
            (false, true) => {
                let (sign, digits) = text.split_at(usize::from(text.starts_with('-')));
                format!("{sign}{}{digits}", "0".repeat(n_missing))
            }
            (false, false) => " ".repeat(n_missing) + &text,
        }
    }
}

/// The number that a template begins with, if it does, and what follows.
fn digits(template: &str) -> Result<(Option<usize>, &str), String> {
    let end = template.find(|letter: char| !letter.is_ascii_digit());
    let (digits, rest) = template.split_at(end.unwrap_or(template.len()));
    if digits.is_empty() {
        return Ok((None, rest));
    }
    match digits.parse() {
        Ok(number) if number <= WIDTH_MAX => Ok((Some(number), rest)),
        Ok(_) | Err(_) => Err(format!(
            "a width of {} in a `format`; at most {WIDTH_MAX}",
            shorten(digits)
        )),
    }
}

fn signed(number: i64, digits: String) -> String {
    match number < 0 {
        true => format!("-{digits}"),
        false => digits,
    }
}

/// A value as text by itself, as `string` makes it.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(float_text(*number)),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::List(_) | Value::Map(_) | Value::Artifact(..) => None,
    }
}
