//! The tree of controllers, and how far each is.

use std::collections::BTreeMap;

use model::{ActivityId, Definition, Node, NodeId};
use wire::client::{ActivityPhase, Status};

use super::escape::visible;

/// Controllers that the page shows, those nearest the root first.
const SHOWN_MAX: usize = 300;

/// Characters of a path; of a longer one the end is kept.
const PATH_CHARS_MAX: usize = 160;

/// The tree as the page shows it.
#[derive(Debug)]
pub(crate) struct Controllers {
    /// Controllers in the order of a walk from the root down.
    pub(crate) shown: Vec<Controller>,
    /// Controllers that are not shown.
    pub(crate) n_hidden: usize,
    /// Paths of all controllers that have activities of their own, without the process's name.
    pub(crate) paths: Vec<String>,
    place_of: BTreeMap<NodeId, usize>,
}

/// A controller.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Controller {
    /// Its name, or its keyword where it has none.
    pub(crate) label: String,
    /// Its keyword.
    pub(crate) keyword: &'static str,
    /// The number of controllers around it.
    pub(crate) depth: usize,
    /// Activities below it.
    pub(crate) counts: Counts,
}

/// The counts of activities below a controller, by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// All.
    pub(crate) all: usize,
    /// Ended well, or a recorded outcome stands.
    pub(crate) completed: usize,
    /// Ended with a fault.
    pub(crate) faulted: usize,
    /// Out there.
    pub(crate) running: usize,
    /// Will not run.
    pub(crate) skipped: usize,
}

impl Controllers {
    /// The place of an activity's controller in [`Controllers::paths`].
    pub(crate) fn path_of(&self, definition: &Definition, activity: ActivityId) -> usize {
        let parent = definition.parent(definition.origin(activity.node()));
        parent
            .and_then(|node| self.place_of.get(&node).copied())
            .unwrap_or(0)
    }
}

/// Counts the activities of each controller as it is written: one in a body has those of all items.
pub(crate) fn tree(status: &Status, definition: &Definition) -> Controllers {
    let nodes = &definition.draft().nodes;
    let mut counts = vec![Counts::default(); nodes.len()];
    for one in &status.activities {
        let origin = definition.origin(one.activity.node());
        counts[origin.index()].add(one.phase);
    }
    // A child has a larger number than its parent.
    for index in (1..nodes.len()).rev() {
        if let Some(parent) = definition.parent(NodeId(index as u32)) {
            let below = counts[index];
            counts[parent.index()].join(below);
        }
    }
    let n_controllers = nodes.iter().filter(|node| !node.children().is_empty());
    let n_controllers = n_controllers.count();
    let chosen = nearest(nodes);
    let mut shown = Vec::new();
    let mut open = vec![(NodeId(0), 0)];
    while let Some((node, depth)) = open.pop() {
        if !chosen.contains(&node) {
            continue;
        }
        let one = &nodes[node.index()];
        shown.push(Controller {
            label: visible(if node == NodeId(0) && one.name.is_empty() {
                definition.name()
            } else {
                one.label()
            }),
            keyword: one.keyword(),
            depth,
            counts: counts[node.index()],
        });
        let below = one.children().iter().rev();
        open.extend(below.map(|&child| (child, depth + 1)));
    }
    let mut paths = vec![String::new()];
    let mut place_of = BTreeMap::new();
    for (place, node) in nodes.iter().enumerate() {
        let parent = definition.parent(NodeId(place as u32));
        if let (Some(_), Some(parent)) = (node.activity(), parent) {
            place_of.entry(parent).or_insert_with(|| {
                paths.push(path(definition, parent));
                paths.len() - 1
            });
        }
    }
    Controllers {
        n_hidden: n_controllers.saturating_sub(shown.len()),
        shown,
        paths,
        place_of,
    }
}

/// The controllers nearest the root.
fn nearest(nodes: &[Node]) -> std::collections::BTreeSet<NodeId> {
    let mut chosen = std::collections::BTreeSet::new();
    let mut open = std::collections::VecDeque::from([NodeId(0)]);
    while let Some(node) = open.pop_front() {
        let children = nodes[node.index()].children();
        if children.is_empty() {
            continue;
        }
        if chosen.len() == SHOWN_MAX {
            break;
        }
        chosen.insert(node);
        open.extend(children);
    }
    chosen
}

/// The names from below the root down; unnamed controllers by their kind.
fn path(definition: &Definition, node: NodeId) -> String {
    let mut names = Vec::new();
    let mut at = node;
    while let Some(parent) = definition.parent(at) {
        names.push(definition.as_written(at).label());
        at = parent;
    }
    names.reverse();
    let path = visible(&names.join("/"));
    let n_chars = path.chars().count();
    if n_chars <= PATH_CHARS_MAX {
        return path;
    }
    let end: String = path.chars().skip(n_chars - PATH_CHARS_MAX).collect();
    format!("…{end}")
}

impl Counts {
    /// Counts an activity.
    pub(crate) fn add(&mut self, phase: ActivityPhase) {
        self.all += 1;
        match phase {
            ActivityPhase::Completed => self.completed += 1,
            ActivityPhase::Faulted => self.faulted += 1,
            ActivityPhase::Sent | ActivityPhase::Running => self.running += 1,
            ActivityPhase::Skipped | ActivityPhase::Stopped => self.skipped += 1,
            ActivityPhase::Waiting | ActivityPhase::Ready | ActivityPhase::Backoff => {}
        }
    }

    fn join(&mut self, other: Counts) {
        let Counts {
            all,
            completed,
            faulted,
            running,
            skipped,
        } = other;
        self.all += all;
        self.completed += completed;
        self.faulted += faulted;
        self.running += running;
        self.skipped += skipped;
    }
}

#[cfg(test)]
mod tests;
