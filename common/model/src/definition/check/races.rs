//! Steps that may write one variable at the same time.

use std::collections::{BTreeMap, BTreeSet};

use super::bodies::Bodies;
use super::check_tree;
use super::data::followable;
use super::links::meet;
use super::problems::Problems;
use crate::NodeId;
use crate::definition::limits::ORDER_STEPS_MAX;
use crate::definition::order::Order;
use crate::definition::{Draft, NodeKind, Place};

/// Pairs of writers that are looked at for each variable: with more, one pair in disorder is found
/// among the first.
const PAIRS_MAX: usize = 1_000;

/// Two steps that may write one variable at the same time, so that it depends on their commands which
/// value counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The place of the variable among those of the definition.
    pub variable: u32,
    /// The steps, and the fields that write.
    pub writers: [Place; 2],
}

/// For each variable, the first two steps below a parallel that write it in no order. Those below a
/// parallel whose links have conditions are left out: they may exclude each other.
pub(in crate::definition) fn races(draft: &Draft) -> Vec<Race> {
    let mut writers: BTreeMap<u32, Vec<(NodeId, &'static str)>> = BTreeMap::new();
    for (index, node) in draft.nodes.iter().enumerate() {
        let id = NodeId(index as u32);
        let mut write = |variable: u32, field: &'static str| {
            let all = writers.entry(variable).or_default();
            if all.last().is_none_or(|(last, _)| *last != id) {
                all.push((id, field));
            }
        };
        match &node.kind {
            NodeKind::Activity(activity) => {
                for (stream, capture) in [("stdout", activity.stdout), ("stderr", activity.stderr)]
                {
                    capture
                        .into_iter()
                        .for_each(|one| write(one.variable, stream));
                }
            }
            NodeKind::Assign(writes) => {
                writes.iter().for_each(|one| write(one.variable, "assign"));
            }
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Empty => {}
        }
    }
    writers.retain(|_, writers| writers.len() > 1);
    let parents = check_tree(draft, usize::MAX, &mut Problems::default());
    let (Some(parents), false) = (parents, writers.is_empty()) else {
        return Vec::new();
    };
    let links = followable(draft);
    let conditional = links.iter().filter(|(_, link)| link.when.is_some());
    let conditional: BTreeSet<NodeId> = conditional.map(|(controller, _)| *controller).collect();
    let bodies = Bodies::new(draft, &parents);
    let order = Order::new(&draft.nodes, &links);
    if !order.cycles().is_empty() {
        return Vec::new();
    }
    let mut search = order.search(ORDER_STEPS_MAX);
    let mut may_meet = |one: NodeId, other: NodeId| {
        let Some((controller, ..)) = meet(one, other, &parents) else {
            return false;
        };
        let is_parallel = matches!(
            draft.nodes[controller.index()].kind,
            NodeKind::Parallel { .. }
        );
        let outwards = |at: &NodeId| parents[at.index()];
        let mut around = std::iter::successors(Some(controller), outwards);
        if !is_parallel || around.any(|at| conditional.contains(&at)) {
            return false;
        }
        let around = bodies.of(controller);
        let ends = [one, other].map(|writer| bodies.lift(writer, around));
        let [Some(one), Some(other)] = ends else {
            return false;
        };
        // Where it would take too long to see, nothing is said.
        [(one, other), (other, one)]
            .iter()
            .all(|&(first, then)| search.precedes(first, then) == Some(false))
    };
    let mut races = Vec::new();
    for (variable, writers) in writers {
        let pairs = writers.iter().enumerate().flat_map(|(place, one)| {
            let others = &writers[place + 1..];
            others.iter().map(move |other| (one, other))
        });
        let mut pairs = pairs.take(PAIRS_MAX);
        let race = pairs.find(|((one, _), (other, _))| may_meet(*one, *other));
        races.extend(race.map(|pair| Race {
            variable,
            writers: [pair.0, pair.1].map(|writer| place(draft, variable, *writer)),
        }));
    }
    races
}

fn place(draft: &Draft, variable: u32, (node, field): (NodeId, &str)) -> Place {
    let name = draft
        .variables
        .get(variable as usize)
        .map_or("", |one| one.name.as_str());
    let field = match field {
        "assign" => format!("assign.{name}"),
        stream => format!("{stream}.into"),
    };
    Place {
        node: Some(node),
        field,
    }
}
