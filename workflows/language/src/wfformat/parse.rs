//! The JSON of a recording, read in one pass into numbers: each id is kept once, and a limit is
//! met before what exceeds it is in memory.

mod seeds;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde::de::{self, DeserializeSeed, IgnoredAny, MapAccess, SeqAccess};

use self::seeds::{Fields, Items, List, Number, Object, OwnedList, Text};
use super::ImportError;
use super::limits::{FILES_MAX, ID_BYTES_MAX, MENTIONS_MAX, RECORDING_BYTES_MAX, TASKS_MAX};
use super::text::{damaged, is_gzip};

/// The parsed recording. Ids are positions in [`Recording::task_ids`] and [`Recording::file_ids`].
#[derive(Debug, Default)]
pub(super) struct Recording<'de> {
    pub(super) name: Option<Cow<'de, str>>,
    pub(super) version: Option<Cow<'de, str>>,
    /// True if tasks hold their files and runtimes, as up to 1.4.
    pub(super) older: bool,
    /// True if there was a list of tasks at all.
    pub(super) has_tasks: bool,
    pub(super) tasks: Vec<RawTask>,
    pub(super) runs: Vec<RawRun>,
    /// Files and their sizes, as often as they were declared.
    pub(super) files: Vec<(u32, Option<f64>)>,
    pub(super) task_ids: Ids<'de>,
    pub(super) file_ids: Ids<'de>,
    n_mentions: usize,
    refused: Option<ImportError>,
}

#[derive(Debug, Default)]
pub(super) struct RawTask {
    pub(super) id: Option<u32>,
    /// Read up to 1.4 only, where tasks are named by it.
    pub(super) name: Option<u32>,
    pub(super) parents: Vec<u32>,
    pub(super) children: Vec<u32>,
    pub(super) inputs: Vec<u32>,
    pub(super) outputs: Vec<u32>,
    pub(super) runtime: Option<f64>,
    pub(super) cpu_percent: Option<f64>,
}

/// An execution of a task.
#[derive(Debug, Default)]
pub(super) struct RawRun {
    pub(super) id: Option<u32>,
    pub(super) runtime: Option<f64>,
    pub(super) cpu_percent: Option<f64>,
}

/// Texts, each once.
#[derive(Debug, Default)]
pub(super) struct Ids<'de> {
    texts: Vec<Cow<'de, str>>,
    places: HashMap<Cow<'de, str>, u32>,
}

impl<'de> Ids<'de> {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn text(&self, id: u32) -> &str {
        &self.texts[id as usize]
    }

    fn place(&mut self, text: Cow<'de, str>) -> u32 {
        if let Some(&place) = self.places.get(&text) {
            return place;
        }
        let place = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.places.insert(text, place);
        place
    }
}

/// The JSON text, decompressed where that is needed.
pub(super) fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ImportError> {
    let mut text = Cow::Borrowed(bytes);
    if is_gzip(bytes) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(bytes)
            .take(RECORDING_BYTES_MAX as u64 + 1)
            .read_to_end(&mut unpacked)
            .map_err(damaged)?;
        text = Cow::Owned(unpacked);
    }
    if text.len() > RECORDING_BYTES_MAX {
        return Err(ImportError::too_large(RECORDING_BYTES_MAX));
    }
    Ok(text)
}

pub(super) fn parse(bytes: &[u8]) -> Result<Recording<'_>, ImportError> {
    let bytes = without_mark(bytes);
    let mut recording = Recording::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = Object(&mut Top(&mut recording))
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    if let Err(error) = read {
        return Err(match recording.refused.take() {
            Some(refused) => refused,
            None => explain(bytes, &error),
        });
    }
    if !recording.has_tasks {
        return Err(ImportError::NotWfFormat);
    }
    Ok(recording)
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

