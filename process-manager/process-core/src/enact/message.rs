//! Attempts as they are sent: every expression evaluated, every file named.

use std::collections::BTreeSet;

use expression::{ExpressionError, ProcessScope, Programs};
use model::limits::STAGED_MAX;
use model::{
    Activity, ActivityId, Artifact, ArtifactKind, AttemptId, Command, Fault, FaultName, Source,
    Staged, Stdin, Template, Value,
};
use wire::attempt::{Dispatch, Stdin as WireStdin};

use crate::enact::evaluate::{Evaluator, produced, scope};
use crate::process::Process;
use crate::process::folding::NOT_KEPT;
use crate::record::CacheKey;

/// The variable of the environment that tells a command its process...
pub(crate) const PROCESS_VARIABLE: &str = "XAVANTES_PROCESS";

/// ...its activity, by name...
pub(crate) const ACTIVITY_VARIABLE: &str = "XAVANTES_ACTIVITY";

/// ...and which attempt it is.
pub(crate) const ATTEMPT_VARIABLE: &str = "XAVANTES_ATTEMPT";

/// The attempt as it is sent: every expression evaluated, all of them within one meter.
pub(crate) fn resolve(
    process: &Process,
    attempt: AttemptId,
    evaluator: &mut Evaluator<'_>,
) -> Result<Dispatch, Box<Fault>> {
    let definition = process.definition();
    let activity_id = attempt.activity;
    let Some(activity) = definition.activity(activity_id) else {
        let message = format!("{activity_id} is no activity");
        return Err(Box::new(Fault::new(FaultName::Expression, message)));
    };
    let fault = |error: ExpressionError| {
        let name = definition.name_of(activity_id.node());
        Box::new(Fault::new(FaultName::Expression, format!("{name}: {error}")).of(activity_id))
    };
    let name = definition.name_of(activity_id.node());
    let mut env = vec![
        (PROCESS_VARIABLE.to_owned(), attempt.process.to_string()),
        (ACTIVITY_VARIABLE.to_owned(), name),
        (ATTEMPT_VARIABLE.to_owned(), attempt.number.to_string()),
    ];
    let items = process.items(activity_id.node());
    let scope = scope(process, &items);
    let common = definition.draft().common_env();
    env.extend(given(process, common, activity));
    for (name, value) in said(common, activity) {
        let value = evaluator.text(value, &scope);
        env.push((name.clone(), value.map_err(fault)?));
    }
    let stdin = match &activity.stdin {
        None => WireStdin::Empty,
        Some(Stdin::File(path)) => WireStdin::File(path.clone()),
        Some(Stdin::Text(text)) => WireStdin::Text(evaluator.text(text, &scope).map_err(fault)?),
    };
    Ok(Dispatch {
        attempt,
        command: command(&scope, activity, evaluator).map_err(fault)?,
        env,
        stdin,
        inputs: staged(process, activity_id, activity)?,
        outputs: activity.outputs.clone(),
        wants_stdout: activity.stdout.is_some(),
        wants_stderr: activity.stderr.is_some(),
        cores: activity.cores,
        memory: process.memory_asked(activity_id),
        timeout: activity.timeout,
        sources: Vec::new(),
        at_most_once: activity.at_most_once,
        user: process.user(),
        discards: definition.drops_intermediates(),
        activation: definition.draft().activation_of(activity).cloned(),
    })
}

/// The variables that came with the submission, without those that the definition says itself.
fn given<'a>(
    process: &'a Process,
    common: &'a [(String, Template)],
    activity: &'a Activity,
) -> impl Iterator<Item = (String, String)> + 'a {
    let given = process.environment.as_deref().unwrap_or_default();
    let said = match given.is_empty() {
        true => BTreeSet::new(),
        false => names(common).chain(names(&activity.env)).collect(),
    };
    let given = given.iter();
    given
        .filter(move |(name, _)| !said.contains(name.as_str()))
        .cloned()
}

