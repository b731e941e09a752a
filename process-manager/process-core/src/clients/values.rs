//! Values of activities, in pages. Nothing of them is recorded: a command is made again of the values that are, and
//! its cache key tells whether it is the one that was sent.

use std::collections::{BTreeMap, BTreeSet};

use expression::Programs;
use model::{Activity, ActivityId, Artifact, AttemptId, Source, Value};
use wire::attempt::{Dispatch, Stdin};
use wire::client::{
    ActivityValues, Answer, PAGE_BYTES_MAX, Rendered, TOLD_ACTIVITY_BYTES_MAX, TOLD_BYTES_MAX,
    TOLD_LISTED_MAX, ToldInput, VALUES_ACTIVITIES_MAX, ValuesPage, ValuesWanted,
};

use crate::budget::{ATTEMPT_STEPS, TURNS_STEPS};
use crate::enact::evaluate::{Evaluator, produced};
use crate::enact::message::{ACTIVITY_VARIABLE, ATTEMPT_VARIABLE, PROCESS_VARIABLE, resolve};
use crate::process::Process;
use crate::record::{ActivityPhase, CacheKey};
use crate::step::Step;

/// The values of activities of a process that runs here.
pub(super) fn answer_values(step: &Step<'_>, wanted: &ValuesWanted) -> Answer {
    match step.cx.process(wanted.process) {
        Some(process) => values(process, wanted),
        None => Answer::Unknown(wanted.process),
    }
}

/// A page of the values of activities. After the first activity it takes at most some 100,000 steps, which
/// are 5 ms.
pub fn values(process: &Process, wanted: &ValuesWanted) -> Answer {
    let n_wanted = wanted.activities.len();
    if n_wanted > VALUES_ACTIVITIES_MAX {
        let why = format!("{n_wanted} activities are too many; at most {VALUES_ACTIVITIES_MAX}");
        return Answer::Refused(vec![why]);
    }
    let definition = process.definition();
    let unknown = |id: &&ActivityId| definition.activity_as_written(**id).is_none();
    if let Some(unknown) = wanted.activities.iter().find(unknown) {
        let why = format!("{unknown} is no activity of process {}", process.id());
        return Answer::Refused(vec![why]);
    }
    let mut programs = Programs::default();
    let mut page = ValuesPage::default();
    let (mut n_bytes, mut n_steps) = (0, 0);
    for &id in &wanted.activities {
        let (told, steps) = told(process, id, &mut programs);
        let encoded = minicbor::to_vec(&told).expect("memory takes whatever is encoded");
        n_bytes += encoded.len();
        n_steps += steps;
        let is_first = page.activities.is_empty();
        if !is_first && n_bytes > PAGE_BYTES_MAX {
            break;
        }
        page.activities.push(told);
        if n_steps > TURNS_STEPS {
            break;
        }
    }
    Answer::Values(Box::new(page))
}

/// The values of an activity, and the steps that it took to work them out.
fn told(process: &Process, id: ActivityId, programs: &mut Programs) -> (ActivityValues, u64) {
    let mut room = Room::default();
    let mut told = ActivityValues {
        activity: id,
        items: Vec::new(),
        command: Vec::new(),
        rendered: Rendered::Nothing,
        environment: Vec::new(),
        stdin: None,
        inputs: Vec::new(),
        n_inputs: 0,
        captured: Vec::new(),
        is_cut: false,
        wrong: None,
    };
    let mut n_steps = ATTEMPT_STEPS;
    if process.is_folded(id) {
        told.wrong = Some(format!("of it {}", crate::process::folding::NOT_KEPT));
        return (told, n_steps);
    }
    let activity = process.definition().activity(id);
    if let Some(activity) = activity.filter(|_| is_known(process, id)) {
        let mut evaluator = Evaluator::new(programs);
        let attempt = AttemptId {
            process: process.id(),
            activity: id,
            number: process.activity(id).number.max(1),
        };
        match resolve(process, attempt, &mut evaluator) {
            Ok(dispatch) => {
                n_steps += dispatch.inputs.len() as u64;
                tell(process, activity, &dispatch, &mut told, &mut room);
            }
            Err(fault) => told.wrong = Some(room.text(&fault.message)),
        }
        n_steps += evaluator.meter.steps();
    }
    if let Some(activity) = process.definition().activity_as_written(id) {
        told.captured = captured(process, id, activity, &mut room);
    }
    let items = process.items(id.node());
    let items = items.values().iter();
    told.items = room.list(items, |room, (name, value)| {
        (room.text(name), room.value(value))
    });
    told.is_cut = room.is_cut;
    (told, n_steps)
}

/// True if all that a command reads is there: before, what it would read may still change.
fn is_known(process: &Process, id: ActivityId) -> bool {
    match process.activity(id).phase {
        ActivityPhase::Waiting | ActivityPhase::Skipped => false,
        ActivityPhase::Stopped => process.details(id).cache_key.is_some(),
        ActivityPhase::Ready
        | ActivityPhase::Sent
        | ActivityPhase::Backoff
        | ActivityPhase::Completed
        | ActivityPhase::Faulted => true,
    }
}

