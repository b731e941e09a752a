//! Outputs that are files or directories, written to where their user finds them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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

    /// True if all files and directories among these outputs are there.
    pub(crate) fn has_all(&self, outputs: &[(String, Value)]) -> bool {
        let mut files = outputs.iter().filter(|(_, value)| is_artifact(value));
        files.all(|(name, _)| self.0.contains_key(name))
    }

    /// The outputs that have been written already.
    pub(crate) fn found(
        definition: &Definition,
        outputs: &[(String, Value)],
        to: &Path,
    ) -> Exported {
        let places = places(definition, outputs, to);
        Exported(
            places
                .into_iter()
                .map(|(name, _, path)| (name, path))
                .filter(|(_, path)| path.exists())
                .collect(),
        )
    }
}

/// True if there are files or directories among the outputs.
pub(crate) fn has_files(outputs: &[(String, Value)]) -> bool {
    outputs.iter().any(|(_, value)| is_artifact(value))
}

fn is_artifact(value: &Value) -> bool {
    matches!(value, Value::Artifact(_))
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
    for (name, artifact, path) in places {
        write(artifact, &path).map_err(|failure| {
            let why = failure.message;
            Failure::new(format!("could not write output `{name}`: {why}"))
        })?;
        exported.0.insert(name, path);
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

/// The outputs with artifacts, and where each goes. An item of a list goes to a directory of the
/// output's name, by its number.
fn places(
    definition: &Definition,
    outputs: &[(String, Value)],
    to: &Path,
) -> Vec<(String, Artifact, PathBuf)> {
    let mut places = Vec::new();
    for (name, value) in outputs {
        if let Value::Artifact(artifact) = value {
            let file = format!("{name}{}", ending(definition, name));
            places.push((name.clone(), *artifact, to.join(file)));
        }
    }
    places
}

/// The ending of the file that an output is made from, `.txt`, so that other programs know what it
/// is; empty where there is none.
fn ending(definition: &Definition, output: &str) -> String {
    let draft = definition.draft();
    let found = draft.outputs.iter().find(|known| known.name == output);
    let Some(OutputSource::Produced(Source::Output { activity, output })) =
        found.map(|known| &known.source)
    else {
        return String::new();
    };
    let produced = definition
        .activity(model::ActivityId(activity.0))
        .and_then(|activity| activity.outputs.get(*output as usize));
    match produced {
        Some(produced) if !produced.is_directory() => Path::new(&produced.path)
            .extension()
            .map_or_else(String::new, |ending| format!(".{}", ending.display())),
        Some(_) | None => String::new(),
    }
}
