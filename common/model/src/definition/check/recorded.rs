//! Drafts that were accepted before, maybe by another version of the program.

use super::bodies::{Bodies, carries, is_around};
use super::links::Links;
use super::problems::Problems;
use super::{check_tree, has_output};
use crate::definition::order::Order;
use crate::definition::{Checked, Draft, Node, NodeKind, OutputSource, Problem, Source};
use crate::{NodeId, with_article};

/// The definition that a recorded draft is. A rule that has become stricter since refuses nothing
/// here: only what the rest of the program relies on is looked at, so that no draft can make it read
/// beside an array or wait for ever.
pub(in crate::definition) fn recorded(draft: Draft) -> Result<Checked, Vec<Problem>> {
    let mut problems = Problems::default();
    let Some(parents) = check_tree(&draft, usize::MAX, &mut problems) else {
        return Err(problems.list);
    };
    check_references(&draft, &Bodies::new(&draft, &parents), &mut problems);
    let links = recorded_links(&draft, &mut problems);
    if !problems.list.is_empty() {
        return Err(problems.list);
    }
    let order = Order::new(&draft.nodes, &links.links);
    if !order.cycles().is_empty() {
        problems.add(None, "body", "steps wait for each other in a cycle");
        return Err(problems.list);
    }
    Ok(Checked::new(draft, parents, links.links, &order))
}

fn recorded_links(draft: &Draft, problems: &mut Problems) -> Links {
    let mut all = Vec::new();
    for (id, node) in numbered(draft) {
        let NodeKind::Parallel { links, .. } = &node.kind else {
            continue;
        };
        for link in links {
            if link.from.index().max(link.to.index()) >= draft.nodes.len() {
                problems.add(Some(id), "links", "a link joins nodes that are not there");
            }
            all.push((id, link.clone()));
        }
    }
    let links = all;
    Links { links, lost: false }
}

fn check_references(draft: &Draft, bodies: &Bodies<'_>, problems: &mut Problems) {
    for (id, node) in numbered(draft) {
        match &node.kind {
            NodeKind::Sequence(children)
            | NodeKind::Parallel { children, .. }
            | NodeKind::If { children, .. }
                if children.is_empty() =>
            {
                let message = format!("{} without children", with_article(&node.keyword()));
                problems.add(Some(id), "", message);
            }
            kind if kind.has_bodies() && node.children().len() != 1 => {
                let message = format!("{} without one body", with_article(&node.keyword()));
                problems.add(Some(id), "", message);
            }
            NodeKind::Activity(activity) => {
                for staged in &activity.inputs {
                    check_source(draft, (staged.source, bodies), Some(id), problems);
                    if !carries(draft, bodies, staged, id) {
                        problems.add(Some(id), "", "no loop carries what is read");
                    }
                }
            }
            NodeKind::Sequence(_)
            | NodeKind::Parallel { .. }
            | NodeKind::If { .. }
            | NodeKind::ForEach(_)
            | NodeKind::Repeat(_)
            | NodeKind::Assign(_)
            | NodeKind::Empty => {}
        }
    }
    for publish in draft.published() {
        if draft.published_name(publish.of).is_none() {
            problems.add(None, "publish", "what is published is not there");
        }
    }
    for output in &draft.outputs {
        if let OutputSource::Produced(source) | OutputSource::Gathered(source) = output.source {
            check_source(draft, (source, bodies), None, problems);
        }
    }
}

fn check_source(
    draft: &Draft,
    (source, bodies): (Source, &Bodies<'_>),
    node: Option<NodeId>,
    problems: &mut Problems,
) {
    let is_there = match source {
        Source::Output { activity, output } => {
            has_output(draft, activity, output) && node != Some(activity)
        }
        Source::Input(input) => (input as usize) < draft.inputs.len(),
        Source::Item(body) => node.is_some_and(|node| is_around(draft, bodies, body, node)),
        // Of a case with a place, any output will do: an item that is not there is not picked.
        Source::Pick(pick) => draft.pick_cases(pick).iter().all(|case| match case.source {
            Source::Output { activity, output } => has_output(draft, activity, output),
            Source::Input(input) => (input as usize) < draft.inputs.len(),
            Source::Item(body) => node.is_some_and(|node| is_around(draft, bodies, body, node)),
            Source::Pick(_) => false,
        }),
    };
    if !is_there {
        problems.add(node, "", "what is read is not there");
    }
}

fn numbered(draft: &Draft) -> impl Iterator<Item = (NodeId, &Node)> {
    let nodes = draft.nodes.iter().enumerate();
    nodes.map(|(index, node)| (NodeId(index as u32), node))
}
