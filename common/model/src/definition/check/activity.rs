//! One activity: its command, files, limits and retries.

use std::collections::BTreeSet;

use super::environment::{check_activation, check_environment_file, check_variable_name};
use super::problems::Problems;
use super::words::{check_name, check_path, check_template};
use super::{check_priority, check_source, check_used, check_variable};
use crate::definition::limits::{
    ATTEMPTS_MAX, CORES_MAX, MEMORY_PERCENT_MAX, MEMORY_PERCENT_MIN, PARTS_MAX, REPLICAS_MAX,
};
use crate::definition::{
    Activation, Activity, Capture, Command, Draft, NodeKind, Parse, Produced, Source, Staged, Stdin,
};
use crate::{NodeId, Type, Work};

pub(super) fn check_activity(
    draft: &Draft,
    activity: &Activity,
    id: NodeId,
    problems: &mut Problems,
) {
    let here = Some(id);
    match &activity.command {
        Command::List(parts) if parts.is_empty() || parts[0].0.is_empty() => {
            problems.add(here, "run", "no command");
        }
        Command::List(parts) => {
            for (index, part) in parts.iter().enumerate() {
                check_template(part, here, &format!("run.{index}"), problems);
            }
        }
        Command::Shell(line) if line.0.trim().is_empty() => {
            problems.add(here, "run.shell", "no command");
        }
        Command::Shell(line) => check_template(line, here, "run.shell", problems),
    }
    let n_parts = [
        (
            "run",
            if let Command::List(parts) = &activity.command {
                parts.len()
            } else {
                1
            },
        ),
        ("env", activity.env.len()),
        ("inputs", activity.inputs.len()),
        ("outputs", activity.outputs.len()),
        ("labels", activity.labels.len()),
        ("retry.on", activity.retry.on.len()),
        ("uses", activity.uses.as_ref().map_or(0, Vec::len)),
    ];
    for (field, n_parts) in n_parts {
        if n_parts > PARTS_MAX {
            problems.add(
                here,
                field,
                format!("{n_parts} entries; at most {PARTS_MAX}"),
            );
        }
    }
    for (name, value) in &activity.env {
        let field = format!("env.{name}");
        check_variable_name(name, here, &field, problems);
        check_template(value, here, &field, problems);
    }
    check_activation(activity.activation.as_ref(), here, problems);
    check_environment_file(draft, activity, id, problems);
    check_used(draft, activity, id, problems);
    check_replicas(activity, id, problems);
    let mut staged_paths = BTreeSet::new();
    for staged in &activity.inputs {
        let field = format!("inputs.{}", staged.path);
        check_path(&staged.path, here, &field, problems);
        if !staged_paths.insert(staged.path.trim_end_matches('/')) {
            problems.add(here, &field, format!("`{}` is staged twice", staged.path));
        }
        check_source(draft, staged.source, here, &field, problems);
        if staged.gathers {
            continue;
        }
        for source in draft.sources(staged.source) {
            check_kind(draft, (staged, source), here, &field, problems);
        }
        if let Some(carried) = staged.carried {
            check_kind(
                draft,
                (staged, carried),
                here,
                &format!("{field}.then"),
                problems,
            );
        }
    }
    for path in &staged_paths {
        let mut above = *path;
        while let Some((parent, _)) = above.rsplit_once('/') {
            if staged_paths.contains(parent) {
                let message = format!("lies inside `{parent}`, which is staged too");
                problems.add(here, format!("inputs.{path}"), message);
                break;
            }
            above = parent;
        }
    }
    check_uses(draft, activity, id, problems);
    check_beside(draft, activity, id, problems);
    match &activity.stdin {
        Some(Stdin::Text(text)) => check_template(text, here, "stdin", problems),
        Some(Stdin::File(path)) => {
            check_path(path, here, "stdin", problems);
            let known = staged_paths.contains(path.as_str())
                || draft.files_of(activity).any(|(_, file)| file == path);
            if !known {
                let message = format!("`{path}` is neither among the inputs nor among the files");
                problems.add(here, "stdin", message);
            }
        }
        None => {}
    }
    let mut names = BTreeSet::new();
    for output in &activity.outputs {
        let field = format!("outputs.{}", output.name);
        check_name(&output.name, here, &field, problems);
        check_path(&output.path, here, &field, problems);
        if !names.insert(&output.name) {
            problems.add(
                here,
                field,
                format!("output `{}` is declared twice", output.name),
            );
        }
    }
    for (stream, capture) in [("stdout", activity.stdout), ("stderr", activity.stderr)] {
        if let Some(capture) = capture {
            check_variable(draft, capture.variable, here, stream, problems);
            check_capture(draft, capture, (id, stream), problems);
        }
    }
    if activity.work == Some(Work::ZERO) {
        problems.add(
            here,
            "work",
            "0 is not an amount of work; leave it out and it is learned",
        );
    }
    if activity.cores == 0 || activity.cores > CORES_MAX {
        problems.add(
            here,
            "cores",
            format!("{} cores; 1 to {CORES_MAX}", activity.cores),
        );
    }
    if activity.memory.is_some_and(|memory| memory.0 == 0) {
        problems.add(here, "memory", "0 bytes; nothing can run in that");
    }
    if activity.timeout.is_some_and(|timeout| timeout.0 == 0) {
        problems.add(here, "timeout", "0 seconds; nothing can end in that");
    }
    check_priority(activity.priority, here, problems);
    let attempts = activity.retry.attempts;
    if attempts == 0 || attempts > ATTEMPTS_MAX {
        problems.add(
            here,
            "retry.attempts",
            format!("{attempts} attempts; 1 to {ATTEMPTS_MAX}"),
        );
    }
    if let Some(percent) = activity.retry.memory_percent {
        if !(MEMORY_PERCENT_MIN..=MEMORY_PERCENT_MAX).contains(&percent) {
            let (least, most) = (MEMORY_PERCENT_MIN, MEMORY_PERCENT_MAX);
            let message = format!("{percent} %; {least} to {most}");
            problems.hint(
                here,
                "retry.memory",
                message,
                "write `x2` for twice as much",
            );
        }
        if activity.memory.is_none() {
            let hint = "write `memory: 1GiB` beside `retry`, or leave it out there";
            let message = "memory that grows, without a `memory` to grow from";
            problems.hint(here, "retry.memory", message, hint);
        }
    }
    let mut names = BTreeSet::new();
    for (name, _) in &activity.labels {
        check_name(name, here, "labels", problems);
        if !names.insert(name) {
            problems.add(here, "labels", format!("label `{name}` is asked for twice"));
        }
    }
}

