//! Words of a POSIX shell: writing a value as a word, and the places in a line where a value is
//! permitted.

/// Quotes a text as one word of a shell.
pub(crate) fn quote(text: &str, into: &mut String) {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&byte);
    if !text.is_empty() && text.bytes().all(safe) {
        into.push_str(text);
        return;
    }
    into.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            into.push_str("'\\''");
        }
        into.push_str(part);
    }
    into.push('\'');
}

/// The quoting state at a position of a line. Documents in the line (`<<END`) are taken for code.
#[derive(Debug, Default)]
pub(crate) struct QuotingState {
    /// The open quotes and brackets, the innermost last.
    open: Vec<Open>,
    before: Before,
    comment: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    /// `$(` or `(`
    Parenthesis,
    /// `${`
    Brace,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Before {
    #[default]
    Blank,
    Backslash,
    Dollar,
    Other,
}

/// Maximum depth of nested quotes and brackets; no line that people write has more.
const OPEN_MAX: usize = 64;

impl QuotingState {
    /// Advances over a piece of the line.
    pub(crate) fn pass(&mut self, text: &str) {
        for c in text.chars() {
            self.pass_one(c);
        }
    }

    /// Advances over a value, which is a word or a part of one.
    pub(crate) fn pass_value(&mut self) {
        self.before = Before::Other;
    }

    /// The quote around the position, if there is one.
    pub(crate) fn quote(&self) -> Option<char> {
        match self.open.last() {
            Some(Open::Single) => Some('\''),
            Some(Open::Double) => Some('"'),
            Some(Open::Brace) => {
                let quoted = self.open.iter().rev().find(|open| **open != Open::Brace);
                (quoted == Some(&Open::Double)).then_some('"')
            }
            Some(Open::Parenthesis) | None => None,
        }
    }

    fn push(&mut self, open: Open) {
        if self.open.len() < OPEN_MAX {
            self.open.push(open);
        }
    }

    fn pass_one(&mut self, c: char) {
        if self.comment {
            self.comment = c != '\n';
            self.before = Before::Blank;
            return;
        }
        let innermost = self.open.last().copied();
        if innermost == Some(Open::Single) {
            if c == '\'' {
                self.open.pop();
                self.before = Before::Other;
            }
            return;
        }
        let before = self.before;
        self.before = match c {
            '\\' if before != Before::Backslash => Before::Backslash,
            '$' if before != Before::Backslash => Before::Dollar,
            ' ' | '\t' | '\n' | ';' | '&' | '|' => Before::Blank,
            _ => Before::Other,
        };
        if before == Before::Backslash {
            return;
        }
        match (c, innermost) {
            ('"', Some(Open::Double)) => {
                self.open.pop();
            }
            ('"', _) => self.push(Open::Double),
            ('(', _) if before == Before::Dollar => {
                self.push(Open::Parenthesis);
                self.before = Before::Blank;
            }
            ('{', _) if before == Before::Dollar => self.push(Open::Brace),
            ('}', Some(Open::Brace)) => {
                self.open.pop();
            }
            (_, Some(Open::Double)) => {}
            ('\'', _) => self.push(Open::Single),
            ('(', _) => {
                self.push(Open::Parenthesis);
                self.before = Before::Blank;
            }
            (')', Some(Open::Parenthesis)) => {
                self.open.pop();
            }
            ('#', None | Some(Open::Parenthesis)) if before == Before::Blank => self.comment = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_one_word() {
        for (text, word) in [
            ("plain-1.txt", "plain-1.txt"),
            ("", "''"),
            ("two words", "'two words'"),
            ("it's", r"'it'\''s'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("a\nb", "'a\nb'"),
            ("~", "'~'"),
        ] {
            let mut written = String::new();
            quote(text, &mut written);
            assert_eq!(written, word);
        }
    }

    #[test]
    fn places_inside_quotes_are_known() {
        for (before, quote) in [
            ("echo ", None),
            ("echo '", Some('\'')),
            ("echo 'a' ", None),
            ("echo \"a ", Some('"')),
            ("echo \\\" ", None),
            ("echo \"\\\" ", Some('"')),
            ("echo \"$(cat ", None),
            ("echo \"$(cat x) ", Some('"')),
            ("echo \"it's ", Some('"')),
            ("# don't\necho ", None),
            ("a#'", Some('\'')),
            ("echo \"${X:-", Some('"')),
            ("echo ${X:-", None),
            ("echo ${X} '", Some('\'')),
            ("awk '{ print $1 }' ", None),
        ] {
            let mut place = QuotingState::default();
            place.pass(before);
            assert_eq!(place.quote(), quote, "{before}");
        }
    }
}
