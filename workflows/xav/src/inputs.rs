//! The inputs of a process as a user gives them: `--input NAME=VALUE`, read by the declared type.

mod glob;

use std::fs::{self, File};
use std::io::Read;
use std::num::{IntErrorKind, ParseIntError};
use std::path::{Path, PathBuf};

use activity_blobs::AddError;
use model::limits::FILE_NAME_BYTES_MAX;
use model::{Artifact, Input, Type, Value, with_article};
use serde_json::Value as Json;

use crate::failure::{Failure, chain};
use crate::{files_beside, text};

/// Bytes of a JSON file that is given as a value: values live in memory and in the journal.
const JSON_FILE_BYTES_MAX: u64 = 16 << 20;

/// Mistakes that are told at once.
const MISTAKES_MAX: usize = 50;

/// The value of one input from the command line. Its files are not in a blob store yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InputValue {
    /// A value.
    Value(Value),
    /// A file or a directory, which is there.
    Path {
        /// Where.
        path: PathBuf,
        /// True if it is a directory.
        is_directory: bool,
    },
    /// A file below the directory of the definition, the default of an input.
    Beside {
        /// The directory.
        directory: PathBuf,
        /// The path from there.
        name: String,
    },
    /// A list with files in it.
    List(Vec<InputValue>),
}

/// A file or a directory that is taken for a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taking<'a> {
    /// The place where it is, as users know it.
    pub(crate) place: &'a Path,
    /// The path by which it is read, which may be that of an open file.
    pub(crate) opened: &'a Path,
    /// True if it is a directory.
    pub(crate) is_directory: bool,
}

