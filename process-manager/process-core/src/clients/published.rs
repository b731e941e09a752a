//! The paths of what a process publishes: evaluated when they are asked for, in pages, since they follow from what is
//! recorded.

use std::ops::ControlFlow;

use expression::{Meter, Programs, limits::STEPS_MAX};
use model::{ActivityId, NodeId, ProcessId, Publish, PublishOf};
use wire::client::{Answer, PublishedAt, PublishedFile, PublishedPage};

use crate::enact::evaluate::scope;
use crate::process::Process;
use crate::record::Phase;
use crate::step::Step;

/// Bytes of the paths of a page, beside which each file takes some hundred: a page fits a message of 100 kB.
const PAGE_BYTES_MAX: usize = 48 << 10;
/// Files of a page.
const PAGE_FILES_MAX: usize = 256;

/// A page of what a process publishes.
pub(super) fn answer_published(step: &Step<'_>, id: ProcessId, from: PublishedAt) -> Answer {
    match step.cx.process(id) {
        Some(process) => published(process, from),
        None => Answer::Unknown(id),
    }
}

/// A page of what a process publishes, from this place on. Expressions take at most some
/// [`STEPS_MAX`] steps in all.
pub fn published(process: &Process, from: PublishedAt) -> Answer {
    if process.phase() != Phase::Completed {
        let id = process.id();
        return Answer::Refused(vec![format!(
            "process {id} has not completed: results are published afterwards"
        )]);
    }
    let mut page = Page {
        process,
        programs: Programs::default(),
        n_steps: 0,
        n_bytes: 0,
        files: Vec::new(),
    };
    let next = page.fill(from).break_value();
    let files = page.files;
    Answer::Published(Box::new(PublishedPage { files, next }))
}

/// A page that is being filled.
struct Page<'a> {
    process: &'a Process,
    programs: Programs,
    n_steps: u64,
    n_bytes: usize,
    files: Vec<PublishedFile>,
}

impl Page<'_> {
    /// Adds files until the page is full, and says where the next one begins.
    fn fill(&mut self, from: PublishedAt) -> ControlFlow<PublishedAt> {
        let definition = self.process.definition();
        let all = definition.draft().published().iter().enumerate();
        for (number, publish) in all.skip(from.publish as usize) {
            let is_first = number == from.publish as usize;
            let first = if is_first { from.instance as usize } else { 0 };
            let instances = match publish.of.activity() {
                Some(activity) => definition.instances(activity),
                None => vec![NodeId(0)],
            };
            for (instance, node) in instances.into_iter().enumerate().skip(first) {
                if self.is_full() {
                    return ControlFlow::Break(PublishedAt {
                        publish: number as u32,
                        instance: instance as u32,
                    });
                }
                self.add(publish, node);
            }
        }
        ControlFlow::Continue(())
    }

    fn is_full(&self) -> bool {
        self.files.len() >= PAGE_FILES_MAX
            || self.n_bytes >= PAGE_BYTES_MAX
            || self.n_steps >= STEPS_MAX
    }

    /// Adds what is published where a node stands for that of the draft; nothing where it was skipped.
    fn add(&mut self, publish: &Publish, node: NodeId) {
        let produced = match publish.of {
            PublishOf::Output(_) => None,
            PublishOf::Produced { output, .. } => {
                let activity = ActivityId(node.0);
                let Some(artifact) = self.process.output_of(activity, output) else {
                    return;
                };
                Some((activity, artifact))
            }
        };
        let mut meter = Meter::new();
        let items = self.process.items(node);
        let text = self.programs.text(&publish.path);
        let path = text.and_then(|text| text.render(&scope(self.process, &items), &mut meter));
        self.n_steps += meter.steps();
        let (path, wrong) = match path {
            Ok(path) => (path, None),
            Err(error) => (String::new(), Some(error.to_string())),
        };
        self.n_bytes += path.len() + wrong.as_ref().map_or(0, String::len);
        let of = publish.of;
        self.files.push(PublishedFile {
            of,
            produced,
            path,
            wrong,
        });
    }
}
