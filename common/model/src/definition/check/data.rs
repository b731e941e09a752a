//! Order from data: whoever reads an output below a parallel controller waits for its producer.

use std::collections::BTreeSet;

use super::bodies::Bodies;
use super::check_tree;
use super::links::{Read, Unordered, meet, search, unordered};
use super::problems::Problems;
use crate::NodeId;
use crate::definition::limits::LINKS_MAX;
use crate::definition::order::Order;
use crate::definition::{DataLink, Draft, Link, NodeKind};

/// Adds a link to the lowest controller above producer and reader, where that is a parallel and
/// nothing else orders the two.
pub(in crate::definition) fn order_by_data(draft: &mut Draft) -> Vec<DataLink> {
    let mut added = Vec::new();
    let Some(parents) = check_tree(draft, usize::MAX, &mut Problems::default()) else {
        return added;
    };
    let links = followable(draft);
    let reads = unordered(draft, (&parents, &Bodies::new(draft, &parents)), &links);
    if reads.is_empty() {
        return added;
    }
    let reads = search(reads, &Order::new(&draft.nodes, &links));
    let mut room = LINKS_MAX.saturating_sub(links.len());
    let mut ordered = BTreeSet::new();
    for Read {
        reader,
        input,
        ends: (from, to),
        why,
        ..
    } in reads
    {
        if why == Unordered::Alternatives || room == 0 || !ordered.insert((from, to)) {
            continue;
        }
        let Some((controller, ..)) = meet(from, to, &parents) else {
            continue;
        };
        if let NodeKind::Parallel { links, .. } = &mut draft.nodes[controller.index()].kind {
            added.push(DataLink {
                controller,
                link: links.len(),
                reader,
                input,
            });
            let when = None;
            links.push(Link { from, to, when });
            room -= 1;
        }
    }
    added
}

/// The links between nodes that are there. What else is wrong with a link is for the check to say.
pub(super) fn followable(draft: &Draft) -> Vec<(NodeId, Link)> {
    let is_there = |link: &Link| link.from.index().max(link.to.index()) < draft.nodes.len();
    let mut all = Vec::new();
    for (index, node) in draft.nodes.iter().enumerate() {
        if let NodeKind::Parallel { links, .. } = &node.kind {
            let links = links.iter().filter(|link| is_there(link)).cloned();
            all.extend(links.map(|link| (NodeId(index as u32), link)));
        }
    }
    all
}
