//! Outputs that are files or directories, written to where their user finds them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use model::{Artifact, Definition, OutputSource, ProcessId, Source, Value};

use crate::failure::Failure;
use crate::fault;

/// Where outputs were written, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exported(BTreeMap<String, PathBuf>);

impl Exported {
    /// Where an output is; none where it is not a file or a directory.
    pub(crate) fn path(&self, output: &str) -> Option<&Path> {
        self.0.get(output).map(PathBuf::as_path)
    }

    /// Adds outputs that lie elsewhere.
    pub(crate) fn and<'a>(
        mut self,
        others: impl IntoIterator<Item = (&'a str, PathBuf)>,
    ) -> Exported {
        let others = others
            .into_iter()
            .map(|(name, path)| (name.to_owned(), path));
        self.0.extend(others);
        self
    }

    /// True if all files and directories among these outputs are there.
    pub(crate) fn has_all(&self, outputs: &[(String, Value)]) -> bool {
        let mut files = outputs.iter().filter(|(_, value)| has_artifact(value));
        files.all(|(name, _)| self.0.contains_key(name))
    }

    /// The outputs that have been written already.
    pub(crate) fn found(
        definition: &Definition,
        outputs: &[(String, Value)],
        to: &Path,
    ) -> Exported {
        let places = places(definition, outputs, to);
        let there = places.iter().filter(|place| place.path.exists());
        let mut found: BTreeMap<String, PathBuf> = there
            .map(|place| (place.output.clone(), place.shown.clone()))
            .collect();
        // Of what each item has produced all is there or nothing.
        for place in places.iter().filter(|place| !place.path.exists()) {
            found.remove(&place.output);
        }
        Exported(found)
    }
}

/// True if there are files or directories among the outputs.
pub(crate) fn has_files(outputs: &[(String, Value)]) -> bool {
    outputs.iter().any(|(_, value)| has_artifact(value))
}

fn has_artifact(value: &Value) -> bool {
    match value {
        Value::Artifact(..) => true,
        Value::Map(items) => items.values().any(has_artifact),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_) => false,
    }
}

/// Writes every file and directory among the outputs below `to`, which is made if there are any.
/// Existing files are replaced.
pub(crate) fn all(
    write: impl Fn(Artifact, &Path) -> Result<(), Failure>,
    definition: &Definition,
    outputs: &[(String, Value)],
    to: &Path,
) -> Result<Exported, Failure> {
    let places = places(definition, outputs, to);
    if places.is_empty() {
        return Ok(Exported::default());
    }
    fs::create_dir_all(to).map_err(|error| {
        Failure::new(format!(
            "could not make {}: {}",
            to.display(),
            crate::inputs::reason(&error)
        ))
    })?;
    let mut exported = Exported::default();
    for place in places {
        let name = &place.output;
        let failed = |why: &str| Failure::new(format!("could not write output `{name}`: {why}"));
        if let Some(above) = place.path.parent() {
            let made = fs::create_dir_all(above);
            made.map_err(|error| failed(&crate::inputs::reason(&error)))?;
        }
        write(place.artifact, &place.path).map_err(|failure| failed(&failure.message))?;
        exported.0.insert(place.output, place.shown);
    }
    Ok(exported)
}

/// The advice for an output that no machine has.
pub(crate) fn lost(failure: Failure, process: ProcessId) -> Failure {
    let id = fault::short(process);
    failure.help(format!(
        "what is damaged or gone is made again by xav rerun {id}"
    ))
}

/// A file or directory of an output, and where it goes.
struct Place {
    output: String,
    artifact: Artifact,
    path: PathBuf,
    /// The path that its user is told: the directory of all items, where there is one for each.
    shown: PathBuf,
}

/// The outputs with artifacts, and where each goes. What was produced for an item goes to a directory
/// of the output's name, under the name of the item.
fn places(definition: &Definition, outputs: &[(String, Value)], to: &Path) -> Vec<Place> {
    let mut places = Vec::new();
    for (name, value) in outputs {
        let ending = ending(definition, name);
        if let Value::Artifact(artifact, _) = value {
            let path = to.join(format!("{name}{ending}"));
            places.push(Place {
                output: name.clone(),
                artifact: *artifact,
                shown: path.clone(),
                path,
            });
        }
        let Value::Map(items) = value else { continue };
        let directory = to.join(name);
        for (item, artifact) in files_of_items(definition, name, items) {
            places.push(Place {
                output: name.clone(),
                artifact,
                path: directory.join(item),
                shown: directory.clone(),
            });
        }
    }
    places
}

/// The files that were made for items, with the names that they get in the directory of their output.
pub(crate) fn files_of_items<'a>(
    definition: &Definition,
    output: &str,
    items: &'a BTreeMap<String, Value>,
) -> impl Iterator<Item = (String, Artifact)> + use<'a> {
    let ending = ending(definition, output);
    let safe = items.iter().filter(|(item, _)| is_safe(item));
    safe.filter_map(move |(item, value)| match value {
        Value::Artifact(artifact, _) => Some((format!("{item}{ending}"), *artifact)),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => None,
    })
}

/// Returns true if the name of an item, which a manager has told, stays in its directory.
fn is_safe(item: &str) -> bool {
    let mut parts = Path::new(item).components();
    parts.all(|part| matches!(part, Component::Normal(_)))
}

/// The ending of the file that an output is made from, `.fastq.gz`, so that other programs know what it
/// is: the one that it is staged with; empty where there is none.
fn ending(definition: &Definition, output: &str) -> String {
    let draft = definition.draft();
    let found = draft.outputs.iter().find(|known| known.name == output);
    let source = found.and_then(|known| match known.source {
        // Whichever is picked, all are files of one kind.
        OutputSource::Produced(source) | OutputSource::Gathered(source) => {
            draft.sources(source).next()
        }
        OutputSource::Expression(_) => None,
    });
    let Some(Source::Output { activity, output }) = source else {
        return String::new();
    };
    let produced = definition
        .activity(model::ActivityId(activity.0))
        .and_then(|activity| activity.outputs.get(output as usize));
    match produced {
        Some(produced) if !produced.is_directory() => produced.extension().to_owned(),
        Some(_) | None => String::new(),
    }
}

#[cfg(test)]
mod tests;
