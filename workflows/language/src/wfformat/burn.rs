//! The command line of `xav tool burn`.

use std::fmt::Write;

use model::{Command, Span, Template};
use thiserror::Error;

use crate::units::parse_duration;

/// The work of one `xav tool burn`, and its command line:
///
/// ```text
/// xav tool burn --name=NAME --cpu=SECONDS --threads=N [--record=FILE]
///               [--source FILE...] [--read PATH...] [--write FILE...]
/// ```
///
/// - `NAME` is the task's id in the recording, any text.
/// - `SECONDS` is CPU time summed over all threads, a duration as in the language with at most six
///   decimals: `0.0123s`; `0s` computes nothing.
/// - `--source`, `--read` and `--write` each take all arguments up to the next that begins with
///   `--`, and each may be there several times.
/// - A `FILE` is `PATH=BYTES` or `PATH=BYTES=SEED`. `PATH` is a file name in the working directory,
///   of letters, digits and `.`, `_`, `+`, `-`, not beginning with `-` or `.`; `BYTES` is a whole
///   number; the contents follow from `SEED`, which is the file's id in the recording, any text,
///   and is `PATH` where it is left out.
///
/// In this order: each source is made (contents from its seed alone) and, as if it had been there,
/// read; each read file is read; each file is written with contents that follow from its seed and
/// from the BLAKE3 of all that was read, in the order of the arguments; what is left of the CPU time
/// is used; with `--record` one line is appended to the file in a single write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Burn {
    /// The task's id in the recording.
    pub name: String,
    /// CPU time over all threads.
    pub cpu: Span,
    /// Threads that use it, at least 1.
    pub threads: u32,
    /// The file to which a line is appended at the end.
    pub record: Option<String>,
    /// Files that no other activity produces: made here, then read.
    pub sources: Vec<BurnFile>,
    /// Files that are there and are read.
    pub reads: Vec<String>,
    /// Files that are written.
    pub writes: Vec<BurnFile>,
}

/// A file that a burn makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurnFile {
    /// Its name in the working directory.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The seed of its contents: its id in the recording.
    pub seed: String,
}

/// Why arguments are not those of a burn.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BurnError {
    /// An argument that has no meaning where it stands.
    #[error("unknown argument `{0}`")]
    Unknown(String),
    /// An option without what it needs.
    #[error("`{0}` without a value")]
    NoValue(&'static str),
    /// A CPU time that is not a duration.
    #[error("`--cpu={0}` is not a duration such as 0.25s")]
    Cpu(String),
    /// A number of threads that is not a whole number from 1.
    #[error("`--threads={0}` is not a whole number from 1")]
    Threads(String),
    /// A file that is not `PATH=BYTES` or `PATH=BYTES=SEED`.
    #[error("`{0}` is not PATH=BYTES or PATH=BYTES=SEED")]
    File(String),
    /// A path that is not a name in the working directory.
    #[error("`{0}` is not a file name in the working directory")]
    Path(String),
}

/// The words before the arguments.
const PROGRAM: [&str; 3] = ["xav", "tool", "burn"];

