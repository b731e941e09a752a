//! Rust source without comments and strings, so that a word in them raises no complaint.

/// The source with comments and the insides of strings and characters blanked; lines stay where they are.
pub(crate) fn stripped(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let previous = at.checked_sub(1).map(|before| bytes[before]);
        let length = if rest.starts_with(b"//") {
            rest.iter()
                .position(|&byte| byte == b'\n')
                .unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            block_comment(rest)
        } else if rest[0] == b'"' {
            string(rest)
        } else if rest[0] == b'r' && !previous.is_some_and(is_word_inside) {
            raw_string(rest)
        } else if rest[0] == b'\'' {
            character(rest)
        } else {
            0
        };
        if length == 0 {
            code.push(rest[0]);
            at += 1;
        } else {
            code.extend(
                rest[..length]
                    .iter()
                    .map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }),
            );
            at += length;
        }
    }
    String::from_utf8(code).expect("whole comments and strings were replaced by spaces")
}

/// The code before `#[cfg(test)] mod .. {`; a test module in a file of its own is not concerned.
pub(crate) fn without_tests(code: &str) -> &str {
    code.match_indices("#[cfg(test)]")
        .find(|(at, attribute)| {
            let after = code[at + attribute.len()..].trim_start();
            after.starts_with("mod ")
                && after
                    .find(['{', ';'])
                    .is_some_and(|end| after[end..].starts_with('{'))
        })
        .map_or(code, |(at, _)| &code[..at])
}

/// Lines (from 1) on which the word stands by itself.
pub(crate) fn lines_with_word(text: &str, word: &str) -> Vec<usize> {
    let has = |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].bytes().next_back();
            let after = line[at + word.len()..].bytes().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| has(line))
        .map(|(index, _)| index + 1)
        .collect()
}

/// Words and signs, one after another; `::` is one.
pub(crate) fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let word = rest.bytes().take_while(|&byte| is_word(byte)).count();
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                word => word,
            };
            if !first.is_whitespace() {
                found.push((index + 1, &rest[..length]));
            }
            rest = &rest[length..];
        }
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// True if an `r` after this byte belongs to a word; after `b` and `c` it may begin a raw string.
fn is_word_inside(byte: u8) -> bool {
    is_word(byte) && byte != b'b' && byte != b'c'
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let end: Vec<u8> = std::iter::once(b'"')
        .chain(std::iter::repeat_n(b'#', hashes))
        .collect();
    let start = 2 + hashes;
    let inside = rest[start..]
        .windows(end.len())
        .position(|window| window == end);
    inside.map_or(rest.len(), |length| start + length + end.len())
}

/// A character literal, but not a lifetime.
fn character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        let after = rest[3..].iter().position(|&byte| byte == b'\'');
        return after.map_or(0, |length| 3 + length + 1);
    }
    let length = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .map_or_else(|error| error.valid_up_to(), |text| text.len());
    let first = std::str::from_utf8(&rest[1..1 + length])
        .ok()
        .and_then(|text| text.chars().next());
    match first {
        Some(first) if rest.get(1 + first.len_utf8()) == Some(&b'\'') => first.len_utf8() + 2,
        Some(_) | None => 0,
    }
}

#[test]
fn comments_and_strings_are_blanked_and_code_stays() {
    let quotes = "let a = \"un\\\"safe\"; // unsafe\nlet b: &'static str = r#\"x\"unsafe\"#;";
    let code = stripped(&format!(
        "{quotes}\n/* a /* b */ unsafe */ f('\\'', '\"', 'é'); unsafe {{}}"
    ));
    assert_eq!(lines_with_word(&code, "unsafe"), [3]);
    assert_eq!(code.lines().count(), 3);
    assert!(code.contains("let b: &'static str ="), "{code}");
    assert_eq!(lines_with_word("unsafe_code not_unsafe", "unsafe"), [0; 0]);
}

#[test]
fn only_a_test_module_in_the_same_file_is_cut() {
    assert_eq!(
        without_tests("a\n#[cfg(test)]\nmod tests;\nb"),
        "a\n#[cfg(test)]\nmod tests;\nb"
    );
    assert_eq!(
        without_tests("a\n#[cfg(test)]\nmod tests { fn c() {} }"),
        "a\n"
    );
}
