//! A definition's file: read, compiled, and its mistakes shown.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use language::wfformat::{self, ImportError, Options, TextError};
use language::{Compiled, Diagnostics, limits};
use model::{Bytes, Definition};

use crate::arguments::Recording;
use crate::failure::{Failure, status};
use crate::files_beside::FilesBeside;
use crate::inputs::{self, reason};
use crate::{environment, screen};

/// A definition with its file.
pub(crate) struct SourceFile {
    /// The definition in it.
    pub(crate) definition: Definition,
    /// Where it is; absolute.
    pub(crate) path: PathBuf,
}

/// The text of a file.
pub(crate) enum Text {
    /// Of a definition.
    Definition(Vec<u8>),
    /// Of a recorded workflow, without the blanks between its words.
    Recording(Vec<u8>),
}

/// Reads and compiles a file; mistakes are shown on standard error, with `as_json` on standard
/// output as well.
pub(crate) fn compile(
    path: &Path,
    recording: &Recording,
    as_json: bool,
) -> Result<SourceFile, Failure> {
    compile_text(path, text(path)?, recording, as_json)
}

/// The same for a file that has been read.
pub(crate) fn compile_text(
    path: &Path,
    text: Text,
    recording: &Recording,
    as_json: bool,
) -> Result<SourceFile, Failure> {
    match compile_silently(path, text, recording)? {
        Ok(SourceContents {
            definition,
            warnings,
            oddities,
        }) => {
            if let Some(warnings) = warnings.filter(|warnings| !warnings.is_empty()) {
                show(&warnings);
            }
            for oddity in &oddities {
                screen::warn(oddity);
            }
            Ok(SourceFile::new(path, definition))
        }
        Err(diagnostics) => {
            show(&diagnostics);
            if as_json {
                let error = format!("{} is not a definition", path.display());
                let reports = diagnostics.reports();
                screen::json(&serde_json::json!({ "error": error, "diagnostics": reports }))?;
            }
            Err(Failure::said(status::REFUSED))
        }
    }
}

/// The content of a file.
pub(crate) struct SourceContents {
    /// The definition.
    pub(crate) definition: Definition,
    /// Warnings about the definition.
    pub(crate) warnings: Option<Diagnostics>,
    /// Oddities of a recorded workflow.
    pub(crate) oddities: Vec<String>,
}

/// Compiles the text of a file, and shows nothing.
pub(crate) fn compile_silently(
    path: &Path,
    text: Text,
    recording: &Recording,
) -> Result<Result<SourceContents, Diagnostics>, Failure> {
    let shown = path.display();
    let text = match text {
        Text::Recording(text) => return import(path, text, recording).map(Ok),
        Text::Definition(text) => text,
    };
    if recording.is_given() {
        return Err(Failure::refused(format!(
            "{shown} is not a recorded workflow, so there is nothing to scale or to record"
        )));
    }
    let compiled = language::compile(&shown.to_string(), &text);
    Ok(compiled.map(
        |Compiled {
             definition,
             warnings,
         }| SourceContents {
            definition,
            warnings: Some(warnings),
            oddities: Vec::new(),
        },
    ))
}

/// The beginning of a file in which the keys are looked for that tell a recorded workflow.
const HEAD_BYTES: u64 = 1 << 20;

/// All of a file.
pub(crate) fn text(path: &Path) -> Result<Text, Failure> {
    let failed = |error| unread(path, &error);
    let mut file = open(path)?;
    let mut text = Vec::new();
    (&mut file)
        .take(HEAD_BYTES)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if wfformat::recognises(&text) {
        return compact(path, text.chain(file));
    }
    let most = limits::FILE_BYTES_MAX as u64;
    let too_large = |bytes: u64| {
        let (shown, bytes, most) = (path.display(), Bytes(bytes), Bytes(most));
        Failure::refused(format!(
            "{shown} has {bytes}; a definition may have at most {most}"
        ))
    };
    let n_bytes = file.metadata().map_err(failed)?.len();
    if n_bytes > most {
        return Err(too_large(n_bytes));
    }
    text.reserve_exact((n_bytes as usize).saturating_sub(text.len()) + 1);
    let room = most + 1 - text.len() as u64;
    file.take(room).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > most {
        return Err(too_large(text.len() as u64));
    }
    if wfformat::recognises(&text) {
        return compact(path, &text[..]);
    }
    Ok(Text::Definition(text))
}

/// The path under which standard input can be opened.
const STANDARD_INPUT: &str = "/dev/stdin";