fn tell(
    process: &Process,
    activity: &Activity,
    dispatch: &Dispatch,
    told: &mut ActivityValues,
    room: &mut Room,
) {
    let id = told.activity;
    told.rendered = match process.details(id).cache_key {
        None => Rendered::Now,
        Some(sent) if sent == CacheKey::of(activity, dispatch) => Rendered::AsSent,
        Some(_) => Rendered::Changed,
    };
    told.command = room.list(dispatch.command.iter(), |room, word| room.text(word));
    told.stdin = match &dispatch.stdin {
        Stdin::Text(text) => Some(room.text(text)),
        Stdin::Empty | Stdin::File(_) => None,
    };
    let common = process.definition().draft().common_env().iter();
    let said: BTreeSet<&str> = common
        .chain(&activity.env)
        .map(|(name, _)| name.as_str())
        .chain([PROCESS_VARIABLE, ACTIVITY_VARIABLE, ATTEMPT_VARIABLE])
        .collect();
    told.environment = room.list(dispatch.env.iter(), |room, (name, value)| {
        let value = said.contains(name.as_str()).then(|| room.text(value));
        (room.text(name), value)
    });
    let names = names(process, activity);
    told.n_inputs = u32::try_from(dispatch.inputs.len()).unwrap_or(u32::MAX);
    told.inputs = room.list(dispatch.inputs.iter(), |room, (path, artifact)| ToldInput {
        path: room.text(path),
        artifact: *artifact,
        name: names.get(artifact).map(|name| room.text(name)),
    });
}

/// The names that the files which an activity reads had where they were given.
fn names(process: &Process, activity: &Activity) -> BTreeMap<Artifact, Box<str>> {
    let given = activity.inputs.iter().filter(|input| match input.source {
        Source::Input(_) | Source::Item(_) => true,
        Source::Output { .. } | Source::Pick(_) => false,
    });
    let mut names = BTreeMap::new();
    for value in given.filter_map(|input| produced(process, input.source)) {
        let files = match value {
            Value::List(items) => items,
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Map(_)
            | Value::Artifact(..) => vec![value],
        };
        for file in files.into_iter().take(TOLD_LISTED_MAX) {
            if let Value::Artifact(artifact, Some(name)) = file {
                names.insert(artifact, name);
            }
        }
    }
    names
}

/// The values that were read from its streams.
fn captured(
    process: &Process,
    id: ActivityId,
    activity: &Activity,
    room: &mut Room,
) -> Vec<(String, Value)> {
    let variables = &process.definition().draft().variables;
    let streams = [activity.stdout, activity.stderr];
    let names = streams
        .into_iter()
        .flatten()
        .filter_map(|capture| variables.get(capture.variable as usize));
    let details = process.details(id);
    let values = details.captured.iter().flatten();
    let named = names.zip(values).map(|(variable, value)| {
        let value = room.value(value);
        (variable.name.clone(), value)
    });
    named.collect()
}

/// The room that is left for the texts of an activity.
struct Room {
    n_left: usize,
    is_cut: bool,
}

impl Default for Room {
    fn default() -> Room {
        Room {
            n_left: TOLD_ACTIVITY_BYTES_MAX,
            is_cut: false,
        }
    }
}

impl Room {
    /// As many of a list as there is room for.
    fn list<T, R>(
        &mut self,
        all: impl Iterator<Item = T>,
        mut tell: impl FnMut(&mut Room, T) -> R,
    ) -> Vec<R> {
        let mut told = Vec::new();
        for one in all {
            if told.len() == TOLD_LISTED_MAX || self.n_left == 0 {
                self.is_cut = true;
                break;
            }
            told.push(tell(self, one));
        }
        told
    }

    /// A text, or its beginning with an ellipsis.
    fn text(&mut self, text: &str) -> String {
        let mut one = TOLD_BYTES_MAX.min(self.n_left);
        let before = one;
        let text = self.text_within(text, &mut one);
        self.n_left -= before - one;
        text
    }

    /// A value, or one like it with the beginnings of its texts and lists.
    fn value(&mut self, value: &Value) -> Value {
        let mut one = TOLD_BYTES_MAX.min(self.n_left);
        let before = one;
        let value = self.value_within(value, &mut one);
        self.n_left -= before - one;
        value
    }

    fn text_within(&mut self, text: &str, n_left: &mut usize) -> String {
        if text.len() <= *n_left {
            *n_left -= text.len();
            return text.to_owned();
        }
        self.is_cut = true;
        let mut end = *n_left;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        *n_left = 0;
        format!("{}…", &text[..end])
    }

    /// Each value in it takes some bytes beside its text. The depth of values is bounded where they are admitted.
    fn value_within(&mut self, value: &Value, n_left: &mut usize) -> Value {
        const BYTES_EACH: usize = 8;
        const BYTES_FILE: usize = 64;
        let beside = match value {
            Value::Artifact(..) => BYTES_FILE,
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_) => BYTES_EACH,
        };
        *n_left = n_left.saturating_sub(beside);
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => value.clone(),
            Value::Artifact(artifact, name) => {
                let name = name.as_ref().map(|name| self.text_within(name, n_left));
                Value::Artifact(*artifact, name.map(Into::into))
            }
            Value::Text(text) => Value::Text(self.text_within(text, n_left)),
            Value::List(items) => {
                let mut told = Vec::new();
                for item in items {
                    if *n_left == 0 {
                        self.is_cut = true;
                        break;
                    }
                    told.push(self.value_within(item, n_left));
                }
                Value::List(told)
            }
            Value::Map(entries) => {
                let mut told = BTreeMap::new();
                for (name, item) in entries {
                    if *n_left == 0 {
                        self.is_cut = true;
                        break;
                    }
                    let name = self.text_within(name, n_left);
                    told.insert(name, self.value_within(item, n_left));
                }
                Value::Map(told)
            }
        }
    }
}

#[cfg(test)]
mod tests;