impl InputValue {
    /// The value, with files taken by `take`.
    pub(crate) fn resolve(
        &self,
        take: &mut impl FnMut(Taking<'_>) -> Result<Artifact, Failure>,
    ) -> Result<Value, Failure> {
        match self {
            InputValue::Value(value) => Ok(value.clone()),
            InputValue::Path { path, is_directory } => {
                let taking = Taking {
                    place: path,
                    opened: path,
                    is_directory: *is_directory,
                };
                Ok(named(take(taking)?, path))
            }
            InputValue::Beside { directory, name } => {
                let file = files_beside::open(directory, name, DEFAULT);
                let file = file.map_err(Failure::refused)?;
                let taking = Taking {
                    place: &directory.join(name),
                    opened: &files_beside::opened(&file),
                    is_directory: false,
                };
                Ok(named(take(taking)?, Path::new(name)))
            }
            InputValue::List(items) => {
                let items: Result<Vec<Value>, Failure> =
                    items.iter().map(|item| item.resolve(take)).collect();
                items.map(Value::List)
            }
        }
    }
}

/// The failure where a file or a directory could not be taken: a mistake of the user, where that is what it is.
pub(crate) fn not_taken(error: &AddError) -> Failure {
    let message = chain(error);
    match error {
        AddError::Open { .. }
        | AddError::Outside { .. }
        | AddError::Loop { .. }
        | AddError::Special { .. }
        | AddError::Foreign { .. }
        | AddError::NotAFile { .. }
        | AddError::NotADirectory { .. }
        | AddError::Name { .. }
        | AddError::TooDeep { .. }
        | AddError::TooMany { .. }
        | AddError::TooLong { .. } => Failure::refused(message),
        AddError::Read { .. }
        | AddError::Copy { .. }
        | AddError::DiskFull { .. }
        | AddError::NoRoom { .. }
        | AddError::Listing { .. } => Failure::new(message),
    }
}

/// A file or directory with its name, where that can be told.
fn named(artifact: Artifact, path: &Path) -> Value {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.filter(|name| name.len() <= FILE_NAME_BYTES_MAX);
    Value::Artifact(artifact, name.map(Box::from))
}

/// The key of a definition that names a file, for messages.
const DEFAULT: &str = "`default`";

/// Adds the inputs that are not given and whose defaults are files in the directory of the definition.
/// Each file is looked at, so that what is wrong with it is told before anything is stored.
pub(crate) fn add_beside(
    directory: &Path,
    declared: &[Input],
    given: &mut Vec<(String, InputValue)>,
) -> Result<(), Vec<String>> {
    let mut mistakes = Vec::new();
    for input in declared {
        let is_given = given.iter().any(|(name, _)| *name == input.name);
        let Some(paths) = input.paths_beside().filter(|_| !is_given) else {
            continue;
        };
        match beside(directory, &input.kind, &paths) {
            Ok(value) => given.push((input.name.clone(), value)),
            Err(reason) => mistakes.push(format!("input `{}`: {reason}", input.name)),
        }
    }
    mistakes.truncate(MISTAKES_MAX);
    match mistakes.is_empty() {
        true => Ok(()),
        false => Err(mistakes),
    }
}

fn beside(directory: &Path, kind: &Type, paths: &[&str]) -> Result<InputValue, String> {
    let one = |name: &str| {
        files_beside::open(directory, name, DEFAULT)?;
        Ok(InputValue::Beside {
            directory: directory.to_owned(),
            name: name.to_owned(),
        })
    };
    let (Type::File, [path]) = (kind, paths) else {
        let mut items = Vec::new();
        for path in paths {
            for name in glob::beside(directory, path)? {
                items.push(one(&name)?);
            }
        }
        return Ok(InputValue::List(items));
    };
    one(path)
}

/// Reads all `NAME=VALUE`, or says everything that is wrong with them. An input with a known value
/// has that one where it is not given.
pub(crate) fn read(
    arguments: &[String],
    declared: &[Input],
    known: &[(String, Value)],
) -> Result<Vec<(String, InputValue)>, Vec<String>> {
    let mut mistakes = Vec::new();
    let mut texts: Vec<(&Input, Vec<&str>)> = Vec::new();
    for argument in arguments {
        let Some((name, value)) = argument.split_once('=') else {
            mistakes.push(format!("--input {argument}: write it as NAME=VALUE"));
            continue;
        };
        let Some(input) = declared.iter().find(|input| input.name == name) else {
            mistakes.push(unknown(name, declared));
            continue;
        };
        match texts.iter_mut().find(|(known, _)| known.name == input.name) {
            Some((_, values)) => values.push(value),
            None => texts.push((input, vec![value])),
        }
    }
    let mut given = Vec::new();
    for (input, values) in &texts {
        match one(input, values) {
            Ok(value) => given.push((input.name.clone(), value)),
            Err(reason) => mistakes.push(format!("input `{}`: {reason}", input.name)),
        }
    }
    for input in declared {
        let is_given = texts.iter().any(|(known, _)| known.name == input.name);
        let value = known.iter().find(|(name, _)| *name == input.name);
        if let Some((name, value)) = value
            && !is_given
        {
            given.push((name.clone(), InputValue::Value(value.clone())));
        } else if !is_given && input.default.is_none() {
            let (name, kind) = (&input.name, &input.kind);
            mistakes.push(format!(
                "input `{name}` is missing: give it with --input {name}={}",
                sample(kind)
            ));
        }
    }
    mistakes.dedup();
    mistakes.truncate(MISTAKES_MAX);
    if mistakes.is_empty() {
        Ok(given)
    } else {
        Err(mistakes)
    }
}

fn unknown(name: &str, declared: &[Input]) -> String {
    let names = || declared.iter().map(|input| input.name.as_str());
    if let Some(near) = text::nearest(name, names()) {
        return format!("the process has no input `{name}`; did you mean `{near}`?");
    }
    if declared.is_empty() {
        return format!("the process has no input `{name}`; it has no inputs");
    }
    let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    format!(
        "the process has no input `{name}`; it has {}",
        names.join(", ")
    )
}

/// The example value in an advice.
fn sample(kind: &Type) -> &'static str {
    match kind {
        Type::Text => "TEXT",
        Type::Int => "WHOLE-NUMBER",
        Type::Float => "NUMBER",
        Type::Bool => "true|false",
        Type::Json => "JSON|@FILE",
        Type::File => "FILE",
        Type::Directory => "DIRECTORY",
        Type::List(item) if matches!(**item, Type::File | Type::Directory) => {
            "'*.txt' (a pattern or a path, several times, or as JSON)"
        }
        Type::List(_) => "ITEM (several times, or as JSON)",
    }
}

fn one(input: &Input, values: &[&str]) -> Result<InputValue, String> {
    let kind = &input.kind;
    let given = match (kind, values) {
        (Type::List(item), values) => list(item, values)?,
        (_, [value]) => single(kind, value)?,
        (_, several) => {
            return Err(format!(
                "given {} times; {} is given once",
                several.len(),
                with_article(kind)
            ));
        }
    };
    if let InputValue::Value(value) = &given {
        input.check(value)?;
    }
    Ok(given)
}

