//! Results that a definition publishes: laid beside it when its process has completed, each under its path, and
//! nowhere outside of its directory.
//!
//! What is there already with the same content stays as it is. A file is replaced by renaming a finished copy over
//! it, so that nobody sees a half of it. A copy shares its blocks with the store where the file system can do that
//! (reflink). It is never a hard link: whoever writes to a result would change what the store has.

mod lay;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use model::{Artifact, Definition, ProcessId, Value};
use serde_json::{Value as Json, json};
use wire::client::{Answer, Request};

use crate::ask::unfit;
use crate::failure::Failure;
use crate::fault;
use crate::sources::Sources;
use crate::{screen, text};

pub(crate) use self::lay::Laid;
use self::lay::Project;
use self::paths::{Paths, Wanted};

/// Results that are named one by one after a run.
const NAMED_MAX: usize = 4;

/// What became of the results that a process publishes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Published {
    /// The directory of the definition.
    directory: PathBuf,
    /// The things that lie there.
    laid: Vec<(Wanted, Laid)>,
    /// What does not, and why.
    wrong: Vec<String>,
}

/// A process that has completed.
pub(crate) struct Subject<'a> {
    pub(crate) process: ProcessId,
    /// With the items of its for-each controllers.
    pub(crate) definition: &'a Definition,
    pub(crate) outputs: &'a [(String, Value)],
    /// Where its files came from; none where that is not known here.
    pub(crate) sources: Option<&'a Sources>,
}

impl Subject<'_> {
    /// Lays everything that is published, and says what could not be laid.
    pub(crate) fn publish(
        &self,
        ask: impl FnMut(Request) -> Result<Answer, Failure>,
        write: impl Fn(Artifact, &Path) -> Result<(), Failure>,
    ) -> Published {
        self.each(ask, |project, wanted| project.lay(wanted, &write))
    }

    /// Looks at what lies there of what is published, and changes nothing.
    pub(crate) fn look(&self, ask: impl FnMut(Request) -> Result<Answer, Failure>) -> Published {
        self.each(ask, |project, wanted| Ok(project.look(wanted)))
    }

    fn each(
        &self,
        ask: impl FnMut(Request) -> Result<Answer, Failure>,
        lay: impl Fn(&Project, &Wanted) -> Result<Laid, String>,
    ) -> Published {
        let mut published = Published::default();
        if self.definition.draft().published().is_empty() {
            return published;
        }
        let Some(sources) = self.sources else {
            let why = "where the definition lay is not known on this machine".to_owned();
            published.wrong.push(why);
            return published;
        };
        published.directory.clone_from(&sources.directory);
        let paths = match self.paths(ask) {
            Ok(paths) => paths,
            Err(failure) => {
                published.wrong.push(failure.message);
                return published;
            }
        };
        published.wrong = paths.wrong;
        let project = match Project::new(sources, self.definition) {
            Ok(project) => project,
            Err(why) => {
                published.wrong.push(why);
                return published;
            }
        };
        for wanted in paths.wanted {
            match lay(&project, &wanted) {
                Ok(laid) => published.laid.push((wanted, laid)),
                Err(why) => published.wrong.push(format!("{}: {why}", wanted.shown())),
            }
        }
        published
    }

    /// The paths of all that is published, which the process manager tells in pages.
    fn paths(
        &self,
        mut ask: impl FnMut(Request) -> Result<Answer, Failure>,
    ) -> Result<Paths<'_>, Failure> {
        let process = self.process;
        let mut paths = Paths::new(self.definition, self.outputs);
        let mut from = Some(wire::client::PublishedAt::default());
        while let Some(at) = from {
            let answer = ask(Request::Published { process, from: at })?;
            let Answer::Published(page) = answer else {
                return Err(unfit(&answer));
            };
            for file in page.files {
                paths.add(file);
            }
            from = page.next;
        }
        Ok(paths.finish())
    }
}

impl Published {
    /// True if everything that is published lies where it should.
    pub(crate) fn is_whole(&self) -> bool {
        self.wrong.is_empty()
    }

