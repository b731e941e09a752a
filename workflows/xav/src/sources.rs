//! The places that the files of a process came from: how its inputs were given, the directory of its definition, and
//! what each file was like when it was taken. A process is run again from the files that are there then, and
//! those that have not changed since are not read again.
//!
//! It is written beside the process before that is submitted, by whoever submits it: the process managers of a
//! grid know nothing of it, since the paths are those of one machine. Where it is missing, files stand as
//! they were.

mod copies;
mod stamp;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use model::{Artifact, ArtifactKind, Bytes, Input, ProcessId, Type};
use serde::{Deserialize, Serialize};

pub(crate) use self::copies::{Allowance, Wanted, origins};
use self::stamp::Stamp;
use crate::failure::Failure;
use crate::inputs::Taking;

/// Files of which it is kept what they were like: as many as a list has items. Others are read again.
const FILES_MAX: usize = model::limits::ITEMS_MAX;

/// Bytes of what is kept about one process: of so many files with long paths.
const SOURCES_BYTES_MAX: u64 = 256 << 20;

/// The number of the form in which it is written.
const FORM: u32 = 1;

/// The places that the files of a process came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sources {
    form: u32,
    /// The directory of the definition.
    pub(crate) directory: PathBuf,
    /// The stamp of the definition's own file; none if it was no file.
    definition: Option<Stamp>,
    /// The definition's own file, where it was one.
    #[serde(default)]
    file: Option<PathBuf>,
    /// The inputs that were given by paths.
    given: Vec<Given>,
    /// Each file and directory that was taken, by its path.
    files: BTreeMap<PathBuf, Known>,
}

/// An input that was given by paths or patterns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Given {
    input: String,
    /// The inputs as on a command line, with absolute paths.
    texts: Vec<String>,
}

/// A file or directory as it was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    stamp: Stamp,
    hash: String,
    bytes: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Program,
    Directory,
}

impl Sources {
    /// The places of a process whose definition is this file, with inputs from this command line.
    pub(crate) fn of(
        file: &Path,
        directory: &Path,
        arguments: &[String],
        declared: &[Input],
    ) -> Sources {
        let mut sources = Sources {
            form: FORM,
            directory: directory.to_owned(),
            definition: Stamp::of(file),
            file: std::path::absolute(file).ok(),
            ..Sources::default()
        };
        sources.give(arguments, declared);
        sources
    }

    /// The same with another definition.
    pub(crate) fn with_definition(self, file: &Path, directory: &Path) -> Sources {
        Sources {
            form: FORM,
            directory: directory.to_owned(),
            definition: Stamp::of(file),
            file: std::path::absolute(file).ok(),
            ..self
        }
    }

    /// Notes the inputs of a command line that are given by paths.
    pub(crate) fn give(&mut self, arguments: &[String], declared: &[Input]) {
        let Ok(present) = std::env::current_dir() else {
            return;
        };
        let is_given_anew = |given: &Given| {
            let mut names = arguments.iter().filter_map(|one| one.split_once('='));
            names.any(|(name, _)| name == given.input)
        };
        self.given.retain(|given| !is_given_anew(given));
        for argument in arguments {
            let Some((name, text)) = argument.split_once('=') else {
                continue;
            };
            let kind = declared.iter().find(|input| input.name == name);
            let Some(text) = kind.and_then(|input| absolute(&input.kind, text, &present)) else {
                continue;
            };
            match self.given.iter_mut().find(|given| given.input == name) {
                Some(given) => given.texts.push(text),
                None => self.given.push(Given {
                    input: name.to_owned(),
                    texts: vec![text],
                }),
            }
        }
    }

    /// The command line of the inputs that were given by paths, without these.
    pub(crate) fn arguments_without(&self, others: &[String]) -> Vec<String> {
        let is_other = |name: &str| {
            let mut names = others.iter().filter_map(|other| other.split_once('='));
            names.any(|(other, _)| other == name)
        };
        let given = self.given.iter().filter(|given| !is_other(&given.input));
        let arguments = given.flat_map(|given| {
            let texts = given.texts.iter();
            texts.map(|text| format!("{}={text}", given.input))
        });
        arguments.collect()
    }

    /// The definition's own file.
    pub(crate) fn definition_file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The files and directories that the process was given.
    pub(crate) fn given(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(PathBuf::as_path)
    }

    /// The paths by which inputs were given. Those of patterns, whose files are among [`Sources::given`], and of values
    /// in JSON files too, which are not.
    pub(crate) fn named(&self) -> impl Iterator<Item = PathBuf> {
        let texts = self.given.iter().flat_map(|given| &given.texts);
        texts.flat_map(|text| match text.starts_with('[') {
            true => serde_json::from_str(text).unwrap_or_default(),
            false => vec![PathBuf::from(text.strip_prefix('@').unwrap_or(text))],
        })
    }

    /// True if the file of the definition is another one than it was.
    pub(crate) fn has_new_definition(&self, file: &Path) -> bool {
        let before = self.definition.as_ref();
        before.is_some_and(|before| Stamp::of(file).is_some_and(|stamp| !stamp.is_like(before)))
    }

    /// Reads those of a process, where they are known.
    pub(crate) fn read(directory: &Path, process: ProcessId) -> Option<Sources> {
        let path = path(directory, process);
        let metadata = fs::metadata(&path).ok()?;
        if metadata.len() > SOURCES_BYTES_MAX {
            return None;
        }
        let sources: Sources = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        (sources.form == FORM).then_some(sources)
    }

