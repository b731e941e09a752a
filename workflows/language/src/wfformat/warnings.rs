//! Oddities of a recording, counted by kind.

use std::collections::BTreeMap;

/// A kind of oddity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Oddity {
    Version,
    NoRuntime,
    RunOfUnknown,
    SecondRun,
    ControlEdge,
    FlowWithoutEdge,
    SecondProducer,
    ReadsOwn,
    ListedTwice,
    NoSize,
    TwoSizes,
    NothingToScale,
}

/// The number of oddities of each kind, and the first place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Warnings(BTreeMap<Oddity, (usize, String)>);

impl Warnings {
    /// Counts one; `example` tells the place and is called for the first of its kind only.
    pub(super) fn add(&mut self, oddity: Oddity, example: impl FnOnce() -> String) {
        let (count, _) = self.0.entry(oddity).or_insert_with(|| (0, example()));
        *count += 1;
    }

    /// A sentence a kind.
    pub(super) fn sentences(&self) -> Vec<String> {
        let sentence = |(&oddity, (count, example)): (&Oddity, &(usize, String))| {
            let (one, many, meaning) = words(oddity);
            match *count {
                1 => format!("{one} ({example}): {meaning}"),
                count => format!("{count} {many} (the first: {example}): {meaning}"),
            }
        };
        self.0.iter().map(sentence).collect()
    }
}

/// One of the kind, several of it, and what was made of them.
fn words(oddity: Oddity) -> (&'static str, &'static str, &'static str) {
    match oddity {
        Oddity::Version => ("a version that is not known", "versions", "read as 1.6"),
        Oddity::NoRuntime => (
            "a task without a runtime",
            "tasks without a runtime",
            "no CPU time is used for it",
        ),
        Oddity::RunOfUnknown => (
            "an execution of a task that is not specified",
            "executions of tasks that are not specified",
            "left out",
        ),
        Oddity::SecondRun => (
            "a second execution of one task",
            "further executions of tasks that have one",
            "the first counts",
        ),
        Oddity::ControlEdge => (
            "an edge carries no file",
            "edges carry no file",
            "no bytes flow, only the order holds",
        ),
        Oddity::FlowWithoutEdge => (
            "a file flows where there is no edge",
            "files flow where there is no edge",
            "no edge is added, and the reader makes the file itself",
        ),
        Oddity::SecondProducer => (
            "a file has a second producer",
            "further producers of files that have one",
            "a file belongs to the first task listed, the others do not write it",
        ),
        Oddity::ReadsOwn => (
            "a task reads a file that it writes",
            "tasks read files that they write",
            "the file is only written",
        ),
        Oddity::ListedTwice => (
            "a task lists a file twice",
            "files are listed twice by one task",
            "it counts once",
        ),
        Oddity::NoSize => (
            "a file without a size",
            "files without a size",
            "taken as empty",
        ),
        Oddity::TwoSizes => (
            "a file has two sizes",
            "files have two sizes",
            "the first counts",
        ),
        Oddity::NothingToScale => (
            "no task used CPU time",
            "no task used CPU time",
            "there is nothing to scale to a total",
        ),
    }
}
