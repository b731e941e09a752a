//! The graph of a process, folded so that it can be looked at: the items of an activity are one step, and where the
//! steps are still too many, those whose names differ in a number only, or those below one controller.

mod drawing;
mod layout;

use std::collections::{BTreeMap, BTreeSet};

use model::{Definition, NodeId};
use wire::client::Status;

use super::controllers::Counts;
use super::escape::visible;
use super::groups::{named_above, stem};

pub(crate) use drawing::graph;

/// Steps of a graph that is drawn: more are no picture. Sets of them are the bits of a number.
const STEPS_MAX: usize = 60;
const _: () = assert!(STEPS_MAX <= u64::BITS as usize);

/// Activities of a graph of which each is a step, though the names of some differ in a number only.
const DETAILED_MAX: usize = 24;

/// Lines of a graph that has all of them. Of more, those are left out that follow from others.
const EDGES_MAX: usize = 120;

/// The kind of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Activities as they are written.
    Activity,
    /// Activities whose names differ in a number only.
    Name,
    /// Activities below one controller.
    Controller,
}

/// The graph. It has no steps where there are fewer than two, or too many of any kind.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The kind of the steps.
    pub(crate) fold: Fold,
    /// In the order of the definition.
    pub(crate) steps: Vec<Step>,
    /// The step of each activity, in the order of the report.
    pub(crate) of: Vec<Option<usize>>,
    /// True if lines that follow from others are left out.
    pub(crate) is_reduced: bool,
}

/// A step: activities that are drawn as one.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    /// The name.
    pub(crate) label: String,
    /// The place of its colour in the groups.
    pub(crate) group: usize,
    /// Its activities by their state.
    pub(crate) counts: Counts,
    /// The place of its first activity in an order in which all come after what they wait for.
    pub(crate) first: usize,
    /// The steps that some of its activities wait for, as bits; itself where they wait for each other.
    pub(crate) before: u64,
}

impl Graph {
    /// Folds the graph of a process, whose activities have these colours.
    pub(crate) fn of(status: &Status, definition: &Definition, groups: &[usize]) -> Graph {
        let origin = |place: usize| definition.origin(status.activities[place].activity.node());
        let origins: Vec<NodeId> = (0..status.activities.len()).map(origin).collect();
        let written: BTreeSet<NodeId> = origins.iter().copied().collect();
        let Some((fold, keys)) = folded(definition, &written) else {
            return Graph {
                fold: Fold::Activity,
                steps: Vec::new(),
                of: vec![None; origins.len()],
                is_reduced: false,
            };
        };
        let mut steps: Vec<Step> = Vec::new();
        let mut places: BTreeMap<&Key, usize> = BTreeMap::new();
        let mut of = Vec::new();
        for (place, node) in origins.iter().enumerate() {
            let key = &keys[node];
            let step = *places.entry(key).or_insert_with(|| {
                steps.push(Step {
                    label: key.1.clone(),
                    group: groups[place],
                    counts: Counts::default(),
                    first: usize::MAX,
                    before: 0,
                });
                steps.len() - 1
            });
            steps[step].counts.add(status.activities[place].phase);
            of.push(Some(step));
        }
        let step_of = |node: NodeId| places.get(keys.get(&definition.origin(node))?).copied();
        join(definition, &step_of, &mut steps);
        let n_edges: u32 = steps.iter().map(|step| step.before.count_ones()).sum();
        let is_reduced = n_edges as usize > EDGES_MAX;
        if is_reduced {
            reduce(&mut steps);
        }
        Graph {
            fold,
            steps,
            of,
            is_reduced,
        }
    }

    /// True if there is something to draw.
    pub(crate) fn is_shown(&self) -> bool {
        !self.steps.is_empty()
    }
}

/// A step, in the order of the definition, with its name.
type Key = (u32, String);

/// The kind of steps that says most and has not too many, with the step of each activity as it is written; none where there
/// is none.
fn folded(
    definition: &Definition,
    written: &BTreeSet<NodeId>,
) -> Option<(Fold, BTreeMap<NodeId, Key>)> {
    let keyed = |key: &dyn Fn(NodeId) -> Key| -> BTreeMap<NodeId, Key> {
        written.iter().map(|&node| (node, key(node))).collect()
    };
    let fits = |keys: &BTreeMap<NodeId, Key>| {
        let steps: BTreeSet<&Key> = keys.values().collect();
        steps.len() > 1 && steps.len() <= STEPS_MAX
    };
    let name = |node: NodeId| definition.plain_name(node);
    let each = keyed(&|node| (node.0, visible(name(node))));
    if written.len() <= DETAILED_MAX {
        return fits(&each).then_some((Fold::Activity, each));
    }
    let named = keyed(&|node| (0, visible(stem(name(node)))));
    if fits(&named) {
        return Some((Fold::Name, named));
    }
    let above: BTreeMap<NodeId, Vec<NodeId>> = written
        .iter()
        .map(|&node| (node, named_above(definition, node)))
        .collect();
    let deepest = above.values().map(Vec::len).max()?;
    let at_depth = |depth: usize| {
        keyed(
            &|node| match above[&node].get(..depth.min(above[&node].len())) {
                Some([.., controller]) => {
                    let label = definition.as_written(*controller).label();
                    (controller.0, visible(label))
                }
                Some([]) | None => (0, visible(definition.name())),
            },
        )
    };
    let keys = (1..=deepest).rev().map(at_depth).find(fits)?;
    Some((Fold::Controller, keys))
}

/// Notes which steps wait for which. O(n + e) of the graph of the activities.
fn join(definition: &Definition, step_of: &dyn Fn(NodeId) -> Option<usize>, steps: &mut [Step]) {
    let graph = definition.graph();
    let own: Vec<Option<Option<usize>>> = graph
        .nodes()
        .map(|node| node.activity.map(|activity| step_of(activity.node())))
        .collect();
    // An edge to a node comes before those from it, since both are in the order of the nodes. A gate hands on what
    // it waits for itself.
    let mut before = vec![0_u64; own.len()];
    for (from, to, _) in graph.edges() {
        before[to] |= match own[from] {
            Some(Some(step)) => 1 << step,
            Some(None) => 0,
            None => before[from],
        };
    }
    for (node, own) in own.iter().enumerate() {
        if let Some(Some(step)) = own {
            steps[*step].before |= before[node];
            steps[*step].first = steps[*step].first.min(node);
        }
    }
}

/// Leaves out each line to a step that another of its lines implies.
fn reduce(steps: &mut [Step]) {
    let order = layout::order(steps);
    let mut all_before = vec![0_u64; steps.len()];
    let mut passed = 0_u64;
    for step in order {
        let direct = steps[step].before & passed;
        let implied = members(direct).fold(0, |all, one| all | all_before[one]);
        all_before[step] = direct | implied;
        steps[step].before &= !implied;
        passed |= 1 << step;
    }
}

/// The steps of a set.
pub(crate) fn members(set: u64) -> impl Iterator<Item = usize> {
    (0..u64::BITS as usize).filter(move |&one| set >> one & 1 == 1)
}

#[cfg(test)]
mod tests;