/// True if a definition is to be read from standard input: `-`. Files beside it lie in the present
/// directory.
fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn open(path: &Path) -> Result<File, Failure> {
    let file = match is_standard_input(path) {
        true => File::open(STANDARD_INPUT),
        false => File::open(path),
    };
    let file = file.map_err(|error| unread(path, &error))?;
    let metadata = file.metadata().map_err(|error| unread(path, &error))?;
    if metadata.is_dir() {
        let shown = path.display();
        let message = format!("{shown} is a directory, not a definition");
        return Err(Failure::refused(message));
    }
    Ok(file)
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    let (shown, why) = (path.display(), reason(error));
    Failure::refused(format!("could not read {shown}: {why}"))
}

fn compact(path: &Path, source: impl Read) -> Result<Text, Failure> {
    match wfformat::compact(source) {
        Ok(text) => Ok(Text::Recording(text)),
        Err(TextError::Read(error)) => Err(unread(path, &error)),
        Err(TextError::Import(error)) => Err(misread(path, &error)),
    }
}

fn misread(path: &Path, error: &ImportError) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
}

/// Makes something of the text of a recorded workflow.
pub(crate) fn of_recording<T>(
    path: &Path,
    text: Vec<u8>,
    make: impl Fn(&[u8]) -> Result<T, ImportError>,
) -> Result<T, Failure> {
    let error = match make(&text) {
        Ok(made) => return Ok(made),
        Err(error) => error,
    };
    drop(text);
    if !error.has_place() || is_standard_input(path) {
        return Err(misread(path, &error));
    }
    // The place is that in the file, as it is there.
    let mut whole = Vec::new();
    let most = wfformat::limits::RECORDING_BYTES_MAX as u64;
    let read = open(path)?.take(most).read_to_end(&mut whole);
    read.map_err(|error| unread(path, &error))?;
    match make(&whole) {
        Err(placed) if placed.has_place() => Err(misread(path, &placed)),
        Ok(_) | Err(_) => Err(misread(path, &error)),
    }
}

/// A recorded workflow as a definition.
fn import(path: &Path, text: Vec<u8>, recording: &Recording) -> Result<SourceContents, Failure> {
    let shown = path.display();
    let refused = |why: &dyn std::fmt::Display| Failure::refused(format!("{shown}: {why}"));
    let mut options = recording.options();
    if let Some(file) = &recording.record {
        let file = std::path::absolute(file).map_err(|error| refused(&error))?;
        options.record = Some(file.display().to_string());
    }
    let imported = of_recording(path, text, |text| wfformat::import(text, &options))?;
    let definition = imported.draft.check().map_err(|problems| {
        let first = problems.first().map(ToString::to_string);
        refused(&first.unwrap_or_default())
    })?;
    Ok(SourceContents {
        definition,
        warnings: None,
        oddities: imported.warnings,
    })
}

impl Recording {
    /// The scales; nothing is recorded.
    pub(crate) fn options(&self) -> Options {
        Options {
            time_scale: self.time_scale.unwrap_or(1.0),
            data_scale: self.data_scale.unwrap_or(1.0),
            cpu_total: self.cpu_total,
            record: None,
        }
    }

    /// True if any of it was given.
    pub(crate) fn is_given(&self) -> bool {
        let Recording {
            time_scale,
            data_scale,
            cpu_total,
            record,
        } = self;
        time_scale.is_some() || data_scale.is_some() || cpu_total.is_some() || record.is_some()
    }
}

/// Mistakes as people read them.
pub(crate) fn show(diagnostics: &Diagnostics) {
    screen::tell(&diagnostics.render(screen::has_colours()));
}

impl SourceFile {
    /// A definition that was read from a path.
    pub(crate) fn new(path: &Path, definition: Definition) -> SourceFile {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        SourceFile { definition, path }
    }

    /// The files beside the definition; or everything that is wrong with them.
    pub(crate) fn files(&self) -> Result<FilesBeside, Vec<String>> {
        FilesBeside::look(self.directory(), self.definition.draft())
    }

    /// Everything that is wrong with the files that it names: those of `files:`, defaults of inputs, and that
    /// of variables.
    pub(crate) fn absent(&self) -> Vec<String> {
        let declared = &self.definition.draft().inputs;
        let defaults = inputs::add_beside(self.directory(), declared, &mut Vec::new());
        let variables = environment::wrong_file(self.directory(), self.definition.draft());
        let wrong = [self.files().err(), defaults.err(), Some(variables)];
        wrong.into_iter().flatten().flatten().collect()
    }

    /// The directory that it is in.
    pub(crate) fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}
