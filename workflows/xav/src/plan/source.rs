//! The source of a plan: a definition, or a recorded workflow, of which a plan needs neither commands nor,
//! where data goes from machine to machine, controllers.

use std::path::{Path, PathBuf};

use language::wfformat::{self, RecordedGraph};
use model::{Definition, Input, Value};

use super::Mode;
use crate::arguments::Recording;
use crate::failure::Failure;
use crate::source_file::{self, Text};

/// A file that has been read and understood.
pub(crate) struct PlanSource {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its content.
    pub(crate) content: Content,
}

/// The content of such a file.
pub(crate) enum Content {
    /// A definition.
    Definition(Definition),
    /// A recorded workflow, and the definition that it becomes, where its controllers are wanted.
    Recorded(RecordedGraph, Option<Definition>),
}

impl PlanSource {
    /// Reads a file; mistakes are shown on standard error, with `as_json` on standard output as well.
    pub(crate) fn read(
        path: &Path,
        recording: &Recording,
        mode: Mode,
        as_json: bool,
    ) -> Result<PlanSource, Failure> {
        let content = match source_file::text(path)? {
            text @ Text::Definition(_) => {
                let source = source_file::compile_text(path, text, recording, as_json)?;
                Content::Definition(source.definition)
            }
            Text::Recording(text) => {
                let definition = match mode {
                    Mode::Direct => None,
                    Mode::Controllers => {
                        let text = Text::Recording(text.clone());
                        let source = source_file::compile_text(path, text, recording, as_json)?;
                        Some(source.definition)
                    }
                };
                let graph = source_file::of_recording(path, text, wfformat::graph)?;
                Content::Recorded(graph, definition)
            }
        };
        Ok(PlanSource {
            path: path.to_owned(),
            content,
        })
    }

    /// Each for-each has a body for each of its items, where these follow from the inputs.
    pub(crate) fn with_known_items(mut self, inputs: &[Value]) -> PlanSource {
        self.content = match self.content {
            Content::Definition(definition) => {
                Content::Definition(language::with_known_items(definition, inputs))
            }
            recorded @ Content::Recorded(..) => recorded,
        };
        self
    }

    /// The inputs that a run of it would take.
    pub(crate) fn inputs(&self) -> &[Input] {
        match &self.content {
            Content::Definition(definition) => &definition.draft().inputs,
            Content::Recorded(..) => &[],
        }
    }
}
