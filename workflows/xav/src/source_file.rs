//! A definition's file: read, compiled, and its mistakes shown.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use language::wfformat::{self, Options};
use language::{Compiled, Diagnostics, limits};
use model::{Bytes, Definition};

use crate::arguments::Recording;
use crate::failure::{Failure, status};
use crate::files_beside::FilesBeside;
use crate::inputs::reason;
use crate::screen;

/// A definition with its file.
pub(crate) struct SourceFile {
    /// The definition in it.
    pub(crate) definition: Definition,
    /// Where it is; absolute.
    pub(crate) path: PathBuf,
}

/// Reads and compiles a file; mistakes are shown on standard error, with `as_json` on standard
/// output as well.
pub(crate) fn compile(
    path: &Path,
    recording: &Recording,
    as_json: bool,
) -> Result<SourceFile, Failure> {
    match compile_silently(path, recording)? {
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
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            Ok(SourceFile { definition, path })
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

/// Reads and compiles a file, and shows nothing.
pub(crate) fn compile_silently(
    path: &Path,
    recording: &Recording,
) -> Result<Result<SourceContents, Diagnostics>, Failure> {
    let shown = path.display();
    let text = bytes(path)?;
    if wfformat::recognises(&text) {
        return import(path, &text, recording).map(Ok);
    }
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

/// All of a definition's file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let failed = |error: std::io::Error| {
        Failure::refused(format!("could not read {shown}: {}", reason(&error)))
    };
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(Failure::refused(format!(
            "{shown} is a directory, not a definition"
        )));
    }
    let most = limits::FILE_BYTES_MAX as u64;
    let too_large = |bytes: u64| {
        let (bytes, most) = (Bytes(bytes), Bytes(most));
        Failure::refused(format!(
            "{shown} has {bytes}; a definition may have at most {most}"
        ))
    };
    if metadata.len() > most {
        return Err(too_large(metadata.len()));
    }
    let mut text = Vec::new();
    (&mut file)
        .take(most + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > most {
        return Err(too_large(text.len() as u64));
    }
    Ok(text)
}

/// A recorded workflow as a definition.
fn import(path: &Path, text: &[u8], recording: &Recording) -> Result<SourceContents, Failure> {
    let shown = path.display();
    let refused = |why: &dyn std::fmt::Display| Failure::refused(format!("{shown}: {why}"));
    let record = match &recording.record {
        Some(file) => {
            let file = std::path::absolute(file).map_err(|error| refused(&error))?;
            Some(file.display().to_string())
        }
        None => None,
    };
    let options = Options {
        time_scale: recording.time_scale.unwrap_or(1.0),
        data_scale: recording.data_scale.unwrap_or(1.0),
        cpu_total: recording.cpu_total,
        record,
    };
    let imported = wfformat::import(text, &options).map_err(|error| refused(&error))?;
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
    /// The files beside the definition; or everything that is wrong with them.
    pub(crate) fn files(&self) -> Result<FilesBeside, Vec<String>> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        FilesBeside::look(directory, &self.definition.draft().files)
    }
}
