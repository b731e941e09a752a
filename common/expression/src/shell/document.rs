//! Documents in a command: the lines behind one with `<<END`, up to a line that is `END`.

use std::collections::VecDeque;

/// The documents that have begun at a position of a command.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// Signs `<` just before the position.
    n_less: usize,
    /// The word behind `<<`, while it is read.
    word: Option<Word>,
    /// The documents whose ends have not been reached, in their order.
    ends: VecDeque<End>,
    /// The line up to the position, within the first of them.
    line: Option<String>,
}

/// The end of a document.
#[derive(Debug, Default)]
struct End {
    line: String,
    /// With `<<-`, there may be tabs before it.
    after_tabs: bool,
}

#[derive(Debug, Default)]
struct Word {
    end: End,
    /// The quote or backslash around the position.
    quote: Option<char>,
    place: WordPlace,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum WordPlace {
    /// Just behind `<<`.
    #[default]
    Signs,
    /// Behind `<<-`, or a blank.
    Before,
    /// In the word.
    Inside,
}

/// A letter that no command has, in place of a value.
const VALUE: char = '\0';

impl Documents {
    /// Passes a letter that is neither in quotes nor in a comment.
    pub(super) fn pass(&mut self, c: char) {
        match c {
            '<' => self.n_less += 1,
            '\n' => self.end_line(),
            _ => self.n_less = 0,
        }
    }

    /// Passes the end of a line of code: the documents that it has named begin.
    pub(super) fn end_line(&mut self) {
        self.n_less = 0;
        self.line = (!self.ends.is_empty()).then(String::new);
    }

    /// Passes a letter of a document, or of the word that names its end. Answers false if it is none.
    pub(super) fn take(&mut self, c: char) -> bool {
        if self.line.is_some() {
            self.take_of_line(c);
            return true;
        }
        if self.is_before_word() && c != '<' {
            self.word = Some(Word::default());
        }
        let Some(word) = &mut self.word else {
            return false;
        };
        self.n_less = 0;
        if word.take(c) {
            return true;
        }
        let word = self.word.take();
        let ends = word.filter(|word| word.place == WordPlace::Inside);
        self.ends.extend(ends.map(|word| word.end));
        false
    }

    /// Passes a value in a document or in the word.
    pub(super) fn take_value(&mut self) {
        if self.is_around() {
            self.take(VALUE);
        }
    }

    /// True in a document and in the word behind `<<`.
    pub(super) fn is_around(&self) -> bool {
        self.line.is_some() || self.word.is_some() || self.is_before_word()
    }

    /// `<<<` has a text behind it, and no document.
    fn is_before_word(&self) -> bool {
        self.n_less == 2
    }

    fn take_of_line(&mut self, c: char) {
        let (Some(line), Some(end)) = (&mut self.line, self.ends.front()) else {
            return;
        };
        if c != '\n' {
            line.push(c);
            return;
        }
        let text = match end.after_tabs {
            true => line.trim_start_matches('\t'),
            false => line,
        };
        if text == end.line {
            self.ends.pop_front();
        }
        self.end_line();
    }
}

impl Word {
    /// Passes a letter, and answers false if the word has ended before it.
    fn take(&mut self, c: char) -> bool {
        match (self.quote, c) {
            (Some(quote), c) if quote == c && c != '\\' => self.quote = None,
            (Some(quote), c) => {
                self.end.line.push(c);
                self.quote = (quote != '\\').then_some(quote);
            }
            (None, '\'' | '"' | '\\') => {
                self.quote = Some(c);
                self.place = WordPlace::Inside;
            }
            (None, '-') if self.place == WordPlace::Signs => {
                self.end.after_tabs = true;
                self.place = WordPlace::Before;
            }
            (None, ' ' | '\t') if self.place != WordPlace::Inside => {
                self.place = WordPlace::Before;
            }
            (None, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => return false,
            (None, c) => {
                self.end.line.push(c);
                self.place = WordPlace::Inside;
            }
        }
        true
    }
}
