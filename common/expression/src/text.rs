//! Text with expressions in it.

use std::sync::Arc;

use model::{Template, Value, with_article};

use crate::function::float_text;
use crate::limits::TEXT_BYTES_MAX;
use crate::token::{Lexer, Token};
use crate::{ExpressionError, Meter, Program, Scope, json, shell};

/// Text in which each `${...}` stands for the value of an expression. Cheap to clone and to keep.
#[derive(Clone, Debug)]
pub struct Text(Arc<[Part]>);

#[derive(Debug)]
enum Part {
    Fixed(String),
    /// The program and the offset of its source in the text.
    Value(Program, usize),
}

impl Text {
    /// Compiles a text. `$${` stands for `${`; a `$` before anything else is only a `$`. The error
    /// is the first one.
    pub fn compile(template: &Template) -> Result<Text, ExpressionError> {
        Text::compile_with(template, Program::compile_source)
    }

    /// [`Text::compile`] with another compiler of expressions.
    pub(crate) fn compile_with(
        template: &Template,
        mut compile: impl FnMut(&str) -> Result<Program, ExpressionError>,
    ) -> Result<Text, ExpressionError> {
        let mut parts = Vec::new();
        let mut fixed = String::new();
        for piece in Pieces::new(&template.0) {
            match piece? {
                Piece::Fixed(text) => fixed.push_str(text),
                Piece::Source(source, start) => {
                    if !fixed.is_empty() {
                        parts.push(Part::Fixed(std::mem::take(&mut fixed)));
                    }
                    let compiled = compile(source);
                    parts.push(Part::Value(
                        compiled.map_err(|error| error.moved(start))?,
                        start,
                    ));
                }
            }
        }
        if !fixed.is_empty() {
            parts.push(Part::Fixed(fixed));
        }
        Ok(Text(parts.into()))
    }

    /// The names of the variables that its expressions may read; see [`Program::variables`].
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let programs = self.0.iter().filter_map(|part| match part {
            Part::Value(program, _) => Some(program),
            Part::Fixed(_) => None,
        });
        programs.flat_map(Program::variables)
    }

    /// The text with its values: numbers, true and false in source form, text as it is, lists and
    /// maps as JSON.
    pub fn render(&self, scope: &dyn Scope, meter: &mut Meter) -> Result<String, ExpressionError> {
        self.put_together(scope, meter, |value, _, text| {
            text.push_str(&plain(value)?);
            Ok(())
        })
    }

    /// The text with each value as one word of a POSIX shell, a list as a word for each item. A number just before
    /// `<` or `>` gets a blank behind it: without, it would be the number of a file that is redirected.
    pub fn render_shell(
        &self,
        scope: &dyn Scope,
        meter: &mut Meter,
    ) -> Result<String, ExpressionError> {
        self.put_together(scope, meter, |value, next, text| {
            let mut last = String::new();
            for (index, item) in items(value).iter().enumerate() {
                if index > 0 {
                    text.push(' ');
                }
                last = without_nul(plain(item)?)?;
                shell::quote(&last, text);
            }
            if is_number(&last) && next.starts_with(['<', '>']) {
                text.push(' ');
            }
            Ok(())
        })
    }

    /// The text as arguments of a command: one, except for a text that is one `${...}` whose value
    /// is a list, which gives an argument for each item.
    pub fn render_words(
        &self,
        scope: &dyn Scope,
        meter: &mut Meter,
    ) -> Result<Vec<String>, ExpressionError> {
        if let [Part::Value(program, start)] = self.0.as_ref() {
            let value = program
                .evaluate(scope, meter)
                .map_err(|error| error.moved(*start))?;
            count_writing(&value, program, *start, meter)?;
            let words = items(&value).iter().map(|item| without_nul(plain(item)?));
            return words
                .collect::<Result<_, String>>()
                .map_err(|message| program.named(ExpressionError::new(*start, message)));
        }
        let word = self.render(scope, meter)?;
        Ok(vec![
            without_nul(word).map_err(|message| ExpressionError::new(0, message))?,
        ])
    }

    fn put_together(
        &self,
        scope: &dyn Scope,
        meter: &mut Meter,
        // Gets what stands behind the value, too.
        put: impl Fn(&Value, &str, &mut String) -> Result<(), String>,
    ) -> Result<String, ExpressionError> {
        let mut text = String::new();
        for (place, part) in self.0.iter().enumerate() {
            match part {
                Part::Fixed(fixed) => {
                    meter.pass_bytes(fixed.len(), 0)?;
                    text.push_str(fixed);
                }
                Part::Value(program, start) => {
                    let value = program
                        .evaluate(scope, meter)
                        .map_err(|error| error.moved(*start))?;
                    count_writing(&value, program, *start, meter)?;
                    let named = |message| program.named(ExpressionError::new(*start, message));
                    let next = match self.0.get(place + 1) {
                        Some(Part::Fixed(fixed)) => fixed.as_str(),
                        Some(Part::Value(..)) | None => "",
                    };
                    put(&value, next, &mut text).map_err(named)?;
                    if text.len() > TEXT_BYTES_MAX {
                        let message = format!("a text of more than {} MiB", TEXT_BYTES_MAX >> 20);
                        return Err(named(message));
                    }
                }
            }
        }
        Ok(text)
    }
}

