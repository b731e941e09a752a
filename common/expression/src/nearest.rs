//! Suggestions for misspelt names.

/// The name in a list that is most similar to a written one, if one is similar enough: at most one
/// change for every three characters. O(names x length²).
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LENGTH_MAX: usize = 60;
    let written: Vec<char> = written.chars().take(LENGTH_MAX + 1).collect();
    if written.is_empty() || written.len() > LENGTH_MAX {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let length = name.chars().count();
        let most = written.len().max(length).div_ceil(3);
        if length > LENGTH_MAX || written.len().abs_diff(length) > most {
            continue;
        }
        let changes = distance(&written, name);
        if changes <= most && best.is_none_or(|(least, _)| changes < least) {
            best = Some((changes, name));
        }
    }
    best.map(|(_, name)| name)
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two names,
/// ignoring case.
fn distance(left: &[char], right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let same = |a: char, b: char| a.eq_ignore_ascii_case(&b);
    let mut before: Vec<usize> = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, &a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &b) in right.iter().enumerate() {
            let replaced = last[j] + usize::from(!same(a, b));
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && same(a, right[j - 1]) && same(left[i - 1], b) {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_of_the_finger_are_understood_and_other_words_are_not() {
        let names = ["inputs", "outputs", "stdin", "work"];
        for (written, meant) in [
            ("inputz", Some("inputs")),
            ("input", Some("inputs")),
            ("wrok", Some("work")),
            ("Work", Some("work")),
            ("stdni", Some("stdin")),
            ("banana", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
    }
}