impl Burn {
    /// Reads the arguments that follow `xav tool burn`.
    pub fn parse<S: AsRef<str>>(arguments: impl IntoIterator<Item = S>) -> Result<Burn, BurnError> {
        let mut burn = Burn {
            threads: 1,
            ..Burn::default()
        };
        let mut list = None;
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let argument = argument.as_ref();
            let (key, value) = match argument.split_once('=') {
                Some((key, value)) if key.starts_with("--") => (key, Some(value.to_owned())),
                _ => (argument, None),
            };
            let mut value = |option: &'static str| {
                let next = || arguments.next().map(|next| next.as_ref().to_owned());
                value
                    .clone()
                    .or_else(next)
                    .ok_or(BurnError::NoValue(option))
            };
            match key {
                "--name" => burn.name = value("--name")?,
                "--record" => burn.record = Some(value("--record")?),
                "--cpu" => {
                    let text = value("--cpu")?;
                    burn.cpu = parse_duration(&text).map_err(|_| BurnError::Cpu(text))?;
                }
                "--threads" => {
                    let text = value("--threads")?;
                    let threads = text.parse().ok().filter(|&threads| threads > 0);
                    burn.threads = threads.ok_or(BurnError::Threads(text))?;
                }
                "--source" if argument == key => list = Some(List::Sources),
                "--read" if argument == key => list = Some(List::Reads),
                "--write" if argument == key => list = Some(List::Writes),
                _ if argument.starts_with("--") => {
                    return Err(BurnError::Unknown(argument.to_owned()));
                }
                _ => match list {
                    Some(List::Sources) => burn.sources.push(BurnFile::parse(argument)?),
                    Some(List::Reads) => burn.reads.push(checked_path(argument)?),
                    Some(List::Writes) => burn.writes.push(BurnFile::parse(argument)?),
                    None => return Err(BurnError::Unknown(argument.to_owned())),
                },
            }
        }
        Ok(burn)
    }

    /// The burn that a command of a definition is, or none where it is something else or holds
    /// expressions.
    pub fn of_command(command: &Command) -> Option<Burn> {
        let Command::List(words) = command else {
            return None;
        };
        let (program, arguments) = words.split_at_checked(PROGRAM.len())?;
        if !program
            .iter()
            .zip(PROGRAM)
            .all(|(word, name)| word.0 == name)
        {
            return None;
        }
        let arguments = arguments.iter().map(|word| plain_text(&word.0));
        Burn::parse(arguments.collect::<Option<Vec<String>>>()?).ok()
    }

    /// The command of a definition that does this.
    pub fn to_command(&self) -> Command {
        let arguments = self.arguments();
        let words = PROGRAM.into_iter().map(str::to_owned);
        let words = words.chain(arguments.iter().map(|word| template_text(word)));
        Command::List(words.map(Template).collect())
    }

    /// The arguments that follow `xav tool burn`.
    pub fn arguments(&self) -> Vec<String> {
        let n_files = self.sources.len() + self.reads.len() + self.writes.len();
        let mut words = Vec::with_capacity(7 + n_files);
        words.push(format!("--name={}", self.name));
        words.push(format!("--cpu={}", seconds(self.cpu)));
        words.push(format!("--threads={}", self.threads));
        words.extend(self.record.iter().map(|file| format!("--record={file}")));
        let mut list = |option: &str, files: &mut dyn Iterator<Item = String>| {
            for (index, file) in files.enumerate() {
                if index == 0 {
                    words.push(option.to_owned());
                }
                words.push(file);
            }
        };
        list("--source", &mut self.sources.iter().map(BurnFile::argument));
        list("--read", &mut self.reads.iter().cloned());
        list("--write", &mut self.writes.iter().map(BurnFile::argument));
        words
    }
}

enum List {
    Sources,
    Reads,
    Writes,
}

impl BurnFile {
    fn parse(text: &str) -> Result<BurnFile, BurnError> {
        let wrong = || BurnError::File(text.to_owned());
        let (path, rest) = text.split_once('=').ok_or_else(wrong)?;
        let (bytes, seed) = match rest.split_once('=') {
            Some((bytes, seed)) => (bytes, seed),
            None => (rest, path),
        };
        Ok(BurnFile {
            path: checked_path(path)?,
            bytes: bytes.parse().map_err(|_| wrong())?,
            seed: seed.to_owned(),
        })
    }

    fn argument(&self) -> String {
        let mut text = format!("{}={}", self.path, self.bytes);
        if self.seed != self.path {
            let _ = write!(text, "={}", self.seed);
        }
        text
    }
}

fn checked_path(path: &str) -> Result<String, BurnError> {
    let sound = !path.is_empty()
        && !path.starts_with(['-', '.'])
        && path
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte));
    match sound {
        true => Ok(path.to_owned()),
        false => Err(BurnError::Path(path.to_owned())),
    }
}

/// Seconds with as many decimals as are needed: `0.0123s`.
pub(crate) fn seconds(span: Span) -> String {
    let mut text = format!("{}.{:06}", span.0 / 1_000_000, span.0 % 1_000_000);
    text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    text.push('s');
    text
}

/// Text as a template that stands for just that text.
fn template_text(text: &str) -> String {
    text.replace("${", "$${")
}

/// The text that a template without expressions stands for.
fn plain_text(template: &str) -> Option<String> {
    const ESCAPED: &str = "$${";
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(ESCAPED) {
        text.push_str(&rest[..at]);
        text.push_str(&ESCAPED[1..]);
        rest = &rest[at + ESCAPED.len()..];
    }
    text.push_str(rest);
    (!template.replace(ESCAPED, "").contains("${")).then_some(text)
}
