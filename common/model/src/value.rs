//! The values of variables, inputs and outputs.

use std::collections::BTreeMap;
use std::fmt;

use minicbor::{Decode, Encode};

use crate::limits::VALUE_BYTES;
use crate::{Bytes, Hash};

mod decode;

/// A value of a variable, an input or an output of a process.
#[derive(Clone, Debug, Default, PartialEq, Encode)]
pub enum Value {
    /// Nothing yet.
    #[n(0)]
    #[default]
    Null,
    /// True or false.
    #[n(1)]
    Bool(#[n(0)] bool),
    /// A whole number.
    #[n(2)]
    Int(#[n(0)] i64),
    /// Any other number.
    #[n(3)]
    Float(#[n(0)] f64),
    /// Text.
    #[n(4)]
    Text(#[n(0)] String),
    /// Values in order.
    #[n(5)]
    List(#[n(0)] Vec<Value>),
    /// Values by name, in the order of the names.
    #[n(6)]
    Map(#[n(0)] BTreeMap<String, Value>),
    /// A file or a directory in the blob stores, and the name that it had where a user gave it. The name
    /// says nothing about the content: no cache key and no comparison has it.
    #[n(7)]
    Artifact(#[n(0)] Artifact, #[n(1)] Option<Box<str>>),
}

/// A file or a directory, named by its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Artifact {
    /// The hash of the file, or of the listing of the directory.
    #[n(0)]
    pub hash: Hash,
    /// The size of the file, or of all files of the directory together.
    #[n(1)]
    pub bytes: Bytes,
    /// File or directory.
    #[n(2)]
    pub kind: ArtifactKind,
}

/// The kind of an [`Artifact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(index_only)]
pub enum ArtifactKind {
    /// A file.
    #[n(0)]
    File,
    /// A file with leave to be executed.
    #[n(1)]
    Program,
    /// A directory (or what a glob found): the blob is the listing, a file a line.
    #[n(2)]
    Directory,
}

/// The declared type of an input or a variable.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub enum Type {
    /// `string`
    #[n(0)]
    Text,
    /// `int`
    #[n(1)]
    Int,
    /// `float`
    #[n(2)]
    Float,
    /// `bool`
    #[n(3)]
    Bool,
    /// `json`: anything that JSON can say.
    #[n(4)]
    Json,
    /// `file`
    #[n(5)]
    File,
    /// `directory`
    #[n(6)]
    Directory,
    /// `list of ...`: one level, the type of its items is not a list.
    #[n(7)]
    List(#[n(0)] Box<Type>),
}

impl Type {
    /// True if a value may be kept where this type is declared. Nothing (`Null`) may be kept
    /// anywhere: it is what a variable holds before it is written.
    pub fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null)
            | (Type::Text, Value::Text(_))
            | (Type::Int, Value::Int(_))
            | (Type::Float, Value::Float(_) | Value::Int(_))
            | (Type::Bool, Value::Bool(_)) => true,
            (Type::File, Value::Artifact(artifact, _)) => artifact.kind != ArtifactKind::Directory,
            (Type::Directory, Value::Artifact(artifact, _)) => {
                artifact.kind == ArtifactKind::Directory
            }
            (Type::Json, value) => !value.holds_artifact(),
            (Type::List(item), Value::List(items)) => items.iter().all(|value| item.admits(value)),
            (
                Type::Text
                | Type::Int
                | Type::Float
                | Type::Bool
                | Type::File
                | Type::Directory
                | Type::List(_),
                _,
            ) => false,
        }
    }
}

impl Type {
    /// A value that this type admits as it is kept: a whole number where a float is declared is that float.
    pub fn converted(&self, value: Value) -> Value {
        match (self, value) {
            (Type::Float, Value::Int(number)) => Value::Float(number as f64),
            (Type::List(item), Value::List(items)) => {
                let items = items.into_iter();
                Value::List(items.map(|value| item.converted(value)).collect())
            }
            (
                Type::Text
                | Type::Int
                | Type::Float
                | Type::Bool
                | Type::Json
                | Type::File
                | Type::Directory
                | Type::List(_),
                value,
            ) => value,
        }
    }

    /// True if it is a list of files or of directories.
    pub fn is_list_of_files(&self) -> bool {
        match self {
            Type::List(item) => matches!(**item, Type::File | Type::Directory),
            Type::Text
            | Type::Int
            | Type::Float
            | Type::Bool
            | Type::Json
            | Type::File
            | Type::Directory => false,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Text => f.write_str("string"),
            Type::Int => f.write_str("int"),
            Type::Float => f.write_str("float"),
            Type::Bool => f.write_str("bool"),
            Type::Json => f.write_str("json"),
            Type::File => f.write_str("file"),
            Type::Directory => f.write_str("directory"),
            Type::List(item) => write!(f, "list of {item}"),
        }
    }
}

/// The name of a type, a value or a controller with its article: `an int`, `a list`.
pub fn with_article(name: &impl fmt::Display) -> String {
    let name = name.to_string();
    match name.as_bytes() {
        [b'a' | b'e' | b'i' | b'o' | b'u', ..] => format!("an {name}"),
        _ => format!("a {name}"),
    }
}

impl From<Artifact> for Value {
    /// An artifact that an activity produced: it has no name of its own.
    fn from(artifact: Artifact) -> Value {
        Value::Artifact(artifact, None)
    }
}

impl Value {
    /// The name of the value's own type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "string",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Artifact(artifact, _) if artifact.kind == ArtifactKind::Directory => "directory",
            Value::Artifact(..) => "file",
        }
    }

    /// Roughly what the value takes in memory, in bytes: the limit on variables counts this.
    pub fn size(&self) -> usize {
        const ONE: usize = VALUE_BYTES;
        match self {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => ONE,
            Value::Artifact(_, name) => ONE + name.as_ref().map_or(0, |name| name.len()),
            Value::Text(text) => ONE + text.len(),
            Value::List(items) => ONE + items.iter().map(Value::size).sum::<usize>(),
            Value::Map(items) => {
                ONE + items
                    .iter()
                    .map(|(name, value)| name.len() + value.size())
                    .sum::<usize>()
            }
        }
    }

    /// True if there are at most so many lists and maps within each other.
    pub fn is_within_depth(&self, depth_max: usize) -> bool {
        match self {
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Artifact(..) => true,
            Value::List(items) => {
                depth_max > 0 && items.iter().all(|item| item.is_within_depth(depth_max - 1))
            }
            Value::Map(items) => {
                let mut items = items.values();
                depth_max > 0 && items.all(|item| item.is_within_depth(depth_max - 1))
            }
        }
    }

    fn holds_artifact(&self) -> bool {
        match self {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
                false
            }
            Value::List(items) => items.iter().any(Value::holds_artifact),
            Value::Map(items) => items.values().any(Value::holds_artifact),
            Value::Artifact(..) => true,
        }
    }
}
