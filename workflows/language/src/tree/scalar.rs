//! Scalars: the values of plain text, and where a part of a text lies in the file.

use expression::from_json;
use model::Value;

/// The value of a scalar without quotes, by the rules of YAML 1.2 and JSON.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let unsigned = text.trim_start_matches(['+', '-']);
    let based = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix)?;
        i64::from_str_radix(digits, radix)
            .ok()
            .filter(|_| !digits.starts_with(['+', '-']))
    };
    if let Some(number) = based("0x", 16).or_else(|| based("0o", 8)) {
        return Value::Int(number);
    }
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().any(|byte| byte.is_ascii_digit())
        && text.len() - unsigned.len() <= 1
        && unsigned
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if !numeric {
        return Value::Text(text.to_owned());
    }
    if let Ok(number) = text.parse::<i64>() {
        return Value::Int(number);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => from_json(number.into()),
        Ok(_) | Err(_) => Value::Text(text.to_owned()),
    }
}

/// The offset in the raw text of a byte of what it means, where the text is on one line or folded
/// at blanks.
pub(super) fn walk(raw: &str, text: &str, offset: usize, quote: Option<char>) -> Option<usize> {
    let mut at = 0;
    for (done, c) in text.char_indices() {
        if done >= offset {
            return Some(at);
        }
        let rest = raw.get(at..)?;
        let next = rest.chars().next()?;
        if c.is_whitespace()
            && next.is_whitespace()
            && (next == '\n'
                || next == '\r'
                || rest.trim_start_matches([' ', '\t']).starts_with('\n'))
        {
            at += rest.len() - rest.trim_start().len();
        } else if next == c
            && !(next == '\'' && quote == Some('\''))
            && !(next == '\\' && quote == Some('"'))
        {
            at += c.len_utf8();
        } else if next == '\'' && c == '\'' {
            at += 2;
        } else if next == '\\' && quote == Some('"') {
            let code = rest.chars().nth(1)?;
            let more = match code {
                'x' => 2,
                'u' if c.len_utf16() == 2 => 4 + 6,
                'u' => 4,
                'U' => 8,
                _ => 0,
            };
            at += 1 + code.len_utf8() + more;
        } else {
            return None;
        }
    }
    Some(at)
}

/// As `walk` for a block (`|` or `>`): by lines, each with the same blanks before it.
pub(super) fn block(raw: &str, text: &str, offset: usize) -> Option<usize> {
    let before = text.get(..offset)?;
    let line_start = before.rfind('\n').map_or(0, |found| found + 1);
    let text_line = text[line_start..].lines().next().unwrap_or_default();
    let line = raw
        .split_inclusive('\n')
        .nth(before.matches('\n').count())?;
    let at = line.as_ptr() as usize - raw.as_ptr() as usize;
    match line.find(text_line) {
        Some(blanks) => Some(at + blanks + (offset - line_start)),
        // Folded lines are one line of the text: the first place with the same words will do.
        None => {
            let rest = &text[offset..];
            let word = rest
                .split_whitespace()
                .next()
                .filter(|word| rest.starts_with(word))?;
            raw.find(word)
        }
    }
}
