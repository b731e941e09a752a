//! A fault as its reader needs it: which activity, which command, what it said, where to look, how
//! to go on. No stack of wrapped errors.

mod advice;

use language::wfformat::Burn;
use model::{Definition, Fault, FaultName, ProcessId};

use crate::screen;
use crate::text;

/// Lines of stderr that are shown; all of it is in the log.
const STDERR_LINES_MAX: usize = 20;

/// Faults that are shown; the cause is the first one.
const FAULTS_MAX: usize = 5;

/// Characters of a line of stderr that are shown.
const LINE_CHARS_MAX: usize = 400;

/// The process around a fault, for its text.
pub(crate) struct Context<'a> {
    /// The process.
    pub(crate) process: ProcessId,
    /// Its definition.
    pub(crate) definition: &'a Definition,
    /// The definition's file.
    pub(crate) origin: &'a str,
    /// The options that say where the process is, so that advices are complete.
    pub(crate) options: Option<&'a str>,
}

/// All faults of a process, the cause first.
pub(crate) fn all(faults: &[Fault], context: &Context<'_>) -> String {
    let mut text = String::new();
    for fault in faults.iter().take(FAULTS_MAX) {
        text.push_str(&one(fault, context));
        text.push('\n');
    }
    if faults.len() > FAULTS_MAX {
        let more = text::count((faults.len() - FAULTS_MAX) as u64, "fault", "faults");
        let (id, options) = (context.id(), context.options());
        text.push_str(&format!(
            "and {more} more: xav status {id} --only failed{options} names the activities, and xav why {id} \
             ACTIVITY{options} tells one\n\n"
        ));
    }
    if !faults.is_empty() && !context.origin.is_empty() {
        let (id, file) = (context.id(), text::quoted(context.origin));
        let options = context.options();
        // Read again without its scales, all of a recording would be another one.
        text.push_str(&if context.is_recording() {
            format!(
                "Mend it, and run again what that changes: xav rerun {id}{options}\n  \
                 (a mended recording: --file {file}, scaled as it was)\n"
            )
        } else {
            format!(
                "Mend it, and run again what that changes: xav rerun {id} --file {file}{options}\n"
            )
        });
    }
    text
}

/// One fault.
fn one(fault: &Fault, context: &Context<'_>) -> String {
    let node = fault.activity.map(|activity| activity.node());
    let name = node.map(|node| context.definition.node(node).name.as_str());
    let message = text::harmless(&fault.message);
    let mut rows: Vec<(&str, String)> = Vec::new();
    let title = match (node, name) {
        (Some(node), Some(name)) => {
            let path = context.definition.path(node);
            let attempt = attempt(fault, context.definition);
            rows.push(("activity", format!("{path}{attempt}")));
            // Some messages name their activity themselves.
            let message = message
                .strip_prefix(&format!("{name}: "))
                .unwrap_or(&message);
            format!("activity {}: {message}", screen::bold(name))
        }
        _ => message,
    };
    if !fault.command.is_empty() {
        let is_shell = node.is_some_and(|node| is_shell(context.definition, node));
        let command = match (is_shell, fault.command.as_slice()) {
            (true, [line]) => text::one_line(line, 500),
            (_, words) => text::command(words),
        };
        rows.push(("command", command));
    }
    if let Some(code) = fault.exit_code {
        rows.push(("exit code", code.to_string()));
    }
    if let Some(directory) = &fault.directory {
        rows.push(("directory", format!("{} (kept)", text::quoted(directory))));
    }
    let never_runs = [FaultName::NotStarted, FaultName::Staging].contains(&fault.name);
    // A full disk may have kept it from running, or its outputs from being kept.
    let may_not_run = fault.name == FaultName::DiskFull && fault.exit_code.is_none();
    let has_run = !never_runs && !may_not_run;
    if let Some(name) = name
        && fault.attempt > 0
        && has_run
    {
        let logs = format!(
            "xav logs {} {}{}",
            context.id(),
            text::quoted(name),
            context.options()
        );
        rows.push(("all output", logs));
    }
    if let Some(advice) = advice::advice(fault, context) {
        rows.push(("advice", text::harmless(&advice)));
    }
    let mut text = format!("{} {title} ({})\n", screen::bad("fault:"), fault.name);
    for (label, value) in rows {
        text.push_str(&format!("  {label:<11}{value}\n"));
    }
    text.push_str(&stderr(&fault.stderr_tail));
    text
}

fn attempt(fault: &Fault, definition: &Definition) -> String {
    let activity = fault
        .activity
        .and_then(|activity| definition.activity(activity));
    let most = activity.map_or(1, |activity| activity.retry.attempts);
    match fault.attempt {
        0 => String::new(),
        1 if most == 1 => String::new(),
        number if number <= most => format!(", attempt {number} of {most}"),
        // Attempts that were lost or stopped are made again beyond those of the retry policy.
        number => format!(", attempt {number}"),
    }
}

fn is_shell(definition: &Definition, node: model::NodeId) -> bool {
    let activity = definition.activity(model::ActivityId(node.0));
    activity.is_some_and(|activity| matches!(activity.command, model::Command::Shell(_)))
}

fn stderr(tail: &str) -> String {
    let lines: Vec<&str> = tail.trim_end().lines().collect();
    if lines.iter().all(|line| line.trim().is_empty()) {
        return String::new();
    }
    let first = lines.len().saturating_sub(STDERR_LINES_MAX);
    let mut text = match first {
        0 => "  stderr\n".to_owned(),
        _ => format!("  stderr, the last {STDERR_LINES_MAX} lines\n"),
    };
    for line in &lines[first..] {
        let line = text::one_line(&line.replace('\t', "    "), LINE_CHARS_MAX);
        text.push_str(&format!("    {} {line}\n", screen::faint("|")));
    }
    text
}

impl Context<'_> {
    /// True if the definition was made from a recorded workflow when it was read.
    fn is_recording(&self) -> bool {
        let is_json = self.origin.ends_with(".json") || self.origin.ends_with(".json.gz");
        let first = self.definition.activities().first();
        let first = first.and_then(|activity| self.definition.activity(*activity));
        is_json && first.is_some_and(|activity| Burn::of_command(&activity.command).is_some())
    }

    fn id(&self) -> String {
        short(self.process)
    }

    fn options(&self) -> String {
        self.options
            .map_or_else(String::new, |options| format!(" {options}"))
    }
}

/// The beginning of a process's name that advices use: enough to be unique among thousands.
pub(crate) fn short(process: ProcessId) -> String {
    process.to_string()[..6].to_owned()
}

#[cfg(test)]
mod tests;
