//! Advice about a fault, where its cause can be seen: a file that lies beside the definition and was
//! not in the directory of the command, or that may not be executed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use model::{Activity, Fault, FaultName};

use super::Context;
use crate::text;

/// Words of a command that are looked at: each costs a look at the disk.
const WORDS_MAX: usize = 100;

/// Exit status of a shell for a file that may not be executed, and for one that is not there.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The advice about a fault; none where nothing is seen.
pub(super) fn advice(fault: &Fault, context: &Context<'_>) -> Option<String> {
    let origin = Path::new(context.origin);
    let directory = origin.parent().filter(|_| origin.is_absolute())?;
    let activity = context.definition.activity(fault.activity?)?;
    let files = &context.definition.draft().files;
    let mut words = fault
        .command
        .iter()
        .flat_map(|part| words(part))
        .take(WORDS_MAX);
    words.find_map(|word| {
        let name = word.strip_prefix("./").unwrap_or(word);
        if !is_below(name) || !may_be_missed(fault, name) {
            return None;
        }
        let path = directory.join(name);
        let metadata = path.symlink_metadata().ok()?;
        let is_listed = files.iter().any(|file| file == name);
        if !is_listed && metadata.is_file() && !is_laid_out(activity, name) {
            return Some(format!(
                "{name} lies beside the definition, but not in the activity's directory: write `files: [{name}]`"
            ));
        }
        let is_started = fault.name == FaultName::NotStarted || fault.exit_code == Some(NOT_EXECUTABLE);
        let may_run = path.metadata().is_ok_and(|file| file.permissions().mode() & 0o111 != 0);
        (is_listed && is_started && !may_run).then(|| {
            let path = path.display().to_string();
            format!("{name} may not be executed: chmod +x {}", text::quoted(&path))
        })
    })
}

/// The words of a command or of a line for a shell.
fn words(part: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`;|&()<>$=,".contains(c);
    part.split(is_between).filter(|word| !word.is_empty())
}

/// Returns true if a path can lie below the directory of a definition.
fn is_below(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// Returns true if the fault may have come from a missing file, or one without permission: the command
/// could not be started, or it says that it did not find the file.
fn may_be_missed(fault: &Fault, name: &str) -> bool {
    match fault.name {
        FaultName::NotStarted => true,
        FaultName::ExitCode => {
            let said = &fault.stderr_tail;
            let is_shell = matches!(fault.exit_code, Some(NOT_EXECUTABLE | NOT_FOUND));
            let is_missing = ["No such file", "not found", "cannot open", "can't open"];
            said.contains(name) && (is_shell || is_missing.iter().any(|part| said.contains(part)))
        }
        FaultName::Timeout
        | FaultName::Lost
        | FaultName::OutcomeUnknown
        | FaultName::NoResource
        | FaultName::MissingOutput
        | FaultName::Expression
        | FaultName::TooManyIterations
        | FaultName::TooLarge
        | FaultName::Cancelled
        | FaultName::OutOfMemory
        | FaultName::Staging
        | FaultName::Thrown(_)
        | FaultName::DiskFull
        | FaultName::TooFewItems => false,
    }
}

/// Returns true if an input of the activity has this path, or is a directory above it.
fn is_laid_out(activity: &Activity, name: &str) -> bool {
    let mut inputs = activity.inputs.iter();
    inputs.any(|staged| {
        let rest = name.strip_prefix(staged.path.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