    /// Writes them for a process. What is written in part, because the machine lost its power, is not read.
    /// Of a process of which nothing is known nothing is written.
    pub(crate) fn write(&self, directory: &Path, process: ProcessId) -> Result<(), Failure> {
        if self.form != FORM {
            return Ok(());
        }
        let path = path(directory, process);
        let written = self.write_to(&path);
        written
            .map_err(|error| Failure::new(format!("could not write {}: {error}", path.display())))
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(path)?;
        io::Write::write_all(&mut file, &bytes)
    }

    /// Removes those of a process.
    pub(crate) fn remove(directory: &Path, process: ProcessId) {
        // There may be none.
        let _ = fs::remove_file(path(directory, process));
    }
}

/// The directory with one file for each process.
pub(crate) const DIRECTORY: &str = "sources";

fn path(directory: &Path, process: ProcessId) -> PathBuf {
    directory.join(DIRECTORY).join(process.to_string())
}

/// The text by which an input that names files is given, with absolute paths; none for other inputs.
fn absolute(kind: &Type, text: &str, present: &Path) -> Option<String> {
    let one = |text: &str| Some(present.join(text).to_str()?.to_owned());
    match kind {
        Type::File | Type::Directory => one(text),
        Type::Json => one(text.strip_prefix('@')?).map(|path| format!("@{path}")),
        Type::List(item) if matches!(**item, Type::File | Type::Directory) => {
            if text.trim_start().starts_with('[') {
                let paths: Vec<String> = serde_json::from_str(text).ok()?;
                let paths: Option<Vec<String>> = paths.iter().map(|path| one(path)).collect();
                return serde_json::to_string(&paths?).ok();
            }
            if text.starts_with('/') || present.join(text).exists() {
                return one(text);
            }
            // A letter of its directory's name that would be one of a pattern stands for itself.
            let literal = present.to_str()?.chars().map(|letter| match letter {
                '*' | '?' | '[' => format!("[{letter}]"),
                letter => letter.to_string(),
            });
            Some(format!("{}/{text}", literal.collect::<String>()))
        }
        Type::Text | Type::Int | Type::Float | Type::Bool | Type::List(_) => None,
    }
}

/// Takes the files of a process. One that has not changed since it was taken for another process is not
/// read.
pub(crate) struct Intake<'a> {
    /// The facts that are known of files.
    known: &'a Sources,
    /// Answers whether a file is in the store.
    has: &'a dyn Fn(Artifact) -> bool,
    /// Reads a file, into the store where there is one.
    add: &'a mut dyn FnMut(&Path, bool) -> Result<Artifact, Failure>,
    taken: BTreeMap<PathBuf, Known>,
}

impl<'a> Intake<'a> {
    /// Takes files by `add`, unless they are `known` and the store `has` them.
    pub(crate) fn new(
        known: &'a Sources,
        has: &'a dyn Fn(Artifact) -> bool,
        add: &'a mut dyn FnMut(&Path, bool) -> Result<Artifact, Failure>,
    ) -> Intake<'a> {
        Intake {
            known,
            has,
            add,
            taken: BTreeMap::new(),
        }
    }

    /// Takes a file or a directory.
    pub(crate) fn take(&mut self, taking: Taking<'_>) -> Result<Artifact, Failure> {
        let Taking {
            place,
            opened,
            is_directory,
        } = taking;
        let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let before = Stamp::of(opened);
        let known = self.known.files.get(&place);
        let unchanged = known.filter(|known| {
            let is_directory_too = is_directory == (known.kind == Kind::Directory);
            let is_same = before
                .as_ref()
                .is_some_and(|stamp| stamp.proves(&known.stamp));
            is_directory_too && is_same
        });
        if let Some(known) = unchanged
            && let Some(artifact) = known.artifact()
            && (self.has)(artifact)
        {
            self.taken.insert(place, known.clone());
            return Ok(artifact);
        }
        let artifact = (self.add)(opened, is_directory)?;
        // A file that changed while it was read is not known.
        if let (Some(before), Some(after)) = (before, Stamp::of(opened))
            && before.is_like(&after)
            && self.taken.len() < FILES_MAX
            && place.to_str().is_some()
        {
            let known = Known::new(before, artifact);
            self.taken.insert(place, known);
        }
        Ok(artifact)
    }

    /// What the process has that these files were taken for.
    pub(crate) fn sources(self) -> Sources {
        Sources {
            files: self.taken,
            ..self.known.clone()
        }
    }
}

impl Known {
    fn new(stamp: Stamp, artifact: Artifact) -> Known {
        Known {
            stamp,
            hash: artifact.hash.to_string(),
            bytes: artifact.bytes.0,
            kind: match artifact.kind {
                ArtifactKind::File => Kind::File,
                ArtifactKind::Program => Kind::Program,
                ArtifactKind::Directory => Kind::Directory,
            },
        }
    }

    fn artifact(&self) -> Option<Artifact> {
        Some(Artifact {
            hash: self.hash.parse().ok()?,
            bytes: Bytes(self.bytes),
            kind: match self.kind {
                Kind::File => ArtifactKind::File,
                Kind::Program => ArtifactKind::Program,
                Kind::Directory => ArtifactKind::Directory,
            },
        })
    }
}

#[cfg(test)]
mod tests;
