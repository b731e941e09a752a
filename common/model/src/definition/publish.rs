//! Results that are laid beside the definition when its process has completed.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};

use super::check::wrong_path;
use super::{Definition, Draft, Template};
use crate::NodeId;

/// A result that is laid beside the definition.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Publish {
    /// The files.
    #[n(0)]
    pub of: PublishOf,
    /// The path below the directory of the definition. Expressions in it are evaluated when the process has
    /// ended, where the activity is: items and indexes of the bodies around can be read.
    #[n(1)]
    pub path: Template,
}

/// The files that are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum PublishOf {
    /// An output of the process: the place in [`Draft::outputs`].
    #[n(0)]
    Output(#[n(0)] u32),
    /// An output of an activity, of each item that it runs for.
    #[n(1)]
    Produced {
        /// The activity, a node of the draft.
        #[n(0)]
        activity: NodeId,
        /// The place in its [`Activity::outputs`](super::Activity::outputs).
        #[n(1)]
        output: u32,
    },
}

impl PublishOf {
    /// The activity, a node of the draft; none where it is an output of the process.
    pub fn activity(self) -> Option<NodeId> {
        match self {
            PublishOf::Output(_) => None,
            PublishOf::Produced { activity, .. } => Some(activity),
        }
    }
}

impl Publish {
    /// Checks a path with its values in it. The error says what it is instead of a path below a directory.
    pub fn check_path(path: &str) -> Result<(), &'static str> {
        wrong_path(path).map_or(Ok(()), Err)
    }
}

impl Draft {
    /// All that is published.
    pub fn published(&self) -> &[Publish] {
        self.publish.as_deref().unwrap_or_default()
    }

    /// The results of each activity, and with no activity those of the process: names of outputs with their paths.
    pub fn published_by_node(&self) -> BTreeMap<Option<NodeId>, Vec<(&str, &Template)>> {
        let mut by_node: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for publish in self.published() {
            if let Some(name) = self.published_name(publish.of) {
                let all = by_node.entry(publish.of.activity()).or_default();
                all.push((name, &publish.path));
            }
        }
        by_node
    }

    /// The name of an output that is published.
    pub fn published_name(&self, of: PublishOf) -> Option<&str> {
        match of {
            PublishOf::Output(output) => {
                let output = self.outputs.get(output as usize)?;
                Some(&output.name)
            }
            PublishOf::Produced { activity, output } => {
                let activity = self.nodes.get(activity.index())?.activity()?;
                let output = activity.outputs.get(output as usize)?;
                Some(&output.name)
            }
        }
    }
}

impl Definition {
    /// The for-each bodies that a node lies in, the innermost first, each as its controller in the draft and the place of
    /// the item. Iterations of loops are left out: of a file that is published under one name by several of
    /// them, that of the last one counts.
    pub fn item_places(&self, node: NodeId) -> Vec<(NodeId, u32)> {
        let around = self.enclosing(node);
        let items = around.filter(|one| self.as_written(one.each).keyword() == "for-each");
        items
            .map(|one| (self.origin(one.each), one.place))
            .collect()
    }
}
