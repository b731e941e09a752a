//! Everything outside of its directory that a command names: its content is no part of the cache key, and what
//! is written there is none of the outputs.

use wire::attempt::{Dispatch, Stdin};

use crate::enact::cache_key::is_own;

/// Beginnings of paths that name the system and its software. Whether a program is still the same is looked
/// at when an outcome is recalled.
const SYSTEM: [&str; 7] = [
    "/bin/",
    "/lib/",
    "/lib64/",
    "/nix/store/",
    "/sbin/",
    "/usr/",
    "/dev/fd/",
];

/// Devices that keep nothing.
const DEVICES: [&str; 6] = [
    "/dev/full",
    "/dev/null",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/zero",
];

/// Variables of the machine that name directories which commands share.
const SHARED: [&str; 3] = ["HOME", "OLDPWD", "TMPDIR"];

/// The beginning of the variables that tell a command which attempt it is, and where: they are in no cache key.
const OF_ATTEMPT: &str = "XAVANTES_";

/// Letters of a word that names something outside, for people.
const SHOWN_MAX: usize = 60;

/// Returns true if a command, its stdin or a value of its environment names something that lies neither in
/// the activity's directory nor in the system: an absolute path, one that goes up or to a home directory, an
/// address in the network, or which attempt it is. A text that only looks so, as a pattern between slashes may, counts too.
pub(crate) fn names_outside(dispatch: &Dispatch) -> bool {
    named_outside(dispatch).is_some()
}

/// The first word that names something outside, as [`names_outside`] finds it.
pub(crate) fn named_outside(dispatch: &Dispatch) -> Option<String> {
    let stdin = match &dispatch.stdin {
        Stdin::Text(text) => Some(text.as_str()),
        Stdin::Empty | Stdin::File(_) => None,
    };
    let env = dispatch.env.iter().filter(|(name, _)| !is_own(name));
    let texts = dispatch.command.iter().chain(env.map(|(_, value)| value));
    let mut texts = texts.map(String::as_str).chain(stdin);
    texts.find_map(|text| {
        let at = text
            .find("://")
            .or_else(|| text.find(OF_ATTEMPT))
            .or_else(|| absolute_path(text))
            .or_else(|| way_up(text))
            .or_else(|| way_home(text))
            .or_else(|| shared_directory(text))?;
        Some(word_at(text, at))
    })
}

/// The word around a place in a text, as far as it can be shown.
fn word_at(text: &str, at: usize) -> String {
    let is_between = |letter: char| letter.is_whitespace() || "\"'`;|&()<>".contains(letter);
    let begin = text[..at].rfind(is_between).map_or(0, |before| {
        before + text[before..].chars().next().map_or(0, char::len_utf8)
    });
    let end = text[at..]
        .find(is_between)
        .map_or(text.len(), |end| at + end);
    text[begin..end].chars().take(SHOWN_MAX).collect()
}

fn absolute_path(text: &str) -> Option<usize> {
    let slashes = text.match_indices('/').map(|(at, _)| at);
    let mut begins = slashes.filter(|&at| begins_path(text, at));
    begins.find(|&at| {
        let path = &text[at..];
        let end = path.find(|letter: char| !is_of_path(letter));
        let is_device = DEVICES.contains(&&path[..end.unwrap_or(path.len())]);
        let is_system = SYSTEM.iter().any(|system| path.starts_with(system));
        !is_device && !is_system
    })
}

/// Returns true if a path from the root begins at this slash.
fn begins_path(text: &str, slash: usize) -> bool {
    let (before, after) = (&text[..slash], &text[slash + 1..]);
    let is_first = is_word_begin(before) || is_option(before);
    let mut rest = after.chars();
    is_first
        && match rest.next() {
            // `ls /`, but not a slash between two numbers of a script.
            None => true,
            Some(' ') => rest.next() == Some('-'),
            Some(letter) => letter.is_alphanumeric() || "._-~$*{\"'".contains(letter),
        }
}

/// Returns true if a word may begin after this text.
fn is_word_begin(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|letter| letter.is_whitespace() || "\"'`=(){}[]<>|&;,:@!\\".contains(letter))
}

/// Returns true if this text ends with an option of one letter, which its value may follow at once: `-I/path`.
fn is_option(before: &str) -> bool {
    let mut last = before.char_indices().rev();
    let letter = last
        .next()
        .filter(|(_, letter)| letter.is_ascii_alphabetic());
    let dash = letter
        .and_then(|_| last.next())
        .filter(|(_, dash)| *dash == '-');
    dash.is_some_and(|(at, _)| is_word_begin(&before[..at]))
}

/// Returns true for letters of plain paths.
fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/._-~".contains(letter)
}

/// The place of a path that goes to the directory above.
fn way_up(text: &str) -> Option<usize> {
    let mut dots = text.match_indices("..");
    let found = dots.find(|(at, dots)| {
        let at = *at;
        let is_first = text[..at].ends_with('/') || is_word_begin(&text[..at]);
        let next = text[at + dots.len()..].chars().next();
        is_first && next.is_none_or(|letter| letter == '/' || !is_of_path(letter))
    });
    found.map(|(at, _)| at)
}

/// The place of a path that begins with a home directory, or of a `cd` that goes to it.
fn way_home(text: &str) -> Option<usize> {
    let mut tildes = text.match_indices('~');
    let mut moves = text.match_indices("cd");
    let tilde = tildes.find(|(at, _)| is_word_begin(&text[..*at]));
    let found = tilde.or_else(|| {
        moves.find(|(at, word)| {
            let at = *at;
            let after = &text[at + word.len()..];
            let next = after.trim_start_matches([' ', '\t']).chars().next();
            is_word_begin(&text[..at])
                && at + word.len() < text.len()
                && next.is_none_or(|letter| ";&|\n)".contains(letter) || after.starts_with(" -"))
        })
    });
    found.map(|(at, _)| at)
}

fn shared_directory(text: &str) -> Option<usize> {
    let mut names = SHARED.iter();
    names.find_map(|name| {
        let plain = text.find(&format!("${name}"));
        plain.or_else(|| text.find(&format!("${{{name}")))
    })
}

#[cfg(test)]
mod tests;
