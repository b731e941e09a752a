//! The kinds of values that an expression may have, as far as they are known before it is evaluated.

use model::{Parse, Type, Value};

/// Kinds of values; a value has one of them. Of lists and maps also the kinds of what is in them.
///
/// The kinds of an expression are all that it may have: one too many says less, one too few would
/// complain of what is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    set: Set,
    /// The kinds of the items of a list; none where anything may be in it.
    items: Option<Box<Kinds>>,
    /// The same of the values of a map.
    values: Option<Box<Kinds>>,
}

/// A set of kinds, a bit for each.
pub(crate) type Set = u16;

pub(crate) const NULL: Set = 1;
pub(crate) const BOOL: Set = 1 << 1;
pub(crate) const INT: Set = 1 << 2;
pub(crate) const FLOAT: Set = 1 << 3;
pub(crate) const TEXT: Set = 1 << 4;
pub(crate) const LIST: Set = 1 << 5;
pub(crate) const MAP: Set = 1 << 6;
pub(crate) const FILE: Set = 1 << 7;
pub(crate) const DIRECTORY: Set = 1 << 8;
pub(crate) const ALL: Set = (1 << 9) - 1;
/// Files that a user staged or an activity made.
pub(crate) const ARTIFACT: Set = FILE | DIRECTORY;
pub(crate) const NUMBER: Set = INT | FLOAT;

/// The names of the kinds, as values have them ([`Value::type_name`]).
const NAMES: [(Set, &str); 9] = [
    (BOOL, "bool"),
    (INT, "int"),
    (FLOAT, "float"),
    (TEXT, "string"),
    (LIST, "list"),
    (MAP, "map"),
    (FILE, "file"),
    (DIRECTORY, "directory"),
    (NULL, "nothing"),
];

impl Kinds {
    /// These kinds, with anything in lists and maps.
    pub(crate) const fn of(set: Set) -> Kinds {
        Kinds {
            set,
            items: None,
            values: None,
        }
    }

    /// All kinds, of a value of which nothing is known.
    pub(crate) const fn any() -> Kinds {
        Kinds::of(ALL)
    }

    /// What no value has: of the items of an empty list, and of a variable that nothing writes.
    pub(crate) const fn none() -> Kinds {
        Kinds::of(0)
    }

    pub(crate) fn list_of(items: Kinds) -> Kinds {
        Kinds {
            items: Some(Box::new(items)),
            ..Kinds::of(LIST)
        }
    }

    pub(crate) fn map_of(values: Kinds) -> Kinds {
        Kinds {
            values: Some(Box::new(values)),
            ..Kinds::of(MAP)
        }
    }

    /// The kinds of what may be given where a type is declared.
    pub(crate) fn declared(kind: &Type) -> Kinds {
        match kind {
            Type::Text => Kinds::of(TEXT),
            Type::Int => Kinds::of(INT),
            // A whole number becomes a float.
            Type::Float => Kinds::of(NUMBER),
            Type::Bool => Kinds::of(BOOL),
            Type::Json => Kinds::of(ALL & !ARTIFACT),
            Type::File => Kinds::of(FILE),
            Type::Directory => Kinds::of(DIRECTORY),
            // Nothing may be kept in any list.
            Type::List(item) => Kinds::list_of(Kinds::declared(item).or(Kinds::of(NULL))),
        }
    }

    /// The kinds of what is kept of these where a type is declared; see [`Type::converted`].
    pub(crate) fn converted(mut self, kind: &Type) -> Kinds {
        match kind {
            Type::Float if self.set & INT != 0 => self.set = self.set & !INT | FLOAT,
            Type::List(item) => {
                let items = self.items.map(|items| Box::new(items.converted(item)));
                self.items = items;
            }
            Type::Text
            | Type::Int
            | Type::Float
            | Type::Bool
            | Type::Json
            | Type::File
            | Type::Directory => {}
        }
        self
    }

