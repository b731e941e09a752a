//! The variables that a definition asks for when it is submitted: those that it passes on from the environment
//! of this program, and those of its file of variables.

use std::env::VarError;
use std::io::Read;
use std::path::Path;

use language::{ENV_FILE_BYTES_MAX, EnvFileError, parse_env_file};
use model::{Bytes, Draft};

use crate::inputs::reason;
use crate::{files_beside, screen};

/// The key of a definition that names a file of variables, for messages.
const ENV_FILE: &str = "`env-file`";

/// The variables for a submission, and a warning for each that is passed on and not set. The error has everything
/// that is wrong.
pub(crate) fn read(
    directory: &Path,
    draft: &Draft,
) -> Result<Option<Vec<(String, String)>>, Vec<String>> {
    let Some(asked) = &draft.environment else {
        return Ok(None);
    };
    let mut variables = match &asked.file {
        Some(name) => of_file(directory, name)?,
        None => Vec::new(),
    };
    let mut wrong = Vec::new();
    for name in &asked.pass {
        match shell::environment::variable(name) {
            Ok(value) => {
                variables.retain(|(other, _)| other != name);
                variables.push((name.clone(), value));
            }
            Err(VarError::NotPresent) => {
                let is_in_file = variables.iter().any(|(other, _)| other == name);
                let then = match is_in_file {
                    true => "its value is that of the file of variables",
                    false => "commands run without it",
                };
                screen::warn(&format!(
                    "{name}, which `pass` names, is not set here: {then}"
                ));
            }
            Err(VarError::NotUnicode(_)) => {
                wrong.push(format!("{name}, which `pass` names, is not text in UTF-8"));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok((!variables.is_empty()).then_some(variables)),
        false => Err(wrong),
    }
}

/// Everything that is wrong with the file of variables.
pub(crate) fn wrong_file(directory: &Path, draft: &Draft) -> Vec<String> {
    let asked = draft.environment.as_ref();
    let file = asked.and_then(|asked| asked.file.as_ref());
    let wrong = file.and_then(|name| of_file(directory, name).err());
    wrong.unwrap_or_default()
}

fn of_file(directory: &Path, name: &str) -> Result<Vec<(String, String)>, Vec<String>> {
    let file = files_beside::open(directory, name, ENV_FILE).map_err(|error| vec![error])?;
    let mut bytes = Vec::new();
    let shown = directory.join(name).display().to_string();
    file.take(ENV_FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| vec![format!("could not read {shown}: {}", reason(&error))])?;
    if bytes.len() > ENV_FILE_BYTES_MAX {
        let most = Bytes(ENV_FILE_BYTES_MAX as u64);
        return Err(vec![format!(
            "{shown}: a file of variables has at most {most}"
        )]);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let n_valid = error.utf8_error().valid_up_to();
        let lines = error.as_bytes()[..n_valid].split(|byte| *byte == b'\n');
        vec![format!("{shown}:{}: not text in UTF-8", lines.count())]
    })?;
    parse_env_file(&text).map_err(|errors| {
        let errors = errors.into_iter();
        let told = |EnvFileError { line, message }| format!("{shown}:{line}: {message}");
        errors.map(told).collect()
    })
}
