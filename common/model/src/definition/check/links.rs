//! Links and the order that they make: what they join, that they have no cycle, and that whoever
//! reads an output runs after its producer.

use std::collections::BTreeSet;

use super::bodies::Bodies;
use super::has_output;
use super::picks::outputs_of;
use super::problems::Problems;
use super::words::check_expression;
use crate::NodeId;
use crate::definition::limits::{LINKS_MAX, ORDER_STEPS_MAX};
use crate::definition::order::Order;
use crate::definition::{Draft, Link, NodeKind};

/// The links that were read and can be followed.
pub(super) struct Links {
    pub(super) links: Vec<(NodeId, Link)>,
    /// True if other links could not be read, so a missing order may be among those.
    pub(super) lost: bool,
}

pub(super) fn check_links(
    draft: &Draft,
    (parents, bodies): (&[Option<NodeId>], &Bodies<'_>),
    problems: &mut Problems,
) -> Links {
    let mut all = Vec::new();
    let mut lost = false;
    for (index, node) in draft.nodes.iter().enumerate() {
        let id = NodeId(index as u32);
        let NodeKind::Parallel { links, .. } = &node.kind else {
            continue;
        };
        let mut seen = BTreeSet::new();
        for (number, link) in links.iter().enumerate() {
            let field = |end: &str| format!("links.{number}{end}");
            if all.len() >= LINKS_MAX {
                problems.add(Some(id), "links", format!("more than {LINKS_MAX} links"));
                return Links {
                    links: all,
                    lost: true,
                };
            }
            let mut sound = true;
            for (end, name) in [(link.from, ".from"), (link.to, ".to")] {
                if end.index() >= draft.nodes.len() || !is_below(end, id, parents) {
                    let message = "a link joins two nodes below its own parallel controller";
                    problems.add(Some(id), field(name), message);
                    sound = false;
                }
            }
            if !sound {
                lost = true;
                continue;
            }
            if is_below(link.from, link.to, parents) || is_below(link.to, link.from, parents) {
                let message = "a link from a controller into itself would wait for ever";
                problems.add(Some(id), field(""), message);
                lost = true;
                continue;
            }
            if link.from == link.to {
                lost = true;
                let label = draft.nodes[link.from.index()].label();
                problems.add(Some(id), field(""), format!("`{label}` waits for itself"));
                continue;
            }
            if [link.from, link.to].map(|end| bodies.of(end)) != [bodies.of(id); 2] {
                lost = true;
                let message = "a link does not cross the body of a for-each or a loop";
                let hint =
                    "link the controller itself, or two steps of one body by a parallel in it";
                problems.hint(Some(id), field(""), message, hint);
                continue;
            }
            if are_alternatives(draft, link.from, link.to, parents) {
                lost = true;
                let message = alternatives(draft, link.from, link.to);
                problems.add(Some(id), field(""), message);
                continue;
            }
            if !seen.insert((link.from, link.to)) {
                let (from, to) = (link.from.index(), link.to.index());
                let message = format!(
                    "a second link from `{}` to `{}`",
                    draft.nodes[from].label(),
                    draft.nodes[to].label()
                );
                problems.add(Some(id), field(""), message);
                continue;
            }
            if let Some(when) = &link.when {
                check_expression(when, Some(id), &field(".when"), problems);
            }
            all.push((id, link.clone()));
        }
    }
    Links { links: all, lost }
}

pub(super) fn is_below(node: NodeId, controller: NodeId, parents: &[Option<NodeId>]) -> bool {
    let mut at = parents[node.index()];
    while let Some(parent) = at {
        if parent == controller {
            return true;
        }
        at = parents[parent.index()];
    }
    false
}

/// The lowest controller above both nodes, and its children above or at each; none where one is
/// above the other. Parents have lower numbers than children, and children are numbered in order.
pub(super) fn meet(
    first: NodeId,
    second: NodeId,
    parents: &[Option<NodeId>],
) -> Option<(NodeId, NodeId, NodeId)> {
    let (mut before, mut after) = (first, second);
    loop {
        let (above_before, above_after) = (parents[before.index()]?, parents[after.index()]?);
        if above_before == above_after {
            return (before != after).then_some((above_before, before, after));
        }
        // The one whose parent lies deeper, or later, cannot be the child of the common controller.
        if above_before > above_after {
            before = above_before;
        } else {
            after = above_after;
        }
    }
}

/// True if the lowest controller above both is a sequence that has the first before the second.
/// This finds most orders without a search, which for many readers of one output costs the square
/// of their number.
fn is_sequenced(draft: &Draft, first: NodeId, second: NodeId, parents: &[Option<NodeId>]) -> bool {
    meet(first, second, parents).is_some_and(|(controller, before, after)| {
        let kind = &draft.nodes[controller.index()].kind;
        before < after && matches!(kind, NodeKind::Sequence(_))
    })
}

/// True if the two nodes lie in different branches of one `if`, so that they never both run.
fn are_alternatives(draft: &Draft, one: NodeId, other: NodeId, parents: &[Option<NodeId>]) -> bool {
    meet(one, other, parents).is_some_and(|(controller, ..)| {
        matches!(draft.nodes[controller.index()].kind, NodeKind::If { .. })
    })
}

fn alternatives(draft: &Draft, one: NodeId, other: NodeId) -> String {
    let (one, other) = (&draft.nodes[one.index()], &draft.nodes[other.index()]);
    format!(
        "`{}` and `{}` are in different branches of one `if`, so they never both run",
        one.label(),
        other.label()
    )
}

pub(super) fn check_producers(
    draft: &Draft,
    (parents, bodies): (&[Option<NodeId>], &Bodies<'_>),
    links: &[(NodeId, Link)],
    order: &Order,
    problems: &mut Problems,
) {
    for read in search(unordered(draft, (parents, bodies), links), order) {
        let (reader, producer) = (read.reader, read.producer);
        let (first, then) = read.ends;
        let (from, to) = (
            draft.nodes[first.index()].label(),
            draft.nodes[then.index()].label(),
        );
        let NodeKind::Activity(activity) = &draft.nodes[reader.index()].kind else {
            continue;
        };
        let field = format!("inputs.{}", activity.inputs[read.input].path);
        match read.why {
            Unordered::Alternatives => {
                problems.add(Some(reader), field, alternatives(draft, producer, reader));
            }
            Unordered::No => {
                let hint = match is_sequenced(draft, then, first, parents) {
                    true => format!("move `{from}` before `{to}`"),
                    false => format!(
                        "put both into a sequence, or add `{{ from: {from}, to: {to} }}` to the links of the parallel above them"
                    ),
                };
                let message = format!("`{from}` need not have ended when `{to}` starts");
                problems.hint(Some(reader), field, message, hint);
            }
            Unordered::Unknown => {
                return problems.hint(
                    Some(reader),
                    field,
                    format!("it takes too long to see that `{from}` has ended when `{to}` starts"),
                    format!("add `{{ from: {from}, to: {to} }}` to the links of the parallel above them, and likewise for the others that read what others produce"),
                );
            }
        }
    }
}

/// An input of an activity that another activity produces, which is not known to come before.
pub(super) struct Read {
    pub(super) reader: NodeId,
    /// The place among the reader's inputs.
    pub(super) input: usize,
    pub(super) producer: NodeId,
    /// The two, each as the node of the same body: the for-each itself where one of them is below it.
    pub(super) ends: (NodeId, NodeId),
    pub(super) why: Unordered,
}

/// Why a producer is not known to come before its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unordered {
    /// Only one of them ever runs.
    Alternatives,
    /// Nothing orders them.
    No,
    /// It would take too long to find out.
    Unknown,
}

/// The inputs whose producers no sequence and no link to their readers puts first; [`search`] goes
/// on from there.
pub(super) fn unordered(
    draft: &Draft,
    (parents, bodies): (&[Option<NodeId>], &Bodies<'_>),
    links: &[(NodeId, Link)],
) -> Vec<Read> {
    let mut linked: Vec<(NodeId, NodeId)> = Vec::with_capacity(links.len());
    linked.extend(links.iter().map(|(_, link)| (link.from, link.to)));
    linked.sort_unstable();
    let mut found = Vec::new();
    for (index, node) in draft.nodes.iter().enumerate() {
        let NodeKind::Activity(activity) = &node.kind else {
            continue;
        };
        let reader = NodeId(index as u32);
        for (input, staged) in activity.inputs.iter().enumerate() {
            for (producer, output, is_of_many) in outputs_of(draft, (staged.source, staged.gathers))
            {
                // A missing producer, or an activity that reads itself, is reported elsewhere.
                if producer == reader || !has_output(draft, producer, output) {
                    continue;
                }
                // Whoever picks an earlier item of its own for-each is linked to it when there are items.
                let Some(ends) = bodies.ends(producer, reader, is_of_many) else {
                    continue;
                };
                let (first, then) = ends;
                let is_linked = || {
                    let mut above = std::iter::successors(Some(then), |at| parents[at.index()]);
                    above.any(|to| linked.binary_search(&(first, to)).is_ok())
                };
                let why = if are_alternatives(draft, first, then, parents) {
                    Unordered::Alternatives
                } else if is_sequenced(draft, first, then, parents) || is_linked() {
                    continue;
                } else {
                    Unordered::No
                };
                found.push(Read {
                    reader,
                    input,
                    producer,
                    ends,
                    why,
                });
            }
        }
    }
    found
}

/// Leaves out what several links and sequences together put in order.
pub(super) fn search(reads: Vec<Read>, order: &Order) -> Vec<Read> {
    let mut search = order.search(ORDER_STEPS_MAX);
    let settle = |mut read: Read| {
        if read.why == Unordered::No {
            match search.precedes(read.ends.0, read.ends.1) {
                Some(true) => return None,
                Some(false) => {}
                None => read.why = Unordered::Unknown,
            }
        }
        Some(read)
    };
    reads.into_iter().filter_map(settle).collect()
}

pub(super) fn report_cycles(
    draft: &Draft,
    links: &[(NodeId, Link)],
    cycles: &[Vec<NodeId>],
    problems: &mut Problems,
) {
    for cycle in cycles {
        report_cycle(draft, links, cycle, problems);
    }
}

fn report_cycle(
    draft: &Draft,
    links: &[(NodeId, Link)],
    cycle: &[NodeId],
    problems: &mut Problems,
) {
    const SHOWN: usize = 12;
    let mut names: Vec<&str> = cycle
        .iter()
        .filter(|id| !draft.nodes[id.index()].name.is_empty())
        .map(|id| draft.nodes[id.index()].name.as_str())
        .take(SHOWN)
        .collect();
    if cycle.len() > SHOWN {
        names.push("...");
    }
    if let Some(&first) = names.first() {
        names.push(first);
    }
    // The tree has no cycle of its own, so a link with both ends in it is there.
    let inside: BTreeSet<NodeId> = cycle.iter().copied().collect();
    let within = |link: &Link| inside.contains(&link.from) && inside.contains(&link.to);
    let place = links
        .iter()
        .find(|(_, link)| within(link))
        .map(|(controller, link)| {
            let NodeKind::Parallel { links, .. } = &draft.nodes[controller.index()].kind else {
                return (*controller, "links".to_owned());
            };
            let number = links.iter().position(|other| other == link).unwrap_or(0);
            (*controller, format!("links.{number}"))
        });
    let (node, field) = place.map_or((None, String::new()), |(node, field)| (Some(node), field));
    let message = format!(
        "these wait for each other in a cycle: {}",
        names.join(" -> ")
    );
    problems.add(node, field, message);
}