/// A variable keeps what is captured into it.
fn check_replicas(activity: &Activity, id: NodeId, problems: &mut Problems) {
    let Some(n) = activity.replicas else {
        return;
    };
    let here = Some(id);
    if !(2..=REPLICAS_MAX).contains(&n) {
        let message = format!("{n} replicas; 2 to {REPLICAS_MAX}");
        let hint = "one attempt at a time is what is done without `replicas`";
        problems.hint(here, "replicas", message, hint);
    }
    let what = "cannot have replicas";
    if activity.at_most_once {
        problems.add(
            here,
            "replicas",
            format!("an activity that is never run twice {what}"),
        );
    } else if !activity.used_limits().is_empty() {
        let message = format!("an activity that takes of a limit {what}");
        let hint = "several attempts run at the same time, and each would need it";
        problems.hint(here, "replicas", message, hint);
    } else if !activity.repeatable {
        let message = format!("an activity that is not repeatable {what}");
        let hint =
            "its attempts run at the same time: write `repeatable: true` if that does no harm";
        problems.hint(here, "replicas", message, hint);
    }
}

fn check_capture(
    draft: &Draft,
    capture: Capture,
    (id, stream): (NodeId, &str),
    problems: &mut Problems,
) {
    let Some(variable) = draft.variables.get(capture.variable as usize) else {
        return;
    };
    let (name, kind) = (&variable.name, &variable.kind);
    let is_kept = match (capture.parse, kind) {
        (_, Type::Json)
        | (Parse::Text, Type::Text)
        | (Parse::Int, Type::Int | Type::Float)
        | (Parse::Float, Type::Float)
        | (Parse::Lines, Type::List(_))
        // It depends on what the command writes.
        | (Parse::Json, _) => true,
        (Parse::Text | Parse::Int | Parse::Float | Parse::Lines, _) => false,
    };
    if is_kept {
        return;
    }
    let what = match capture.parse {
        Parse::Text => "text",
        Parse::Int => "a whole number",
        Parse::Float => "a float",
        Parse::Json => "JSON",
        Parse::Lines => "a list of lines",
    };
    let hint = match kind {
        Type::Text if capture.parse == Parse::Lines => {
            format!("declare `{name}: list of string`, or leave `as: lines` out")
        }
        Type::Text => format!("leave `as` out, or declare `{name}` with another type"),
        Type::Int if capture.parse == Parse::Float => {
            format!("write `as: int` beside `into: {name}`, or declare `{name}: float`")
        }
        Type::Int => format!("write `as: int` beside `into: {name}`"),
        Type::Float => format!("write `as: float` beside `into: {name}`"),
        Type::Bool => {
            format!("write `as: json` beside `into: {name}`: `true` and `false` are JSON")
        }
        Type::List(_) => format!("write `as: lines` beside `into: {name}`"),
        Type::File | Type::Directory | Type::Json => {
            "a file that a command makes is named by `outputs:`".to_owned()
        }
    };
    let message = format!("{what} is captured into `{name}`, which is declared as {kind}");
    problems.hint(Some(id), format!("{stream}.into"), message, hint);
}

