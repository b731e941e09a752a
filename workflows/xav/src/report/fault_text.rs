//! Faults, as the page tells them.

use model::{Definition, Fault};
use wire::client::Status;

use crate::json::machine_of;
use crate::text;

/// A fault in words.
#[derive(Debug)]
pub(crate) struct FaultText {
    /// The activity, where it was in one.
    pub(crate) activity: Option<String>,
    /// The fault's name.
    pub(crate) name: String,
    /// The fault in a sentence.
    pub(crate) message: String,
    /// Further facts, each with its label.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// The end of what the command wrote to stderr.
    pub(crate) stderr: String,
}

/// All faults of a process, the cause first.
pub(crate) fn faults(status: &Status, definition: &Definition) -> Vec<FaultText> {
    let machine = machine_of(status);
    let one = |fault: &Fault| {
        let node = fault.activity.map(|activity| activity.node());
        let name = node.map(|node| definition.node(node).name.clone());
        let mut facts = Vec::new();
        if let Some(node) = node {
            facts.push(("activity", definition.path(node)));
        }
        if fault.attempt > 0 {
            facts.push(("attempt", fault.attempt.to_string()));
        }
        match fault.command.as_slice() {
            [] => {}
            [line] => facts.push(("command", line.clone())),
            words => facts.push(("command", text::command(words))),
        }
        if let Some(code) = fault.exit_code {
            facts.push(("exit code", code.to_string()));
        }
        if let Some(resource) = fault.resource {
            facts.push(("machine", machine(resource)));
        }
        if let Some(directory) = &fault.directory {
            facts.push(("directory", directory.clone()));
        }
        let message = match &name {
            // Some messages name their activity themselves.
            Some(name) => fault
                .message
                .strip_prefix(&format!("{name}: "))
                .unwrap_or(&fault.message),
            None => &fault.message,
        };
        FaultText {
            name: fault.name.to_string(),
            message: message.to_owned(),
            activity: name,
            facts,
            stderr: fault.stderr_tail.trim_end().to_owned(),
        }
    };
    status.faults.iter().map(one).collect()
}