fn list(item: &Type, values: &[&str]) -> Result<InputValue, String> {
    let items: Vec<InputValue> = match values {
        [value] if value.trim_start().starts_with('[') => {
            let Json::Array(items) = json(value)? else {
                return Err("a JSON list is wanted".to_owned());
            };
            items
                .into_iter()
                .map(|value| item_of(item, value))
                .collect::<Result<_, _>>()?
        }
        _ if matches!(item, Type::File | Type::Directory) => {
            let mut items = Vec::new();
            for value in values {
                let paths = glob::paths(value, *item == Type::Directory)?;
                let given = paths.iter().map(|path| single(item, path));
                items.extend(given.collect::<Result<Vec<_>, _>>()?);
            }
            items
        }
        _ => values
            .iter()
            .map(|value| single(item, value))
            .collect::<Result<_, _>>()?,
    };
    let plain = |given: &InputValue| match given {
        InputValue::Value(value) => Some(value.clone()),
        InputValue::Path { .. } | InputValue::Beside { .. } | InputValue::List(_) => None,
    };
    match items.iter().map(plain).collect::<Option<Vec<Value>>>() {
        Some(values) => Ok(InputValue::Value(Value::List(values))),
        None => Ok(InputValue::List(items)),
    }
}

/// An item of a list that was given as JSON: a text is read as if it was given by itself, but only
/// where the type is one of text.
fn item_of(kind: &Type, value: Json) -> Result<InputValue, String> {
    match (kind, value) {
        (Type::File | Type::Directory, Json::String(text)) => single(kind, &text),
        (_, value) => Ok(InputValue::Value(from_json(value)?)),
    }
}

fn whole(text: &str) -> Result<i64, String> {
    use IntErrorKind::{NegOverflow, PosOverflow};
    text.parse().map_err(|error: ParseIntError| {
        match matches!(error.kind(), PosOverflow | NegOverflow) {
            true => format!("`{}` does not fit into 64 bits", short(text)),
            false => format!("a whole number is wanted, not `{}`", short(text)),
        }
    })
}

fn single(kind: &Type, text: &str) -> Result<InputValue, String> {
    let value = match kind {
        Type::Text => Value::Text(text.to_owned()),
        Type::Int => Value::Int(whole(text)?),
        Type::Float => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            Ok(_) | Err(_) => return Err(format!("a number is wanted, not `{}`", short(text))),
        },
        Type::Bool => match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Err(format!("true or false is wanted, not `{}`", short(text))),
        },
        Type::Json => match text.strip_prefix('@') {
            Some(path) => from_json(json(&json_file(path)?)?)?,
            None => from_json(json(text)?)?,
        },
        Type::File | Type::Directory => return path(kind, text),
        Type::List(_) => return Err("a list within a list cannot be given".to_owned()),
    };
    Ok(InputValue::Value(value))
}

fn path(kind: &Type, text: &str) -> Result<InputValue, String> {
    let path = PathBuf::from(text);
    let shown = path.display();
    let metadata = fs::metadata(&path)
        .map_err(|error| format!("could not look at {shown}: {}", reason(&error)))?;
    let wants_directory = *kind == Type::Directory;
    match (wants_directory, metadata.is_dir()) {
        (true, false) => Err(format!("a directory is wanted, and {shown} is none")),
        (false, true) => Err(format!("a file is wanted, and {shown} is a directory")),
        (false, false) if !metadata.is_file() => Err(format!(
            "a file is wanted, and {shown} is a pipe, a socket or a device"
        )),
        (is_directory, _) => {
            // A file that cannot be read is told before anything is stored.
            if !is_directory {
                File::open(&path)
                    .map_err(|error| format!("could not open {shown}: {}", reason(&error)))?;
            }
            Ok(InputValue::Path { path, is_directory })
        }
    }
}

fn json_file(path: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("could not read {path}: {}", reason(&error));
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(JSON_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > JSON_FILE_BYTES_MAX {
        let most = model::Bytes(JSON_FILE_BYTES_MAX);
        return Err(format!(
            "{path} is larger than {most}, the most that a value may have"
        ));
    }
    Ok(text)
}

fn json(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

fn from_json(value: Json) -> Result<Value, String> {
    Ok(match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::String(text) => Value::Text(text),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(float)) if float.is_finite() => Value::Float(float),
            (None, _) => return Err(format!("the number {number} is too large")),
        },
        Json::Array(items) => {
            Value::List(items.into_iter().map(from_json).collect::<Result<_, _>>()?)
        }
        Json::Object(items) => Value::Map(
            items
                .into_iter()
                .map(|(name, item)| from_json(item).map(|item| (name, item)))
                .collect::<Result<_, _>>()?,
        ),
    })
}

/// The system's message without the number of the error.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

fn short(value: &str) -> String {
    text::one_line(value, 60)
}

#[cfg(test)]
mod tests;
