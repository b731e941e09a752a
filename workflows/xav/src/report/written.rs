//! Activities as the definition has them: command, files and variables. The items of a for-each have one in common.

use std::collections::BTreeMap;

use model::{
    Activation, Activity, ActivityId, Capture, Command, Definition, NodeId, Source, Staged, Stdin,
};

use super::escape::visible;

/// Bytes of all texts: more would make the page slow to open, and `xav show` has them all.
const BYTES_MAX: usize = 8 << 20;

/// Characters of one text, such as a command.
const CHARS_MAX: usize = 2_000;

/// Inputs or outputs of one activity that are told.
const LISTED_MAX: usize = 30;

/// Activities as they are written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Each activity of the definition that is told: labels with their texts.
    pub(crate) texts: Vec<Vec<(&'static str, String)>>,
    /// For each activity of the report the place in `texts`; none where there was no room.
    pub(crate) of: Vec<Option<usize>>,
}

impl Written {
    /// Those of these activities.
    pub(crate) fn of(
        definition: &Definition,
        activities: impl Iterator<Item = ActivityId>,
    ) -> Written {
        let mut written = Written::default();
        let mut places: BTreeMap<NodeId, Option<usize>> = BTreeMap::new();
        let mut n_bytes = 0;
        for activity in activities {
            let origin = definition.origin(activity.node());
            let Some(declared) = definition.draft().nodes[origin.index()].activity() else {
                written.of.push(None);
                continue;
            };
            // Each item reads something else where its inputs are picked.
            let picks = |staged: &Staged| matches!(staged.source, Source::Pick(_));
            let own = match declared.inputs.iter().any(picks) {
                true => activity.node(),
                false => origin,
            };
            let place = *places.entry(own).or_insert_with(|| {
                let texts = texts(definition, declared, activity);
                n_bytes += texts.iter().map(|(_, text)| text.len()).sum::<usize>();
                (n_bytes <= BYTES_MAX).then(|| {
                    written.texts.push(texts);
                    written.texts.len() - 1
                })
            });
            written.of.push(place);
        }
        written
    }
}

/// The texts of an activity as it is written, but for its picked inputs, which are those of `one`.
fn texts(
    definition: &Definition,
    activity: &Activity,
    one: ActivityId,
) -> Vec<(&'static str, String)> {
    let command = match &activity.command {
        Command::Shell(line) => line.0.clone(),
        Command::List(words) => {
            let words: Vec<&str> = words.iter().map(|word| word.0.as_str()).collect();
            words.join(" ")
        }
    };
    let inputs = activity.inputs.iter().map(|staged| {
        let gathers = if staged.gathers { "[*]" } else { "" };
        let source = match picked(definition, one, staged) {
            Some(picked) => picked,
            None => source(definition, staged.source, gathers),
        };
        format!("{} from {source}", staged.path)
    });
    let outputs = activity.outputs.iter();
    let outputs = outputs.map(|output| format!("{} in {}", output.name, output.path));
    let env = activity.env.iter();
    let env = env.map(|(name, value)| format!("{name}={}", value.0));
    let activation = definition.draft().activation_of(activity);
    let software = activation.map(|activation| match activation {
        Activation::Path(path) => format!("the environment {path}"),
        Activation::Venv(file) => format!("a virtual environment of {file}"),
        Activation::Conda(file) => format!("an environment of conda of {file}"),
        Activation::Container(container) => match container.has_network {
            true => format!("the container {}, with the network", container.image),
            false => format!("the container {}", container.image),
        },
    });
    let variable = |stream: &str, capture: Option<Capture>| {
        let variables = &definition.draft().variables;
        let variable = variables.get(capture?.variable as usize)?;
        Some(format!("{stream} into {}", variable.name))
    };
    let variables = [
        variable("stdout", activity.stdout),
        variable("stderr", activity.stderr),
    ];
    let stdin = activity.stdin.iter().map(|stdin| match stdin {
        Stdin::Text(text) => text.0.clone(),
        Stdin::File(path) => format!("the file {path}"),
    });
    let all = [
        ("Command", command),
        ("Runs in", software.unwrap_or_default()),
        ("Inputs", listed(inputs)),
        ("Stdin", listed(stdin)),
        ("Environment", listed(env)),
        ("Outputs", listed(outputs)),
        ("Variables", listed(variables.into_iter().flatten())),
    ];
    let all = all.into_iter().filter(|(_, text)| !text.is_empty());
    all.map(|(label, text)| (label, shortened(&visible(&text))))
        .collect()
}

fn listed(mut all: impl Iterator<Item = String>) -> String {
    let shown: Vec<String> = all.by_ref().take(LISTED_MAX).collect();
    match all.count() {
        0 => shown.join(", "),
        n_more => format!("{}, and {n_more} more", shown.join(", ")),
    }
}

/// The beginning of a text that is too long for the page.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn source(definition: &Definition, source: Source, gathers: &str) -> String {
    let draft = definition.draft();
    let named = match source {
        Source::Input(input) => {
            let input = draft.inputs.get(input as usize);
            input.map(|input| format!("inputs.{}", input.name))
        }
        Source::Output { activity, output } => draft.nodes.get(activity.index()).and_then(|node| {
            let output = node.activity()?.outputs.get(output as usize)?;
            Some(format!("{}{gathers}.{}", node.name, output.name))
        }),
        Source::Item(body) => definition.parent(body).and_then(|each| {
            let each = draft.nodes.get(each.index())?.for_each()?;
            Some(each.item.clone())
        }),
        Source::Pick(_) => Some(language::source(definition, source, false)),
    };
    named.unwrap_or_default()
}

/// The item's output that an activity reads by this input, once it was picked: `merge[3].all`.
fn picked(definition: &Definition, one: ActivityId, written: &Staged) -> Option<String> {
    let (Source::Pick(_), Some(activity)) = (written.source, definition.activity(one)) else {
        return None;
    };
    let mut inputs = activity.inputs.iter();
    let read = inputs.find(|staged| staged.path == written.path)?;
    let Source::Output { activity, output } = read.source else {
        return Some(source(definition, read.source, "")).filter(|_| read.source != written.source);
    };
    let maker = definition.as_written(activity).activity()?;
    let output = maker.outputs.get(output as usize)?;
    let name = definition.name_of(activity);
    Some(format!("{name}.{}", output.name))
}

#[cfg(test)]
mod tests;