fn explain(bytes: &[u8], error: &serde_json::Error) -> ImportError {
    let (line, column) = (error.line(), error.column());
    if error.is_eof() {
        return ImportError::Truncated { line };
    }
    let text = bytes
        .split(|&byte| byte == b'\n')
        .nth(line.saturating_sub(1));
    let from = column.saturating_sub(2);
    // The place is that of the byte after which reading stopped: the first or second of the word.
    let near = text.and_then(|text| text.get(from..)).unwrap_or_default();
    for written in ["NaN", "-Infinity", "Infinity"] {
        let shown = near.get(..written.len() + 1).unwrap_or(near);
        if shown
            .windows(written.len())
            .any(|word| word == written.as_bytes())
        {
            return ImportError::NotANumber {
                line,
                column,
                written,
            };
        }
    }
    // The place is said before, so it is not said behind again.
    let reason = error.to_string();
    let reason = match reason.rsplit_once(" at line ") {
        Some((reason, _)) => reason.to_owned(),
        None => reason,
    };
    ImportError::Json {
        line,
        column,
        reason,
    }
}

/// True if a JSON object's first telling key is one of a recording.
pub(super) fn has_recording_keys(bytes: &[u8]) -> bool {
    let mut keys = Keys { recording: None };
    let mut deserializer = serde_json::Deserializer::from_slice(without_mark(bytes));
    // An error is the ordinary end: reading stops at the first key that tells.
    let _ = Object(&mut keys).deserialize(&mut deserializer);
    keys.recording == Some(true)
}

struct Keys {
    recording: Option<bool>,
}

impl<'de> Fields<'de> for Keys {
    const WHAT: &'static str = "an object";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        self.recording = match key {
            "schemaVersion" | "workflow" => Some(true),
            "xavantes" | "body" => Some(false),
            _ => return map.next_value::<IgnoredAny>().map(|_| ()),
        };
        Err(de::Error::custom("known"))
    }
}

impl<'de> Recording<'de> {
    fn refuse<E: de::Error>(&mut self, error: ImportError) -> E {
        self.refused.get_or_insert(error);
        E::custom("refused")
    }

    fn too_many<E: de::Error>(&mut self, what: &'static str, most: usize) -> E {
        self.refuse(ImportError::TooMany { what, most })
    }

    fn check_id<E: de::Error>(&mut self, id: &str) -> Result<(), E> {
        let wrong = if id.is_empty() {
            "is empty"
        } else if id.len() > ID_BYTES_MAX {
            "has more than 4096 bytes"
        } else if id.contains('\0') {
            "has a NUL character in it"
        } else {
            return Ok(());
        };
        Err(self.refuse(ImportError::Id(wrong)))
    }

    fn task_id<E: de::Error>(&mut self, id: Cow<'de, str>) -> Result<u32, E> {
        self.check_id(&id)?;
        // Up to 1.4 a task has a name beside its id.
        if self.task_ids.len() > 2 * TASKS_MAX {
            return Err(self.too_many("tasks", TASKS_MAX));
        }
        Ok(self.task_ids.place(id))
    }

    fn file_id<E: de::Error>(&mut self, id: Cow<'de, str>) -> Result<u32, E> {
        self.check_id(&id)?;
        if self.file_ids.len() > FILES_MAX {
            return Err(self.too_many("files", FILES_MAX));
        }
        Ok(self.file_ids.place(id))
    }

    fn mention<E: de::Error>(&mut self) -> Result<(), E> {
        self.n_mentions += 1;
        if self.n_mentions > MENTIONS_MAX {
            return Err(self.too_many("mentions of parents, children and files", MENTIONS_MAX));
        }
        Ok(())
    }
}

struct Top<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Fields<'de> for Top<'_, 'de> {
    const WHAT: &'static str = "a recording (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "name" => self.0.name = map.next_value_seed(Text)?,
            "schemaVersion" => self.0.version = map.next_value_seed(Text)?,
            "workflow" => map.next_value_seed(Object(&mut Workflow(self.0)))?,
            _ => map.next_value::<IgnoredAny>().map(|_| ())?,
        }
        Ok(())
    }
}

