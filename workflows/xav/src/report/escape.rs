//! Text of users and commands in the page: nothing of it is ever markup or script, and nothing of it
//! plays with how the page looks.

/// Text in which what cannot be seen is written as an escape; lines and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// Controls, and characters that turn the direction of writing or have no width.
fn is_hidden(character: char) -> bool {
    if character == '\n' || character == '\t' {
        return false;
    }
    character.is_control()
        || matches!(character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text between tags or in a quoted attribute.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// JSON between script tags: no character of it begins or ends a tag or a comment. Outside of strings
/// JSON has none of them.
pub(crate) fn json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", character as u32));
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
