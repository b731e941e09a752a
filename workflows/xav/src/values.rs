//! Values of activities: what a process manager tells of them, as text and as JSON.

use std::collections::BTreeMap;

use model::{ActivityId, ProcessId};
use serde_json::{Map, Value as Json, json};
use wire::client::{
    ActivityStatus, ActivityValues, Answer, Rendered, Request, VALUES_ACTIVITIES_MAX, ValuesWanted,
};

use crate::ask::{Source, unfit};
use crate::failure::Failure;
use crate::{json, text};

/// Pages that are asked for at once, each with less than 100 kB: those of some five thousand activities. A process that
/// has ended may be unpacked for each, which takes some 100 ms of 100,000 activities.
const PAGES_MAX: usize = 16;

/// Characters of a list in a line.
const LIST_CHARS_MAX: usize = 2_000;

/// Digits of a hash that people see: as many as tell files apart.
const HASH_DIGITS: usize = 12;

/// Values by activity.
pub(crate) type Values = BTreeMap<ActivityId, ActivityValues>;

/// The values of these activities; of many, those of the first ones.
pub(crate) fn of(
    source: &mut Source,
    process: ProcessId,
    mut wanted: &[ActivityId],
) -> Result<Values, Failure> {
    let mut values = Values::new();
    for _ in 0..PAGES_MAX {
        if wanted.is_empty() {
            break;
        }
        let first = &wanted[..wanted.len().min(VALUES_ACTIVITIES_MAX)];
        let request = Request::Values(Box::new(ValuesWanted {
            process,
            activities: first.to_vec(),
        }));
        let answer = source.answer(request)?;
        let Answer::Values(page) = answer else {
            return Err(unfit(&answer));
        };
        wanted = &wanted[page.activities.len().min(first.len())..];
        values.extend(page.activities.into_iter().map(|one| (one.activity, one)));
    }
    Ok(values)
}

/// The values of one activity; none of one that has none yet.
pub(crate) fn of_one(
    source: &mut Source,
    process: ProcessId,
    activity: ActivityId,
) -> Result<Option<ActivityValues>, Failure> {
    Ok(of(source, process, &[activity])?.remove(&activity))
}

/// The values of an activity for people, with their labels. Its status has its outputs.
pub(crate) fn texts(one: &ActivityValues, status: &ActivityStatus) -> Vec<(&'static str, String)> {
    let items = one.items.iter();
    let items = items.map(|(name, value)| format!("{name} = {}", text::value_in_line(value)));
    let environment = one.environment.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => format!("{name} (its value came with the submission)"),
    });
    let inputs = one.inputs.iter().map(|input| {
        let name = match &input.name {
            Some(name) => format!("{name}, "),
            None => String::new(),
        };
        let (bytes, hash) = (input.artifact.bytes, short(&input.artifact));
        format!("{}: {name}{bytes}, {hash}", input.path)
    });
    let n_more = (one.n_inputs as usize).saturating_sub(one.inputs.len());
    let more = (n_more > 0).then(|| format!("and {n_more} more"));
    let outputs = status.outputs.iter();
    let outputs =
        outputs.map(|(name, artifact)| format!("{name}: {}, {}", artifact.bytes, short(artifact)));
    let captured = one.captured.iter();
    let captured = captured.map(|(name, value)| format!("{name} = {}", text::value_in_line(value)));
    let all = [
        ("For", listed(items)),
        ("Command", command(one)),
        ("Note", note(one).to_owned()),
        ("Inputs", listed(inputs.chain(more))),
        ("Stdin", one.stdin.clone().unwrap_or_default()),
        ("Environment", listed(environment)),
        ("Outputs", listed(outputs)),
        ("Captured", listed(captured)),
        ("Not told", one.wrong.clone().unwrap_or_default()),
    ];
    let all = all.into_iter().filter(|(_, text)| !text.is_empty());
    all.collect()
}

/// The values of an activity for people, a line each.
pub(crate) fn lines(one: &ActivityValues, status: &ActivityStatus) -> String {
    let rows: Vec<Vec<String>> = texts(one, status)
        .into_iter()
        .map(|(label, said)| {
            let label = format!("  {}", label.to_lowercase());
            vec![label, text::one_line(&said, LIST_CHARS_MAX)]
        })
        .collect();
    text::table(&rows)
}

/// The values of an activity below what else is said of it; nothing where there are none.
pub(crate) fn paragraph(one: &ActivityValues, status: &ActivityStatus) -> String {
    match lines(one, status) {
        lines if lines.is_empty() => lines,
        lines => format!("\n{lines}"),
    }
}

/// The values of an activity for programs.
pub(crate) fn document(one: &ActivityValues) -> Json {
    let environment = one.environment.iter();
    let environment: Map<String, Json> = environment
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    let inputs = one.inputs.iter().map(|input| {
        let name = input.name.clone().map(Into::into);
        let mut file = json::value(&model::Value::Artifact(input.artifact, name));
        file["path"] = json!(input.path);
        file
    });
    json!({
        "items": json::values(&one.items),
        "command": one.command,
        "command_is": match one.rendered {
            Rendered::Nothing => Json::Null,
            Rendered::Now => json!("of now"),
            Rendered::AsSent => json!("as sent"),
            Rendered::Changed => json!("changed"),
        },
        "environment": environment,
        "stdin": one.stdin,
        "inputs": inputs.collect::<Vec<Json>>(),
        "inputs_all": one.n_inputs,
        "captured": json::values(&one.captured),
        "is_cut": one.is_cut,
        "wrong": one.wrong,
    })
}

/// A command line as a shell reads it: the line of one that a shell runs is told as it is.
fn command(one: &ActivityValues) -> String {
    match &one.command[..] {
        [shell, option, line] if shell == "/bin/sh" && option == "-c" => line.clone(),
        words => {
            let quoted: Vec<String> = words.iter().map(|word| text::quoted(word)).collect();
            quoted.join(" ")
        }
    }
}

fn note(one: &ActivityValues) -> &'static str {
    match one.rendered {
        Rendered::Nothing | Rendered::AsSent => "",
        Rendered::Now => "not sent yet: command and environment have the values of now",
        Rendered::Changed => {
            "variables were written since it was sent: command and environment have the values of now"
        }
    }
}

fn short(artifact: &model::Artifact) -> String {
    let mut hash = artifact.hash.to_string();
    hash.truncate(HASH_DIGITS);
    hash
}

fn listed(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    all.join(", ")
}
