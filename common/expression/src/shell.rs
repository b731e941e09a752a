//! Words of a POSIX shell: writing a value as a word, and the places in a line where a value is
//! permitted.

mod document;

use self::document::Documents;

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

/// The quoting state at a position of a line.
#[derive(Debug, Default)]
pub(crate) struct QuotingState {
    /// The open quotes and brackets, the innermost last.
    open: Vec<Open>,
    before: Before,
    comment: bool,
    /// The last letter was `(`.
    behind_parenthesis: bool,
    documents: Documents,
}

/// A part of a line that no value may stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Around {
    /// Between two of these quotes.
    Quote(char),
    /// In a document, or in the word behind `<<`.
    Document,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Single,
    Double,
    /// `$(` or `(`
    Parenthesis,
    /// The second one of `$((` or `((`, where `<<` shifts a number.
    Arithmetic,
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
        self.behind_parenthesis = false;
        self.documents.take_value();
    }

    /// The part of the line around the position in which no value may stand.
    pub(crate) fn around(&self) -> Option<Around> {
        if self.documents.is_around() {
            return Some(Around::Document);
        }
        match self.open.last() {
            Some(Open::Single) => Some(Around::Quote('\'')),
            Some(Open::Double) => Some(Around::Quote('"')),
            Some(Open::Brace) => {
                let quoted = self.open.iter().rev().find(|open| **open != Open::Brace);
                (quoted == Some(&Open::Double)).then_some(Around::Quote('"'))
            }
            Some(Open::Parenthesis | Open::Arithmetic) | None => None,
        }
    }

    fn push(&mut self, open: Open) {
        if self.open.len() < OPEN_MAX {
            self.open.push(open);
        }
    }

    fn pass_one(&mut self, c: char) {
        if self.documents.take(c) {
            self.before = Before::Other;
            return;
        }
        let behind_parenthesis = std::mem::replace(&mut self.behind_parenthesis, c == '(');
        if self.comment {
            self.comment = c != '\n';
            self.before = Before::Blank;
            if !self.comment {
                self.documents.end_line();
            }
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
        if matches!(innermost, None | Some(Open::Parenthesis))
            && !self.open.contains(&Open::Arithmetic)
        {
            self.documents.pass(c);
        }
        match (c, innermost) {
            ('"', Some(Open::Double)) => {
                self.open.pop();
            }
            ('"', _) => self.push(Open::Double),
            ('(', Some(Open::Parenthesis)) if behind_parenthesis => self.push(Open::Arithmetic),
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
            (')', Some(Open::Parenthesis | Open::Arithmetic)) => {
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
        let quoted = |quote: char| Some(Around::Quote(quote));
        for (before, quote) in [
            ("echo ", None),
            ("echo '", quoted('\'')),
            ("echo 'a' ", None),
            ("echo \"a ", quoted('"')),
            ("echo \\\" ", None),
            ("echo \"\\\" ", quoted('"')),
            ("echo \"$(cat ", None),
            ("echo \"$(cat x) ", quoted('"')),
            ("echo \"it's ", quoted('"')),
            ("# don't\necho ", None),
            ("a#'", quoted('\'')),
            ("echo \"${X:-", quoted('"')),
            ("echo ${X:-", None),
            ("echo ${X} '", quoted('\'')),
            ("awk '{ print $1 }' ", None),
        ] {
            let mut place = QuotingState::default();
            place.pass(before);
            assert_eq!(place.around(), quote, "{before}");
        }
    }

    #[test]
    fn documents_are_no_code() {
        let inside = Some(Around::Document);
        let quoted = |quote: char| Some(Around::Quote(quote));
        for (before, around) in [
            ("cat <<END\nname: ", inside),
            ("cat <<END\ndon't\nEND\necho ", None),
            ("cat <<END\n END\n", inside),
            ("cat <<-END\n\t\tEND\n", None),
            ("cat <<'END' >out\n$(\nEND\n", None),
            ("cat << \"E D\"\nE D\n", None),
            ("cat <<\\END\n", inside),
            ("cat <<''\nx\n\n", None),
            ("cat <<A <<B\n'\nA\n", inside),
            ("cat <<A <<B\n'\nA\n\"\nB\n", None),
            ("cat <<END # don't\n", inside),
            ("cat <<END; echo '", quoted('\'')),
            ("x=$(cat <<END\n'\nEND\n) ", None),
            ("x=\"$(cat <<END\n'\nEND\n) ", quoted('"')),
            ("cat <<", inside),
            ("cat <<END", inside),
            ("cat <<END ", None),
            ("cat <<<", None),
            ("cat <<< x\n", None),
            ("echo '<<END'\n", None),
            ("echo \"<<END\n", quoted('"')),
            ("echo \\<\\<END\n", None),
            ("echo $((1 <<2))\n", None),
            ("echo $((1<<", None),
            ("echo $(((1<<2) + 1))\n", None),
            ("((x = 1<<2))\n", None),
            ("cat <file\n", None),
        ] {
            let mut place = QuotingState::default();
            place.pass(before);
            assert_eq!(place.around(), around, "{before}");
        }
        let mut place = QuotingState::default();
        place.pass("cat <<END\n");
        place.pass_value();
        place.pass("END\n");
        assert_eq!(place.around(), inside);
    }
}