    /// The outputs of the process that lie beside the definition, and where.
    pub(crate) fn outputs(&self) -> BTreeMap<&str, PathBuf> {
        let there = self.laid.iter().filter(|(_, laid)| laid.is_there());
        let outputs = there.filter_map(|(wanted, _)| {
            let output = wanted.output.as_ref()?;
            // The files of all items lie in one directory, and all of them have to be there.
            Some((output.name.as_str(), self.directory.join(&output.path)))
        });
        let mut outputs: BTreeMap<&str, PathBuf> = outputs.collect();
        let lacking = self.laid.iter().filter(|(_, laid)| !laid.is_there());
        let lacking: BTreeSet<&str> = lacking
            .filter_map(|(wanted, _)| wanted.output_name())
            .collect();
        outputs.retain(|name, _| !lacking.contains(name) && !self.is_wrong(name));
        outputs
    }

    fn is_wrong(&self, output: &str) -> bool {
        let prefix = format!("{output}: ");
        self.wrong.iter().any(|why| why.starts_with(&prefix))
    }

    /// The outputs of the process that lie nowhere beside the definition.
    pub(crate) fn others(&self, outputs: &[(String, Value)]) -> Vec<(String, Value)> {
        let published = self.outputs();
        let others = outputs
            .iter()
            .filter(|(name, _)| !published.contains_key(name.as_str()));
        others.cloned().collect()
    }

    /// Says at the end of a run what was laid, and what could not be.
    pub(crate) fn tell(&self, process: ProcessId, is_quiet: bool) {
        self.tell_wrong();
        if !self.is_whole() {
            let id = fault::short(process);
            screen::tell(&format!(
                "  no result is lost: xav results {id} --publish lays them again, and --to DIR elsewhere\n"
            ));
        }
        if !is_quiet && !self.laid.is_empty() {
            screen::tell(&format!("published {}\n", self.in_short()));
        }
    }

    /// Says what could not be laid.
    pub(crate) fn tell_wrong(&self) {
        for why in &self.wrong {
            screen::error(&format!("could not publish {why}"));
        }
    }

    fn in_short(&self) -> String {
        let directory = text::one_line(&self.directory.display().to_string(), 200);
        let is_new = |(_, laid): &&(Wanted, Laid)| *laid == Laid::New;
        let new: Vec<&str> = self
            .laid
            .iter()
            .filter(is_new)
            .map(|(wanted, _)| wanted.path.as_str())
            .collect();
        let what = match new.len() {
            0 => "nothing new".to_owned(),
            n if n <= NAMED_MAX => text::one_line(&new.join(", "), 200),
            n => text::count(n as u64, "result", "results"),
        };
        let same = match self.laid.len() - new.len() {
            0 => String::new(),
            n => format!("; {} there already", text::count(n as u64, "was", "were")),
        };
        format!("{what} in {directory}{same}")
    }

    /// A line for each result: where it is, and whether it is as it was published.
    pub(crate) fn lines(&self) -> String {
        let lines = self.laid.iter().map(|(wanted, laid)| {
            let path = self.directory.join(&wanted.path);
            let state = match laid {
                Laid::Same | Laid::New => "",
                Laid::Other => " (has changed since)",
                Laid::Missing => " (is not there)",
            };
            let line = format!("{}: {}{state}", wanted.shown(), path.display());
            text::harmless(&line) + "\n"
        });
        lines.collect()
    }

    /// The results beside the definition, for programs.
    pub(crate) fn json(&self) -> Json {
        let all = self.laid.iter().map(|(wanted, laid)| {
            json!({
                "name": wanted.shown(),
                "path": self.directory.join(&wanted.path).display().to_string(),
                "state": laid.word(),
                "hash": wanted.artifact.hash.to_string(),
                "bytes": wanted.artifact.bytes.0,
            })
        });
        all.collect()
    }

    /// Adds it to the document of a run.
    pub(crate) fn add_to(&self, document: &mut Json) {
        document["published"] = self.json();
        document["unpublished"] = json!(self.wrong);
    }
}