/// The variables that the definition says: those of all activities, without those that this one says too,
/// and its own.
fn said<'a>(
    common: &'a [(String, Template)],
    activity: &'a Activity,
) -> impl Iterator<Item = &'a (String, Template)> {
    let own: BTreeSet<&str> = match common.is_empty() {
        true => BTreeSet::new(),
        false => names(&activity.env).collect(),
    };
    let common = common.iter();
    let common = common.filter(move |(name, _)| !own.contains(name.as_str()));
    common.chain(&activity.env)
}

fn names(variables: &[(String, Template)]) -> impl Iterator<Item = &str> {
    variables.iter().map(|(name, _)| name.as_str())
}

pub(crate) fn command(
    scope: &ProcessScope<'_>,
    activity: &Activity,
    evaluator: &mut Evaluator<'_>,
) -> Result<Vec<String>, ExpressionError> {
    let Evaluator { programs, meter } = evaluator;
    match &activity.command {
        Command::List(parts) => {
            let mut words = Vec::with_capacity(parts.len());
            for part in parts {
                if part.0.contains("${") {
                    let text = programs.text(part)?;
                    words.extend(text.render_words(scope, meter)?);
                } else {
                    meter.pass_bytes(part.0.len(), 0)?;
                    words.push(part.0.clone());
                }
            }
            Ok(words)
        }
        Command::Shell(line) => {
            let line = programs.text(line)?.render_shell(scope, meter)?;
            Ok(vec!["/bin/sh".to_owned(), "-c".to_owned(), line])
        }
    }
}

/// The files and directories that are staged in the directory of an attempt.
pub(crate) fn staged(
    process: &Process,
    id: ActivityId,
    activity: &Activity,
) -> Result<Vec<(String, Artifact)>, Box<Fault>> {
    let laid = laid(process, id, activity)?.into_iter();
    Ok(laid.map(|one| (one.path, one.artifact)).collect())
}

/// A file or directory that is staged in the directory of an attempt.
#[derive(Debug)]
pub(crate) struct Laid {
    pub(crate) path: String,
    pub(crate) artifact: Artifact,
    /// Its source; none if it lay beside the definition.
    pub(crate) source: Option<Source>,
}

pub(crate) fn laid(
    process: &Process,
    id: ActivityId,
    activity: &Activity,
) -> Result<Vec<Laid>, Box<Fault>> {
    let files = process.definition().draft().files_of(activity);
    // An input lies over a file of the definition with its name.
    let inputs = activity.inputs.iter().filter(|_| !process.files.is_empty());
    let covered: BTreeSet<&str> = inputs
        .map(|input| input.path.trim_end_matches('/'))
        .collect();
    let mut laid: Vec<Laid> = files
        .filter(|(_, path)| !covered.contains(path))
        .filter_map(|(place, path)| {
            Some(Laid {
                path: path.to_owned(),
                artifact: *process.files.get(place)?,
                source: None,
            })
        })
        .collect();
    for input in &activity.inputs {
        let artifact = match produced(process, input.source) {
            Some(Value::Artifact(artifact, _)) => artifact,
            Some(Value::List(items)) if input.path.ends_with('/') => {
                laid.extend(listed(&input.path, input.source, &items));
                continue;
            }
            // Of what was skipped nothing is gathered.
            None if input.gathers => continue,
            Some(_) | None => return Err(missing(process, id, &input.path, input.source)),
        };
        let path = match input.gathers {
            true => gathered_path(process, id, input),
            false => input.path.clone(),
        };
        let is_directory = artifact.kind == ArtifactKind::Directory;
        if matches!(input.source, Source::Item(_)) && is_directory != path.ends_with('/') {
            let what = if is_directory {
                "a directory"
            } else {
                "a file"
            };
            let name = process.definition().name_of(id.node());
            let message = format!("{name}: input `{path}`: the item is {what}");
            return Err(Box::new(Fault::new(FaultName::Expression, message).of(id)));
        }
        laid.push(Laid {
            path,
            artifact,
            source: Some(input.source),
        });
    }
    if laid.len() > STAGED_MAX {
        let name = &process.definition().node(id.node()).name;
        let n_files = laid.len();
        let message = format!(
            "{name}: {n_files} files would lie in its directory; at most {STAGED_MAX}: let activities \
             in the body gather parts of them, or pack several into one"
        );
        return Err(Box::new(Fault::new(FaultName::TooLarge, message).of(id)));
    }
    Ok(laid)
}