/// Counts the time of writing a value as text: JSON takes longest.
fn count_writing(
    value: &Value,
    program: &Program,
    start: usize,
    meter: &mut Meter,
) -> Result<(), ExpressionError> {
    const WRITING_FACTOR: usize = 4;
    let bytes = match value {
        Value::List(_) | Value::Map(_) => WRITING_FACTOR * value.size(),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Artifact(..) => value.size(),
    };
    let counted = meter.pass_bytes(bytes, start);
    counted.map_err(|error| program.named(error))
}

fn plain(value: &Value) -> Result<String, String> {
    match value {
        Value::Null => Err("it holds nothing yet".to_owned()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Int(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(float_text(*number)),
        Value::Text(text) => Ok(text.clone()),
        Value::List(_) | Value::Map(_) => Ok(json::to_json(value)?.to_string()),
        Value::Artifact(..) => Err(format!(
            "{} is not text; stage it with `inputs:`",
            with_article(&value.type_name())
        )),
    }
}

/// The items of a list, or the one that any other value is.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Map(_)
        | Value::Artifact(..) => std::slice::from_ref(value),
    }
}

/// True if a word, just before `<` or `>`, is the number of a file that is redirected.
fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn without_nul(text: String) -> Result<String, String> {
    match text.contains('\0') {
        true => Err("a NUL character cannot be given to a command".to_owned()),
        false => Ok(text),
    }
}

/// The expression of a text that is a single `${...}` with only blanks around it, and the offset of
/// its source; none for another text.
pub fn whole_expression(text: &str) -> Result<Option<(&str, usize)>, ExpressionError> {
    let trimmed = text.trim_start();
    let blanks = text.len() - trimmed.len();
    if !trimmed.starts_with("${") {
        return Ok(None);
    }
    let mut pieces = Pieces::new(text.trim_end());
    pieces.at = blanks;
    match (pieces.next(), pieces.next()) {
        (Some(Ok(Piece::Source(source, start))), None) => Ok(Some((source, start))),
        (Some(Err(error)), _) => Err(error),
        _ => Ok(None),
    }
}

/// A piece of a text.
pub(crate) enum Piece<'a> {
    Fixed(&'a str),
    /// The source of an expression and its offset in the text.
    Source(&'a str, usize),
}

/// Splits a text into pieces; ends after an error.
pub(crate) struct Pieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(text: &'a str) -> Pieces<'a> {
        Pieces { text, at: 0 }
    }

    fn source(&mut self) -> Result<Piece<'a>, ExpressionError> {
        let start = self.at + "${".len();
        let mut lexer = Lexer::new(self.text, start);
        let mut n_open = 0usize;
        loop {
            let (token, at) = lexer.next()?;
            match token {
                Token::Sign("{") => n_open += 1,
                Token::Sign("}") if n_open == 0 => {
                    self.at = at + 1;
                    return Ok(Piece::Source(&self.text[start..at], start));
                }
                Token::Sign("}") => n_open -= 1,
                Token::End => {
                    let error = ExpressionError::new(start - 2, "`${` without its `}`");
                    return Err(error.with_hint("`$${` stands for `${` itself"));
                }
                Token::Sign(_)
                | Token::Name(_)
                | Token::Whole(_)
                | Token::Float(_)
                | Token::Text(_)
                | Token::Gathered(_) => {}
            }
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<Piece<'a>, ExpressionError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with("${") {
            let piece = self.source();
            if piece.is_err() {
                self.at = self.text.len();
            }
            return Some(piece);
        }
        if rest.starts_with("$${") {
            self.at += 3;
            return Some(Ok(Piece::Fixed(&rest[1..3])));
        }
        let skipped = usize::from(rest.starts_with('$'));
        let end = rest[skipped..]
            .find('$')
            .map_or(rest.len(), |found| found + skipped);
        self.at += end;
        Some(Ok(Piece::Fixed(&rest[..end])))
    }
}
