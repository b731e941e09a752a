//! The labels that an administrator gives a machine: the table `labels` of `am.toml`.

use std::collections::BTreeMap;

use shell::config::Config;
use thiserror::Error;
use wire::resource::{LABELS_BYTES_MAX, OWN_LABELS, labels_bytes};

use crate::facts;

/// Labels that one machine is given: more than definitions can sensibly tell apart.
const LABELS_MAX: usize = 32;

/// Bytes of the name of a label, in which activities ask for it.
const NAME_BYTES_MAX: usize = 63;

/// Bytes of the value of a label: a path or an address.
const VALUE_BYTES_MAX: usize = 255;

/// Why a machine cannot have its labels.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum LabelsError {
    /// There are too many.
    #[error("a machine has at most {LABELS_MAX} labels, and am.toml gives it {0}")]
    TooMany(usize),
    /// A name is too long, or activities cannot ask for it.
    #[error(
        "{0:?} is not the name of a label: letters, digits, _ and -, not beginning with -, at most \
         {NAME_BYTES_MAX}"
    )]
    Name(String),
    /// The machine tells it itself.
    #[error("the label {0} cannot be given: the machine tells it")]
    Reserved(String),
    /// A value is empty, too long, or shows wrongly on a terminal.
    #[error(
        "the label {0} must be a text of 1 to {VALUE_BYTES_MAX} bytes without control characters"
    )]
    Value(String),
    /// They do not fit into what a group manager keeps of a machine.
    #[error(
        "the labels of the machine have {0} bytes, those that it tells included: at most \
         {LABELS_BYTES_MAX} can be told"
    )]
    TooLong(usize),
}

/// The given labels, by name.
pub(crate) fn ask(config: &mut Config<'_>) -> BTreeMap<String, String> {
    let wanted = "a table of texts, such as { gpu = \"a100\", site = \"lab\" }";
    let given = config.optional_texts("labels", wanted, approve);
    given.unwrap_or_default()
}

/// Refuses labels that activities could not ask for, or that a group manager would not take.
fn approve(given: &BTreeMap<String, String>) -> Result<(), LabelsError> {
    if given.len() > LABELS_MAX {
        return Err(LabelsError::TooMany(given.len()));
    }
    for (name, value) in given {
        let is_name = (1..=NAME_BYTES_MAX).contains(&name.len())
            && !name.starts_with('-')
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        if !is_name {
            return Err(LabelsError::Name(name.clone()));
        }
        if OWN_LABELS.contains(&name.as_str()) {
            return Err(LabelsError::Reserved(name.clone()));
        }
        let is_text =
            (1..=VALUE_BYTES_MAX).contains(&value.len()) && !value.chars().any(char::is_control);
        if !is_text {
            return Err(LabelsError::Value(name.clone()));
        }
    }
    let bytes = labels_bytes(&facts::labels()) + labels_bytes(given);
    if bytes > LABELS_BYTES_MAX {
        return Err(LabelsError::TooLong(bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
