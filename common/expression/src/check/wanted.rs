//! The kinds of values that each place of a definition takes.

use model::{Type, Variable};

use super::environment::Environment;
use crate::infer::{Inference, a, written};
use crate::kinds::{ALL, ARTIFACT, BOOL, DIRECTORY, INT, Kinds, LIST, NULL, NUMBER, TEXT};
use crate::parse::NameKind;
use crate::{ExpressionError, Program, Severity};

/// The use of the value of an expression.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// An output of the process, which may be anything.
    Output,
    /// A condition.
    Truth,
    /// The items of a for-each.
    List,
    /// The number of items that is enough.
    Count,
    /// The name of an item.
    Key,
    /// The value of a variable.
    Variable(&'a Variable),
    /// A part of a text.
    Text(Joined),
}

/// The form in which values become parts of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    /// Themselves.
    Text,
    /// Words of a shell.
    Shell,
    /// Arguments of a command.
    Words,
}

impl Wanted<'_> {
    /// Complains of a value that is certainly not what is wanted.
    pub(super) fn judge(
        self,
        kinds: &Kinds,
        program: &Program,
        environment: &Environment<'_>,
        inference: &mut Inference<'_>,
    ) {
        let node = program.node();
        let source = written(node).unwrap_or("...".to_owned());
        let error = |message: String| ExpressionError::new(node.offset, message);
        match self {
            Wanted::Output => unwritten(program, environment, inference),
            Wanted::Truth => inference.wanted_true(kinds, node),
            Wanted::List => inference.take(kinds, LIST, || {
                let error = error(format!("a list is wanted, not {}", a(kinds)));
                match kinds.set() & !NULL {
                    INT => {
                        error.with_hint(format!("`range({source})` is the list of so many numbers"))
                    }
                    TEXT => error.with_hint(format!(
                        "`lines({source})` or `{source}.split(',')` makes a list of a text"
                    )),
                    _ => error,
                }
            }),
            Wanted::Count => inference.take(kinds, INT, || {
                let error = error(format!("a whole number is wanted, not {}", a(kinds)));
                match kinds.set() & (TEXT | NUMBER) != 0 {
                    true => error.with_hint(format!("write `int({source})`")),
                    false => error,
                }
            }),
            Wanted::Key => inference.take(kinds, TEXT | INT, || {
                let error = error(format!(
                    "text or a whole number is wanted, not {}",
                    a(kinds)
                ));
                match kinds.set() & !NULL {
                    set if set & !ARTIFACT == 0 => error.with_hint(format!(
                        "`name({source})` is the name that it was given with"
                    )),
                    set if set & (NUMBER | BOOL) != 0 => {
                        error.with_hint(format!("write `string({source})`"))
                    }
                    _ => error,
                }
            }),
            Wanted::Variable(variable) => {
                let admitted = Kinds::declared(&variable.kind);
                // A variable may be emptied; what may be nothing and something is meant to be something.
                let only_nothing = kinds.set() == NULL;
                let taken = admitted.set() | if only_nothing { NULL } else { 0 };
                inference.take(kinds, taken, || {
                    let name = &variable.name;
                    let kind = &variable.kind;
                    let message = format!(
                        "{} for the variable `{name}`, which is declared as {kind}",
                        a(kinds)
                    );
                    let hint = conversion(&variable.kind, kinds, &source);
                    ExpressionError {
                        hint,
                        ..error(message)
                    }
                });
            }
            Wanted::Text(joined) => {
                let subject = written(node).map_or("it".to_owned(), |name| format!("`{name}`"));
                inference.take(kinds, ALL & !(ARTIFACT | NULL), || {
                    let message = format!("{subject} is {}, not text", a(kinds));
                    let hint = match kinds.set() & ARTIFACT {
                        0 => None,
                        _ => Some(layout(kinds, &source)),
                    };
                    ExpressionError {
                        hint,
                        ..error(message)
                    }
                });
                let items = kinds.items();
                let is_files = kinds.set() & !NULL == LIST
                    && items.set() & !NULL != 0
                    && items.set() & !(NULL | ARTIFACT) == 0;
                // An empty list has no file in it.
                if is_files {
                    let what = match joined {
                        Joined::Text => "text",
                        Joined::Shell | Joined::Words => "words of a command",
                    };
                    let message = format!("{subject} is a list of {}s, not {what}", items.names());
                    let hint = format!(
                        "lay them out with `inputs: {{ files/: {source} }}`, and write `files/*` in a shell line"
                    );
                    let error = error(message).with_hint(hint);
                    inference.found.push((Severity::Warning, error));
                }
            }
        }
    }
}

/// Complains of an output that reads a variable without a value.
fn unwritten(program: &Program, environment: &Environment<'_>, inference: &mut Inference<'_>) {
    let names = program.names().iter();
    let variables = names.filter(|name| name.kind == NameKind::Variable);
    for name in variables.filter(|name| environment.is_never_written(&name.name)) {
        let name_of = &name.name;
        let message =
            format!("an output of the variable `{name_of}`, to which nothing is ever written");
        let hint = format!(
            "write it by `stdout: {{ into: {name_of} }}` of an activity or by `assign`, or give it a `value`"
        );
        let error = ExpressionError::new(name.offset, message).with_hint(hint);
        inference.found.push((Severity::Error, error));
    }
}

/// The functions that make a value of a type.
fn conversion(kind: &Type, kinds: &Kinds, source: &str) -> Option<String> {
    let set = kinds.set() & !NULL;
    let value = match source {
        "..." if set == LIST => "list",
        "..." => "text",
        written => written,
    };
    match kind {
        Type::Text if set & !(NUMBER | BOOL) == 0 => Some(format!("write `string({source})`")),
        Type::Text if set == LIST => Some(format!("write `{value}.join(', ')`")),
        Type::Int if set & !NUMBER == 0 => Some(format!(
            "write `int({source})` for the number without what is behind its point, or declare a float"
        )),
        Type::Int if set == TEXT => Some(format!("write `int({source})`")),
        Type::Float if set == TEXT => Some(format!("write `double({source})`")),
        Type::Bool if set == TEXT => Some(format!("write `bool({source})`, or compare it")),
        Type::Bool if set & !NUMBER == 0 => Some(format!("compare it: `{source} > 0`")),
        Type::List(_) if set == TEXT => {
            Some(format!("write `lines({value})` or `{value}.split(',')`"))
        }
        Type::List(_) if set & LIST == 0 => Some(format!("write `[{source}]` for a list of one")),
        Type::Text
        | Type::Int
        | Type::Float
        | Type::Bool
        | Type::Json
        | Type::File
        | Type::Directory
        | Type::List(_) => None,
    }
}

/// The way of a file into the directory of a command.
fn layout(kinds: &Kinds, source: &str) -> String {
    if source == "..." {
        return "a file is laid out by `inputs:`, and its path there is written".to_owned();
    }
    let name = source.rsplit('.').next().unwrap_or(source);
    let path = match kinds.set() & ARTIFACT {
        DIRECTORY => format!("{name}/"),
        _ => name.to_owned(),
    };
    format!("lay it out with `inputs: {{ {path}: {source} }}`, and write `{path}`")
}