/// The files beside the definition that an activity uses.
fn check_uses(draft: &Draft, activity: &Activity, id: NodeId, problems: &mut Problems) {
    let here = Some(id);
    let mut seen = BTreeSet::new();
    let of_environment = activity.activation.as_ref().and_then(Activation::file);
    for (number, &place) in activity.uses.iter().flatten().enumerate() {
        let field = format!("uses.{number}");
        let Some(path) = draft.files.get(place as usize) else {
            problems.add(here, &field, "the process has no such file");
            continue;
        };
        if !seen.insert(path) {
            problems.add(here, &field, format!("`{path}` is listed twice"));
        }
        // The environment's own file is checked where the environment names it.
        if of_environment == Some(path) {
            continue;
        }
        check_path(path, here, &field, problems);
        if path.ends_with('/') {
            problems.add(here, &field, "a directory; list its files");
        }
    }
}

/// No file beside the definition lies where an input needs a directory, nor below an input that is a file. An input with
/// the path of such a file stands in its place.
fn check_beside(draft: &Draft, activity: &Activity, id: NodeId, problems: &mut Problems) {
    let is_nested = |path: &str| path.trim_end_matches('/').contains('/');
    let beside = || draft.files_of(activity).map(|(_, path)| path);
    let is_any_nested = activity.inputs.iter().any(|one| is_nested(&one.path));
    if activity.inputs.is_empty() || !is_any_nested && !beside().any(is_nested) {
        return;
    }
    let beside: BTreeSet<&str> = beside().collect();
    for staged in &activity.inputs {
        let path = staged.path.trim_end_matches('/');
        let field = format!("inputs.{}", staged.path);
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]);
        if let Some(file) = above.find(|above| beside.contains(above)) {
            let message = format!("`{file}` of `files` or `uses` is a file, and no directory");
            let hint = "stage it under another path";
            problems.hint(Some(id), &field, message, hint);
            continue;
        }
        let below = format!("{path}/");
        let first = beside.range(below.as_str()..).next();
        let is_file = !staged.path.ends_with('/');
        if let Some(file) = first.filter(|file| is_file && file.starts_with(&below)) {
            let message =
                format!("`{file}` of `files` or `uses` lies below it, so it cannot be a file");
            let hint = "stage it under another path";
            problems.hint(Some(id), &field, message, hint);
        }
    }
}

/// A directory is staged where the path says so, a file elsewhere.
fn check_kind(
    draft: &Draft,
    (staged, source): (&Staged, Source),
    here: Option<NodeId>,
    field: &str,
    problems: &mut Problems,
) {
    let Some(is_directory) = source_is_directory(draft, source) else {
        return;
    };
    if is_directory == staged.path.ends_with('/') {
        return;
    }
    let (what, hint) = if is_directory {
        ("a directory", format!("write `{}/`", staged.path))
    } else {
        let path = staged.path.trim_end_matches('/');
        ("a file", format!("write `{path}`"))
    };
    problems.hint(here, field, format!("what is staged here is {what}"), hint);
}

fn source_is_directory(draft: &Draft, source: Source) -> Option<bool> {
    match source {
        Source::Output { activity, output } => match &draft.nodes.get(activity.index())?.kind {
            NodeKind::Activity(activity) => activity
                .outputs
                .get(output as usize)
                .map(Produced::is_directory),
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => None,
        },
        Source::Input(index) => draft
            .inputs
            .get(index as usize)
            .map(|input| input.kind == Type::Directory || input.kind.is_list_of_files()),
        // It is known when it is staged.
        Source::Item(_) => None,
        // Each of its cases is looked at.
        Source::Pick(_) => None,
    }
}
