//! Numbers in the page's sentences and tables.

/// A number with its thousands apart.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 activity`, `2,000 activities`.
pub(crate) fn counted_as(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A part of one, in whole percents.
pub(crate) fn percent(part: f64) -> String {
    format!("{:.0} %", (part * 100.0).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests;