/// The files of a list in a directory, named by their places so that they sort as the list does.
fn listed(directory: &str, source: Source, items: &[Value]) -> Vec<Laid> {
    let width = items.len().saturating_sub(1).to_string().len();
    let files = items.iter().enumerate().filter_map(|(place, item)| {
        let Value::Artifact(artifact, _) = *item else {
            return None;
        };
        let end = match artifact.kind {
            ArtifactKind::Directory => "/",
            ArtifactKind::File | ArtifactKind::Program => "",
        };
        Some(Laid {
            path: format!("{directory}{place:0width$}{end}"),
            artifact,
            source: Some(source),
        })
    });
    files.collect()
}

/// The path of an output that is gathered: the directory, the name of the item, and what the output's
/// own name ends with.
fn gathered_path(process: &Process, reader: ActivityId, staged: &Staged) -> String {
    let Source::Output { activity, output } = staged.source else {
        return staged.path.clone();
    };
    let definition = process.definition();
    let item = definition.item_path(activity, reader.node());
    let maker = definition.activity_as_written(ActivityId(activity.0));
    let produced = maker.and_then(|maker| maker.outputs.get(output as usize));
    let extension = produced.map_or("", |produced| match produced.is_directory() {
        true => "/",
        false => produced.extension(),
    });
    format!("{}{item}{extension}", staged.path)
}

fn missing(process: &Process, id: ActivityId, path: &str, source: Source) -> Box<Fault> {
    let definition = process.definition();
    let name = definition.name_of(id.node());
    let message = match source {
        Source::Output { activity, .. } if process.is_folded(ActivityId(activity.0)) => {
            let producer = definition.name_of(activity);
            format!("{name}: input `{path}` is damaged or gone, and of `{producer}` {NOT_KEPT}")
        }
        Source::Output { activity, .. } => {
            let producer = definition.name_of(activity);
            format!("{name}: input `{path}` is not there, because `{producer}` was skipped")
        }
        Source::Input(input) => {
            let input = &definition.draft().inputs[input as usize].name;
            format!("{name}: input `{path}` is not there, because nothing was given for `{input}`")
        }
        Source::Item(_) => format!("{name}: input `{path}`: the item is no file"),
        Source::Pick(_) => format!("{name}: input `{path}`: no item was picked"),
    };
    Box::new(Fault::new(FaultName::MissingOutput, message).of(id))
}

/// The message that sends a recomputation. Its command and environment must be those of the first
/// run.
pub(crate) fn recomputed(
    process: &Process,
    attempt: AttemptId,
) -> Result<wire::attempt::Dispatch, Box<Fault>> {
    let activity = attempt.activity;
    let mut programs = Programs::default();
    let message = resolve(process, attempt, &mut Evaluator::new(&mut programs))?;
    let (Some(declared), Some(before)) = (
        process.definition().activity_as_written(activity),
        process.details(activity).cache_key,
    ) else {
        return Ok(message);
    };
    let after = CacheKey::of(declared, &message);
    if (after.command, after.environment) == (before.command, before.environment) {
        return Ok(message);
    }
    let name = process.definition().name_of(activity.node());
    let what = format!(
        "the files of `{name}` are gone, and it cannot make them again, because variables that it \
         was run with have changed"
    );
    Err(Box::new(Fault::new(FaultName::Lost, what).of(activity)))
}
