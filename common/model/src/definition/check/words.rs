//! Names, paths and texts: what each may be.

use super::problems::Problems;
use crate::definition::limits::{
    EXPRESSION_BYTES_MAX, NAME_BYTES_MAX, PATH_BYTES_MAX, TEMPLATE_BYTES_MAX,
};
use crate::definition::{Expression, Template};
use crate::{NodeId, Type};

pub(super) fn check_type(kind: &Type, field: &str, problems: &mut Problems) {
    if let Type::List(item) = kind
        && let Type::List(_) = **item
    {
        problems.add(None, field, "a list of lists; use `json`");
    }
}

pub(super) fn check_identifier(
    name: &str,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    let sound = name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !sound {
        let message = format!("`{}` is not a name that expressions can use", shorten(name));
        problems.hint(
            node,
            field,
            message,
            hint(name, "letters, digits and _, not beginning with a digit"),
        );
    }
}

/// The form of names, or their greatest length where a name is too long.
fn hint(name: &str, form: &str) -> String {
    match name.len() > NAME_BYTES_MAX {
        true => format!("at most {NAME_BYTES_MAX} characters"),
        false => form.to_owned(),
    }
}

pub(super) fn check_name(name: &str, node: Option<NodeId>, field: &str, problems: &mut Problems) {
    let sound = name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !sound {
        let message = format!("`{}` is not a name", shorten(name));
        problems.hint(
            node,
            field,
            message,
            hint(name, "letters, digits, _ and -, not beginning with -"),
        );
    }
}

pub(super) fn check_path(path: &str, node: Option<NodeId>, field: &str, problems: &mut Problems) {
    if let Some(wrong) = wrong_path(path) {
        let message = format!("{wrong}: `{}`", shorten(path));
        problems.hint(
            node,
            field,
            message,
            "paths lie in the activity's own directory",
        );
    }
}

/// Checks the path of a published result, as far as it is known without its expressions. Returns true if nothing is
/// wrong with it.
pub(super) fn published_path(
    path: &str,
    is_directory: bool,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) -> bool {
    let known = without_expressions(path);
    if let Some(wrong) = wrong_path(&known) {
        let message = format!("{wrong}: `{}`", shorten(path));
        let hint = "results are published in the directory of the definition, or below it";
        problems.hint(node, field, message, hint);
    } else if known.ends_with('/') && !is_directory {
        let message = format!("a directory where a file is published: `{}`", shorten(path));
        let hint = format!(
            "say the name that the file gets there: `{}NAME`",
            shorten(path)
        );
        problems.hint(node, field, message, hint);
    } else {
        return true;
    }
    false
}

/// The path with a letter in place of each expression.
fn without_expressions(path: &str) -> String {
    let mut known = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once("${") {
        known.push_str(before);
        known.push('x');
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    known + rest
}

/// The reason why a path does not lie in a directory, where it does not.
pub(in crate::definition) fn wrong_path(path: &str) -> Option<&'static str> {
    let parts = path.strip_suffix('/').unwrap_or(path).split('/');
    if path.is_empty() {
        Some("an empty path")
    } else if path.len() > PATH_BYTES_MAX {
        Some("a path that is too long")
    } else if path.starts_with('/') {
        Some("an absolute path")
    } else if path.contains(['\0', '\n']) {
        Some("a path with a line end or a NUL in it")
    } else if parts.clone().any(|part| part == "..") {
        Some("a path that leaves the directory")
    } else if parts.clone().any(|part| part.is_empty() || part == ".") {
        Some("a path with an empty part or a `.` in it")
    } else {
        None
    }
}

pub(super) fn check_expression(
    expression: &Expression,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    if expression.0.trim().is_empty() {
        problems.add(node, field, "an empty expression");
    } else if expression.0.len() > EXPRESSION_BYTES_MAX {
        let message = format!(
            "an expression of {} bytes; at most {EXPRESSION_BYTES_MAX}",
            expression.0.len()
        );
        problems.add(node, field, message);
    }
}

pub(super) fn check_template(
    template: &Template,
    node: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    if template.0.len() > TEMPLATE_BYTES_MAX {
        let message = format!(
            "a text of {} bytes; at most {TEMPLATE_BYTES_MAX}: a file beside the definition may be longer",
            template.0.len()
        );
        problems.add(node, field, message);
    } else if template.0.contains('\0') {
        problems.add(node, field, "a NUL character");
    }
}

/// The beginning of a text that somebody else chose, short enough for a message.
pub(super) fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