    /// The kinds of a command's output, read in this way.
    pub(crate) fn captured(parse: Parse) -> Kinds {
        match parse {
            Parse::Text => Kinds::of(TEXT),
            Parse::Int => Kinds::of(INT),
            Parse::Float => Kinds::of(FLOAT),
            Parse::Json => Kinds::declared(&Type::Json),
            Parse::Lines => Kinds::list_of(Kinds::of(TEXT)),
        }
    }

    /// The kind of a value.
    pub(crate) fn of_value(value: &Value) -> Kinds {
        match value {
            Value::Null => Kinds::of(NULL),
            Value::Bool(_) => Kinds::of(BOOL),
            Value::Int(_) => Kinds::of(INT),
            Value::Float(_) => Kinds::of(FLOAT),
            Value::Text(_) => Kinds::of(TEXT),
            Value::List(items) => Kinds::list_of(Kinds::all_of(items)),
            Value::Map(entries) => Kinds::map_of(Kinds::all_of(entries.values())),
            Value::Artifact(artifact, _) => Kinds::of(match artifact.kind {
                model::ArtifactKind::File | model::ArtifactKind::Program => FILE,
                model::ArtifactKind::Directory => DIRECTORY,
            }),
        }
    }

    fn all_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> Kinds {
        let kinds = values.into_iter().map(Kinds::of_value);
        kinds.fold(Kinds::none(), Kinds::or)
    }

    /// The kinds of one or the other.
    pub(crate) fn or(self, other: Kinds) -> Kinds {
        let inner = |of: Set, one: Option<Box<Kinds>>, another: Option<Box<Kinds>>| match (
            self.set & of != 0,
            other.set & of != 0,
        ) {
            (true, true) => Some(Box::new((*one?).or(*another?))),
            (true, false) => one,
            (false, true) => another,
            (false, false) => None,
        };
        Kinds {
            set: self.set | other.set,
            items: inner(LIST, self.items, other.items),
            values: inner(MAP, self.values, other.values),
        }
    }

    /// The kinds of them that are in a set.
    pub(crate) fn among(mut self, set: Set) -> Kinds {
        self.set &= set;
        if self.set & LIST == 0 {
            self.items = None;
        }
        if self.set & MAP == 0 {
            self.values = None;
        }
        self
    }

    pub(crate) fn set(&self) -> Set {
        self.set
    }

    /// True if no value has them.
    pub(crate) fn is_none(&self) -> bool {
        self.set == 0
    }

    /// The kinds of the items, where it is a list.
    pub(crate) fn items(&self) -> Kinds {
        self.items.as_deref().cloned().unwrap_or(Kinds::any())
    }

    /// The kinds of the values, where it is a map.
    pub(crate) fn values(&self) -> Kinds {
        self.values.as_deref().cloned().unwrap_or(Kinds::any())
    }

    /// Their names for people. Nothing is not among them where there is another one, because it is
    /// what a variable has before it is written.
    pub(crate) fn names(&self) -> String {
        names(self.set)
    }

    /// True if a value has one of these kinds, with all that is in it.
    #[cfg(test)]
    pub(crate) fn admit(&self, value: &Value) -> bool {
        let is_in = Kinds::of_value(value).set & self.set != 0;
        is_in
            && match value {
                Value::List(items) => items.iter().all(|item| self.items().admit(item)),
                Value::Map(entries) => entries.values().all(|value| self.values().admit(value)),
                Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Text(_)
                | Value::Artifact(..) => true,
            }
    }
}

/// Kinds that are named: of more, nothing is known that would help.
const NAMED_MAX: u32 = 5;

/// The names of some kinds: `int`, `number`, `string, list or map`.
pub(crate) fn names(set: Set) -> String {
    let set = if set == NULL { set } else { set & !NULL };
    if set.count_ones() > NAMED_MAX {
        return "anything".to_owned();
    }
    let mut names: Vec<&str> = Vec::new();
    if set & NUMBER == NUMBER {
        names.push("number");
    }
    let is_number = |kind: Set| set & NUMBER == NUMBER && kind & NUMBER != 0;
    let known = NAMES.iter();
    let known = known.filter(|(kind, _)| set & kind != 0 && !is_number(*kind));
    names.extend(known.map(|(_, name)| *name));
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}