struct Workflow<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Fields<'de> for Workflow<'_, 'de> {
    const WHAT: &'static str = "a workflow (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "specification" => map.next_value_seed(Object(&mut Specification(self.0))),
            "execution" => map.next_value_seed(Object(&mut Execution(self.0))),
            "tasks" | "jobs" => {
                self.0.older = true;
                map.next_value_seed(List(&mut Tasks(self.0)))
            }
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }
}

struct Specification<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Fields<'de> for Specification<'_, 'de> {
    const WHAT: &'static str = "a specification (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "tasks" => map.next_value_seed(List(&mut Tasks(self.0))),
            "files" => map.next_value_seed(List(&mut Files(self.0))),
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }
}

struct Execution<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Fields<'de> for Execution<'_, 'de> {
    const WHAT: &'static str = "an execution (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "tasks" => map.next_value_seed(List(&mut Runs(self.0))),
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }
}

struct Tasks<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Items<'de> for Tasks<'_, 'de> {
    const WHAT: &'static str = "a list of tasks";

    fn item<A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        self.0.has_tasks = true;
        let mut one = Task {
            recording: self.0,
            task: RawTask::default(),
        };
        if items.next_element_seed(Object(&mut one))?.is_none() {
            return Ok(false);
        }
        let task = one.task;
        if self.0.tasks.len() >= TASKS_MAX {
            return Err(self.0.too_many("tasks", TASKS_MAX));
        }
        self.0.tasks.push(task);
        Ok(true)
    }
}

struct Task<'c, 'de> {
    recording: &'c mut Recording<'de>,
    task: RawTask,
}

impl<'de> Fields<'de> for Task<'_, 'de> {
    const WHAT: &'static str = "a task (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let (recording, task) = (&mut *self.recording, &mut self.task);
        match key {
            "id" => {
                if let Some(id) = map.next_value_seed(Text)? {
                    task.id = Some(recording.task_id(id)?);
                }
                Ok(())
            }
            "name" if recording.older => {
                if let Some(name) = map.next_value_seed(Text)? {
                    task.name = Some(recording.task_id(name)?);
                }
                Ok(())
            }
            "parents" => map.next_value_seed(mentions(recording, &mut task.parents, Of::Tasks)),
            "children" => map.next_value_seed(mentions(recording, &mut task.children, Of::Tasks)),
            "inputFiles" => map.next_value_seed(mentions(recording, &mut task.inputs, Of::Files)),
            "outputFiles" => map.next_value_seed(mentions(recording, &mut task.outputs, Of::Files)),
            "files" if recording.older => {
                map.next_value_seed(List(&mut OlderFiles { recording, task }))
            }
            "runtimeInSeconds" | "runtime" => {
                task.runtime = map.next_value_seed(Number)?;
                Ok(())
            }
            "avgCPU" => {
                task.cpu_percent = map.next_value_seed(Number)?;
                Ok(())
            }
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }
}

struct Runs<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Items<'de> for Runs<'_, 'de> {
    const WHAT: &'static str = "a list of executed tasks";

    fn item<A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut one = Run {
            recording: self.0,
            run: RawRun::default(),
        };
        if items.next_element_seed(Object(&mut one))?.is_none() {
            return Ok(false);
        }
        let run = one.run;
        // Retries are recorded as further executions.
        if self.0.runs.len() >= 2 * TASKS_MAX {
            return Err(self.0.too_many("executions of tasks", 2 * TASKS_MAX));
        }
        self.0.runs.push(run);
        Ok(true)
    }
}

struct Run<'c, 'de> {
    recording: &'c mut Recording<'de>,
    run: RawRun,
}

impl<'de> Fields<'de> for Run<'_, 'de> {
    const WHAT: &'static str = "an executed task (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => {
                if let Some(id) = map.next_value_seed(Text)? {
                    self.run.id = Some(self.recording.task_id(id)?);
                }
            }
            "runtimeInSeconds" => self.run.runtime = map.next_value_seed(Number)?,
            "avgCPU" => self.run.cpu_percent = map.next_value_seed(Number)?,
            _ => map.next_value::<IgnoredAny>().map(|_| ())?,
        }
        Ok(())
    }
}

