//! Files of variables, `NAME=value` in each line, as `env-file:` of a definition names one.
//!
//! Empty lines and those that begin with `#` say nothing, and a line may begin with `export`. A value without
//! quotes ends before ` #`, and blanks around it are not part of it. Within `'...'` all letters stand for
//! themselves, within `"..."` all but `\n`, `\t`, `\"`, `\\` and `\$`. Nothing is put in for `$NAME`.

use std::collections::BTreeMap;

use model::is_variable_name;
use model::limits::{PARTS_MAX, TEMPLATE_BYTES_MAX};

/// Bytes of one file of variables: they go along with each attempt.
pub const ENV_FILE_BYTES_MAX: usize = 1 << 20;

/// Mistakes that are told of one file.
const MISTAKES_MAX: usize = 20;

/// A line that is not one of a file of variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvFileError {
    /// Its number, from 1.
    pub line: usize,
    /// The problem, in a sentence without a full stop.
    pub message: String,
}

/// The variables of a file, in its order; or all lines that are wrong.
pub fn parse_env_file(text: &str) -> Result<Vec<(String, String)>, Vec<EnvFileError>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = Vec::new();
    let mut errors = Vec::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let parsed = variable(line).and_then(|found| {
            let Some((name, value)) = found else {
                return Ok(());
            };
            if let Some(first) = lines.get(name) {
                return Err(format!("{name} is set in line {first} too"));
            }
            if variables.len() == PARTS_MAX {
                return Err(format!("there are at most {PARTS_MAX} variables"));
            }
            lines.insert(name.to_owned(), number);
            variables.push((name.to_owned(), value));
            Ok(())
        });
        if let Err(message) = parsed {
            errors.push(EnvFileError {
                line: number,
                message,
            });
            if errors.len() == MISTAKES_MAX {
                break;
            }
        }
    }
    match errors.is_empty() {
        true => Ok(variables),
        false => Err(errors),
    }
}

fn variable(line: &str) -> Result<Option<(&str, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let exported = line.strip_prefix("export").map(str::trim_start);
    let is_word = |rest: &&str| line.len() > "export".len() + rest.len();
    let line = exported.filter(is_word).unwrap_or(line);
    let Some((name, value)) = line.split_once('=') else {
        return Err("no `=` in it: write NAME=value, or # before a remark".to_owned());
    };
    if name.ends_with([' ', '\t']) {
        return Err("a blank before `=`: write NAME=value".to_owned());
    }
    if !is_variable_name(name) || name.contains(char::is_whitespace) {
        return Err("what stands before `=` is no name of a variable".to_owned());
    }
    let value = value.trim_start();
    let value = match value.chars().next() {
        Some('\'') => single_quoted(&value[1..])?,
        Some('"') => double_quoted(&value[1..])?,
        Some('#') | None => String::new(),
        Some(_) => {
            let end = value.find(" #").or_else(|| value.find("\t#"));
            value[..end.unwrap_or(value.len())].trim_end().to_owned()
        }
    };
    if value.len() > TEMPLATE_BYTES_MAX {
        return Err(format!("a value of more than {TEMPLATE_BYTES_MAX} bytes"));
    }
    if value.contains('\0') {
        return Err("a NUL in the value".to_owned());
    }
    Ok(Some((name, value)))
}

const UNCLOSED: &str = "a quote that is not closed in its line; `\\n` within \"...\" is a line end";

fn single_quoted(rest: &str) -> Result<String, String> {
    let (value, after) = rest.split_once('\'').ok_or(UNCLOSED)?;
    ends(after)?;
    Ok(value.to_owned())
}

fn double_quoted(rest: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                ends(&rest[at + 1..])?;
                return Ok(value);
            }
            '\\' => match letters.next().map(|(_, letter)| letter) {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(letter @ ('"' | '\\' | '$')) => value.push(letter),
                Some(other) => {
                    return Err(format!("`\\{other}` within \"...\": write `\\\\{other}`"));
                }
                None => return Err(UNCLOSED.to_owned()),
            },
            letter => value.push(letter),
        }
    }
    Err(UNCLOSED.to_owned())
}

/// Behind a quoted value there may be a remark.
fn ends(after: &str) -> Result<(), String> {
    let after = after.trim_start();
    match after.is_empty() || after.starts_with('#') {
        true => Ok(()),
        false => Err("something behind the closing quote".to_owned()),
    }
}

#[cfg(test)]
mod tests;
