//! Safe and unique names made of the ids of a recording.

use std::collections::{HashMap, HashSet};

/// Bytes of a name, so that it and a number after it fit the limits on names and file names.
const BYTES_MAX: usize = 150;

/// Gives each text a name that no other has.
#[derive(Debug, Default)]
pub(super) struct Unique {
    taken: HashSet<String>,
    /// The last number that was put behind each name.
    last: HashMap<String, u32>,
}

impl Unique {
    /// Names that nobody gets.
    pub(super) fn without(names: &[&str]) -> Unique {
        let taken = names.iter().map(|&name| name.to_owned()).collect();
        Unique {
            taken,
            last: HashMap::new(),
        }
    }

    /// The name itself where it is free, else with the next free number behind it.
    pub(super) fn take(&mut self, name: String) -> String {
        if self.taken.insert(name.clone()) {
            return name;
        }
        let last = self.last.entry(name.clone()).or_insert(1);
        loop {
            *last += 1;
            let numbered = format!("{name}-{last}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// A name of letters, digits, `_` and `-`, not beginning with `-`.
pub(super) fn name(id: &str) -> String {
    safe(
        id,
        |byte| byte == b'_' || byte == b'-',
        |first| first != b'-',
    )
}

/// A file name of letters, digits, `.`, `_`, `+` and `-`, beginning with neither `.` nor `-`.
pub(super) fn path(id: &str) -> String {
    safe(
        id.trim_start_matches('/'),
        |byte| b"._+-".contains(&byte),
        |first| first != b'-' && first != b'.',
    )
}

/// A name of a process: a lower-case letter, then lower-case letters, digits and `-`.
pub(super) fn process(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes().take(BYTES_MAX) {
        match byte.to_ascii_lowercase() {
            byte if byte.is_ascii_lowercase() || byte.is_ascii_digit() => {
                text.push(char::from(byte));
            }
            _ if text.is_empty() || text.ends_with('-') => {}
            _ => text.push('-'),
        }
    }
    text.truncate(text.trim_end_matches('-').len());
    if !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        let number = std::mem::take(&mut text);
        text = format!("workflow-{number}");
        text.truncate(text.trim_end_matches('-').len());
    }
    text
}

fn safe(id: &str, also: impl Fn(u8) -> bool, first: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(id.len().min(BYTES_MAX) + 1);
    for c in id.chars() {
        if text.len() >= BYTES_MAX {
            break;
        }
        let sound = c.is_ascii_alphanumeric() || (c.is_ascii() && also(c as u8));
        text.push(if sound { c } else { '_' });
    }
    if !text.bytes().next().is_some_and(first) {
        text.insert(0, '_');
    }
    text
}