struct Files<'c, 'de>(&'c mut Recording<'de>);

impl<'de> Items<'de> for Files<'_, 'de> {
    const WHAT: &'static str = "a list of files";

    fn item<A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut file = File::default();
        if items.next_element_seed(Object(&mut file))?.is_none() {
            return Ok(false);
        }
        self.0.mention()?;
        if let Some(id) = file.id {
            let id = self.0.file_id(id)?;
            self.0.files.push((id, file.size));
        }
        Ok(true)
    }
}

struct OlderFiles<'c, 'de> {
    recording: &'c mut Recording<'de>,
    task: &'c mut RawTask,
}

impl<'de> Items<'de> for OlderFiles<'_, 'de> {
    const WHAT: &'static str = "a list of files";

    fn item<A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let mut file = File::default();
        if items.next_element_seed(Object(&mut file))?.is_none() {
            return Ok(false);
        }
        self.recording.mention()?;
        let id = match (file.path, file.name.or(file.id)) {
            (Some(path), Some(name)) => Cow::Owned(format!("{path}{name}")),
            (None, Some(name)) => name,
            (_, None) => {
                return Err(self
                    .recording
                    .refuse(ImportError::Id("of a file is not there")));
            }
        };
        let id = self.recording.file_id(id)?;
        self.recording.files.push((id, file.size));
        match file.link.as_deref() {
            Some("input") => self.task.inputs.push(id),
            Some("output") => self.task.outputs.push(id),
            _ => {
                let wrong = "of a file has no `link` that is `input` or `output`";
                return Err(self.recording.refuse(ImportError::Id(wrong)));
            }
        }
        Ok(true)
    }
}

/// A file as 1.5 lists it or as a task of 1.4 does.
#[derive(Default)]
struct File<'de> {
    id: Option<Cow<'de, str>>,
    name: Option<Cow<'de, str>>,
    path: Option<Cow<'de, str>>,
    link: Option<Cow<'de, str>>,
    size: Option<f64>,
}

impl<'de> Fields<'de> for File<'de> {
    const WHAT: &'static str = "a file (an object)";

    fn field<A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "id" => self.id = map.next_value_seed(Text)?,
            "name" => self.name = map.next_value_seed(Text)?,
            "path" => self.path = map.next_value_seed(Text)?,
            "link" => self.link = map.next_value_seed(Text)?,
            "sizeInBytes" | "size" => self.size = map.next_value_seed(Number)?,
            _ => map.next_value::<IgnoredAny>().map(|_| ())?,
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Of {
    Tasks,
    Files,
}

struct Mentions<'c, 'de> {
    recording: &'c mut Recording<'de>,
    list: &'c mut Vec<u32>,
    of: Of,
}

/// A list of ids, as a seed.
fn mentions<'c, 'de>(
    recording: &'c mut Recording<'de>,
    list: &'c mut Vec<u32>,
    of: Of,
) -> OwnedList<Mentions<'c, 'de>> {
    OwnedList(Mentions {
        recording,
        list,
        of,
    })
}

impl<'de> Items<'de> for Mentions<'_, 'de> {
    const WHAT: &'static str = "a list of ids";

    fn item<A: SeqAccess<'de>>(&mut self, items: &mut A) -> Result<bool, A::Error> {
        let Some(text) = items.next_element_seed(Text)? else {
            return Ok(false);
        };
        self.recording.mention()?;
        let Some(text) = text else {
            return Err(self.recording.refuse(ImportError::Id("is null")));
        };
        self.list.push(match self.of {
            Of::Tasks => self.recording.task_id(text)?,
            Of::Files => self.recording.file_id(text)?,
        });
        Ok(true)
    }
}
