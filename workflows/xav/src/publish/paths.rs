//! The paths of published results: those that lead out of the directory, and those that two results have, are set apart.

use std::collections::BTreeMap;

use model::{Artifact, Definition, Publish, PublishOf, Value};
use wire::client::PublishedFile;

use crate::export;

/// Where everything that is published goes.
pub(super) struct Paths<'a> {
    definition: &'a Definition,
    outputs: &'a [(String, Value)],
    by_path: BTreeMap<String, Wanted>,
    /// The results that have one path with another one, by that path.
    doubled: BTreeMap<String, Vec<String>>,
    /// In the order of their paths.
    pub(super) wanted: Vec<Wanted>,
    /// What has no path, and why.
    pub(super) wrong: Vec<String>,
}

/// A result, and its path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    of: PublishOf,
    /// `align[3].bam`; of an output of the process its name.
    name: String,
    /// The output of the process that it is, or is a part of.
    pub(super) output: Option<OutputPath>,
    /// The items that it was made for.
    items: Vec<(model::NodeId, u32)>,
    /// Its path below the directory of the definition.
    pub(super) path: String,
    pub(super) artifact: Artifact,
}

/// An output of a process, and the path that it has in the definition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutputPath {
    pub(super) name: String,
    pub(super) path: String,
}

impl Wanted {
    /// Its name, for people.
    pub(super) fn shown(&self) -> &str {
        &self.name
    }

    pub(super) fn output_name(&self) -> Option<&str> {
        self.output.as_ref().map(|output| output.name.as_str())
    }
}

impl<'a> Paths<'a> {
    pub(super) fn new(definition: &'a Definition, outputs: &'a [(String, Value)]) -> Paths<'a> {
        Paths {
            definition,
            outputs,
            by_path: BTreeMap::new(),
            doubled: BTreeMap::new(),
            wanted: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Adds what a process manager has told. It is not trusted: another program may have written it.
    pub(super) fn add(&mut self, file: PublishedFile) {
        let draft = self.definition.draft();
        let Some(output) = draft.published_name(file.of) else {
            return;
        };
        let path = file.path.trim_end_matches('/').to_owned();
        let checked = match &file.wrong {
            Some(wrong) => Err(wrong.clone()),
            None => Publish::check_path(&path).map_err(|wrong| format!("{wrong}: `{path}`")),
        };
        match file.produced {
            Some((activity, artifact)) => {
                let node = activity.node();
                let name = format!("{}.{output}", self.definition.name_of(node));
                if let Err(why) = checked {
                    return self.wrong.push(format!("{name}: {why}"));
                }
                let items = self.definition.item_places(node);
                let wanted = Wanted {
                    of: file.of,
                    name,
                    output: None,
                    items,
                    path,
                    artifact,
                };
                self.put(wanted);
            }
            None => {
                if let Err(why) = checked {
                    return self.wrong.push(format!("{output}: {why}"));
                }
                self.add_output(file.of, output, &path);
            }
        }
    }

    /// An output of the process: a file, a directory, or a file for each item.
    fn add_output(&mut self, of: PublishOf, name: &str, path: &str) {
        let mut outputs = self.outputs.iter().filter(|(output, _)| output == name);
        let Some((_, value)) = outputs.next() else {
            return;
        };
        let output = Some(OutputPath {
            name: name.to_owned(),
            path: path.to_owned(),
        });
        let wanted = |path: String, artifact: Artifact| Wanted {
            of,
            name: name.to_owned(),
            output: output.clone(),
            items: Vec::new(),
            path,
            artifact,
        };
        match value {
            Value::Artifact(artifact, _) => self.put(wanted(path.to_owned(), *artifact)),
            Value::Map(items) => {
                for (item, artifact) in export::files_of_items(self.definition, name, items) {
                    self.put(wanted(format!("{path}/{item}"), artifact));
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::List(_) => self
                .wrong
                .push(format!("{name}: it is a value, not a file")),
        }
    }

    /// Of what several iterations of a loop publish under one path, that of the last one counts. Two other
    /// results of one path are both left where they are.
    fn put(&mut self, wanted: Wanted) {
        if let Some(names) = self.doubled.get_mut(&wanted.path) {
            return names.push(wanted.name);
        }
        match self.by_path.get(&wanted.path) {
            Some(first) if first.of != wanted.of || first.items != wanted.items => {
                let names = vec![first.name.clone(), wanted.name];
                self.by_path.remove(&wanted.path);
                self.doubled.insert(wanted.path, names);
            }
            Some(_) | None => {
                self.by_path.insert(wanted.path.clone(), wanted);
            }
        }
    }

    /// All of them, once all are added.
    pub(super) fn finish(mut self) -> Paths<'a> {
        let doubled = std::mem::take(&mut self.doubled);
        for (path, names) in doubled {
            let (first, others) = names
                .split_first()
                .expect("two results have a path in common");
            let others = match others {
                [second] => second.clone(),
                more => format!("{} others", more.len()),
            };
            let why = format!("`{path}` is the path of {others} too, and neither was laid there");
            self.wrong.push(format!("{first}: {why}"));
        }
        self.wanted = std::mem::take(&mut self.by_path).into_values().collect();
        self
    }
}

#[cfg(test)]
mod tests;
