//! The tokens of an expression.

use crate::ExpressionError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    Name(&'a str),
    /// A whole number without its sign.
    Whole(u64),
    Float(f64),
    Text(String),
    Sign(&'static str),
    /// `step[*].variable`.
    Gathered(&'a str),
    End,
}

/// Reads tokens one by one.
pub(crate) struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

/// Longer signs first, so that `<=` is not `<`.
const SIGNS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "<", ">", "!", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// Between a step and the variable of its body: the values of all items.
pub(crate) const ALL: &str = "[*].";

/// Bytes of `step[*].variable` at the beginning of a text; names of steps may have `-` in them.
fn gathered(text: &str) -> Option<usize> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let n_step = text
        .bytes()
        .take_while(|&byte| letter(byte) || byte == b'-')
        .count();
    let variable = text[n_step..].strip_prefix(ALL).filter(|_| n_step > 0)?;
    let n_variable = variable.bytes().take_while(|&byte| letter(byte)).count();
    (n_variable > 0).then_some(n_step + ALL.len() + n_variable)
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str, at: usize) -> Lexer<'a> {
        Lexer { source, at }
    }

    /// The next token and its offset.
    pub(crate) fn next(&mut self) -> Result<(Token<'a>, usize), ExpressionError> {
        let rest = self.source[self.at..].trim_start();
        let start = self.source.len() - rest.len();
        self.at = start;
        let Some(first) = rest.chars().next() else {
            return Ok((Token::End, start));
        };
        if let Some(length) = gathered(rest) {
            self.at += length;
            return Ok((Token::Gathered(&rest[..length]), start));
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take(rest, |c| c.is_ascii_alphanumeric() || c == '_');
            let raw = matches!(
                name,
                "r" | "R" | "b" | "B" | "rb" | "br" | "Rb" | "rB" | "BR"
            );
            if raw && self.source[self.at..].starts_with(['"', '\'']) {
                if name.contains(['b', 'B']) {
                    let message = "bytes are not part of these expressions; write text";
                    return Err(ExpressionError::new(start, message));
                }
                return Ok((Token::Text(self.text(start, true)?), start));
            }
            return Ok((Token::Name(name), start));
        }
        let digit_follows = rest[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        if first.is_ascii_digit() || (first == '.' && digit_follows) {
            return Ok((self.number(rest, start)?, start));
        }
        if first == '"' || first == '\'' {
            return Ok((Token::Text(self.text(start, false)?), start));
        }
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            self.at += sign.len();
            return Ok((Token::Sign(sign), start));
        }
        let error = ExpressionError::new(
            start,
            format!("`{}` has no meaning here", first.escape_debug()),
        );
        Err(match first {
            '=' => error.with_hint("`==` compares; an expression changes nothing"),
            '&' => error.with_hint("`&&` is and"),
            '|' => error.with_hint("`||` is or"),
            '$' => error.with_hint("inside `${...}` names stand without `$`"),
            '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}' => {
                error.with_hint("text stands in plain quotes: '...' or \"...\"")
            }
            '\u{200b}' => error.with_hint("type the space again: it came with a copied text"),
            _ => error,
        })
    }

    /// The offset of the next token.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn take(&mut self, rest: &'a str, inside: impl Fn(char) -> bool) -> &'a str {
        let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self, rest: &'a str, start: usize) -> Result<Token<'a>, ExpressionError> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let hexadecimal = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
        let (length, value) = if let Some(tail) = hexadecimal {
            let n_digits = tail.bytes().take_while(u8::is_ascii_hexdigit).count();
            (
                2 + n_digits,
                u64::from_str_radix(&tail[..n_digits], 16)
                    .ok()
                    .map(Token::Whole),
            )
        } else {
            let mut length = digits(rest);
            let mut float = false;
            if rest[length..].starts_with('.') && digits(&rest[length + 1..]) > 0 {
                length += 1 + digits(&rest[length + 1..]);
                float = true;
            }
            if rest[length..].starts_with(['e', 'E']) {
                let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
                let n_digits = digits(&rest[length + 1 + sign..]);
                if n_digits > 0 {
                    length += 1 + sign + n_digits;
                    float = true;
                }
            }
            let value = if float {
                rest[..length].parse().ok().map(Token::Float)
            } else {
                rest[..length].parse().ok().map(Token::Whole)
            };
            (length, value)
        };
        self.at += length;
        let tail = &rest[length..];
        if tail.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            let error = ExpressionError::new(start, "not a number");
            return Err(match tail.starts_with(['u', 'U']) {
                true => error.with_hint("there are no unsigned numbers; leave the `u` out"),
                false => error,
            });
        }
        let too_large = || ExpressionError::new(start, "a number that is too large");
        value.ok_or_else(too_large)
    }

    fn text(&mut self, start: usize, raw: bool) -> Result<String, ExpressionError> {
        let source = self.source;
        let quote = source[self.at..].chars().next().unwrap_or('"');
        let triple: String = [quote; 3].iter().collect();
        let end = match source[self.at..].starts_with(&triple) {
            true => triple.as_str(),
            false => &triple[..1],
        };
        self.at += end.len();
        let mut text = String::new();
        loop {
            let rest = &source[self.at..];
            if rest.starts_with(end) {
                self.at += end.len();
                return Ok(text);
            }
            let unclosed = || ExpressionError::new(start, "text without its closing quote");
            let next = rest.chars().next().ok_or_else(unclosed)?;
            if next == '\n' && end.len() == 1 {
                return Err(unclosed());
            }
            let escape_at = self.at;
            self.at += next.len_utf8();
            if next != '\\' || raw {
                text.push(next);
                continue;
            }
            let name = source[self.at..].chars().next().ok_or_else(unclosed)?;
            self.at += name.len_utf8();
            let escaped = match name {
                'n' => Some('\n'),
                't' => Some('\t'),
                'r' => Some('\r'),
                'a' => Some('\u{7}'),
                'b' => Some('\u{8}'),
                'f' => Some('\u{c}'),
                'v' => Some('\u{b}'),
                '\\' | '"' | '\'' | '`' | '?' => Some(name),
                'x' | 'X' => self.code(2, 16),
                'u' => self.code(4, 16),
                'U' => self.code(8, 16),
                '0'..='3' => {
                    self.at -= 1;
                    self.code(3, 8)
                }
                _ => None,
            };
            let Some(escaped) = escaped else {
                let error = ExpressionError::new(escape_at, "an escape that does not exist");
                return Err(error.with_hint("a backslash itself is written `\\\\`"));
            };
            text.push(escaped);
        }
    }

    fn code(&mut self, n_digits: usize, radix: u32) -> Option<char> {
        let digits = self.source.get(self.at..self.at + n_digits)?;
        if !digits.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        self.at += n_digits;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    }
}
